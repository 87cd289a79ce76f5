//! An exit code says whose fault it is: 1 and 3 are met elsewhere, and 130 where there is a GPU.

use super::*;

#[test]
fn the_same_codes_are_in_the_docs_and_in_the_help() {
    let guide = repository().join("docs/guides/use-in-ci.md");
    let guide = std::fs::read_to_string(guide).expect("readable");
    let (_, section) = guide.split_once("## Exit codes").expect("a section");
    let codes = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let codes: Vec<&str> = codes.filter(|code| code.parse::<u8>().is_ok()).collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "130"]);
    let help = Desk::new().run(&["--help"]).stdout;
    let (_, listed) = help.split_once("Exit codes: ").expect("listed");
    let listed = listed.split_whitespace().filter(|word| word.parse::<u8>().is_ok());
    assert_eq!(listed.collect::<Vec<_>>(), codes);
}

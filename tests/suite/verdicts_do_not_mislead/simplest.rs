//! Little time may be worth fewer streams, events and pinned memory.

use super::*;

#[test]
fn it_is_named_with_what_it_saves() {
    let workload = scenario("stencil-halo");
    let ranking = ranked(&workload);
    let said = |share| {
        let assessment = Assessment::new(&workload, 1, &ranking, None).simplest(&ranking, share);
        said::text(&assessment, &h200())
    };
    let time = ranking.best_on_cpu().expect("one").makespan();
    let expected = format!(
        "within 40% of the fastest: `cpu`, {time}, with 0 streams, 0 events and 0 B of pinned \
         memory"
    );
    assert_eq!(said::the(&said(0.4), "Simplest"), expected);
}

/// By way of the command line.
#[test]
fn a_share_is_read_from_the_command_line() {
    let evaluate = |share: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hallway"));
        let scenario = file("scenarios/stencil-halo.toml");
        command.arg("evaluate").arg(scenario).args(["--format", "json", "--within", share]);
        command.arg("--profile").arg(file("calibration/h200")).output().expect("it was built")
    };
    let found = evaluate("40%");
    let json: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let simplest = &json["scenarios"][0]["simplest"];
    assert_eq!(simplest["plan"], "cpu", "{simplest}");
    assert_eq!(simplest["within"], 0.4, "{simplest}");
    for wrong in ["40", "101%", "few%", ""] {
        let refused = evaluate(wrong);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{wrong}: {said}");
        assert!(said.contains("write a percentage, such as `5%`"), "{wrong}: {said}");
    }
}

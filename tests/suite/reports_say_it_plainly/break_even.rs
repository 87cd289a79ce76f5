//! At which sizes the GPU wins, in words.

use super::*;

/// A workload that reads one of its buffers, the weights, whole.
fn filter() -> Workload {
    let buffer = |name: &str, elements: u64| {
        format!(
            "[[buffer]]\nname = \"{name}\"\ntype = \"f32\"\nelements = {elements}\n\
             home = \"host\"\n"
        )
    };
    let buffers = [("x", 100_000), ("weights", 9), ("out", 100_000)];
    let buffers: String = buffers.iter().map(|&(name, elements)| buffer(name, elements)).collect();
    crate::workloads::read(&format!(
        "schema_version = 1\nname = \"filter\"\nquestion = \"?\"\n{buffers}[[task]]\nname = \"t\"\n\
         kernel = \"convolution\"\nreads = [\"x\", \"weights\"]\nwrites = [\"out\"]\n\
         arguments = {{ taps = 9 }}\nsplit = {{ along = \"elements\", halo = 4 }}\n"
    ))
}

#[test]
fn break_even_is_said_in_elements() {
    let cpu_wins = ranking(Some(FAST), Some(SLOW));
    let said = |workload: &Workload, ranking: &Ranking, found: BreakEven| {
        let assessment = Assessment::new(workload, 1, ranking, Some(found));
        let text = said::text(&assessment, &machine());
        let sizes = said::labelled(&text, "Sizes").join(" ");
        let said = said::the(&text, "Break-even");
        // Where the whole program has another answer, it says that it is about one run.
        let verdict = &assessment.verdict;
        let found = said.strip_prefix("in one run, ");
        let is_about_one_run = verdict.answer != verdict.run_answer && !said.starts_with("unknown");
        assert_eq!(found.is_some(), is_about_one_run, "{said}");
        (found.unwrap_or(said).to_owned(), sizes)
    };
    let (found, sizes) = said(&scaling(), &cpu_wins, from(1_300_000));
    assert_eq!(found, "GPU faster above 1.3 M elements; here 100 k");
    assert_eq!(sizes, "elements of `x`, from 256 to 268 M; other arrays scale with it");
    let tie = ranking(Some(FAST), Some(FAST));
    let (found, _) = said(&scaling(), &tie, from(1_300_000));
    assert_eq!(found, "GPU faster above 1.3 M elements; here 100 k, too close to call");
    let (_, sizes) = said(&filter(), &cpu_wins, from(1_300_000));
    assert!(sizes.ends_with("scale with it, but `weights` keep their size"), "{sizes}");
    // What was found of other sizes never contradicts the answer.
    let gpu_wins = ranking(Some(SLOW), Some(FAST));
    for (ranking, found) in
        [(&gpu_wins, from(1_300_000)), (&gpu_wins, wins(vec![])), (&cpu_wins, from(20_000))]
    {
        let (found, sizes) = said(&scaling(), ranking, found);
        assert!(found.starts_with("unknown: the quick search at other sizes misses"));
        assert_eq!(sizes, "");
    }
    let until = Wins { until: Some(Setting(5_000.0)), ..EVERYWHERE };
    let sure =
        Wins { until_range: Some([4_600, 5_200].map(|end| Some(Setting(end.into())))), ..until };
    for (ranking, found, words) in [
        (
            &gpu_wins,
            wins(vec![EVERYWHERE]),
            "GPU faster at every size tried, from 256 elements to 268 M",
        ),
        (&cpu_wins, wins(vec![]), "CPU faster at every size tried, from 256 elements to 268 M"),
        (
            &gpu_wins,
            wins([vec![until], from(20_000).gpu_wins].concat()),
            "GPU faster below 5 k and above 20 k elements; here 100 k",
        ),
        (&cpu_wins, wins(vec![sure]), "GPU faster below 5 k (4.6 to 5.2 k) elements; here 100 k"),
        (
            &cpu_wins,
            wins(vec![Wins { until_range: Some([sure.until, None]), ..sure }]),
            "GPU faster below 5 k (5 k, or beyond what was tried) elements; here 100 k",
        ),
    ] {
        assert_eq!(said(&scaling(), ranking, found).0, words);
    }
    let too_large = BreakEven { too_large_for_gpu: Some(200_000), ..from(1_300_000) };
    let (_, sizes) = said(&scaling(), &cpu_wins, too_large);
    assert!(sizes.ends_with(". From about 200 k on, no plan tried on the GPU fits"), "{sizes}");
}

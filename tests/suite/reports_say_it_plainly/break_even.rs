//! At which sizes the GPU wins, in words.

use super::*;

/// Of which one buffer is read whole.
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
    let ranking = ranking(Some(SLOW), Some(FAST));
    let text = evaluation(&scaling(), &ranking).text(Rows::All);
    assert!(
        text.contains(
            "Of the plans tried, one on the GPU wins a pass where `x` has about 1.3 M and more \
             elements; here it has 100 k."
        ),
        "{text}"
    );
    let tie = self::ranking(Some(FAST), Some(FAST));
    let text = evaluation(&scaling(), &tie).text(Rows::All);
    assert!(text.contains("here it has 100 k. Here, scatter leaves it open."), "{text}");
    let text = evaluation(&filter(), &ranking).text(Rows::All);
    assert!(text.contains("here it has 100 k. (Size kept: `weights`.)"), "{text}");
    let until = Wins { until: Some(Setting(5_000.0)), ..EVERYWHERE };
    let sure =
        Wins { until_range: Some([4_600, 5_200].map(|end| Some(Setting(end.into())))), ..until };
    for (found, words) in [
        (
            wins(vec![EVERYWHERE]),
            "best of the plans tried on the GPU beats the CPU in a pass at every size of `x` from \
             256 to 268 M elements.",
        ),
        (
            wins(vec![]),
            "None of the plans tried on the GPU beats the CPU in a pass at any size of `x` from \
             256 to 268 M elements.",
        ),
        (
            wins([vec![until], from(20_000).gpu_wins].concat()),
            "has up to about 5 k, or about 20 k and more elements;",
        ),
        (wins(vec![sure]), "has up to about 5 k (4.6 to 5.2 k) elements;"),
        (
            wins(vec![Wins { until_range: Some([sure.until, None]), ..sure }]),
            "has up to about 5 k (5 k, or beyond what was tried) elements;",
        ),
        (
            BreakEven { too_large_for_gpu: Some(90_000), ..from(20_000) },
            "From about 90 k on, none of those on the GPU fits into memory.",
        ),
    ] {
        let mut evaluation = evaluation(&scaling(), &ranking);
        evaluation.scenarios = vec![Assessment::new(&scaling(), 1, &ranking, Some(found))];
        let text = evaluation.text(Rows::All);
        assert!(text.contains(words), "{text}");
    }
}

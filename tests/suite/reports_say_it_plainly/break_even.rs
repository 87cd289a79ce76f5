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
        text.contains("wins where `x` has about 1.3 M and more elements; here it has 100 k."),
        "{text}"
    );
    let tie = self::ranking(Some(FAST), Some(FAST));
    let text = evaluation(&scaling(), &tie).text(Rows::All);
    assert!(text.contains("here it has 100 k. Here, scatter leaves it open."), "{text}");
    let text = evaluation(&filter(), &ranking).text(Rows::All);
    assert!(text.contains("here it has 100 k. (Size kept: `weights`.)"), "{text}");
    let until = Sizes { from: None, until: Some(5_000) };
    for (found, words) in [
        (vec![Sizes { from: None, until: None }], "GPU wins at every"),
        (vec![], "CPU wins at every"),
        (
            [vec![until], from(20_000)].concat(),
            "has up to about 5.0 k, or about 20 k and more elements;",
        ),
    ] {
        let mut evaluation = evaluation(&scaling(), &ranking);
        evaluation.scenarios = vec![Assessment::new(&scaling(), 1, &ranking, Some(found))];
        let text = evaluation.text(Rows::All);
        assert!(text.contains(words), "{text}");
    }
}

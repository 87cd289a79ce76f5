//! Whatever ends a calibration, the old files stay as they were and the samples taken so
//! far are usable.

use super::kept::{loaded as load, saved};
use super::machines::machine;
use super::predicted::SAMPLES;
use hallway::calibrate::{OtherSchedule, Schedule};
use hallway::fit::fit;
use hallway::samples::{Measurement, Provenance, Quantity, Recorder, Samples, SetupStep, Stop};
use hallway::study::{CalibrationError, interrupted};
use hallway::units::Span;
use std::io::Write;

fn measured(quantity: &Quantity) -> Measurement {
    let times = vec![Span::from_micros(5); 3];
    Measurement::new(quantity.clone(), 1, times, Stop::Settled)
}

/// The first measurements of a calibration of the machine, and where each probe's
/// measurements end.
fn first(machine: &Provenance, probes: usize) -> (Vec<Measurement>, Vec<usize>) {
    let schedule = Schedule::new(machine);
    let quantities: Vec<_> = schedule.quantities().take(probes).collect();
    let ends = quantities.iter().scan(0, |end, one| {
        *end += one.len();
        Some(*end)
    });
    (quantities.iter().flatten().map(|quantity| measured(quantity)).collect(), ends.collect())
}

#[test]
fn what_was_measured_is_found_again_probe_by_probe() {
    let machine = machine().machine;
    let schedule = Schedule::new(&machine);
    let (measurements, ends) = first(&machine, 100);
    assert!(ends.windows(2).any(|pair| pair[1] > pair[0] + 1), "every probe has only one line");
    for taken in 0..=measurements.len() {
        let whole = ends.iter().filter(|&&end| end <= taken).count();
        let lines = if whole == 0 { 0 } else { ends[whole - 1] };
        assert_eq!(schedule.done(&measurements[..taken]), Ok((whole, lines)), "{taken}");
    }
}

#[test]
fn measurements_in_another_order_are_refused() {
    let machine = machine().machine;
    let (mut measurements, _) = first(&machine, 50);
    let other = Schedule::new(&Provenance { seed: machine.seed + 1, ..machine.clone() });
    assert!(other.done(&measurements).is_err());
    // One measurement in the middle is missing.
    let alike = |at: usize| measurements[at].quantity == measurements[at + 1].quantity;
    let at = (20..).find(|&at| !alike(at)).expect("most differ from the next");
    measurements.remove(at);
    let schedule = Schedule::new(&machine);
    assert_eq!(schedule.done(&measurements), Err(OtherSchedule { number: at + 1 }));
    // Nothing may follow the last measurement.
    let total = schedule.quantities().count();
    let (mut all, _) = first(&machine, total);
    assert_eq!(schedule.done(&all), Ok((total, all.len())));
    all.push(all[0].clone());
    assert_eq!(schedule.done(&all), Err(OtherSchedule { number: all.len() }));
}

fn written(measurements: Vec<Measurement>) -> Vec<u8> {
    let mut text = Vec::new();
    let samples = Samples { measurements, ..Samples::none(machine().machine) };
    Recorder::new(&mut text, &samples).expect("writing to a vector cannot fail");
    text
}

/// A machine may have no room for a second context.
#[test]
fn what_cannot_be_had_is_a_line_without_times() {
    let steps = [SetupStep::Context, SetupStep::Module].map(|step| Quantity::Setup { step });
    let unknown = |of: Quantity| Measurement::new(of, 1, Vec::new(), Stop::Capped);
    let measurements: Vec<Measurement> = steps.into_iter().map(unknown).collect();
    let samples = load(&written(measurements.clone())).expect("it was written by a calibration");
    assert_eq!(samples.measurements, measurements);
    // A line without times is a mistake for every other quantity.
    let torn = Measurement { stop: Stop::Settled, ..measurements[0].clone() };
    let error = load(&written(vec![torn, measurements[1].clone()])).expect_err("no times");
    assert!(error.contains("`times` is empty"), "{error}");
}

#[test]
fn a_last_line_may_be_torn_anywhere_and_no_other() {
    let (measurements, _) = first(&machine().machine, 4);
    let text = written(measurements.clone());
    let last = text[..text.len() - 1].iter().rposition(|&byte| byte == b'\n').expect("lines") + 1;
    for cut in last..text.len() - 1 {
        let samples = load(&text[..cut]).expect("all but the last line are whole");
        assert_eq!(samples.measurements, measurements[..measurements.len() - 1], "at {cut}");
    }
    // The last line is complete, with or without a newline.
    for cut in [text.len() - 1, text.len()] {
        assert_eq!(load(&text[..cut]).expect("whole").measurements, measurements);
    }
    let mut broken = text[..last - 3].to_vec();
    broken.extend_from_slice(b"\n{\"quantity\":");
    assert!(load(&broken).expect_err("a broken line in the middle").contains(".jsonl:"));
}

#[test]
fn an_interrupted_calibration_resumes_behind_its_last_whole_probe() {
    let here = machine().machine;
    let (measurements, ends) = first(&here, 100);
    let folder = tempfile::tempdir().expect("a folder");
    let growing = folder.path().join("samples.partial.jsonl");
    let resume = |here: &Provenance| interrupted(&growing, here);
    let nothing = resume(&here).expect_err("nothing is there");
    assert!(matches!(nothing, CalibrationError::NothingToResume { .. }), "{nothing}");
    // The last probe that has several lines lacks one.
    let pair = ends.windows(2).rfind(|pair| pair[1] > pair[0] + 1).expect("some have several");
    let text = written(measurements[..pair[1] - 1].to_vec());
    std::fs::write(&growing, text).expect("written");
    let found = resume(&here).expect("it goes on");
    assert_eq!(found.measurements, measurements[..pair[0]]);
    // What was measured in new processes belongs to no place in the order, and is measured again.
    let steps = SetupStep::IN_NEW_PROCESS.map(|step| measured(&Quantity::Setup { step }));
    let with_new = [&measurements[..pair[0]], &steps[..]].concat();
    std::fs::write(&growing, written(with_new)).expect("written");
    assert_eq!(resume(&here).expect("it goes on").measurements, measurements[..pair[0]]);
    let other = Provenance { seed: here.seed + 1, ..here.clone() };
    let refused = resume(&other).expect_err("another order").to_string();
    assert!(refused.starts_with("cannot continue") && refused.contains("seed"), "{refused}");
    // Without its first measurement, it did not begin as this calibration does.
    std::fs::write(&growing, written(measurements[1..].to_vec())).expect("written");
    let refused = resume(&here).expect_err("its beginning is missing");
    assert!(matches!(refused, CalibrationError::CannotResume { .. }), "{refused}");
}

#[test]
fn what_there_is_can_be_fitted() {
    let Samples { machine, measurements, .. } = &*SAMPLES;
    for taken in [1, 2, 10, 100, 500, 1_000, 2_000] {
        let measurements = measurements[..taken].to_vec();
        let profile =
            fit(&Samples { measurements, ..Samples::none(machine.clone()) }).expect("samples");
        // The profile can be written and read, whatever is missing in it.
        assert_eq!(saved(&profile), profile);
    }
}

#[test]
fn a_file_that_grows_leaves_the_old_one_until_it_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new/samples.jsonl");
    hallway::files::write_whole(&path, b"old").expect("written");
    let growing = hallway::files::partial(&path);
    assert_eq!(growing, folder.path().join("new/samples.partial.jsonl"));
    let samples = Samples::none(machine().machine);
    let mut beginning = Vec::new();
    let recorder = Recorder::new(&mut beginning, &samples).expect("a vector takes everything");
    let recorder = recorder.onto(std::io::sink());
    let file = hallway::files::begin(&growing, &beginning).expect("writable");
    let mut recorder = recorder.onto(file);
    let (measurements, _) = first(&samples.machine, 3);
    for (index, measurement) in measurements.iter().enumerate() {
        recorder.add(measurement).expect("written");
        // Every line is in the file at once, while the program still runs.
        let grown = Samples::load(&growing).expect("whole lines");
        assert_eq!(grown.measurements, measurements[..=index]);
        assert_eq!(std::fs::read(&path).expect("there"), b"old");
    }
    assert!(Samples::load(&growing).expect("whole lines").is_unfinished);
    recorder.end().expect("written");
    hallway::files::finish(&growing, &path).expect("renamed");
    assert_eq!(Samples::load(&path).expect("whole").measurements, measurements);
    assert!(!growing.exists());
}

#[test]
fn another_machine_is_told_by_what_differs() {
    let here = machine().machine;
    let later = Provenance { unix_time: 7, link: "2.5 GT/s PCIe x16".to_owned(), ..here.clone() };
    assert!(later.differences(&here).is_empty());
    let other = Provenance { gpu: "Another".to_owned(), seed: 2, ..later };
    let expected = ["gpu: was \"Another\", is now \"Round Numbers 1000\"", "seed: was 2, is now 1"];
    assert_eq!(other.differences(&here), expected);
}

#[test]
fn two_calibrations_do_not_write_to_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let growing = hallway::files::partial(&folder.path().join("samples.jsonl"));
    let mut first = hallway::files::begin(&growing, b"one\n").expect("writable");
    let error = hallway::files::begin(&growing, b"two\n").expect_err("the first goes on");
    assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    first.write_all(b"more\n").expect("written");
    assert_eq!(std::fs::read_to_string(&growing).expect("there"), "one\nmore\n");
    // A calibration that was interrupted does not block the next one.
    drop(first);
    hallway::files::begin(&growing, b"three\n").expect("nobody writes it");
    assert_eq!(std::fs::read_to_string(&growing).expect("there"), "three\n");
}

//! The scenarios of `scenarios/kernels` are whole: each has a question, both sides, and needs but a
//! calibration to be predicted.

use crate::predicted::{PROFILE, scenarios};
use hallway::calibrate::ScenarioJob;
use hallway::profile::{Curve, OwnKernelModel};
use hallway::program::Program;
use hallway::samples::Samples;
use hallway::scenario::Workload;
use hallway::search::{candidates, rank};
use hallway::study::Wanted;
use std::path::PathBuf;

fn shipped() -> Vec<PathBuf> {
    let paths = scenarios(&["kernels"]);
    assert!(paths.len() >= 4, "{paths:?}");
    paths
}

/// Spelled out anew, a program launches the same kernels in the same way.
#[test]
fn each_program_is_written_with_its_kernels() {
    for path in shipped() {
        let workload = Workload::load(&path).expect("valid");
        for program in &workload.programs {
            let text = workload.spelled_out(program);
            let name = path.display().to_string();
            let again = Workload::from_toml(&name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let again = &again.programs[0];
            assert_eq!(again.kernels, program.kernels);
            let steps = |program: &Program| {
                let steps = program.own_steps().map(|(step, _)| step.clone());
                steps.map(|step| (step.geometry, step.parameters, step.numbers)).collect::<Vec<_>>()
            };
            assert_eq!(steps(again), steps(program), "{text}");
        }
    }
}

#[test]
fn each_is_predicted_once_its_kernels_are_measured() {
    let mut profile = PROFILE.clone();
    for path in shipped() {
        let text = std::fs::read_to_string(&path).expect("readable");
        assert!(text.lines().next().expect("a line").ends_with('?'), "{path:?}");
        let workload = Workload::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let before = rank(candidates(&workload), &profile, 20, 1);
        assert!(before.plans.iter().all(|one| one.is_cpu()), "{path:?}");
        assert!(before.fastest_on_cpu().is_some() && !before.unknown.is_empty(), "{path:?}");
        let samples = Samples::none(profile.machine.clone());
        for job in Wanted::new(std::slice::from_ref(&workload), &samples, &profile).kernels {
            let ScenarioJob::Own(job) = job else { panic!("{path:?}: {job:?}") };
            let name = job.kernel.name.clone();
            profile.own_kernels.push(OwnKernelModel {
                name,
                kernel: job.kernel.digest(),
                numbers: job.numbers.clone(),
                registers_per_thread: 40,
                shared_bytes_per_block: 0,
                time: Curve { knots: vec![(job.elements as f64, 200_000.0)], scatter: 0.01 },
            });
        }
        let after = rank(candidates(&workload), &profile, 20, 1);
        assert_eq!(after.plans.len(), workload.programs.len(), "{path:?}: {:?}", after.unknown);
    }
}

//! What only several GPUs can show: copies between them, plans over them, and how long it
//! takes to calibrate them together.

use super::calibration::{run, said};
use super::{WORKLOADS, download, on_a_gpu, random, upload};
use hallway::execute::{Effort, Executor};
use hallway::gpu::{AnyBlocker, AnyDevice, AnyMemory, AnyStream, Blocker, Device, GpuError};
use hallway::host::Team;
use hallway::profile::Profile;
use hallway::samples::Samples;
use hallway::scenario::Workload;
use hallway::search::candidates_over;
use hallway::timeline::Lane;
use hallway::units::{Bytes, Span};
use std::time::Duration;

/// Runs a test if this machine has two GPUs; otherwise says that it was skipped.
fn on_two_gpus(name: &str, test: impl FnOnce(&Device, &Device) -> Result<(), GpuError>) {
    on_a_gpu(name, |first| {
        let second = first.nth(1)?;
        let result = test(first, second);
        first.make_current()?;
        result
    });
}

#[test]
fn a_copy_to_another_gpu_and_back_keeps_every_bit() {
    on_two_gpus("a_copy_to_another_gpu_and_back_keeps_every_bit", |first, second| {
        // Through host memory first, and then directly if the GPUs have peer access.
        for round in 0..2 {
            if round == 1 {
                first.enable_access(second)?;
                second.enable_access(first)?;
                // Enabling access twice is no mistake.
                first.enable_access(second)?;
            }
            for count in [1, 1023, 1_048_577] {
                let (values, bytes) = (random(count, 7), Bytes::of_f32(count as u64));
                first.make_current()?;
                let stream = first.stream(0)?;
                let from = upload(first, &stream, &values)?;
                let there = second.allocate(bytes)?;
                let back = upload(first, &stream, &vec![0.0; count])?;
                // SAFETY: all three hold that many bytes until the copies have been
                // waited for.
                unsafe { stream.copy_to_peer(from.address(), (second, there.address()), bytes)? };
                stream.synchronize()?;
                second.make_current()?;
                let theirs = second.stream(0)?;
                assert_eq!(download(&theirs, &there, count)?, values);
                // SAFETY: all three hold that many bytes until the copies have been
                // waited for.
                unsafe { theirs.copy_to_peer(there.address(), (first, back.address()), bytes)? };
                theirs.synchronize()?;
                first.make_current()?;
                assert_eq!(download(&stream, &back, count)?, values);
            }
        }
        Ok(())
    });
}

#[test]
fn a_stream_waits_for_an_event_of_another_gpu() {
    on_two_gpus("a_stream_waits_for_an_event_of_another_gpu", |first, second| {
        let (stream, event) = (first.stream(0)?, first.ordering_event()?);
        let (theirs, mut blocker) = (second.stream(0)?, first.blocker()?);
        blocker.hold(&stream)?;
        stream.record(&event)?;
        second.make_current()?;
        theirs.wait(&event)?;
        std::thread::sleep(Duration::from_millis(2));
        let waited = !theirs.is_done()?;
        blocker.release();
        Blocker::finish(&theirs)?;
        assert!(waited, "the second GPU did not wait");
        Ok(())
    });
}

#[test]
fn plans_over_two_gpus_execute_and_pass() {
    on_two_gpus("plans_over_two_gpus_execute_and_pass", |device, _| {
        let team = Team::new(4).expect("four threads");
        let mut ran = 0;
        for text in WORKLOADS {
            let text = format!("schema_version = 1\nname = \"w\"\nquestion = \"?\"\n{text}");
            let mut workload = Workload::from_toml("w.toml", &text).expect("valid");
            workload.plans.chunks = vec![1, 2, 6];
            let executor = Executor::new(Some(device), &team, &workload, 5);
            let plans = candidates_over(&workload, &[2]).programs();
            for plan in plans.iter().filter(|plan| plan.devices() > 1) {
                let run = executor.run(plan, Effort::SHORT).unwrap_or_else(|error| {
                    panic!("{} of\n{text}\n{error}", plan.label);
                });
                assert_eq!(run.identity, plan.identity());
                let trace = executor.trace(plan).expect("it ran before").timeline;
                for lane in Lane::ALL {
                    assert!(trace.busy(lane) <= trace.makespan, "{}: {lane}", plan.label);
                }
                assert_eq!(trace.lane(Lane::Host).count(), plan.body.len());
                ran += 1;
            }
            // A plan for one GPU still runs afterwards.
            let plan = &candidates_over(&workload, &[]).programs()[1];
            assert!(executor.run(plan, Effort::SHORT).expect("it runs").makespan() > Span::ZERO);
        }
        assert!(ran > 10, "only {ran} plans over two GPUs");
        Ok(())
    });
}

#[test]
fn two_gpus_are_calibrated_within_seconds_more() {
    on_two_gpus("two_gpus_are_calibrated_within_seconds_more", |_, _| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (output, alone) = run(folder, &["--quick", "--gpus", "1", "--output", "one"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let (output, both) = run(folder, &["--quick", "--gpus", "2", "--output", "two"]);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(both < alone + Duration::from_secs(15), "{both:?}, and {alone:?} for one");
        let one = Profile::load(&folder.join("one/profile.toml")).expect("a profile");
        assert_eq!((one.machine.devices, one.gpu_counts()), (1, Vec::new()));
        let two = Profile::load(&folder.join("two/profile.toml")).expect("a profile");
        assert_eq!((two.machine.devices, two.gpu_counts()), (2, vec![2]));
        let several = &two.multi_gpu;
        let known = [several.use_device, several.peer_copy, several.start_peer_copy];
        assert!(known.iter().all(Option::is_some) && several.crossing.is_some());
        assert_eq!(several.peers.len(), 2);
        let whole = Samples::load(&folder.join("two/samples.jsonl")).expect("whole");
        assert_eq!(hallway::fit::fit(&whole).expect("samples").multi_gpu, *several);
        let (output, time) = run(folder, &["--check", "two/profile.toml"]);
        assert!(time < Duration::from_secs(15), "it took {time:?}");
        let text = said(&output);
        assert!(text.contains("GPUs at once"), "{text}");
        Ok(())
    });
}

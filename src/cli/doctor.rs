//! `hallway doctor`: what this machine has of what hallway needs.

use super::profiles::{CALIBRATIONS, deliver, newest};
use super::{Failure, Format, Outcome};
use crate::calibrate::HOST_MEMORY;
use crate::gpu::{AnyDevice, CudaLibrary, Device, GpuResult, Monitor};
use crate::host;
use crate::profile::Profile;
use crate::report::{Diagnosis, Finding, GpuFound, State, date, json};
use clap::Args;
use std::collections::BTreeSet;
use std::path::Path;

/// Shown below the arguments.
const CODES: &str = "\
Exit codes: 0 nothing is missing; 1 something that a command needs is missing; 3 no GPU.
Conditions marked `attention` may disturb measurements; they do not change the exit code.";

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(super) struct DoctorArguments {
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

pub(super) fn run(arguments: &DoctorArguments) -> Result<Outcome, Failure> {
    let mut findings: Vec<Finding> = CudaLibrary::ALL.into_iter().map(library).collect();
    let gpus = match gpus() {
        Ok(gpus) => {
            findings.extend(gpus.iter().flat_map(gpu));
            gpus
        }
        Err(error) => {
            let cost = "calibrate and verify will not run; evaluate works";
            let fix = "install or free a GPU";
            findings.push(Finding::missing("GPU", error.to_string(), cost, fix));
            Vec::new()
        }
    };
    findings.extend(pages());
    findings.extend([memory(), locked(), numa(&gpus), threads(), governor()]);
    findings.push(profile(&gpus));
    let diagnosis = Diagnosis { findings, gpus };
    let text = match arguments.format {
        Format::Table => diagnosis.text(),
        Format::Json => json(&diagnosis),
    };
    deliver(&text, None)?;
    let is_missing = |finding: &Finding| finding.state == State::Missing;
    Ok(match diagnosis.gpus.is_empty() {
        true => Outcome::NoGpu,
        false if diagnosis.findings.iter().any(is_missing) => Outcome::CheckFailed,
        false => Outcome::Done,
    })
}

fn library(library: CudaLibrary) -> Finding {
    let name = library.name();
    let (cost, fix) = match library {
        CudaLibrary::Driver => (
            "nothing runs on the GPU: calibrate and verify will not run; evaluate works",
            "install the NVIDIA driver, version 525 or later",
        ),
        CudaLibrary::Nvrtc => (
            "kernels cannot be compiled: calibrate and verify will not run",
            "install libnvrtc from the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
        ),
        CudaLibrary::Cublas => (
            "`matmul` cannot be calibrated: plans that use it are not predicted",
            "install libcublas from the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
        ),
        CudaLibrary::Cufft => (
            "`fft` cannot be calibrated: plans that use it are not predicted",
            "install libcufft from the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
        ),
        CudaLibrary::Nvml => (
            "calibrations do not notice clock changes or other processes on the GPU",
            "install libnvidia-ml, which comes with the driver",
        ),
        // Profilers use it, and hallway does not.
        CudaLibrary::Cupti => ("", ""),
    };
    match library.version() {
        None if cost.is_empty() => Finding::ok(name, "not found; hallway does not need it"),
        None => Finding::missing(name, "not found", cost, fix),
        Some(version) if library == CudaLibrary::Driver => {
            Finding::ok(name, format!("supports CUDA {version}"))
        }
        Some(version) if version.is_empty() => Finding::ok(name, "found"),
        Some(version) => Finding::ok(name, version),
    }
}

fn gpus() -> GpuResult<Vec<GpuFound>> {
    let first = Device::open(0)?;
    let describe = |index: usize| {
        let device = first.nth(index)?;
        let described = device.describe()?;
        let monitor = Monitor::new(device);
        // Its context makes this process one of them.
        let processes = monitor.as_ref().and_then(Monitor::processes);
        Ok(GpuFound {
            index,
            name: described.name,
            uuid: monitor.as_ref().and_then(Monitor::uuid),
            memory_bytes: described.memory,
            free_bytes: device.free_memory().ok(),
            compute_capability: described.compute_capability,
            link: described.link,
            numa_nodes: monitor.as_ref().and_then(|monitor| monitor.affinity().numa_nodes),
            other_processes: processes.map(|all| all.saturating_sub(1)),
        })
    };
    (0..first.visible()).map(describe).collect()
}

fn gpu(gpu: &GpuFound) -> impl Iterator<Item = Finding> + use<> {
    let what = format!("GPU {}", gpu.index);
    let link = gpu.link.as_deref().unwrap_or("not reported by the system");
    let free = gpu.free_bytes.map_or(String::new(), |free| format!(" ({free} free)"));
    let found = format!(
        "{}, {}{free}, compute capability {}, link {link}",
        gpu.name, gpu.memory_bytes, gpu.compute_capability
    );
    let others = gpu.other_processes.map(|others| match others {
        0 => Finding::ok("  other processes", "none"),
        others => Finding::attention(
            "  other processes",
            others.to_string(),
            "they distort the measured times",
            "stop them, or calibrate another GPU with --gpu",
        ),
    });
    std::iter::once(Finding::ok(&what, found)).chain(others)
}

fn memory() -> Finding {
    const WHAT: &str = "host memory";
    match host::available_memory() {
        None => Finding::ok(WHAT, "not reported by the system"),
        Some(has) if has < HOST_MEMORY => Finding::missing(
            WHAT,
            format!("{has} available, within the limits of the container or batch system"),
            "a calibration needs 5 GiB, so it will not run",
            "free memory, or raise the limit",
        ),
        Some(has) => Finding::ok(WHAT, format!("{has} available")),
    }
}

/// What decides how much new memory costs, and which memory is new.
fn pages() -> [Finding; 2] {
    let policy = host::page_policy();
    let huge = policy.huge.map_or(String::new(), |huge| {
        let defrag = policy.defrag.map_or(String::new(), |when| format!(" (defrag: {when})"));
        format!(", huge pages: {huge}{defrag}")
    });
    let pages = format!("{}{huge}", policy.bytes);
    [Finding::ok("new pages", pages), Finding::ok("malloc", policy.allocator)]
}

fn locked() -> Finding {
    let found = host::locked_limit().map_or("no limit".to_owned(), |most| {
        // CUDA's driver pins memory by itself, and is not held to it.
        format!("{most} (`ulimit -l`), which does not apply to CUDA")
    });
    Finding::ok("locked memory", found)
}

fn numa(gpus: &[GpuFound]) -> Finding {
    const WHAT: &str = "NUMA nodes";
    let nodes = host::count_numa_nodes();
    let here = host::nodes_of_process();
    let listed = |nodes: &BTreeSet<usize>| nodes.iter().map(usize::to_string).collect::<Vec<_>>();
    let may_run = format!("{nodes}; this process may run on node(s) {}", listed(&here).join(", "));
    let far = gpus.iter().find_map(|gpu| {
        let near = host::numbers(gpu.numa_nodes.as_deref()?);
        here.iter().any(|node| !near.contains(node)).then_some((gpu.index, near))
    });
    match far {
        Some((gpu, near)) if nodes > 1 && !near.is_empty() => {
            let near = listed(&near).join(",");
            Finding::attention(
                WHAT,
                format!("{may_run}; GPU {gpu} is attached to node {near}"),
                "copies are slower if memory is on a node far from the GPU",
                &format!("numactl --cpunodebind={near} --membind={near} hallway ..."),
            )
        }
        _ => Finding::ok(WHAT, may_run),
    }
}

fn threads() -> Finding {
    let (model, threads) = (host::cpu_model(), host::hardware_threads());
    Finding::ok("CPU", format!("{model}, {threads} threads for this process"))
}

fn governor() -> Finding {
    const WHAT: &str = "CPU governor";
    match host::governor() {
        None => Finding::ok(WHAT, "not reported by the system"),
        Some(name) if name == "powersave" => Finding::attention(
            WHAT,
            name,
            "CPU times may vary more",
            "cpupower frequency-set --governor performance",
        ),
        Some(name) => Finding::ok(WHAT, name),
    }
}

/// Whether commands that take the newest profile take one of this machine.
fn profile(gpus: &[GpuFound]) -> Finding {
    const WHAT: &str = "profile";
    const CALIBRATE: &str = "hallway calibrate";
    let found = newest(Path::new(CALIBRATIONS))
        .and_then(|path| Ok((path.clone(), Profile::load(&path)?.machine)));
    let Ok((path, machine)) = found else {
        return Finding::attention(
            WHAT,
            "no calibration/*/profile.toml in this directory",
            "evaluate and verify need --profile",
            CALIBRATE,
        );
    };
    let (path, day) = (path.display(), date(machine.unix_time));
    let found = format!("{path}, {day}, {}", machine.gpu);
    let is_here = |gpu: &GpuFound| match (&gpu.uuid, &machine.gpu_uuid) {
        (Some(here), Some(there)) => here == there,
        _ => gpu.name == machine.gpu,
    };
    if gpus.is_empty() || gpus.iter().any(is_here) {
        return Finding::ok(WHAT, found);
    }
    let found = format!("{found}: from another machine");
    Finding::attention(WHAT, found, "predictions are for that machine, not this one", CALIBRATE)
}

//! What-if questions against a machine that really is worse: something takes a part of the link, of
//! the multiprocessors or of the CPU while plans run, and the profile was calibrated without it.

use super::on_a_gpu;
use hallway::execute::{Effort, Executor};
use hallway::gpu::{AnyDevice, AnyEvent, AnyMemory, AnyStream, Device, GpuError, Stream};
use hallway::host::Team;
use hallway::kernels::{Code, CpuSide, Geometry, GpuSide, Image, OwnKernel, Parameter};
use hallway::machine::Side;
use hallway::profile::Profile;
use hallway::samples::CalibrationExtent;
use hallway::scenario::Workload;
use hallway::search::candidates_over;
use hallway::simulate::{DRAWS, Draws, Tally};
use hallway::stats::median;
use hallway::study::{Calibration, Job, Predicted, Which, predict};
use hallway::units::{Bytes, Span};
use hallway::what_if::{Variation, Varied, vary};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

const SCENARIOS: [&str; 8] = [
    "compute-polynomial",
    "exposure-levels",
    "image-batches",
    "matrix-products",
    "option-pricing",
    "reduce-sum",
    "spectral-filter",
    "stencil-halo",
];

/// Plans of each scenario: the one to choose, the best of either side, and the fastest of another
/// family.
const PLANS: usize = 4;

/// Both kernels end by the device's clock: nothing that waits for the device waits for ever.
const SOURCE: &str = r#"
__device__ unsigned long long now() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
}

extern "C" __global__ void read_host(const uint4* from, unsigned* out, unsigned long long count,
                                     unsigned long long lasts) {
    unsigned long long start = now();
    unsigned sum = 0;
    do {
        unsigned long long at = blockIdx.x * blockDim.x + threadIdx.x;
        for (; at < count; at += gridDim.x * blockDim.x) {
            uint4 one;
            asm volatile("ld.global.cv.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(one.x), "=r"(one.y), "=r"(one.z), "=r"(one.w)
                         : "l"(from + at));
            sum += one.x + one.y + one.z + one.w;
        }
    } while (now() - start < lasts);
    if (sum == 1) *out = sum;
}

// A block of 1,024 threads with more than 56 registers each has all registers of a multiprocessor,
// so no other block fits beside it.
extern "C" __global__ void __launch_bounds__(1024) hold(unsigned* out, float a, float b,
                                                        unsigned long long lasts) {
    unsigned long long start = now();
    float kept[52];
    for (int at = 0; at < 52; ++at) kept[at] = a + at;
    do {
#pragma unroll
        for (int at = 0; at < 52; ++at) kept[at] = kept[at] * a + b;
        __nanosleep(1000);
    } while (now() - start < lasts);
    float sum = 0;
#pragma unroll
    for (int at = 0; at < 52; ++at) sum += kept[at];
    if (sum == 1) *out = 1;
}
"#;

/// What takes a part of the machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Interference {
    /// Two blocks that read host memory all the time.
    Reader,
    /// Blocks that hold half of the multiprocessors, so many.
    Holder(u32),
}

/// How long one launch lasts. Another one waits behind it. Whoever frees memory waits for both.
const LASTS: Duration = Duration::from_millis(20);

fn kernel(entry: &str) -> OwnKernel {
    let image = Image::Source { text: SOURCE.to_owned(), headers: Vec::new() };
    let code = Code { file: "interference.cu".to_owned(), image, entry: entry.to_owned() };
    OwnKernel {
        name: entry.to_owned(),
        gpu: GpuSide::Code(code),
        cpu: CpuSide::Unknown,
        rule: String::new(),
        elementwise: None,
    }
}

/// Launches the kernel again and again until `stop`, from a thread of its own.
fn interfere(
    kind: Interference,
    stop: &AtomicBool,
    started: &mpsc::Sender<()>,
) -> Result<(), GpuError> {
    let device = Device::open(0)?;
    let out = device.allocate(Bytes::new(64))?;
    let host = device.allocate_pinned(Bytes::mib(64))?;
    let lasts = Parameter::U64(LASTS.as_nanos() as u64);
    let from = [host.as_mut_ptr() as u64];
    let (entry, blocks, parameters) = match kind {
        Interference::Reader => {
            let count = Parameter::U64(host.bytes().get() / 16);
            ("read_host", 2, vec![Parameter::Reads(0), Parameter::Writes(0), count, lasts])
        }
        Interference::Holder(blocks) => {
            let (a, b) = (Parameter::F32(0.5), Parameter::F32(0.25));
            ("hold", blocks, vec![Parameter::Writes(0), a, b, lasts])
        }
    };
    let geometry = Geometry { grid: [blocks, 1, 1], block: [1024, 1, 1], shared_bytes: 0 };
    let memory = [&from[..], &[out.address()]];
    let launch = device.own_kernel(&kernel(entry), (Some(geometry), &parameters), memory, None)?;
    if matches!(kind, Interference::Holder(_)) {
        let [registers, _] = launch.takes()?;
        assert!(registers > 56, "{registers} registers leave room for other blocks");
    }
    // One launch waits behind the other, in another stream: so whether it is over can be asked.
    // Whoever waits asleep takes no CPU from the plans.
    let streams = [device.stream(0)?, device.stream(0)?];
    let over = [device.ordering_event()?, device.ordering_event()?];
    for turn in 0.. {
        let (this, other) = (turn % 2, (turn + 1) % 2);
        if turn > 0 {
            streams[this].wait(&over[other])?;
        }
        // SAFETY: all memory lives until the streams have been waited for.
        unsafe { streams[this].launch(&launch)? };
        streams[this].record(&over[this])?;
        let _ = started.send(());
        while !streams[other].is_done()? {
            std::thread::sleep(Duration::from_millis(5));
        }
        if stop.load(Ordering::SeqCst) {
            break;
        }
    }
    streams.iter().try_for_each(Stream::synchronize)
}

/// Does something while a part of the machine is taken.
fn beside<T>(kind: Option<Interference>, work: impl FnOnce() -> T) -> T {
    let Some(kind) = kind else { return work() };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (sender, started) = mpsc::channel();
        let stop = &stop;
        let thread = scope.spawn(move || interfere(kind, stop, &sender));
        let is_up = started.recv().is_ok();
        let done = is_up.then(work);
        stop.store(true, Ordering::SeqCst);
        thread.join().expect("no panic").expect("the kernel runs");
        done.expect("the kernel started")
    })
}

/// Bytes a nanosecond of large pinned copies: H2D and D2H.
fn copy_rates(device: &Device) -> Result<[f64; 2], GpuError> {
    const COPIES: usize = 8;
    let bytes = Bytes::mib(64);
    let (host, memory) = (device.allocate_pinned(bytes)?, device.allocate(bytes)?);
    let stream = device.stream(0)?;
    let (start, end) = (device.timing_event()?, device.timing_event()?);
    let rate = |down: bool| {
        let mut times = Vec::new();
        for _ in 0..5 {
            stream.record(&start)?;
            for _ in 0..COPIES {
                // SAFETY: both sides hold that many bytes until the copies have been waited for.
                unsafe {
                    match down {
                        true => stream.copy_in(host.as_mut_ptr(), memory.address(), bytes)?,
                        false => stream.copy_out(memory.address(), host.as_mut_ptr(), bytes)?,
                    }
                }
            }
            stream.record(&end)?;
            stream.synchronize()?;
            times.push(end.since(&start)?.nanos_f64());
        }
        let all = (COPIES as u64 * bytes.get()) as f64;
        Ok::<_, GpuError>(all / median(&times).expect("five times"))
    };
    Ok([rate(true)?, rate(false)?])
}

/// The profile in the folder that `HALLWAY_PROFILE` names, or one of a quick calibration.
fn undisturbed(device: &Device) -> Profile {
    if let Some(folder) = std::env::var_os("HALLWAY_PROFILE") {
        return Profile::load(&PathBuf::from(folder).join("profile.toml")).expect("a profile");
    }
    let threads = std::thread::available_parallelism().expect("known").get();
    let team = Team::new(threads).expect("threads");
    let extent = CalibrationExtent::Quick;
    let machine = hallway::calibrate::provenance(device, &team, 1, extent, 1).expect("known");
    let folder = tempfile::tempdir().expect("a folder");
    let calibration = Calibration::new(machine, (device, &team), folder.path(), Vec::new());
    calibration.run(&mut |_| ControlFlow::Continue(())).expect("calibrated").1
}

/// The scenarios as they are predicted for the machine that would be, with its profile.
fn predictions(profile: &Profile, question: &str) -> Vec<(Predicted, Profile)> {
    let variation: Variation = question.parse().expect("a change");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let of = |name: &&str| {
        let workload = Workload::load(&folder.join(format!("{name}.toml"))).expect("valid");
        let Varied { profile, workload, .. } =
            vary(profile, &workload, &variation).expect("it can be changed");
        let plans = candidates_over(&workload, &[1]);
        (predict(workload, plans, &profile, Draws::new(DRAWS, 1), &Tally::default()), profile)
    };
    SCENARIOS.iter().map(of).collect()
}

/// Runs the notable plans of all scenarios beside the interference. Half of the errors must be
/// below 10%, and where CPU or GPU is called wrong, the ranges must have left it open.
fn compare(
    device: &Device,
    team: &Team,
    profile: &Profile,
    (kind, question): (Option<Interference>, &str),
) {
    let mut errors = Vec::new();
    let mut wrong = Vec::new();
    let mut table = format!("{question}\n");
    for (predicted, there) in predictions(profile, question) {
        let one = [predicted];
        let which = Which { most: Some(PLANS), ..Which::default() };
        let jobs = Job::all(&one, (&there, ""), which, |_| PathBuf::new());
        let [Predicted { workload, ranking }] = &one;
        let executor = Executor::new(Some(device), team, workload, 1);
        let mut sides: BTreeMap<bool, (Span, (Span, Span))> = BTreeMap::new();
        for program in jobs.iter().flat_map(Job::programs) {
            let identity = program.identity();
            let ranked = ranking.plans.iter().find(|one| one.plan.identity() == identity);
            let Some(ranked) = ranked else { continue };
            let run = beside(kind, || executor.run(program, Effort::BRIEF));
            let measured = run.unwrap_or_else(|error| panic!("{}: {error}", program.label));
            let (measured, expected) = (measured.makespan(), ranked.makespan());
            let error = expected.nanos_f64() / measured.nanos_f64() - 1.0;
            let (name, percent) = (&workload.name, 100.0 * error);
            let plan = &program.label;
            writeln!(table, "{name:20} {plan:32} {expected:>9} {measured:>9} {percent:+6.1}%")
                .expect("a string");
            errors.push(error.abs());
            let interval = ranked.forecast.interval();
            let best = sides.entry(ranked.plan.side() == Side::Cpu).or_insert((measured, interval));
            if measured < best.0 {
                *best = (measured, interval);
            }
        }
        let (Some(cpu), Some(gpu)) = (sides.get(&true), sides.get(&false)) else { continue };
        let expected = ranking.winner().map(|one| one.plan.side() == Side::Cpu);
        let is_open = cpu.1.0 <= gpu.1.1 && gpu.1.0 <= cpu.1.1;
        if expected != Some(cpu.0 < gpu.0) && !is_open {
            wrong.push(workload.name.clone());
        }
    }
    let middle = median(&errors).expect("plans were run");
    writeln!(table, "median error {:.1}% of {} plans", 100.0 * middle, errors.len())
        .expect("a string");
    writeln!(std::io::stderr(), "{table}").expect("standard error");
    assert!(middle <= 0.1, "the median error is {:.1}%", 100.0 * middle);
    assert!(wrong.is_empty(), "CPU or GPU is called wrong in {wrong:?}");
}

#[test]
fn what_if_tells_of_a_link_of_which_a_kernel_takes_a_part() {
    on_a_gpu("what_if_tells_of_a_link_of_which_a_kernel_takes_a_part", |device| {
        let profile = undisturbed(device);
        let team = Team::new(profile.machine.cpu_threads).expect("threads");
        let alone = copy_rates(device)?;
        let left = beside(Some(Interference::Reader), || copy_rates(device))?;
        let [down, up] = [left[0] / alone[0], left[1] / alone[1]].map(|share| share.min(1.0));
        assert!(down < 0.9, "the reader takes nothing: {down:.3}");
        let question = format!("h2d={down:.4}x,d2h={up:.4}x");
        compare(device, &team, &profile, (Some(Interference::Reader), &question));
        Ok(())
    });
}

#[test]
fn what_if_tells_of_half_the_multiprocessors() {
    on_a_gpu("what_if_tells_of_half_the_multiprocessors", |device| {
        let profile = undisturbed(device);
        let team = Team::new(profile.machine.cpu_threads).expect("threads");
        let held = profile.machine.multiprocessors / 2;
        let left = profile.machine.multiprocessors - held;
        let question = format!("multiprocessors={left}");
        compare(device, &team, &profile, (Some(Interference::Holder(held)), &question));
        Ok(())
    });
}

/// Leaves the calling thread, and those it starts, so many of the CPUs that it may use.
fn confine(cpus: usize) {
    // SAFETY: the set is plain data, and lives during both calls.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(0, size, &raw mut set), 0);
        let allowed = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set));
        for cpu in allowed.skip(cpus).collect::<Vec<_>>() {
            libc::CPU_CLR(cpu, &mut set);
        }
        assert_eq!(libc::sched_setaffinity(0, size, &raw const set), 0);
    }
}

#[test]
fn what_if_tells_of_half_the_threads() {
    on_a_gpu("what_if_tells_of_half_the_threads", |device| {
        let profile = undisturbed(device);
        let half = profile.machine.cpu_threads / 2;
        // The runner gives each test a thread of its own, so others keep their CPUs.
        confine(half);
        let team = Team::new(half).expect("threads");
        compare(device, &team, &profile, (None, &format!("threads={half}")));
        Ok(())
    });
}

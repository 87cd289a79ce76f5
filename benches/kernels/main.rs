//! How long the kernel library takes, for `compare.py` to set beside what other
//! libraries take: a line of CSV for each kernel, side and size.
//!
//! `cargo bench --bench kernels`. Without a GPU, only the CPU's side.

use hallway::gpu::{AnyDevice, AnyEvent, AnyMemory, AnyStream, Device, DeviceMemory, GpuError};
use hallway::host::{Operand, PageMemory, Team};
use hallway::kernels::{Arguments, Grid, Kernel};
use hallway::units::Bytes;
use std::time::{Duration, Instant};

/// Elements of the output, or of the input of a reduction; and the extent.
type Case = (Kernel, u32, u64);

/// Multiplications of square matrices, and the rest at round sizes.
fn cases(sizes: &[u64], sides: &[u32]) -> Vec<Case> {
    let plain = [Kernel::Scale, Kernel::Saxpy, Kernel::Sum, Kernel::BlackScholes];
    let plain = plain.into_iter().flat_map(|kernel| sizes.iter().map(move |&n| (kernel, 0, n)));
    let square = |&side: &u32| (Kernel::Matmul, side, u64::from(side) * u64::from(side));
    let rows = |kernel| move |&n: &u64| (kernel, 1024, (n / 2048).max(1) * 2048);
    let transposed = sizes.iter().map(rows(Kernel::Transpose));
    let transformed = sizes.iter().map(rows(Kernel::Fft));
    plain.chain(sides.iter().map(square)).chain(transposed).chain(transformed).collect()
}

fn main() {
    // `cargo test` runs benches once to see that they work.
    let whole = std::env::args().any(|argument| argument == "--bench");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let team = Team::new(threads).expect("threads");
    println!("side,kernel,extent,elements,seconds");
    let most = if whole { 100_000_000 } else { 10_000 };
    let sizes = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let sizes: Vec<u64> = sizes.into_iter().filter(|&n| n <= most).collect();
    let sides: &[u32] = if whole { &[100, 316, 1000, 3162, 10_000] } else { &[100] };
    let on_cpu = |case: &Case| [Kernel::Saxpy, Kernel::Sum, Kernel::Matmul].contains(&case.0);
    for case in cases(&sizes, sides).into_iter().filter(on_cpu) {
        print("cpu", case, twin(&team, case));
    }
    let large: Vec<u64> = sizes.into_iter().filter(|&n| n >= most / 10).collect();
    let Ok(device) = Device::open(0) else { return };
    for case in cases(&large, &sides[sides.len() - 1..]) {
        match kernel(&device, case) {
            Ok(seconds) => print("gpu", case, seconds),
            Err(error) => eprintln!("{}: {error}", case.0),
        }
    }
}

fn print(side: &str, (kernel, extent, elements): Case, seconds: f64) {
    println!("{side},{kernel},{extent},{elements},{seconds:e}");
}

fn arguments(extent: u32) -> Arguments {
    Arguments { extent, ..Arguments::default() }
}

fn length(kernel: Kernel, extent: u32, input: usize, elements: u64) -> Bytes {
    Bytes::of_f32(kernel.whole(input, &arguments(extent)).unwrap_or(elements))
}

/// The median of repetitions for half a second.
fn twin(team: &Team, (kernel, extent, elements): Case) -> f64 {
    let inputs = (0..kernel.inputs()).map(|input| {
        let mut memory = PageMemory::new(length(kernel, extent, input, elements)).expect("memory");
        team.fill_random(memory.as_mut_slice(), input as u64);
        memory
    });
    let inputs: Vec<PageMemory> = inputs.collect();
    let operands: Vec<Operand<'_>> = inputs.iter().map(|m| Operand::Array(m.as_slice())).collect();
    let mut output = PageMemory::new(Bytes::of_f32(elements)).expect("memory");
    output.as_mut_slice().fill(0.0);
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 5 || start.elapsed() < Duration::from_millis(500) {
        let clock = Instant::now();
        team.run(kernel, &arguments(extent), &operands, output.as_mut_slice(), 0);
        times.push(clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

const REPEATS: u32 = 20;

/// Device time of one of many in a row.
fn kernel(device: &Device, (kernel, extent, elements): Case) -> Result<f64, GpuError> {
    let stream = device.stream(0)?;
    let memory = |bytes: Bytes| {
        let memory = device.allocate(bytes)?;
        // SAFETY: the memory is there until after the wait at the end.
        unsafe { stream.clear(memory.address(), bytes)? };
        Ok::<_, GpuError>(memory)
    };
    let inputs = (0..kernel.inputs()).map(|i| memory(length(kernel, extent, i, elements)));
    let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
    let output = memory(Bytes::of_f32(elements))?;
    let room = Grid::workspace(kernel, &arguments(extent)).unwrap_or(1);
    let workspace = memory(Bytes::of_f32(room))?;
    let addresses: Vec<u64> = inputs.iter().map(DeviceMemory::address).collect();
    let sizes = (elements, inputs[0].bytes().as_f32_count(), 0);
    let to = (output.address(), workspace.address());
    let launch = device.kernel((kernel, arguments(extent)), &addresses, to, sizes)?;
    stream.prepare(&launch)?;
    let [start, end] = [device.timing_event()?, device.timing_event()?];
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        stream.record(&start)?;
        for _ in 0..REPEATS {
            // SAFETY: all of it is there until after the wait.
            unsafe { stream.launch(&launch)? };
        }
        stream.record(&end)?;
        stream.synchronize()?;
        best = best.min(end.since(&start)?.nanos_f64() * 1e-9 / f64::from(REPEATS));
    }
    Ok(best)
}

//! The CPU twins against plain `f64` code, at every size, offset and team size.

use hallway::host::{Operand, PageMemory, Team, count_numa_nodes, cpu_model, hardware_threads};
use hallway::kernels::{Arguments, BlackScholes, Kernel, Shape, Variant};
use hallway::units::Bytes;
use statrs::function::erf::erfc;
use std::time::Instant;

const SIZES: [usize; 9] = [0, 1, 2, 3, 17, 128, 1000, 4099, 100_003];

/// What a kernel is documented to compute: element `i` of a map, in `f64`.
fn truth(kernel: Kernel, arguments: &Arguments, inputs: &[Vec<f32>], i: usize) -> f64 {
    let at = |array: usize, i: usize| f64::from(inputs[array][i]);
    let a = f64::from(arguments.a);
    match kernel {
        Kernel::Scale => a * at(0, i),
        Kernel::Saxpy => a * at(0, i) + at(1, i),
        Kernel::Polynomial => (0..arguments.extent).fold(1.0, |sum, _| sum * at(0, i) + 0.25),
        Kernel::Stencil => {
            let right = (i + 1).min(inputs[0].len() - 1);
            (at(0, i.saturating_sub(1)) + at(0, i) + at(0, right)) / 3.0
        }
        Kernel::BlackScholes => call([0, 1, 2].map(|array| at(array, i))),
        Kernel::Convolution => {
            let (x, weights) = (&inputs[0], &inputs[1]);
            let neighbour = |t: usize| (i + t).saturating_sub(weights.len() / 2).min(x.len() - 1);
            (0..weights.len()).map(|t| at(1, t) * at(0, neighbour(t))).sum()
        }
        Kernel::Transpose => {
            let (columns, rows) =
                (arguments.extent as usize, inputs[0].len() / arguments.extent as usize);
            at(0, i % rows * columns + i / rows)
        }
        Kernel::Matmul => {
            let inner = arguments.extent as usize;
            let (row, column) = (i / inner, i % inner);
            (0..inner).map(|l| at(0, row * inner + l) * at(1, l * inner + column)).sum()
        }
        Kernel::Fft => {
            let length = arguments.extent as usize;
            let (start, point) = (i / (2 * length) * (2 * length), i / 2 % length);
            let term = |t: usize| {
                let turn = -std::f64::consts::TAU * (point * t % length) as f64 / length as f64;
                let (re, im) = (at(0, start + 2 * t), at(0, start + 2 * t + 1));
                let (sin, cos) = turn.sin_cos();
                if i.is_multiple_of(2) { re * cos - im * sin } else { re * sin + im * cos }
            };
            (0..length).map(term).sum()
        }
        Kernel::Sum | Kernel::Histogram => unreachable!("a reduction is no map"),
    }
}

/// The value of a call option, by the integral of the normal distribution.
fn call(inputs: [f64; 3]) -> f64 {
    let [s, k, t] = inputs.map(|input| input.max(f64::from(BlackScholes::LEAST)));
    let (rate, sigma) = (f64::from(BlackScholes::RATE), f64::from(BlackScholes::VOLATILITY));
    let normal = |d: f64| 0.5 * erfc(-d / std::f64::consts::SQRT_2);
    let d1 = ((s / k).ln() + (rate + 0.5 * sigma * sigma) * t) / (sigma * t.sqrt());
    s * normal(d1) - k * (-rate * t).exp() * normal(d1 - sigma * t.sqrt())
}

/// Asserts equality up to rounding, relative to the size of the operands. An option's
/// value is the difference of two numbers as large as its price, so its error is relative
/// to that.
fn assert_close(kernel: Kernel, value: f32, truth: f64) {
    let size = if kernel == Kernel::BlackScholes { 1.0 } else { truth.abs() };
    let deviation = (f64::from(value) - truth).abs();
    assert!(deviation <= 2e-6 * size, "{kernel}: {value} is not {truth}");
}

fn teams() -> impl Iterator<Item = Team> {
    (1..=4).map(|threads| Team::new(threads).unwrap())
}

fn random(team: &Team, count: usize, seed: u64) -> Vec<f32> {
    let mut values = vec![0.0; count];
    team.fill_random(&mut values, seed);
    values
}

/// Inputs for every kernel, each `count` elements long unless the kernel reads it whole.
fn inputs(team: &Team, kernel: Kernel, arguments: &Arguments, count: usize) -> Vec<Vec<f32>> {
    let length = |input| kernel.whole(input, arguments).map_or(count, |whole| whole as usize);
    (0..kernel.inputs()).map(|input| random(team, length(input), input as u64)).collect()
}

/// What a kernel makes of whole inputs, from the element `lead` on.
fn output(
    team: &Team,
    (kernel, arguments): (Kernel, &Arguments),
    inputs: &[Vec<f32>],
    (lead, count): (usize, usize),
) -> Vec<f32> {
    let operands: Vec<_> = inputs.iter().map(|input| Operand::Array(input)).collect();
    let mut output = vec![f32::NAN; count];
    team.run(kernel, arguments, &operands, &mut output, lead);
    output
}

fn maps() -> impl Iterator<Item = Kernel> {
    let any_size = |kernel: &Kernel| kernel.grain(&Arguments::default()) == 1;
    let maps = Kernel::ALL.into_iter().filter(|kernel| kernel.shape() == Shape::Map);
    maps.filter(any_size)
}

#[test]
fn maps_match_plain_code() {
    let arguments = Arguments { a: 1.75, extent: 9 };
    for team in teams() {
        for size in SIZES {
            for kernel in maps() {
                let inputs = inputs(&team, kernel, &arguments, size);
                let output = output(&team, (kernel, &arguments), &inputs, (0, size));
                for (i, value) in output.into_iter().enumerate() {
                    assert_close(kernel, value, truth(kernel, &arguments, &inputs, i));
                }
            }
        }
    }
}

#[test]
fn a_chunk_with_margins_equals_the_same_elements_of_the_whole() {
    let arguments = Arguments { extent: 17, ..Arguments::default() };
    for team in teams() {
        for size in [1, 3, 17, 1000, 100_003] {
            for (lead, trail) in [(0, 0), (1, 0), (0, 1), (1, 1), (3, 2)] {
                for kernel in maps() {
                    let inputs = inputs(&team, kernel, &arguments, lead + size + trail);
                    let output = output(&team, (kernel, &arguments), &inputs, (lead, size));
                    for (i, value) in output.into_iter().enumerate() {
                        assert_close(kernel, value, truth(kernel, &arguments, &inputs, i + lead));
                    }
                }
            }
        }
    }
}

#[test]
fn transpositions_of_any_shape() {
    for team in teams() {
        for (rows, columns) in [(0, 3), (1, 1), (1, 100), (100, 1), (16, 16), (17, 65), (500, 333)]
        {
            let (kernel, count) = (Kernel::Transpose, rows * columns as usize);
            let arguments = Arguments { extent: columns, ..Arguments::default() };
            let inputs = inputs(&team, kernel, &arguments, count);
            let output = output(&team, (kernel, &arguments), &inputs, (0, count));
            for (i, value) in output.into_iter().enumerate() {
                assert_close(kernel, value, truth(kernel, &arguments, &inputs, i));
            }
        }
    }
}

#[test]
fn products_and_transforms_of_any_number_of_rows() {
    for team in teams() {
        for (kernel, extent, rows) in [
            (Kernel::Matmul, 1, 3),
            (Kernel::Matmul, 7, 0),
            (Kernel::Matmul, 33, 5),
            (Kernel::Matmul, 64, 200),
            (Kernel::Fft, 2, 1),
            (Kernel::Fft, 8, 0),
            (Kernel::Fft, 64, 3),
            (Kernel::Fft, 128, 100),
        ] {
            let arguments = Arguments { extent, ..Arguments::default() };
            let count = rows * kernel.grain(&arguments) as usize;
            let inputs = inputs(&team, kernel, &arguments, count);
            let output = output(&team, (kernel, &arguments), &inputs, (0, count));
            for (i, value) in output.into_iter().enumerate() {
                // Terms cancel in a transform, so its error is relative to the sum of
                // their sizes.
                let off = (f64::from(value) - truth(kernel, &arguments, &inputs, i)).abs();
                assert!(off <= 2e-6 * f64::from(extent), "{kernel} {extent}: {value} off by {off}");
            }
        }
    }
}

#[test]
fn in_place_equals_out_of_place() {
    let arguments = Arguments { a: -0.3, extent: 40 };
    for team in teams() {
        for size in SIZES {
            let [x, y, z] = [5, 6, 7].map(|seed| random(&team, size, seed));
            for kernel in maps().filter(|kernel| kernel.works_in_place()) {
                for operand in 0..kernel.inputs() {
                    let mut operands = [&x, &y, &z].map(|array| Operand::Array(array)).to_vec();
                    operands.truncate(kernel.inputs());
                    let mut apart = vec![f32::NAN; size];
                    team.run(kernel, &arguments, &operands, &mut apart, 0);
                    operands[operand] = Operand::Output;
                    let mut together = [&x, &y, &z][operand].clone();
                    team.run(kernel, &arguments, &operands, &mut together, 0);
                    assert_eq!(together, apart, "{kernel} in operand {operand}");
                }
            }
        }
    }
    // Both operands of saxpy are the same memory.
    let team = Team::new(2).unwrap();
    let mut values = vec![3.0; 1001];
    let both = [Operand::Output, Operand::Output];
    team.run(Kernel::Saxpy, &Arguments { a: 2.0, extent: 0 }, &both, &mut values, 0);
    assert_eq!(values, vec![9.0; 1001]);
}

#[test]
fn long_polynomials_are_shared_and_the_same_for_every_team() {
    let arguments = Arguments { a: 0.0, extent: 1024 };
    let mut results = teams().map(|team| {
        let inputs = [random(&team, 10_007, 7)];
        output(&team, (Kernel::Polynomial, &arguments), &inputs, (0, 10_007))
    });
    let first = results.next().unwrap();
    assert!(first.iter().all(|value| value.is_finite()));
    assert!(results.all(|result| result == first));
    let team = Team::new(1).unwrap();
    let constant = Arguments { a: 0.0, extent: 0 };
    let mut output = [0.0; 5];
    team.run(Kernel::Polynomial, &constant, &[Operand::Output], &mut output, 0);
    assert_eq!(output, [1.0; 5]);
}

#[test]
fn sums_are_accurate_and_the_same_for_every_team() {
    for size in SIZES.into_iter().chain([3_000_017]) {
        let mut sums = Vec::new();
        let x = random(&teams().next().expect("a team"), size, 8);
        for team in teams() {
            let truth: f64 = x.iter().map(|&x| f64::from(x)).sum();
            let mut output = [f32::NAN];
            team.run(Kernel::Sum, &Arguments::default(), &[Operand::Array(&x)], &mut output, 0);
            assert!((f64::from(output[0]) - truth).abs() <= 1e-6 * truth, "{output:?} {truth}");
            sums.push(output[0]);
        }
        assert!(sums.iter().all(|&sum| sum == sums[0]));
    }
}

#[test]
fn histograms_count_everything_and_are_the_same_for_every_team() {
    for (size, bins) in [(0, 1), (1, 4096), (1000, 1), (4099, 10), (100_003, 256), (3_000_017, 3)] {
        let arguments = Arguments { extent: bins, ..Arguments::default() };
        for team in teams() {
            let mut x = random(&team, size, 8);
            // Values outside the range, and NaN, fall into a bin, too.
            let odd = [-1.0, 2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0, -0.0];
            x.iter_mut().step_by(100).zip(odd).for_each(|(x, odd)| *x = odd);
            let mut truth = vec![0.0; bins as usize];
            for value in &x {
                // Rounding down gives the bin: the product is exact to the bit that
                // decides.
                let bin = (value * bins as f32).floor().clamp(0.0, bins as f32 - 1.0);
                truth[if bin.is_nan() { 0 } else { bin as usize }] += 1.0;
            }
            let mut output = vec![f32::NAN; bins as usize];
            team.run(Kernel::Histogram, &arguments, &[Operand::Array(&x)], &mut output, 0);
            assert_eq!(output, truth, "{size} in {bins}");
        }
    }
}

/// Only this test has arrays large enough for non-temporal stores.
#[test]
fn arrays_larger_than_any_cache() {
    let team = Team::new(2).unwrap();
    let count = (96 << 20) / size_of::<f32>() + 5;
    let mut x = PageMemory::new(Bytes::of_f32(count as u64)).unwrap();
    let mut y = PageMemory::new(Bytes::of_f32(count as u64 + 1)).unwrap();
    x.as_mut_slice().fill(3.0);
    let output = &mut y.as_mut_slice()[1..];
    let input = [Operand::Array(x.as_slice())];
    team.run(Kernel::Scale, &Arguments { a: 0.5, extent: 0 }, &input, output, 0);
    assert!(output.iter().all(|&value| value == 1.5));
}

#[test]
#[should_panic(expected = "stencil")]
fn a_stencil_in_place_is_refused() {
    let team = Team::new(1).unwrap();
    team.run(Kernel::Stencil, &Arguments::default(), &[Operand::Output], &mut [0.0; 4], 0);
}

#[test]
fn random_values_depend_on_the_seed_alone() {
    let count = 100_003;
    let values: Vec<_> = teams().map(|team| random(&team, count, 9)).collect();
    assert!(values.iter().all(|other| *other == values[0]));
    let team = Team::new(3).unwrap();
    assert_ne!(random(&team, count, 10), values[0]);
    assert_eq!(random(&team, 1000, 9), values[0][..1000]);
    assert!(values[0].iter().all(|value| (0.0..1.0).contains(value)));
    let mean = values[0].iter().map(|&value| f64::from(value)).sum::<f64>() / count as f64;
    assert!((mean - 0.5).abs() < 0.005, "{mean}");
    // If every block started the same random stream, values would repeat.
    assert_ne!(values[0][..16], values[0][1 << 14..][..16]);
}

#[test]
fn page_memory_is_zero_until_written_and_after_renewal() {
    for bytes in [0, 3, 4, 4096, 5_000_000] {
        let mut memory = PageMemory::new(Bytes::new(bytes)).unwrap();
        assert_eq!(memory.as_slice().len() as u64, bytes.div_ceil(4));
        assert!(memory.as_slice().iter().all(|&value| value == 0.0));
        memory.as_mut_slice().fill(1.0);
        let address = memory.as_ptr();
        memory.renew().unwrap();
        assert!(memory.as_slice().iter().all(|&value| value == 0.0));
        if cfg!(target_os = "linux") {
            assert_eq!(memory.as_ptr(), address);
            assert_eq!(address.addr() % 4096, 0);
        }
    }
}

#[test]
fn memory_that_does_not_exist_is_an_error() {
    if cfg!(unix) {
        let error = PageMemory::new(Bytes::new(1 << 60)).err().unwrap();
        assert!(error.to_string().contains("of host memory"), "{error}");
    }
}

#[test]
fn the_cpu_is_described() {
    assert!(!cpu_model().is_empty());
    assert!(hardware_threads() >= 1 && count_numa_nodes() >= 1);
}

/// A closure that the compiler leaves outside of the loop around it is compiled without the CPU's
/// vectors, and each of their instructions becomes a call: `scale` once took 14 times as long for
/// that, and `black-scholes` 20 times.
#[test]
fn twins_run_on_vectors() {
    const N: usize = 4096;
    let team = Team::new(1).expect("one thread");
    let array = |seed| {
        let mut values = vec![0.0; N];
        team.fill_random(&mut values, seed);
        values
    };
    let (x, y) = (array(1), array(2));
    let inputs = [Operand::Array(&x), Operand::Array(&y), Operand::Array(&x)];
    let mut output = vec![0.0; N];
    let mut fastest = |kernel: Kernel, inputs: &[Operand<'_>], length: usize| {
        let arguments = Variant { kernel, extent: 0 }.arguments();
        let run = |_| {
            let start = Instant::now();
            for _ in 0..16 {
                team.run(kernel, &arguments, inputs, &mut output[..length], 0);
            }
            start.elapsed()
        };
        (0..64).map(run).min().expect("64 runs").as_secs_f64()
    };
    let saxpy = fastest(Kernel::Saxpy, &inputs[..2], N);
    for (kernel, inputs, length, most) in [
        (Kernel::Scale, &inputs[..1], N, 3.0),
        (Kernel::Stencil, &inputs[..1], N, 5.0),
        (Kernel::Sum, &inputs[..1], 1, 4.0),
        (Kernel::BlackScholes, &inputs[..3], N, 100.0),
    ] {
        let times = fastest(kernel, inputs, length) / saxpy;
        assert!(times <= most, "{kernel} takes {times:.1} times as long as saxpy, not {most}");
    }
}

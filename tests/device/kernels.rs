//! Every kernel on the device computes what its CPU twin does.

use super::{download, on_a_gpu, random, upload};
use hallway::gpu::{AnyDevice, AnyMemory, AnyStream, Device, DeviceMemory, GpuError};
use hallway::host::{Operand, Team};
use hallway::kernels::{Arguments, Kernel, Shape};

/// Runs a map on the device over inputs with `lead` elements in front of the first
/// output.
fn map_on_device(
    device: &Device,
    (kernel, arguments): (Kernel, Arguments),
    inputs: &[Vec<f32>],
    (count, lead): (usize, usize),
) -> Result<Vec<f32>, GpuError> {
    let stream = device.stream(0)?;
    let arrays = inputs.iter().map(|input| upload(device, &stream, input));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let output = upload(device, &stream, &vec![f32::NAN; count])?;
    let addresses: Vec<u64> = arrays.iter().map(DeviceMemory::address).collect();
    let sizes = (count as u64, inputs[0].len() as u64, lead as u64);
    let launch = device.kernel((kernel, arguments), &addresses, (output.address(), 0), sizes)?;
    // SAFETY: the arrays have the stated sizes and live until the download is done.
    unsafe { stream.launch(&launch)? };
    download(&stream, &output, count)
}

#[test]
fn every_map_equals_its_twin_at_odd_sizes_and_leads() {
    on_a_gpu("every_map_equals_its_twin_at_odd_sizes_and_leads", |device| {
        let team = Team::new(2).expect("two threads");
        let arguments = Arguments { a: 1.75, extent: 9 };
        let maps = Kernel::ALL.into_iter().filter(|kernel| kernel.shape() == Shape::Map);
        for kernel in maps.filter(|kernel| kernel.grain(&arguments) == 1) {
            // Only a kernel with a halo ever gets more input than output.
            let margins: &[(usize, usize)] = if kernel.halo(&arguments) > 0 {
                &[(0, 0), (1, 0), (0, 1), (3, 2)]
            } else {
                &[(0, 0)]
            };
            for &(lead, trail) in margins {
                for count in [1, 2, 31, 255, 1023, 1025, 4097, 100_003] {
                    let length = lead + count + trail;
                    let length_of = |input| {
                        kernel.whole(input, &arguments).map_or(length, |whole| whole as usize)
                    };
                    let inputs: Vec<_> =
                        (0..kernel.inputs()).map(|i| random(length_of(i), i as u64)).collect();
                    let operands: Vec<_> = inputs.iter().map(|x| Operand::Array(x)).collect();
                    let mut truth = vec![f32::NAN; count];
                    team.run(kernel, &arguments, &operands, &mut truth, lead);
                    let given = (kernel, arguments);
                    let found = map_on_device(device, given, &inputs, (count, lead))?;
                    for (found, truth) in found.iter().zip(&truth) {
                        // An option's value is a difference of numbers as large as its
                        // price.
                        let size = if kernel == Kernel::BlackScholes { 1.0 } else { truth.abs() };
                        let close = (found - truth).abs() <= 2e-6 * size;
                        assert!(close, "{kernel} {count} lead {lead}: {found} is not {truth}");
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_transposition_equals_its_twin() {
    on_a_gpu("a_transposition_equals_its_twin", |device| {
        let team = Team::new(2).expect("two threads");
        for (rows, columns) in [(1, 1), (1, 1000), (1000, 1), (32, 64), (333, 257), (1025, 31)] {
            let arguments = Arguments { extent: columns, ..Arguments::default() };
            let x = random(rows * columns as usize, 1);
            let mut truth = vec![f32::NAN; x.len()];
            team.run(Kernel::Transpose, &arguments, &[Operand::Array(&x)], &mut truth, 0);
            let (kernel, sizes) = ((Kernel::Transpose, arguments), (x.len(), 0));
            let found = map_on_device(device, kernel, &[x], sizes)?;
            assert_eq!(found, truth, "{rows} by {columns}");
        }
        Ok(())
    });
}

/// Compares a library's kernel with its twin. Where the library is missing, the message
/// names it.
fn equals_its_twin(
    device: &Device,
    kernel: Kernel,
    shapes: &[(u32, usize)],
) -> Result<(), GpuError> {
    let team = Team::new(2).expect("two threads");
    for &(extent, rows) in shapes {
        let arguments = Arguments { extent, ..Arguments::default() };
        let count = rows * kernel.grain(&arguments) as usize;
        let length = |input| kernel.whole(input, &arguments).map_or(count, |whole| whole as usize);
        let inputs: Vec<_> =
            (0..kernel.inputs()).map(|input| random(length(input), input as u64)).collect();
        let operands: Vec<_> = inputs.iter().map(|x| Operand::Array(x)).collect();
        let mut truth = vec![f32::NAN; count];
        team.run(kernel, &arguments, &operands, &mut truth, 0);
        let found = map_on_device(device, (kernel, arguments), &inputs, (count, 0))?;
        let largest = truth.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        for (i, (found, truth)) in found.iter().zip(&truth).enumerate() {
            let close = (found - truth).abs() <= 1e-5 * largest;
            assert!(close, "{kernel} {extent}, {rows} rows, {i}: {found} is not {truth}");
        }
    }
    Ok(())
}

#[test]
fn a_product_of_matrices_equals_its_twin() {
    on_a_gpu("a_product_of_matrices_equals_its_twin", |device| {
        equals_its_twin(device, Kernel::Matmul, &[(1, 1), (3, 5), (64, 64), (100, 33), (512, 700)])
    });
}

#[test]
fn transforms_equal_their_twins() {
    on_a_gpu("transforms_equal_their_twins", |device| {
        equals_its_twin(device, Kernel::Fft, &[(2, 1), (8, 5), (1024, 33), (65_536, 3)])
    });
}

#[test]
fn a_sum_equals_its_twin_and_can_be_repeated() {
    on_a_gpu("a_sum_equals_its_twin_and_can_be_repeated", |device| {
        let team = Team::new(2).expect("two threads");
        let stream = device.stream(0)?;
        // The workspace is cleared once: each launch leaves the counter in it at zero.
        let workspace = upload(device, &stream, &[0.0; 2048])?;
        for count in [1, 2, 255, 1025, 100_003, 3_000_017] {
            let values = random(count, 3);
            let mut truth = [f32::NAN];
            let operands = [Operand::Array(&values)];
            team.run(Kernel::Sum, &Arguments::default(), &operands, &mut truth, 0);
            let input = upload(device, &stream, &values)?;
            for _ in 0..3 {
                let output = upload(device, &stream, &[f32::NAN])?;
                let addresses = (output.address(), workspace.address());
                let kernel = (Kernel::Sum, Arguments::default());
                let sizes = (count as u64, count as u64, 0);
                let launch = device.kernel(kernel, &[input.address()], addresses, sizes)?;
                // SAFETY: the arrays have the stated sizes and live until the download is
                // done.
                unsafe { stream.launch(&launch)? };
                let found = download(&stream, &output, 1)?[0];
                let close = (found - truth[0]).abs() <= 1e-5 * truth[0];
                assert!(close, "{count}: {found} is not {}", truth[0]);
            }
        }
        Ok(())
    });
}

#[test]
fn a_histogram_equals_its_twin_and_can_be_repeated() {
    on_a_gpu("a_histogram_equals_its_twin_and_can_be_repeated", |device| {
        let team = Team::new(2).expect("two threads");
        let stream = device.stream(0)?;
        for (count, bins) in [(1, 1), (255, 3), (100_003, 256), (3_000_017, 4096)] {
            let arguments = Arguments { extent: bins, ..Arguments::default() };
            // The workspace is cleared once: each launch leaves zeros in it.
            let workspace = upload(device, &stream, &vec![0.0; bins as usize + 1])?;
            let values = random(count, 3);
            let mut truth = vec![f32::NAN; bins as usize];
            let operands = [Operand::Array(&values)];
            team.run(Kernel::Histogram, &arguments, &operands, &mut truth, 0);
            let input = upload(device, &stream, &values)?;
            for _ in 0..3 {
                let output = upload(device, &stream, &vec![f32::NAN; bins as usize])?;
                let addresses = (output.address(), workspace.address());
                let kernel = (Kernel::Histogram, arguments);
                let sizes = (count as u64, count as u64, 0);
                let launch = device.kernel(kernel, &[input.address()], addresses, sizes)?;
                // SAFETY: the arrays have the stated sizes and live until the download is
                // done.
                unsafe { stream.launch(&launch)? };
                assert_eq!(download(&stream, &output, bins as usize)?, truth, "{count} in {bins}");
            }
        }
        Ok(())
    });
}

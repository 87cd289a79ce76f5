//! Kernels that are not of the library.

use super::Drawing;
use hallway::kernels::{CpuSide, Geometry, GpuSide, OwnCost, OwnKernel};
use hallway::program::{Call, OwnStep, Place, Step};
use hallway::units::Span;
use rand::RngExt;

/// Each way to know their cost without a measurement.
pub fn kernels() -> Vec<OwnKernel> {
    let costs = [
        OwnCost::Stated { fixed: 2_500.0, per_element: 0.25, range: None },
        OwnCost::Stated { fixed: 2_500.0, per_element: 0.25, range: Some(0.125) },
        OwnCost::Points(vec![(16, Span::from_micros(2)), (1 << 20, Span::from_micros(90))]),
        OwnCost::Roofline { flops_per_element: 1.0, bytes_per_element: 8.0 },
    ];
    let kernel = |(at, cost): (usize, OwnCost)| OwnKernel {
        name: format!("own {at}"),
        gpu: GpuSide::Cost(cost.clone()),
        cpu: CpuSide::Cost(cost),
        rule: "block = [32, 8]\ngrid = [\"ceil(elements / 256)\", 1, 2]\nelements = \"taps\"\n"
            .to_owned(),
        elementwise: None,
    };
    costs.into_iter().enumerate().map(kernel).collect()
}

impl Drawing {
    /// A kernel that is not of the library, on a device or on the host.
    pub(super) fn add_own(&mut self) {
        let on_host = self.chance(0.3);
        let stream = self.stream();
        let device = Place::Device(self.program.device_of(stream));
        let there = self.memory(|place| match on_host {
            true => matches!(place, Place::Host(_)),
            false => place == device,
        });
        let length = self.length();
        let kernel = self.random.random_range(0..self.program.kernels.len());
        let (reads, writes) = (self.random.random_range(0..3), self.random.random_range(1..3));
        let mut parts = |count| (0..count).map(|_| self.part(&there, length)).collect();
        let (reads, writes) = (parts(reads), parts(writes));
        let geometry = self.chance(0.5).then_some(Geometry {
            grid: [length.div_ceil(256) as u32, 1, 2],
            block: [32, 8, 1],
            shared_bytes: 1024,
        });
        let numbers = [("taps".to_owned(), 0.5 + kernel as f64)].into();
        let parameters = Vec::new();
        let step =
            OwnStep { kernel, reads, writes, elements: length, numbers, geometry, parameters };
        let step = Step::from(step);
        self.add(if on_host { Call::Compute { step } } else { Call::Launch { stream, step } });
    }
}

//! Kernels that are not of the library: what was measured of them, and what the others cost by
//! what is said of them.

use super::prices::priced;
use super::unknown::{Known, Unknown, Why};
use super::{Beyond, Curve, Profile, Warmth};
use crate::kernels::{CpuSide, GpuSide, Kernel, OwnCost, OwnKernel, Variant};
use crate::program::OwnStep;
use crate::units::{Span, words};
use serde::{Deserialize, Serialize};

/// A kernel of a scenario that was run on the GPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnKernelModel {
    pub name: String,
    /// Digest of what runs: [`OwnKernel::digest`].
    pub kernel: String,
    /// The numbers of the launch, besides its elements.
    pub numbers: String,
    pub registers_per_thread: u32,
    /// Shared memory that the code itself declares.
    pub shared_bytes_per_block: u32,
    /// Nanoseconds over elements, launched back to back.
    pub time: Curve,
}

/// A command that does on the CPU what a kernel does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnCommandModel {
    pub name: String,
    /// [`OwnKernel::command_digest`].
    pub command: String,
    /// Nanoseconds over elements.
    pub time: Curve,
}

priced! {
    OwnKernelModel { Usual: time; }
    besides name, kernel, numbers, registers_per_thread, shared_bytes_per_block
}

priced! {
    OwnCommandModel { Usual: time; }
    besides name, command
}

/// How long a kernel that is not of the library takes on the GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OwnTime {
    /// Nanoseconds from its start to its end, without the gap to the kernel before it.
    pub busy: f64,
    /// Registers of a thread and shared bytes that the code declares, where it was run.
    pub takes: Option<[u32; 2]>,
}

words! {
    /// Which of the machine's processors a time is of.
    pub enum Processor {
        Gpu = "GPU",
        Cpu = "CPU",
    }
}

impl Profile {
    /// How long a step takes on the GPU.
    ///
    /// # Errors
    /// If that was neither measured nor stated, or not at such a size.
    pub fn own_on_gpu(&self, kernel: &OwnKernel, step: &OwnStep) -> Known<OwnTime> {
        match &kernel.gpu {
            GpuSide::Unknown => Err(Unknown::because(Why::NotStated, of(kernel, Processor::Gpu))),
            GpuSide::Cost(cost) => {
                let busy = self.stated(kernel, cost, step.elements, Processor::Gpu)?;
                let busy = within_a_day(busy)?;
                Ok(OwnTime { busy, takes: None })
            }
            GpuSide::Code(_) | GpuSide::Product(_) => {
                let (digest, numbers) = (kernel.digest(), step.signature());
                let is_it = |one: &&OwnKernelModel| one.kernel == digest && one.numbers == numbers;
                let time = self.own_kernels.iter().find(is_it).and_then(|model| {
                    let ns = model.time.known(step.elements as f64).ok()?;
                    Some((ns, [model.registers_per_thread, model.shared_bytes_per_block]))
                });
                let (ns, takes) = time.ok_or_else(|| {
                    Unknown::because(Why::OfScenario, at(of(kernel, Processor::Gpu), step))
                })?;
                let busy = within_a_day((ns - self.kernel_gap()?).max(0.0))?;
                Ok(OwnTime { busy, takes: Some(takes) })
            }
        }
    }

    /// Nanoseconds of a step on the CPU.
    ///
    /// # Errors
    /// If that was neither measured nor stated, or not at such a size.
    pub fn own_on_cpu(&self, kernel: &OwnKernel, step: &OwnStep) -> Known<f64> {
        let ns = match &kernel.cpu {
            CpuSide::Unknown => Err(Unknown::because(Why::NotStated, of(kernel, Processor::Cpu))),
            CpuSide::Cost(cost) => self.stated(kernel, cost, step.elements, Processor::Cpu),
            CpuSide::Command(_) => {
                let digest = kernel.command_digest();
                let model = self.own_commands.iter().find(|one| one.command == digest);
                let ns = model.and_then(|one| one.time.known(step.elements as f64).ok());
                ns.ok_or_else(|| {
                    Unknown::because(Why::OfScenario, at(of(kernel, Processor::Cpu), step))
                })
            }
        };
        within_a_day(ns?)
    }

    fn stated(
        &self,
        kernel: &OwnKernel,
        cost: &OwnCost,
        elements: u64,
        on: Processor,
    ) -> Known<f64> {
        match cost {
            OwnCost::Stated { .. } => Ok(cost.stated(elements).unwrap_or_default()),
            OwnCost::Points(points) => {
                let knots = points.iter().map(|&(n, time)| (n as f64, time.nanos_f64())).collect();
                let curve = Curve { knots, scatter: 0.0 };
                let end = |size: f64| format!("{size} elements");
                let unknown = |beyond: Beyond| match points.len() {
                    1 => {
                        let (name, on) = (&kernel.name, on.name());
                        let what = format!("kernel `{name}` has a time on the {on}");
                        Unknown::because(Why::OneSize, what)
                    }
                    _ => Unknown::because(Why::NotStated, beyond.of(&of(kernel, on), end)),
                };
                curve.known(elements as f64).map_err(unknown)
            }
            OwnCost::Roofline { flops_per_element, bytes_per_element } => {
                let bound = |work: f64, limit: Known<f64>| {
                    if work > 0.0 { Ok(work * elements as f64 / limit?) } else { Ok(0.0) }
                };
                let flops = bound(*flops_per_element, self.flops_per_nano(on));
                let bytes = bound(*bytes_per_element, self.bytes_per_nano(on));
                let (flops, bytes) = Unknown::both(flops, bytes)?;
                Ok(flops.max(bytes))
            }
        }
    }

    /// Bytes per nanosecond that the memory of a processor gives at most: the rate of the largest
    /// streaming kernel that was measured.
    ///
    /// # Errors
    /// If none was.
    pub fn bytes_per_nano(&self, on: Processor) -> Known<f64> {
        let streams = |variant: &Variant| matches!(variant.kernel, Kernel::Scale | Kernel::Saxpy);
        let rate = |variant: &Variant, n: f64| n * variant.kernel.bytes_per_element() as f64;
        let found = self.at_most(on, streams, rate);
        found.ok_or_else(|| Unknown::new(format!("the bandwidth of the {}'s memory", on.name())))
    }

    /// Floating-point operations per nanosecond that a processor does at most: those of the
    /// polynomial of the highest degree that was measured.
    ///
    /// # Errors
    /// If none was.
    pub fn flops_per_nano(&self, on: Processor) -> Known<f64> {
        let computes = |variant: &Variant| variant.kernel == Kernel::Polynomial;
        let rate =
            |variant: &Variant, n: f64| n * variant.kernel.flops_per_element(&variant.arguments());
        let found = self.at_most(on, computes, rate);
        found.ok_or_else(|| Unknown::new(format!("the arithmetic rate of the {}", on.name())))
    }

    /// The highest rate of the kernels that are wanted, each at the largest size that was measured:
    /// there no cache holds the data, and nothing but the rate counts.
    fn at_most(
        &self,
        on: Processor,
        is_wanted: impl Fn(&Variant) -> bool,
        work: impl Fn(&Variant, f64) -> f64,
    ) -> Option<f64> {
        let of = |(variant, time): (&Variant, &Curve)| {
            let &(n, ns) = time.knots.last()?;
            (is_wanted(variant) && ns > 0.0).then(|| work(variant, n) / ns)
        };
        let rates: Vec<f64> = match on {
            Processor::Gpu => {
                self.kernels.iter().filter_map(|one| of((&one.variant, &one.time))).collect()
            }
            Processor::Cpu => {
                let far = self.twins.iter().filter(|one| one.found == Warmth::Memory);
                far.filter_map(|one| of((&one.variant, &one.time))).collect()
            }
        };
        rates.into_iter().reduce(f64::max)
    }
}

/// What is asked for: a kernel's time on one of the processors.
fn of(kernel: &OwnKernel, on: Processor) -> String {
    format!("the {} time for `{}`", on.name(), kernel.name)
}

fn at(what: String, step: &OwnStep) -> String {
    let numbers = step.signature();
    let numbers = if numbers.is_empty() { numbers } else { format!(" ({numbers})") };
    format!("{what} at {} elements{numbers}", step.elements)
}

/// A cost per element may be any number, and so may the elements.
fn within_a_day(ns: f64) -> Known<f64> {
    if ns <= Span::DAY {
        Ok(ns)
    } else {
        Err(Unknown::refused("kernels that take more than a day"))
    }
}

//! The kernels' CPU twins.

use super::context::MeasurementContext;
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::{POOL, Points, SOON_WARM, Sizes, is_measured_closely};
use crate::gpu::AnyDevice;
use crate::host::Operand;
use crate::kernels::{Kernel, Shape, Variant};
use crate::samples::{Handing, ONE_TEAM, ONE_THREAD, Quantity, SHARED_FOOTPRINT, TURNS, Taker};
use crate::units::{Bytes, Span};

pub(super) fn probes(sizes: &Sizes, threads: usize) -> Vec<Probe> {
    let mut probes = Vec::new();
    let twin = |variant, elements, footprint| twin(sizes, variant, elements, footprint);
    for Points { variant, elements, edges, fills_first_cache, coarse, .. } in sizes.points() {
        let besides = edges.into_iter().chain(fills_first_cache);
        let besides = besides.filter(|one| !elements.contains(one));
        let all = besides.chain(elements.iter().copied());
        probes.extend(all.map(|elements| twin(variant, elements, Bytes::ZERO)));
        for elements in coarse {
            // A larger run cycles through its own data, whatever footprint is asked for.
            if Bytes::new(variant.bytes(elements)) < SHARED_FOOTPRINT {
                probes.push(twin(variant, elements, SHARED_FOOTPRINT));
            }
            probes.push(twin(variant, elements, POOL * arrays(variant)));
        }
    }
    // How much of what was used before is still in the caches.
    let (variant, elements) = ONE_THREAD;
    let kib: &[u64] = sizes.either(
        &[64, 256, 512, 1024, 1536, 2048, 2304, 2560, 3072, 4096, 8192],
        &[256, 1024, 2048, 3072, 8192],
    );
    let footprints = kib.iter().copied().map(Bytes::kib);
    probes.extend(footprints.map(|footprint| twin(variant, elements, footprint)));
    let (variant, elements) = ONE_TEAM;
    let mib: &[u64] = sizes.either(&[4, 8, 12, 16, 20, 24, 32, 48], &[8, 16, 24]);
    let footprints = mib.iter().copied().map(Bytes::mib);
    probes.extend(footprints.map(|footprint| twin(variant, elements, footprint)));
    let saxpy = Variant { kernel: Kernel::Saxpy, extent: 0 };
    let mib: &[u64] =
        sizes.either(&[48, 96, 192, 288, 384, 576, 768, 1152, 1728], &[48, 192, 384, 768, 1728]);
    let footprints = mib.iter().copied().map(Bytes::mib);
    probes.extend(footprints.map(|footprint| twin(saxpy, 1 << 20, footprint)));
    probes.push(handed(threads));
    probes
}

fn handed(threads: usize) -> Probe {
    let of = |taker: Taker| {
        let elements = taker.elements(threads);
        Handing::ALL.map(|part| Quantity::Handed { taker, part, elements })
    };
    let probe = Probe::together(Taker::ALL.map(of).concat(), Counts::Of(TURNS));
    probe.visits(3).of_host().warm_up(WarmUp::Host)
}

/// How many arrays a kernel reads and writes element by element.
fn arrays(variant: Variant) -> u64 {
    variant.kernel.bytes_per_element() / 4
}

/// A twin that cycles through `footprint`, or round its own data if that is more.
fn twin(sizes: &Sizes, variant: Variant, elements: u64, footprint: Bytes) -> Probe {
    let own = Bytes::new(variant.bytes(elements));
    let footprint = footprint.max(own);
    // A team that is left alone for a moment goes to sleep, which does not happen in a plan. So
    // small runs are measured many at a time.
    let flops = variant.kernel.flops_per_element(&variant.arguments());
    let work = elements * (4 + flops as u64 / 16);
    let count = ((1 << 25) / work).clamp(1, 64);
    let visits = if (variant, elements) == ONE_TEAM && footprint < SHARED_FOOTPRINT {
        // Few sizes lie between what the cores of a team keep in cache and what they do not, and at
        // these sizes the part that they keep varies.
        5
    } else if footprint <= SOON_WARM {
        // Two visits differ by 4 to 8%, every fourth time by 15%, and caches of this size are soon
        // warm.
        3
    } else {
        1
    };
    let warm_up = if footprint >= POOL {
        // No cache keeps any of the largest footprint, so there is nothing to warm.
        WarmUp::Host
    } else {
        WarmUp::Team(WarmUp::rounds(footprint, own * count))
    };
    let what = Quantity::Twin { variant, elements, footprint };
    let probe = Probe::new(what, Counts::Of(count)).visits(visits).of_host();
    probe.warm_up(warm_up).telling(is_telling(sizes, (variant, elements), footprint))
}

fn is_telling(sizes: &Sizes, (variant, elements): (Variant, u64), footprint: Bytes) -> bool {
    let telling = if is_measured_closely(variant.kernel) { 1 << 20 } else { 1 << 22 };
    let extents = sizes.extents(variant.kernel);
    let middle = extents.get(extents.len() / 2);
    elements == telling
        && middle.is_none_or(|&middle| variant.extent == middle)
        && footprint == Bytes::new(variant.bytes(elements))
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of `count` runs on all threads. Consecutive runs use consecutive windows of
    /// the footprint.
    pub fn twin(&mut self, variant: Variant, elements: u64, footprint: Bytes, count: u64) -> Span {
        let bytes = Bytes::of_f32(elements);
        let arguments = variant.arguments();
        let (kernel, whole) = (variant.kernel, variant.kernel.whole_bytes(&arguments));
        let results = kernel.results(&arguments) as usize;
        let share = Bytes::new((footprint.get() - whole) / arrays(variant));
        let starts = self.windows(share, bytes, count);
        let wholes: [Option<usize>; Kernel::MOST_INPUTS] = std::array::from_fn(|input| {
            kernel.whole(input, &arguments).map(|length| length as usize)
        });
        let [inputs @ .., out] = &mut self.pools;
        let clock = D::now();
        for start in starts {
            let range = start..start + bytes.as_usize() / 4;
            let operands: [Operand<'_>; Kernel::MOST_INPUTS] = std::array::from_fn(|input| {
                let range = wholes[input].map_or(range.clone(), |length| 0..length);
                Operand::Array(&inputs[input].as_slice()[range])
            });
            let output = match kernel.shape() {
                Shape::Map => &mut out.as_mut_slice()[range],
                Shape::Reduction => &mut out.as_mut_slice()[..results],
            };
            let inputs = &operands[..kernel.inputs()];
            self.team.run_around(footprint, (kernel, &arguments), inputs, output, 0);
        }
        D::elapsed(clock).into()
    }

    /// Times of `count` kernels whose data other threads used before ([`Quantity::Handed`]). Each
    /// taker has three times: with data of its own, with input that others wrote, and with output
    /// that others read.
    pub fn handed(&mut self, count: u64) -> [Span; Taker::ALL.len() * Handing::ALL.len()] {
        use Handing::{Nothing, Read, Written};
        use Taker::{One, Team, TeamBehindHelpers};
        // For each sequence: who runs which kernel, on which array (writing the next),
        // and which of the times that is.
        let [one, all] = [(&self.one_thread, MAP), (self.team, ARITHMETIC)];
        let sharing = (self.team, MAP);
        let threads = self.team.threads();
        let [among_few, among_all] = [One, TeamBehindHelpers].map(|t| t.elements(threads));
        let sequences = [
            (among_few, vec![(one, 0, Some((One, Nothing)))]),
            (among_few, vec![(all, 1, Some((Team, Nothing)))]),
            (among_few, vec![(one, 0, Some((One, Written))), (all, 1, Some((Team, Read)))]),
            (among_few, vec![(all, 0, Some((Team, Written))), (one, 1, Some((One, Read)))]),
            (among_all, vec![(sharing, 0, Some((TeamBehindHelpers, Nothing)))]),
            (among_all, vec![(all, 0, None), (sharing, 1, Some((TeamBehindHelpers, Read)))]),
            (among_all, vec![(sharing, 0, Some((TeamBehindHelpers, Written))), (all, 1, None)]),
        ];
        let mut times = [Span::ZERO; Taker::ALL.len() * Handing::ALL.len()];
        for (elements, sequence) in sequences {
            let elements = elements as usize;
            for turn in 0..=count {
                for &((team, variant), from, timed) in &sequence {
                    let (before, behind) = self.pools.split_at_mut(from + 1);
                    let input = [Operand::Array(&before[from].as_slice()[..elements])];
                    let output = &mut behind[0].as_mut_slice()[..elements];
                    let arguments = variant.arguments();
                    let clock = D::now();
                    team.run(variant.kernel, &arguments, &input, output, 0);
                    // The first turn does not count: it evicts what was in the caches before.
                    if let (Some((taker, part)), true) = (timed, turn > 0) {
                        let index = taker as usize * Handing::ALL.len() + part as usize;
                        times[index] += D::elapsed(clock).into();
                    }
                }
            }
        }
        times
    }
}

/// The kernel of one thread that takes over data, and of a team in which each thread
/// keeps to its own share.
const MAP: Variant = Variant { kernel: Kernel::Scale, extent: 0 };
/// The kernel of a team. It has so much arithmetic that even little data is shared out,
/// and that helping pays.
const ARITHMETIC: Variant = Variant { kernel: Kernel::Polynomial, extent: 256 };

//! How long kernels take on the device, depending on where they find their data.

use super::caches::{CacheModel, blend, further, misses_of};
use super::locality::DeviceLocality;
use super::prices::priced;
use super::unknown::{Known, Unknown, Why};
use super::{Beyond, Curve, Profile};
use crate::kernels::{Arguments, Kernel, Variant};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::{Borrow, Cow};

/// A kernel on the device: nanoseconds over elements, launched back to back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelModel {
    pub variant: Variant,
    pub time: Curve,
    /// Extra nanoseconds, over elements, where a copy has just brought what the kernel reads.
    /// (`time` is of launches on the same data, which is then as close as it can be.)
    pub just_copied: Option<Curve>,
    /// Extra nanoseconds, over elements, where what the kernel reads is in none of the device's
    /// caches.
    pub from_memory: Option<Curve>,
}

priced! {
    KernelModel {
        Usual: time;
        No: just_copied, from_memory;
    }
    besides variant
}

/// How long a kernel takes on the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTime {
    pub ns: f64,
    /// Nanoseconds that as many elements take at the full rate of the device, when caches, memory
    /// and arithmetic are busy throughout, however many kernels share the work.
    pub at_best: f64,
}

impl Profile {
    /// How long a kernel takes on the device. Reading what a copy has just brought costs nothing
    /// extra where that was not measured.
    ///
    /// # Errors
    /// If the kernel was not calibrated at such a size.
    pub fn kernel(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        n: u64,
        found: &DeviceLocality,
    ) -> Known<KernelTime> {
        self.kernel_prices(Variant::of(kernel, arguments))?.time(n, found)
    }

    /// What launches of a kernel take, to be asked of many sizes.
    ///
    /// # Errors
    /// If the kernel was not calibrated.
    pub(crate) fn kernel_prices(&self, wanted: Variant) -> Known<KernelPrices<'_>> {
        let models = self.kernels.iter().map(|model| (model.variant, model));
        let models = beside(models, wanted, ON_GPU)?;
        let on = |data: Data| models.iter().map(|(one, model)| (*one, model.on(data))).collect();
        let curves = [Data::Near, Data::JustCopied, Data::InMemory].map(on);
        let gap = self.kernel_gap().unwrap_or_default();
        let mut prices =
            KernelPrices { models, curves, wanted, gap, caches: &self.caches, best: Vec::new() };
        prices.best = prices.best_from();
        Ok(prices)
    }
}

/// What launches of a kernel take: the models of the two measured extents around its own.
pub(crate) struct KernelPrices<'p> {
    models: Vec<(Variant, &'p KernelModel)>,
    /// Their times, by where the data is.
    curves: [Vec<(Variant, Cow<'p, Curve>)>; 3],
    wanted: Variant,
    /// Nanoseconds before each launch.
    gap: f64,
    caches: &'p CacheModel,
    /// For each measured size, in order: the least time for an element, without the gap, of this
    /// size and all larger ones.
    best: Vec<(f64, f64)>,
}

impl KernelPrices<'_> {
    /// How long the kernel takes on so many elements.
    ///
    /// # Errors
    /// If it was not calibrated at such a size.
    pub fn time(&self, n: u64, found: &DeviceLocality) -> Known<KernelTime> {
        let usual = self.on(n, Data::Near)?;
        let launched = Launched { prices: self, n, usual };
        let near = if found.is_just_copied { self.on(n, Data::JustCopied)? } else { usual };
        let ns = match found.reuse.mean(|since| launched.since(since)) {
            Some(ns) if found.is_just_copied => ns.max(near),
            Some(ns) => ns,
            None => near,
        };
        let around = found.reuse.0.map(|(_, since)| since).into_iter().max();
        let at_best = launched.at_best(around.unwrap_or_default()).min((ns - self.gap).max(0.0));
        Ok(KernelTime { ns, at_best })
    }

    /// Nanoseconds on so many elements, launched again and again.
    fn on(&self, n: u64, data: Data) -> Known<f64> {
        let curves = self.curves[data as usize].iter().map(|(variant, curve)| (*variant, &**curve));
        interpolated(curves, self.wanted, n, ON_GPU)
    }

    /// The largest number of elements that all models were measured at.
    fn largest(&self) -> f64 {
        let largest = self.models.iter().map(|(_, model)| model.time.largest());
        largest.fold(f64::INFINITY, f64::min)
    }

    /// Nanoseconds for one of so many elements, without the gap.
    fn of_one(&self, size: f64) -> f64 {
        let mut points = [(0.0, 0.0); 2];
        for (point, (variant, model)) in points.iter_mut().zip(&self.models) {
            *point = (variant.measure(), model.time.at(size));
        }
        let points = &points[..self.models.len()];
        let ns = crate::stats::interpolate(points, self.wanted.measure());
        (ns - self.gap).max(0.0) / size
    }

    fn best_from(&self) -> Vec<(f64, f64)> {
        let knots = self.models.iter().flat_map(|(_, model)| &model.time.knots);
        let mut sizes: Vec<f64> = knots.map(|knot| knot.0).collect();
        sizes.retain(|&size| size <= self.largest());
        sizes.sort_unstable_by(f64::total_cmp);
        let mut least = f64::INFINITY;
        let mut best: Vec<(f64, f64)> = Vec::with_capacity(sizes.len());
        for size in sizes.into_iter().rev() {
            least = least.min(self.of_one(size));
            best.push((size, least));
        }
        best.reverse();
        best
    }
}

const ON_GPU: &str = "on the GPU";

/// A kernel on a number of elements.
struct Launched<'p> {
    prices: &'p KernelPrices<'p>,
    n: u64,
    /// Nanoseconds when launched again and again on the same data.
    usual: f64,
}

impl Launched<'_> {
    fn own(&self) -> Bytes {
        Bytes::new(self.prices.wanted.bytes(self.n))
    }

    fn largest(&self) -> f64 {
        self.prices.largest().max(self.n as f64)
    }

    /// The number of elements at which the kernel itself uses this many bytes.
    fn elements_within(&self, bytes: Bytes) -> f64 {
        let times = bytes.as_f64() / self.own().as_f64().max(1.0);
        (times * self.n as f64).clamp(1.0, self.largest())
    }

    /// Nanoseconds when this many bytes were used since the data that it reads: at least its share
    /// of a kernel that uses as many bytes by itself, and the wait for memory where that was
    /// measured.
    fn since(&self, bytes: Bytes) -> Option<f64> {
        let (own, caches) = (self.own(), self.prices.caches);
        if bytes == own {
            return Some(self.usual);
        }
        let share = self.share(self.elements_within(bytes))?;
        let misses = |bytes| misses_of(&caches.device_misses, bytes);
        match (misses(own), misses(bytes)) {
            (Some(there), Some(here)) if bytes > own => {
                let far = self.prices.on(self.n, Data::InMemory).ok()?;
                Some(share.max(blend(self.usual, far, further(there, here))))
            }
            _ => Some(share),
        }
    }

    /// Its share of the time for this many elements, without the part that does not depend on the
    /// size. A kernel in place uses less memory than where it was measured, so it takes no longer;
    /// another one takes no less.
    fn share(&self, around: f64) -> Option<f64> {
        let (whole, n) = (self.prices.on(around as u64, Data::Near).ok()?, self.n as f64);
        let fixed = self.prices.on(1, Data::Near).unwrap_or_default().min(self.usual);
        let share = fixed + (whole - fixed) * n / around;
        Some(if around < n { share.min(self.usual) } else { share.max(self.usual) })
    }

    /// Nanoseconds without the gap before each launch, when this many bytes are used in turn and
    /// there is always enough work to keep the whole device busy.
    fn at_best(&self, bytes: Bytes) -> f64 {
        let least = self.elements_within(bytes).max(self.n as f64);
        let best = &self.prices.best;
        let larger = best.get(best.partition_point(|&(size, _)| size <= least));
        let of_larger = larger.map_or(f64::INFINITY, |&(_, time)| time);
        self.prices.of_one(least).min(of_larger) * self.n as f64
    }
}

/// Where a kernel on the device finds what it reads.
#[derive(Clone, Copy)]
enum Data {
    /// Where the same kernel left it, with nothing used in between.
    Near,
    JustCopied,
    InMemory,
}

impl KernelModel {
    /// The time on data of one kind. From twice the largest size at which that was measured, it is
    /// the time on data that is near.
    fn on(&self, data: Data) -> Cow<'_, Curve> {
        let longer = match data {
            Data::Near => &None,
            Data::JustCopied => &self.just_copied,
            Data::InMemory => &self.from_memory,
        };
        let time = longer.as_ref().map(|longer| Cow::Owned(self.time.plus(longer, 2.0)));
        time.unwrap_or(Cow::Borrowed(&self.time))
    }
}

/// The models of the two measured extents around the wanted one, or of the last two before it. A
/// single model is used only for its own extent: it says nothing about others.
pub(super) fn beside<M>(
    models: impl Iterator<Item = (Variant, M)>,
    wanted: Variant,
    place: &str,
) -> Known<Vec<(Variant, M)>> {
    let what = format!("kernel `{}` {place}", wanted.kernel);
    let mut models: Vec<_> = models.filter(|(one, _)| one.kernel == wanted.kernel).collect();
    models.sort_by(|a, b| a.0.measure().total_cmp(&b.0.measure()));
    if let ([(only, _)], Some(extent)) = (&models[..], wanted.kernel.extent())
        && *only != wanted
    {
        let name = extent.name;
        return Err(Unknown::new(format!("{what} with a `{name}` other than {}", only.extent)));
    }
    // Each extent has sizes of its own: what others lack need not be known.
    let after = models.partition_point(|(one, _)| one.measure() < wanted.measure());
    let around = match models.get(after) {
        None => models.len().saturating_sub(2)..models.len(),
        Some((next, _)) if *next == wanted => after..after + 1,
        Some(_) => after.saturating_sub(1)..after + 1,
    };
    let chosen: Vec<_> = models.drain(around).collect();
    if chosen.is_empty() { Err(Unknown::new(what)) } else { Ok(chosen) }
}

/// Interpolates between the measured extents and extrapolates beyond them: the time is linear in
/// the arithmetic where that is the bound, and constant where memory is.
pub(super) fn interpolated<C: Borrow<Curve>>(
    curves: impl Iterator<Item = (Variant, C)>,
    wanted: Variant,
    n: u64,
    place: &str,
) -> Known<f64> {
    // There are two at most, and this is asked very often.
    let (mut points, mut known) = ([(0.0, 0.0); 2], 0);
    for (point, (variant, curve)) in points.iter_mut().zip(curves) {
        let end = |size: f64| format!("{size} elements");
        let beyond = |beyond: Beyond| {
            let what = format!("kernel `{}` {place}", wanted.kernel);
            Unknown::because(Why::OfScenario, beyond.of(&what, end))
        };
        *point = (variant.measure(), curve.borrow().known(n as f64).map_err(beyond)?);
        known += 1;
    }
    Ok(crate::stats::interpolate(&points[..known], wanted.measure()))
}

//! How long kernels take on the device and on the CPU, depending on where they find their data.

use super::around::{Around, OnDevice};
use super::caches::{CacheModel, blend, further, lost};
use super::unknown::Unknown;
use super::{Beyond, Curve, KernelModel, Profile, TwinModel, Warmth};
use crate::kernels::{Arguments, Kernel, Variant};
use crate::samples::Extent;
use crate::units::Bytes;
use std::borrow::Cow;

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
        found: &OnDevice,
    ) -> Result<KernelTime, Unknown> {
        let wanted = Variant::of(kernel, arguments);
        let models = self.kernels.iter().map(|model| (model.variant, model));
        let models = beside(models, wanted, ON_GPU)?;
        let launched = Launched { models, wanted, n, usual: 0.0 };
        let usual = launched.time(n, Data::Near)?;
        let launched = Launched { usual, ..launched };
        let near = if found.is_just_copied { launched.time(n, Data::JustCopied)? } else { usual };
        let ns = match found.reuse.mean(|since| launched.since(since, &self.caches)) {
            Some(ns) if found.is_just_copied => ns.max(near),
            Some(ns) => ns,
            None => near,
        };
        let gap = self.kernel_gap().unwrap_or_default();
        let around = found.reuse.0.map(|(_, since)| since).into_iter().max();
        let at_best = launched.at_best(around.unwrap_or_default(), gap).min((ns - gap).max(0.0));
        Ok(KernelTime { ns, at_best })
    }

    /// Nanoseconds of a kernel's CPU twin in a plan that has used this much host memory since the
    /// twin's data.
    ///
    /// # Errors
    /// If the twin was not calibrated at such a size.
    pub fn twin(
        &self,
        kernel: Kernel,
        arguments: &Arguments,
        n: u64,
        around: Around,
    ) -> Result<f64, Unknown> {
        let wanted = Variant::of(kernel, arguments);
        let is_shared = wanted.is_shared(n, around.footprint.get());
        let models = |found: Warmth| {
            let fits = |model: &&TwinModel| model.found == found;
            let models = self.twins.iter().filter(fits).map(|model| (model.variant, model));
            beside(models, wanted, found.place())
        };
        let time_of = |n: u64, found: Warmth| {
            let models = models(found)?.into_iter();
            let curves = models.map(|(variant, model)| (variant, self.branch(model, n, is_shared)));
            interpolated(curves, wanted, n, found.place())
        };
        let time = |found| time_of(n, found);
        let largest = |found: Warmth| {
            let largest = models(found)?.into_iter().map(|(_, model)| model.time.largest());
            Ok::<_, Unknown>(largest.fold(f64::INFINITY, f64::min) as u64)
        };
        // Of more than was measured, caches keep no more than of the most that was, unless that
        // would stay in them: the rest takes what memory takes, where that is known so far.
        let shared = self.caches.shared_bytes;
        let most = largest(Warmth::Same)?.max(shared.get() / kernel.bytes_per_element());
        let is_known = largest(Warmth::Memory).is_ok_and(|largest| largest >= most);
        let most = if is_known { most.min(n) } else { n };
        let again = || {
            let [far, at_most] = [n, most].map(|n| time_of(n, Warmth::Memory));
            let more = far.and_then(|far| Ok(far - at_most?)).unwrap_or_default();
            Ok::<_, Unknown>(time_of(most, Warmth::Same)? + more.max(0.0))
        };
        let own = Bytes::new(wanted.bytes(n));
        let handing_over = self.caches.handing_over(&around, is_shared);
        if around.reuse.0.iter().all(|&(_, since)| since <= own) {
            return Ok(again()? + handing_over);
        }
        let near = if own < shared {
            let threads = self.machine.cpu_threads.max(1) as u64;
            let misses = |bytes| self.caches.own(bytes, if is_shared { threads } else { 1 });
            let lost_since = |since: Bytes| {
                let times = since.as_f64() / own.as_f64().max(1.0);
                Some(lost(misses(own)?, misses(since)?, times))
            };
            let misses = around.reuse.mean(lost_since).unwrap_or(1.0);
            let near = blend(time(Warmth::Same)?, time(Warmth::Shared)?, misses);
            // What no core keeps any more is as far away for everybody.
            near + (1.0 - misses) * handing_over
        } else {
            again()?
        };
        let far = time(Warmth::Memory)?;
        let what = || Unknown::new("what the CPU finds in its caches of memory used before");
        let misses = |since| self.caches.twins(since);
        let kept = Bytes::new(wanted.bytes(most));
        let there = misses(shared.max(kept)).ok_or_else(what)?;
        Ok(blend(near, far, further(there, around.reuse.mean(misses).ok_or_else(what)?)))
    }

    /// The part of a twin's curve that applies to this many elements. The time jumps where all
    /// threads begin to share the work, so each side continues by itself. The whole curve where
    /// that side was not measured near enough, and for a table's CPU code, since it is not known
    /// from where on that is shared.
    fn branch<'m>(&self, model: &'m TwinModel, n: u64, is_shared: bool) -> Cow<'m, Curve> {
        let (time, size) = (&model.time, n as f64);
        if self.machine.extent == Extent::Elsewhere {
            return Cow::Borrowed(time);
        }
        let mut knots = time.knots.clone();
        knots.retain(|&(elements, _)| self.was_shared(model, elements) == is_shared);
        if let Some(ns) = self.between(model, n, is_shared) {
            knots = vec![(size, ns)];
        }
        let side = Curve { knots, scatter: time.scatter };
        let reaches = !side.knots.is_empty() && side.known(size).is_ok();
        if reaches { Cow::Owned(side) } else { Cow::Borrowed(time) }
    }

    /// Nanoseconds for a number of elements between the largest size measured with one thread and
    /// the smallest measured with all; `None` elsewhere. All threads pay for sharing the work and
    /// then do a part each. One thread takes as long as all of them together at their best, but no
    /// longer for each element than at the size where it was measured.
    fn between(&self, model: &TwinModel, n: u64, is_shared: bool) -> Option<f64> {
        let (knots, size) = (&model.time.knots, n as f64);
        let alone = knots.partition_point(|knot| !self.was_shared(model, knot.0));
        let (last, first) = (*knots.get(alone.checked_sub(1)?)?, *knots.get(alone)?);
        let from = if is_shared { knots[0].0 } else { last.0 };
        // What one thread was measured at goes on by itself, and so does a curve from 0.
        let goes_on = knots[0].0 == 0.0 || (!is_shared && alone > 1);
        if goes_on || !(from..first.0).contains(&size) {
            return None;
        }
        if model.found != Warmth::Same {
            return self.farther_between(model, [last, first], (n, is_shared));
        }
        let sharing_out = self.sharing_out().min(first.1);
        let by_all = |&(elements, ns): &(f64, f64)| (ns - sharing_out) / elements;
        Some(if is_shared {
            sharing_out + by_all(&first) * size
        } else {
            let at_best = knots[alone..].iter().map(by_all).fold(f64::INFINITY, f64::min);
            let by_one = (at_best * self.machine.cpu_threads as f64).min(last.1 / last.0);
            last.1 + by_one * (size - last.0)
        })
    }

    /// The time with data farther away: longer than with data near by as much as at the measured
    /// sizes around.
    fn farther_between(
        &self,
        model: &TwinModel,
        [last, first]: [(f64, f64); 2],
        (n, is_shared): (u64, bool),
    ) -> Option<f64> {
        let is_near = |one: &&TwinModel| one.variant == model.variant && one.found == Warmth::Same;
        let near = self.twins.iter().find(is_near)?;
        let near = |n: u64, is_shared| self.branch(near, n, is_shared).known(n as f64).ok();
        let longer = |(elements, ns): (f64, f64), is_shared| {
            Some((elements, (ns - near(elements as u64, is_shared)?).max(0.0)))
        };
        let longer = [longer(last, false)?, longer(first, true)?];
        Some(near(n, is_shared)? + crate::stats::interpolate(&longer, n as f64))
    }

    /// The most that sharing work among threads can take, in nanoseconds: the shortest time of any
    /// twin that was shared.
    fn sharing_out(&self) -> f64 {
        let first = |model: &TwinModel| {
            let mut knots = model.time.knots.iter();
            knots.find(|knot| self.was_shared(model, knot.0)).map(|knot| knot.1)
        };
        self.twins.iter().filter_map(first).fold(f64::INFINITY, f64::min)
    }

    /// Whether all threads shared this many elements when they were measured.
    fn was_shared(&self, model: &TwinModel, elements: f64) -> bool {
        let (variant, elements) = (model.variant, elements as u64);
        let footprint = match model.found {
            Warmth::Same => variant.bytes(elements),
            Warmth::Shared | Warmth::Memory => self.caches.shared_bytes.get(),
        };
        variant.is_shared(elements, footprint)
    }
}

const ON_GPU: &str = "on the GPU";

/// A kernel on a number of elements, with the models of the two measured extents around its own.
struct Launched<'p> {
    models: Vec<(Variant, &'p KernelModel)>,
    wanted: Variant,
    n: u64,
    /// Nanoseconds when launched again and again on the same data.
    usual: f64,
}

impl Launched<'_> {
    /// Nanoseconds on the same data again and again, for another number of elements.
    fn time(&self, n: u64, data: Data) -> Result<f64, Unknown> {
        let curves = self.models.iter().map(|&(variant, model)| (variant, model.on(data)));
        interpolated(curves, self.wanted, n, ON_GPU)
    }

    fn own(&self) -> Bytes {
        Bytes::new(self.wanted.bytes(self.n))
    }

    /// The largest number of elements that all of its models were measured at.
    fn largest(&self) -> f64 {
        let largest = self.models.iter().map(|(_, model)| model.time.largest());
        largest.fold(f64::INFINITY, f64::min).max(self.n as f64)
    }

    /// The number of elements at which the kernel itself uses this many bytes.
    fn elements_within(&self, bytes: Bytes) -> f64 {
        let times = bytes.as_f64() / self.own().as_f64().max(1.0);
        (times * self.n as f64).clamp(1.0, self.largest())
    }

    /// Nanoseconds when this many bytes were used since the data that it reads: at least its share
    /// of a kernel that uses as many bytes by itself, and the wait for memory where that was
    /// measured.
    fn since(&self, bytes: Bytes, caches: &CacheModel) -> Option<f64> {
        let own = self.own();
        if bytes == own {
            return Some(self.usual);
        }
        let share = self.share(self.elements_within(bytes))?;
        match (caches.device(own), caches.device(bytes)) {
            (Some(there), Some(here)) if bytes > own => {
                let far = self.time(self.n, Data::InMemory).ok()?;
                Some(share.max(blend(self.usual, far, further(there, here))))
            }
            _ => Some(share),
        }
    }

    /// Its share of the time for this many elements, without the part that does not depend on the
    /// size. A kernel in place uses less memory than where it was measured, so it takes no longer;
    /// another one takes no less.
    fn share(&self, around: f64) -> Option<f64> {
        let (whole, n) = (self.time(around as u64, Data::Near).ok()?, self.n as f64);
        let fixed = self.time(1, Data::Near).unwrap_or_default().min(self.usual);
        let share = fixed + (whole - fixed) * n / around;
        Some(if around < n { share.min(self.usual) } else { share.max(self.usual) })
    }

    /// Nanoseconds without the `gap` before each launch, when this many bytes are used in turn and
    /// there is always enough work to keep the whole device busy.
    fn at_best(&self, bytes: Bytes, gap: f64) -> f64 {
        let (least, most) = (self.elements_within(bytes).max(self.n as f64), self.largest());
        // There are one or two. For each launch of each draw, so without asking anew what is known.
        let last = self.models.len() - 1;
        let of_one = |size: f64| {
            let points = [0, last].map(|at| {
                let (variant, model) = self.models[at];
                (variant.measure(), model.time.at(size))
            });
            let ns = crate::stats::interpolate(&points[..=last], self.wanted.measure());
            (ns - gap).max(0.0) / size
        };
        let knots = self.models.iter().flat_map(|(_, model)| &model.time.knots);
        let sizes = knots.map(|knot| knot.0).filter(|&size| size > least && size <= most);
        sizes.map(of_one).fold(of_one(least), f64::min) * self.n as f64
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
    /// Its time on such data. Of twice the largest size at which that was measured, it is taken
    /// for no longer than where it was.
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
fn beside<M>(
    models: impl Iterator<Item = (Variant, M)>,
    wanted: Variant,
    place: &str,
) -> Result<Vec<(Variant, M)>, Unknown> {
    let what = format!("kernel `{}` {place}", wanted.kernel);
    let mut models: Vec<_> = models.filter(|(one, _)| one.kernel == wanted.kernel).collect();
    models.sort_by(|a, b| a.0.measure().total_cmp(&b.0.measure()));
    if let ([(only, _)], Some(extent)) = (&models[..], wanted.kernel.extent())
        && *only != wanted
    {
        let name = extent.name;
        return Err(Unknown::new(format!("{what} with other `{name}` than {}", only.extent)));
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
fn interpolated<'c>(
    curves: impl Iterator<Item = (Variant, Cow<'c, Curve>)>,
    wanted: Variant,
    n: u64,
    place: &str,
) -> Result<f64, Unknown> {
    let end = |size: f64| format!("{size} elements");
    let unknown = |beyond: Beyond| {
        Unknown::new(beyond.of(&format!("kernel `{}` {place}", wanted.kernel), end))
    };
    let point = |(variant, curve): (Variant, Cow<'_, Curve>)| {
        Ok((variant.measure(), curve.known(n as f64).map_err(unknown)?))
    };
    let points = curves.map(point).collect::<Result<Vec<_>, Unknown>>()?;
    Ok(crate::stats::interpolate(&points, wanted.measure()))
}

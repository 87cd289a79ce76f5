//! How long CPU twins take, depending on where they find their data.

use super::caches::{Warmth, blend, further, lost, misses_of};
use super::kernels::{beside, interpolated};
use super::locality::HostLocality;
use super::prices::priced;
use super::unknown::{Known, Unknown};
use super::{Curve, Profile};
use crate::kernels::{Arguments, Kernel, Variant};
use crate::samples::CalibrationExtent;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A kernel's CPU twin: nanoseconds over elements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwinModel {
    pub variant: Variant,
    pub found: Warmth,
    pub time: Curve,
}

priced! {
    TwinModel { Usual: time; }
    besides variant, found
}

impl Profile {
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
        around: HostLocality,
    ) -> Known<f64> {
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
        // Caches keep no more of a size beyond the measured ones than of the largest measured one,
        // unless that one would stay in them. The rest takes what memory takes, where the times
        // from memory are known up to that size.
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
        let what = || Unknown::new("the CPU's cache hit rates for recently used memory");
        let misses = |since| misses_of(&self.caches.twin_misses, since);
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
        if self.machine.extent == CalibrationExtent::Elsewhere {
            return Cow::Borrowed(time);
        }
        let mut knots = time.knots.clone();
        knots.retain(|&(elements, _)| self.was_shared(model, elements) == is_shared);
        if let Some(ns) = self.between(model, n, is_shared) {
            knots = vec![(size, ns)];
        } else if !is_shared && knots.first().is_some_and(|first| size < first.0) {
            let fixed = self.fixed_part(&knots);
            knots.insert(0, (0.0, fixed));
        }
        let side = Curve { knots, scatter: time.scatter };
        let reaches = !side.knots.is_empty() && side.known(size).is_ok();
        if reaches { Cow::Owned(side) } else { Cow::Borrowed(time) }
    }

    /// Nanoseconds that a twin takes by one thread whatever the number of elements: to be called,
    /// and for what it does besides, such as clearing the bins of a histogram. It is what the two
    /// smallest sizes leave for no elements. Caches can make the second one so slow that they leave
    /// nothing; then it is the least that any twin takes.
    fn fixed_part(&self, knots: &[(f64, f64)]) -> f64 {
        let positive = |knots: &[(f64, f64)]| left_for_none(knots).filter(|&ns| ns > 0.0);
        let of_model = |model: &TwinModel| {
            let alone = model.time.knots.partition_point(|knot| !self.was_shared(model, knot.0));
            positive(&model.time.knots[..alone])
        };
        let near = self.twins.iter().filter(|model| model.found == Warmth::Same);
        let least = || near.filter_map(of_model).fold(f64::INFINITY, f64::min);
        let most = knots.first().map_or(0.0, |first| first.1);
        positive(knots).unwrap_or_else(least).min(most)
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

    /// Nanoseconds that one thread takes for an element, at the largest size that it was measured
    /// with alone.
    pub(crate) fn by_one_thread(&self, model: &TwinModel) -> Option<f64> {
        let mut alone = model.time.knots.iter().rev();
        let &(elements, ns) = alone.find(|knot| !self.was_shared(model, knot.0))?;
        (elements > 0.0).then(|| ns / elements)
    }

    /// Whether all threads shared this many elements when they were measured.
    pub(crate) fn was_shared(&self, model: &TwinModel, elements: f64) -> bool {
        let (variant, elements) = (model.variant, elements as u64);
        let footprint = match model.found {
            Warmth::Same => variant.bytes(elements),
            Warmth::Shared | Warmth::Memory => self.caches.shared_bytes.get(),
        };
        variant.is_shared(elements, footprint)
    }
}

/// Nanoseconds that the line through the first two knots has at no elements.
fn left_for_none(knots: &[(f64, f64)]) -> Option<f64> {
    let &[first, second, ..] = knots else { return None };
    Some(first.1 - (second.1 - first.1) / (second.0 - first.0) * first.0)
}

//! Copies of pageable memory, which the driver stages.

use super::caches::{Warmth, blend, further};
use super::prices::priced;
use super::unknown::{Known, Unknown, of_bytes};
use super::{Curve, OperationKind, Profile};
use crate::machine::Direction;
use crate::units::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Copies between device and pageable memory, which the driver stages through
/// pinned memory of its own while the host thread waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagingModel {
    pub direction: Direction,
    /// Where the CPU had the host data before the copy. A D2H copy cares too: the driver writes
    /// past the caches, and data that is still in them slows it.
    pub found: Warmth,
    /// Nanoseconds over bytes until the call returns, on an idle device.
    pub until_return: Option<Curve>,
    /// Nanoseconds over bytes until the copy is complete.
    pub until_complete: Curve,
}

priced! {
    StagingModel { Usual: until_return, until_complete; }
    besides direction, found; by |copies| copies.until_complete.scatter
}

impl Profile {
    /// Nanoseconds until the call of a pageable copy returns and until the copy is complete, on an
    /// idle device, in a plan that uses `footprint` bytes of host memory in turn. With `None`, no
    /// cache has any of the data.
    ///
    /// # Errors
    /// If such copies were not calibrated.
    pub fn staging(
        &self,
        direction: Direction,
        bytes: Bytes,
        footprint: Option<Bytes>,
    ) -> Known<(f64, f64)> {
        let what = format!("{direction} copies of pageable memory");
        let model = |found: Warmth| {
            let fits = |model: &&StagingModel| model.direction == direction && model.found == found;
            self.staging.iter().find(fits)
        };
        let time = |found: Warmth| {
            let what = match found {
                Warmth::Same => what.clone(),
                Warmth::Shared | Warmth::Memory => far(&what),
            };
            let model = model(found).ok_or_else(|| Unknown::new(&*what))?;
            let returns = model.until_return.as_ref();
            let returns = returns
                .ok_or_else(|| Unknown::new(format!("the time until calls return for {what}")))?;
            let complete = of_bytes(&model.until_complete, bytes, &what)?;
            Ok((of_bytes(returns, bytes, &what)?, complete))
        };
        let Some(footprint) = footprint else {
            let past_caches = time(Warmth::Memory);
            // Hand-made measurements usually write to one place and never read it.
            let is_out = direction == Direction::DeviceToHost;
            return if is_out { past_caches.or_else(|_| time(Warmth::Same)) } else { past_caches };
        };
        let same = time(Warmth::Same)?;
        if footprint <= bytes {
            return Ok(same);
        }
        let both = |near: (f64, f64), far: (f64, f64), misses| {
            (blend(near.0, far.0, misses), blend(near.1, far.1, misses))
        };
        let own = self.caches.own(bytes, 1).zip(self.caches.own(footprint, 1));
        let own = own.map(|(there, here)| further(there, here));
        if let (Direction::DeviceToHost, Some(misses)) = (direction, own) {
            // Data that has left the core's caches no longer slows the driver's writes.
            return Ok(both(same, time(Warmth::Memory)?, misses));
        }
        // Copies smaller than any measured from the shared cache are staged another way.
        let shared = model(Warmth::Shared).and_then(|model| model.until_complete.knots.first());
        let is_known = shared.is_some_and(|first| first.0 <= bytes.as_f64());
        let near = match (own.filter(|_| is_known), time(Warmth::Shared)) {
            (Some(misses), Ok(shared)) => both(same, shared, misses),
            _ => same,
        };
        let from_memory = time(Warmth::Memory)?;
        let misses = self.caches.staging(bytes).zip(self.caches.staging(footprint));
        // If nobody knows what the caches keep, they keep nothing.
        Ok(misses
            .map_or(from_memory, |(there, here)| both(near, from_memory, further(there, here))))
    }

    /// Time from the call of a pageable D2H copy to the command for its first piece: what the
    /// smallest such copy takes beyond reaching the device, copying and waking the host.
    ///
    /// # Errors
    /// If such copies were not calibrated.
    pub fn staging_call(&self) -> Known<Span> {
        let direction = Direction::DeviceToHost;
        let model = self.staging.iter().find(|model| model.direction == direction);
        let first = model.and_then(|model| model.until_complete.knots.first());
        let what = || Unknown::new(format!("{direction} copies of pageable memory"));
        let &(bytes, complete) = first.ok_or_else(what)?;
        let copy = self.copy(direction, Bytes::new(bytes as u64))?;
        let others = self.start(OperationKind::CopyOut)? + copy + self.wake_host()?;
        Ok(Span::from_nanos_f64(complete.max(0.0)).saturating_sub(others))
    }
}

fn far(what: &str) -> String {
    format!("{what} with other memory used in between")
}

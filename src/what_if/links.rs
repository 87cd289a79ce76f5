//! A faster or slower link between host and device.
//!
//! With the factor `f`, and `B` bytes per nanosecond on today's link:
//!
//! - Copies of pinned memory, and kernels that reach host memory, take T + (1/f - 1) n/B for n
//!   bytes: what a copy costs besides its bytes stays.
//! - Copies of pageable memory take max(T, n/(fB)): the link carries one piece while the CPU stages
//!   the next, so a faster link gains nothing, and a slower one costs once it is slower than the
//!   CPU. Managed memory whose pages move fault by fault is taken to do the same.
//! - Copies beside those of the other direction take as many times as long as they do today.
//! - What several GPUs copy together is bounded by the root and the host's memory, which stay.
//! - Copies between GPUs stay if they are clearly faster than the link, and so take another one.

use super::change::Varied;
use crate::machine::Direction;
use crate::profile::{Curve, Profile};
use crate::samples::{OnLink, RowPath, TransferPath};
use crate::units::Bandwidth;

/// A direction of the link, as it is and as it would be.
#[derive(Clone, Copy)]
struct Way {
    /// Nanoseconds that the link needs for a byte today.
    per_byte: f64,
    factor: f64,
}

impl Way {
    /// Nanoseconds for a byte on the changed link.
    fn changed(self) -> f64 {
        self.per_byte / self.factor
    }

    /// The time of what the link carries: longer by what its bytes take longer, and never shorter
    /// than they take.
    fn carries(self, curve: &mut Curve) {
        if self.factor == 1.0 {
            return;
        }
        let more = self.changed() - self.per_byte;
        for (bytes, ns) in &mut curve.knots {
            let moved = (*ns + more * *bytes).max(self.changed() * *bytes);
            // Rates of some sizes are a little above that of the largest.
            *ns = if self.factor < 1.0 { moved.max(*ns) } else { moved.min(*ns) };
        }
    }

    /// The time of what something else bounds today: as it is, or as long as the link takes.
    fn bounds(self, curve: &mut Curve) {
        if self.factor < 1.0 {
            *curve = curve.no_less_than(self.changed());
        }
    }
}

/// The bytes per second of large copies in each direction.
pub(super) fn rates(profile: &Profile) -> Result<[f64; 2], String> {
    let rate = |direction: Direction| match profile.link_rate(direction) {
        Some(rate) => Ok(rate.bytes_per_second()),
        None => Err(format!("the profile lacks the bandwidth of large {direction} copies")),
    };
    Ok([rate(Direction::HostToDevice)?, rate(Direction::DeviceToHost)?])
}

/// Changes everything that crosses the link, of which each direction carries so many times as much
/// as today.
pub(super) fn scale(varied: &mut Varied, factors: [f64; 2]) -> Result<(), String> {
    scale_profile(&mut varied.profile, factors)?;
    let has_several = varied.profile.gpu_counts().iter().any(|&devices| devices > 1);
    if has_several && factors != [1.0; 2] {
        varied.assume(
            "Concurrent copies by several GPUs are limited by the root complex and host memory, as \
             before.",
        );
    }
    Ok(())
}

/// Changes the links of a profile alone.
pub(super) fn scale_profile(profile: &mut Profile, [down, up]: [f64; 2]) -> Result<(), String> {
    if down == 1.0 && up == 1.0 {
        return Ok(());
    }
    let way = |rate: f64, factor: f64| Way { per_byte: 1e9 / rate, factor };
    let [rate_down, rate_up] = rates(profile)?;
    let ways = [way(rate_down, down), way(rate_up, up)];
    let link = &mut profile.link;
    let rates = [&mut link.down_bytes_per_second, &mut link.up_bytes_per_second];
    for (rate, way) in rates.into_iter().zip(ways) {
        *rate = Some(Bandwidth::from_bytes_per_second(1e9 / way.changed()));
    }
    copies(profile, ways);
    staging(profile, ways);
    transfers(profile, ways);
    contention(profile, ways);
    peers(profile, ways);
    Ok(())
}

fn copies(profile: &mut Profile, ways: [Way; 2]) {
    for model in &mut profile.copies {
        ways[model.direction as usize].carries(&mut model.time);
    }
    for model in &mut profile.rows {
        match model.path {
            RowPath::PinnedIn => ways[0].carries(&mut model.per_row),
            RowPath::PinnedOut => ways[1].carries(&mut model.per_row),
            RowPath::PageableIn => ways[0].bounds(&mut model.per_row),
            RowPath::PageableOut => ways[1].bounds(&mut model.per_row),
            RowPath::OnDevice => {}
        }
    }
    // Their data goes along with commands.
    if let Some(model) = &mut profile.inline {
        ways[0].carries(&mut model.until_complete);
    }
}

fn staging(profile: &mut Profile, ways: [Way; 2]) {
    for model in &mut profile.staging {
        let before = model.until_complete.clone();
        ways[model.direction as usize].bounds(&mut model.until_complete);
        let complete = &model.until_complete;
        // The call returns as long before the end as today.
        if let Some(returns) = model.until_return.as_mut().filter(|_| *complete != before) {
            let later = |size: f64| complete.at(size) - before.at(size);
            let sizes = complete.knots.iter().map(|knot| knot.0);
            let mut sizes: Vec<f64> = sizes.chain(returns.knots.iter().map(|k| k.0)).collect();
            sizes.sort_unstable_by(f64::total_cmp);
            sizes.dedup();
            let knot = |size: f64| (size, returns.at(size) + later(size));
            returns.knots = sizes.into_iter().map(knot).collect();
        }
    }
}

/// The paths of mapped and managed memory.
fn transfers(profile: &mut Profile, ways: [Way; 2]) {
    let [down, up] = ways;
    let find = |path| profile.transfers.iter().find(move |model| model.path == path);
    let rate = |path| find(path).and_then(|model| model.time.slope()).filter(|&slope| slope > 0.0);
    let own = |path, way: Way| rate(path).map(|per_byte| Way { per_byte, ..way });
    let reads = own(TransferPath::MappedRead, down);
    let writes = own(TransferPath::MappedWrite, up);
    let less_changed = if (down.factor - 1.0).abs() < (up.factor - 1.0).abs() { down } else { up };
    let both = own(TransferPath::MappedBoth, less_changed);
    for model in &mut profile.transfers {
        let time = &mut model.time;
        match model.path {
            TransferPath::MappedRead => reads.into_iter().for_each(|way| way.carries(time)),
            TransferPath::MappedWrite => writes.into_iter().for_each(|way| way.carries(time)),
            TransferPath::MappedBoth => {
                both.into_iter().for_each(|way| way.carries(time));
                // The slower of two directions that differ holds up the other one.
                reads.into_iter().chain(writes).for_each(|way| way.bounds(time));
            }
            path => match path.on_link() {
                Some(OnLink::SetsRate(way)) => ways[way as usize].carries(time),
                Some(OnLink::KeepsUp(way)) => ways[way as usize].bounds(time),
                None => {}
            },
        }
    }
}

/// Extra time for bytes is in proportion to the time of the bytes.
fn contention(profile: &mut Profile, [down, up]: [Way; 2]) {
    let link = &mut profile.link;
    let into = [&mut link.down_shared, &mut link.down_shared_kept].map(|one| (one, down));
    let out = [&mut link.up_shared, &mut link.up_shared_kept].map(|one| (one, up));
    for (shared, way) in into.into_iter().chain(out) {
        let Some(shared) = shared.as_mut().filter(|_| way.factor != 1.0) else { continue };
        shared.per_byte_ns /= way.factor;
        shared.at_best_per_byte_ns.iter_mut().for_each(|ns| *ns /= way.factor);
        shared.per_byte.iter_mut().for_each(|curve| curve.scale(1.0 / way.factor));
    }
}

/// Copies between GPUs that are faster than the link by this factor do not take it.
const ANOTHER_LINK: f64 = 1.2;

fn peers(profile: &mut Profile, [down, up]: [Way; 2]) {
    let slower = if down.factor < up.factor { down } else { up };
    for peer in &mut profile.multi_gpu.peers {
        let takes_link =
            peer.time.slope().is_none_or(|per_byte| per_byte * ANOTHER_LINK > down.per_byte);
        if takes_link {
            slower.carries(&mut peer.time);
        }
    }
}

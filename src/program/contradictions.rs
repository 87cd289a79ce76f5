//! Calls of a written program that contradict each other or themselves: a copy whose direction is
//! not that of its memory, memory that nobody took, a call made in another GPU's context.

use super::accesses::AccessKind;
use super::call::Call;
use super::graph::capturable;
use super::operands::{
    AllocationId, CopyBy, MemoryChange, Place, Route, Rows, Sides, Slice, StreamKind, Touched,
};
use super::problem::{Part, Problem};
use super::step::Step;
use super::value::Program;
use crate::kernels::Grid;
use crate::machine::{DeviceId, Direction, HostMemory, StreamId};
use std::collections::BTreeSet;

impl Program {
    /// The first contradiction. All names must be there.
    pub(super) fn contradiction(&self) -> Option<Problem> {
        let defaults = |device: DeviceId| {
            let here = self.streams.iter().filter(|stream| stream.device == device);
            here.filter(|stream| stream.kind == StreamKind::LegacyDefault).count()
        };
        let twice = (0..self.devices()).find(|&device| defaults(DeviceId(device)) > 1);
        if let Some(device) = twice {
            return Some(format!("streams: GPU {device} has two legacy default streams").into());
        }
        let mut current = vec![DeviceId::FIRST; self.thread_count()];
        let in_calls = self.first_in_calls(|part, at, call| {
            let out_of_place = || match part {
                Part::Setup => out_of_setup(call).map(str::to_owned),
                Part::Body => {
                    let thread = usize::from(self.thread_of(at).0);
                    self.out_of_context(call, &mut current[thread])
                }
            };
            self.wrong_in(call).or_else(out_of_place)
        });
        in_calls
            .or_else(|| {
                let elsewhere = current.iter().any(|&device| device != DeviceId::FIRST);
                let problem = "body does not end in the context of the first GPU";
                elsewhere.then(|| problem.to_owned().into())
            })
            .or_else(|| self.wrong_threads())
            .or_else(|| self.wrong_lifetime())
            .or_else(|| self.wrong_graph())
            .or_else(|| self.wrong_event())
    }

    pub(super) fn place(&self, slice: &Slice) -> Place {
        self.allocation(slice.allocation).place
    }

    pub(super) fn name(&self, id: AllocationId) -> &str {
        &self.allocation(id).name
    }

    /// What is wrong with a call by itself.
    fn wrong_in(&self, call: &Call) -> Option<String> {
        if let Some((id, change)) = call.memory_change() {
            return self.wrong_change(id, change, call.stream());
        }
        let Sides { by, from, to, rows } = call.sides();
        match (call.stream(), call.step(), by, from, to) {
            (Some(stream), Some(step), ..) => self.wrong_launch(stream, step),
            (None, _, None, ..) if call.works_on_cpu() => {
                // The CPU has no use for a workspace, wherever that is.
                let used = self.accesses(call).filter(|one| one.kind != AccessKind::Scratch);
                let there = used.map(|one| one.touched.slice).find(|one| !self.is_on_host(one))?;
                let name = self.name(there.allocation);
                Some(format!("uses `{name}` on the host, but it is GPU memory"))
            }
            (_, _, Some(by), Some(from), Some(to)) => self
                .wrong_sides(by, [from, to])
                .or_else(|| wrong_extent(by, [from, to], rows))
                .or_else(|| self.onto_itself([*from, *to], rows)),
            (Some(stream), _, None, None, Some(target)) => {
                self.elsewhere(stream, target.allocation)
            }
            (_, _, None, Some(target), None) => (!self.place(target).is_managed()).then(|| {
                let name = self.name(target.allocation);
                format!("prefetches `{name}`, but it is not managed memory")
            }),
            _ => None,
        }
    }

    /// What is wrong with taking, giving back, pinning or renewing memory where it is.
    fn wrong_change(
        &self,
        id: AllocationId,
        change: MemoryChange,
        stream: Option<StreamId>,
    ) -> Option<String> {
        let (place, name) = (self.allocation(id).place, self.name(id));
        let is_pinned = place == Place::Host(HostMemory::Pinned);
        match change {
            MemoryChange::Pin => {
                (!is_pinned).then(|| format!("pins `{name}`, but it is not declared as pinned"))
            }
            MemoryChange::Unpin => {
                (!is_pinned).then(|| format!("unpins `{name}`, but it is not pinned"))
            }
            MemoryChange::Allocate | MemoryChange::Free => self.elsewhere(stream?, id),
            MemoryChange::Renew => match place {
                Place::Device(_) => Some("GPU memory".to_owned()),
                Place::Host(HostMemory::Pageable | HostMemory::Pinned) => None,
                Place::Host(memory) => Some(format!("{memory} memory")),
            }
            .map(|kind| format!("renews `{name}`, but it is {kind}")),
        }
    }

    /// What is wrong with the places that a copy goes from and to.
    fn wrong_sides(&self, by: CopyBy, sides: [&Slice; 2]) -> Option<String> {
        match by {
            CopyBy::Stream(stream, Route::Crossing(way)) => self.wrong_way(stream, way, sides),
            CopyBy::Stream(stream, Route::OnDevice) => {
                sides.into_iter().find_map(|side| self.elsewhere(stream, side.allocation))
            }
            CopyBy::Stream(_, Route::ToPeer) => match sides.map(|side| self.place(side)) {
                [Place::Device(from), Place::Device(to)] if from == to => Some(
                    "is a copy between GPUs, but its source and target are on the same GPU"
                        .to_owned(),
                ),
                [Place::Device(from), Place::Device(to)] => self
                    .no_device(from.max(to))
                    .map(|problem| format!("copies to or from a missing GPU: {problem}")),
                _ => Some(
                    "is a copy between GPUs, but its source or target is host memory".to_owned(),
                ),
            },
            CopyBy::Host(_) => {
                let there = sides.into_iter().find(|side| !self.is_on_host(side))?;
                let name = self.name(there.allocation);
                Some(format!("copies `{name}` on the host, but it is GPU memory"))
            }
        }
    }

    /// A copy between host and device that is not the way its direction says.
    fn wrong_way(
        &self,
        stream: StreamId,
        way: Direction,
        [from, to]: [&Slice; 2],
    ) -> Option<String> {
        let (host, device) = match way {
            Direction::HostToDevice => (from, to),
            Direction::DeviceToHost => (to, from),
        };
        let fits =
            self.is_on_host(host) && self.place(device) == Place::Device(self.device_of(stream));
        let problem = (!fits).then(|| {
            let ends = [from, to].map(|end| self.name(end.allocation));
            format!(
                "copies {way} from `{}` to `{}`, but its host end is not in host memory, or its \
                 GPU end is not on the stream's GPU",
                ends[0], ends[1]
            )
        });
        problem.or_else(|| {
            let name = self.name(host.allocation);
            let problem = || format!("copies `{name}`, but managed memory migrates by itself");
            self.place(host).is_managed().then(problem)
        })
    }

    fn is_on_host(&self, slice: &Slice) -> bool {
        matches!(self.place(slice), Place::Host(_))
    }

    /// A copy whose two sides have bytes in common.
    fn onto_itself(&self, sides: [Slice; 2], rows: Option<Rows>) -> Option<String> {
        let [from, to] = [0, 1].map(|at| Touched::side(sides[at], rows, at));
        from.overlaps(&to).then(|| {
            let name = self.name(from.slice.allocation);
            format!("copies `{name}` onto itself: source and target overlap")
        })
    }

    fn wrong_launch(&self, stream: StreamId, step: &Step) -> Option<String> {
        // Kernels reach page-locked memory of the host across the link.
        let elsewhere = step.slices().find_map(|slice| match self.place(slice) {
            Place::Host(memory) if memory.is_seen_by_devices() => None,
            _ => self.elsewhere(stream, slice.allocation),
        });
        elsewhere.or_else(|| {
            let step = step.library()?;
            let needs = Grid::workspace(step.kernel, &step.arguments)?;
            let kernel = step.kernel;
            let problem =
                || format!("launches `{kernel}` without its workspace of {needs} elements");
            step.workspace.is_none().then(problem)
        })
    }

    /// Memory that is not on the device of a stream that works on it.
    fn elsewhere(&self, stream: StreamId, id: AllocationId) -> Option<String> {
        let DeviceId(device) = self.device_of(stream);
        (self.allocation(id).place != Place::Device(DeviceId(device))).then(|| {
            let name = self.name(id);
            format!("uses `{name}` in stream {}, but it is not on GPU {device}", stream.0)
        })
    }

    /// A call of the body that is made in the context of another GPU.
    fn out_of_context(&self, call: &Call, current: &mut DeviceId) -> Option<String> {
        if let Some(device) = call.device().filter(|_| !call.only_waits()) {
            *current = device;
            return None;
        }
        let of_stream = call.stream().map(|stream| self.device_of(stream));
        let DeviceId(device) = of_stream.or(call.device())?;
        let problem =
            || format!("is for GPU {device}, but the current context is that of GPU {}", current.0);
        (device != current.0).then(problem)
    }

    /// An event that streams of several devices record: it belongs to the context that it was
    /// created in.
    fn wrong_event(&self) -> Option<Problem> {
        let mut recorders: Vec<Option<DeviceId>> = vec![None; self.events];
        self.first_in_calls(|_, _, call| {
            let event = call.recorded()?;
            let device = self.device_of(call.stream()?);
            let first = *recorders[event.0].get_or_insert(device);
            (first != device).then(|| {
                let (event, here, there) = (event.0, device.0, first.0);
                format!(
                    "records event {event} on GPU {here}, but it is also recorded on GPU {there}"
                )
            })
        })
    }

    /// A use of memory that each pass takes or pins anew, in a graph that is captured once.
    fn moving(&self, call: &Call, taken: &BTreeSet<AllocationId>) -> Option<String> {
        let mut used = self.accesses(call).map(|one| one.allocation());
        let moving = used.find(|id| taken.contains(id))?;
        let name = self.name(moving);
        Some(format!("`{name}` cannot be captured, because every run allocates or pins it again"))
    }

    /// A graph with calls that cannot be captured.
    fn wrong_graph(&self) -> Option<Problem> {
        let is_taken = |change| matches!(change, MemoryChange::Allocate | MemoryChange::Pin);
        let changes = self.body.iter().filter_map(Call::memory_change);
        let taken = changes.filter(|(_, change)| is_taken(*change)).map(|(id, _)| id);
        let taken: BTreeSet<AllocationId> = taken.collect();
        self.body.iter().enumerate().find_map(|(launch, call)| {
            let calls = call.launched_calls()?;
            let device = self.device_of(call.stream()?);
            let captured = self.body[launch + 1..][..calls].iter().enumerate();
            let problem = captured.into_iter().find_map(|(at, call)| {
                let problem = capturable(self, call).err().or_else(|| self.moving(call, &taken));
                let problem = problem.or_else(|| {
                    let stream = call.stream()?;
                    let traits = self.streams[stream.0];
                    let is_default = traits.kind == StreamKind::LegacyDefault;
                    let elsewhere = (traits.device != device).then_some("a call to another GPU");
                    let what = is_default.then_some("a call in the legacy default stream");
                    let way_out = if is_default { " (give it a `stream`)" } else { "" };
                    Some(format!("{} cannot be captured{way_out}", what.or(elsewhere)?))
                })?;
                let what = format!("is in a graph: {problem}");
                Some(Problem::of_call(Part::Body, launch + 1 + at, what))
            });
            problem.or_else(|| {
                let is_empty = calls == 0;
                let what = "launches a graph without calls";
                is_empty.then(|| Problem::of_call(Part::Body, launch, what))
            })
        })
    }
}

/// A call that the set-up cannot have. The executor makes its calls in the context of their
/// streams.
fn out_of_setup(call: &Call) -> Option<&'static str> {
    match call.memory_change() {
        _ if call.launched_calls().is_some() => {
            Some("launches a graph in the set-up; only the body can")
        }
        Some((_, MemoryChange::Free | MemoryChange::Unpin)) => Some(
            "frees or unpins memory in the set-up; memory from the set-up persists across all \
                  runs",
        ),
        _ => None,
    }
}

/// Sides of a copy that have not as many bytes, or rows where only ranges are copied. (That both
/// sides have as many rows is looked at before.)
fn wrong_extent(by: CopyBy, sides: [&Slice; 2], rows: Option<Rows>) -> Option<String> {
    let [from, to] = sides.map(|side| side.length);
    match (by, rows) {
        (CopyBy::Host(_), Some(_)) => Some("copies rows within host memory".to_owned()),
        (CopyBy::Stream(_, Route::ToPeer), Some(_)) => Some("copies rows between GPUs".to_owned()),
        (CopyBy::Stream(..), Some(_)) => None,
        (_, None) => (from != to).then(|| format!("copies {from} to a range of {to}")),
    }
}

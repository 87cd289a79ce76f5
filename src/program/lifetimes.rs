//! When memory is there: from what takes it to what gives it back, and pinned in between.
//!
//! A pass leaves memory as it found it, since the next one begins there.

use super::call::Call;
use super::operands::{AllocationId, MemoryChange};
use super::problem::{Part, Problem};
use super::value::Program;

/// A call by its place.
type At = (Part, usize);

/// What has become of an allocation.
#[derive(Clone, Copy)]
struct Life {
    state: State,
    /// The call that pinned it where it is, if it is pinned so; the set-up's buffers have none.
    pinned_by: Option<At>,
    /// The call that unpinned it last.
    unpinned_by: Option<At>,
}

#[derive(Clone, Copy)]
enum State {
    /// Nothing has taken it yet.
    Absent,
    /// It is there: since a call, or since before the program.
    There { since: Option<At>, in_stream: bool },
    /// A call has given it back.
    Freed { by: At },
}

impl State {
    const fn is_there(self) -> bool {
        matches!(self, Self::There { .. })
    }
}

impl Program {
    /// The first use of memory that is not there, memory that is taken or given back twice, or
    /// that a pass leaves otherwise than it found it.
    pub(super) fn wrong_lifetime(&self) -> Option<Problem> {
        let life = |one: &super::Allocation| Life {
            state: match one.holds {
                Some(_) => State::There { since: None, in_stream: false },
                None => State::Absent,
            },
            pinned_by: None,
            unpinned_by: None,
        };
        let mut lives: Vec<Life> = self.allocations.iter().map(life).collect();
        let pins: Vec<AllocationId> = self.calls().filter_map(Call::pinned).collect();
        let mut before = lives.clone();
        for (part, calls) in self.parts() {
            before.clone_from(&lives);
            for (at, call) in calls.iter().enumerate() {
                let problem = self.live_through(call, (part, at), &mut lives);
                let problem = problem.or_else(|| self.not_pinned(call, &pins, &lives));
                if let Some(problem) = problem {
                    return Some(Problem { call: Some((part, at)), ..problem });
                }
            }
        }
        let mut ids = (0..lives.len()).map(AllocationId);
        ids.find_map(|id| self.left_behind(id, &before[id.0], &lives[id.0]))
    }

    /// Follows one call, and finds what is wrong with it.
    fn live_through(&self, call: &Call, at: At, lives: &mut [Life]) -> Option<Problem> {
        let Some((id, change)) = call.memory_change() else { return self.absent(call, lives) };
        let (life, name) = (&mut lives[id.0], self.name(id));
        let in_stream = call.stream().is_some();
        let (what, other, label) = match (change, life.state) {
            (MemoryChange::Allocate, State::There { since, .. }) => {
                (format!("allocates `{name}`, which is already allocated"), since, "allocated")
            }
            (MemoryChange::Unpin, _) if life.pinned_by.is_none() => {
                let what = format!("unpins `{name}`, which no earlier call has pinned");
                (what, life.unpinned_by, "unpinned")
            }
            (MemoryChange::Pin, _) if life.pinned_by.is_some() => {
                (format!("pins `{name}`, which is already pinned"), life.pinned_by, "pinned")
            }
            (MemoryChange::Free, _) => {
                let problem = self.wrong_free(id, in_stream, life);
                life.state = State::Freed { by: at };
                return problem;
            }
            (MemoryChange::Allocate, _) => {
                life.state = State::There { since: Some(at), in_stream };
                return None;
            }
            (_, State::Absent | State::Freed { .. }) => return self.absent(call, lives),
            (MemoryChange::Pin, _) => {
                life.pinned_by = Some(at);
                return None;
            }
            (MemoryChange::Unpin, _) => {
                (life.pinned_by, life.unpinned_by) = (None, Some(at));
                return None;
            }
            (MemoryChange::Renew, _) => return None,
        };
        Some(Problem::from(what).and(other, label))
    }

    /// What a call uses of memory that is not there.
    fn absent(&self, call: &Call, lives: &[Life]) -> Option<Problem> {
        let mut uses = self.accesses(call).map(|one| one.allocation());
        let missing = uses.find(|id| !lives[id.0].state.is_there())?;
        let name = self.name(missing);
        Some(match lives[missing.0].state {
            State::Freed { by } => {
                Problem::from(format!("uses `{name}` after it was freed")).and(Some(by), "freed")
            }
            _ => format!("uses `{name}`, which no earlier call has allocated").into(),
        })
    }

    fn wrong_free(&self, id: AllocationId, in_stream: bool, life: &Life) -> Option<Problem> {
        let name = self.name(id);
        let (what, other, label) = match life.state {
            _ if self.allocation(id).holds.is_some() => {
                return Some(format!("frees `{name}`, a buffer of the scenario").into());
            }
            State::Absent => {
                return Some(format!("frees `{name}`, which no earlier call has allocated").into());
            }
            State::Freed { by } => {
                (format!("frees `{name}`, which is already freed"), Some(by), "freed")
            }
            State::There { .. } if life.pinned_by.is_some() => {
                (format!("frees `{name}` while it is pinned"), life.pinned_by, "pinned")
            }
            State::There { since, in_stream: true } if !in_stream => {
                let what = format!("`{name}` is allocated in a stream but freed outside one");
                (what, since, "allocated")
            }
            State::There { since, in_stream: false } if in_stream => {
                let what = format!("`{name}` is allocated outside a stream but freed in one");
                (what, since, "allocated")
            }
            State::There { .. } => return None,
        };
        Some(Problem::from(what).and(other, label))
    }

    /// What the device does with memory that some call pins, while it is not pinned.
    fn not_pinned(&self, call: &Call, pins: &[AllocationId], lives: &[Life]) -> Option<Problem> {
        call.stream()?;
        let mut uses = self.accesses(call).map(|one| one.allocation());
        let id = uses.find(|id| pins.contains(id) && lives[id.0].pinned_by.is_none())?;
        let what = format!("uses `{}` while it is not pinned", self.name(id));
        Some(Problem::from(what).and(lives[id.0].unpinned_by, "unpinned"))
    }

    /// Memory that a pass leaves otherwise than it found it.
    fn left_behind(&self, id: AllocationId, before: &Life, after: &Life) -> Option<Problem> {
        let pins = (before.pinned_by, after.pinned_by);
        let (call, what, rest) = match (before.state.is_there(), after.state, pins) {
            (false, State::There { since, .. }, _) => (
                since,
                "allocates",
                " in every run without freeing it: free it in the run, or allocate it in `setup`",
            ),
            (true, State::Freed { by }, _) => (
                Some(by),
                "frees",
                ", so the next run does not have it: also allocate it in the run",
            ),
            (_, _, (None, Some(at))) => (
                Some(at),
                "pins",
                " in every run without unpinning it: unpin it in the run, or pin it in `setup`",
            ),
            (_, _, (Some(_), None)) => (
                after.unpinned_by,
                "unpins",
                ", but the next run needs it pinned: also pin it in the run",
            ),
            _ => return None,
        };
        let what = format!("{what} `{}`{rest}", self.name(id));
        Some(Problem { call, ..Problem::from(what) })
    }
}

//! Calls on memory that a pass takes and gives back.

use super::error::ExecuteError;
use super::handles::Handles;
use super::memory::Memories;
use super::prepared::Prepared;
use crate::gpu::AnyDevice;
use crate::host::Team;
use crate::program::{AllocationId, Call, MemoryChange, Program};
use crate::units::Bytes;
use std::cell::RefCell;

/// A program, with what its calls ask of the whole of it.
pub(super) struct Whole<'d> {
    program: &'d Program,
    footprint: Bytes,
    /// The memory that each pass takes anew.
    taken: Vec<AllocationId>,
}

impl<'d> Whole<'d> {
    pub fn new(program: &'d Program) -> Self {
        let taken = program.body.iter().filter_map(changed).collect();
        Self { program, footprint: program.host_footprint(), taken }
    }
}

/// A call of a body, ready to be made in every pass.
pub(super) enum Ready<'d, D: AnyDevice> {
    Fixed(Prepared<'d, D>),
    Movable(Movable<'d, D>),
}

impl<'d, D: AnyDevice> Ready<'d, D> {
    pub fn new(
        (whole, call): (&Whole<'d>, &'d Call),
        device: Option<&'d D>,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
    ) -> Result<Self, ExecuteError> {
        if let Some(movable) = Movable::of((whole, call), device) {
            return Ok(Self::Movable(movable));
        }
        Ok(Self::Fixed(Prepared::new(
            (whole.program, call),
            whole.footprint,
            (device, handles),
            memories,
        )?))
    }

    /// Makes the call.
    #[inline]
    pub fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
        team: &Team,
    ) -> Result<(), ExecuteError> {
        match self {
            Self::Fixed(call) => call.make(handles, memories, team),
            Self::Movable(call) => call.make(handles, memories, team),
        }
    }
}

/// A call on memory that each pass takes anew. The memory is usually where it was in the pass
/// before; if not, the call's addresses are looked up again.
pub(super) struct Movable<'d, D: AnyDevice> {
    program: &'d Program,
    footprint: Bytes,
    call: &'d Call,
    device: Option<&'d D>,
    /// The memory that may have moved.
    moving: Vec<AllocationId>,
    last: RefCell<Option<(Vec<u64>, Prepared<'d, D>)>>,
}

impl<'d, D: AnyDevice> Movable<'d, D> {
    /// `None` for a call on memory that stays where it is.
    fn of((whole, call): (&Whole<'d>, &'d Call), device: Option<&'d D>) -> Option<Self> {
        if call.memory_change().is_some() {
            return None;
        }
        let Whole { program, footprint, ref taken } = *whole;
        let mut moving: Vec<AllocationId> =
            program.accesses(call).map(|one| one.allocation()).collect();
        moving.retain(|id| taken.contains(id));
        (!moving.is_empty()).then(|| Self {
            program,
            footprint,
            call,
            device,
            moving,
            last: RefCell::new(None),
        })
    }

    fn make(
        &self,
        handles: &Handles<D>,
        memories: &mut Memories<D>,
        team: &Team,
    ) -> Result<(), ExecuteError> {
        let mut last = self.last.borrow_mut();
        let is_there = last.as_ref().is_some_and(|(addresses, _)| {
            let mut places = self.moving.iter().zip(addresses);
            places.all(|(id, &address)| memories.address(*id) == address)
        });
        if !is_there {
            let call = (self.program, self.call);
            let at = (self.device, handles);
            let prepared = Prepared::new(call, self.footprint, at, memories)?;
            let addresses = self.moving.iter().map(|&id| memories.address(id)).collect();
            *last = Some((addresses, prepared));
        }
        let (_, prepared) = last.as_ref().expect("just looked up");
        prepared.make(handles, memories, team)
    }
}

/// The memory that a call takes, gives back or pins.
fn changed(call: &Call) -> Option<AllocationId> {
    let (id, change) = call.memory_change()?;
    (change != MemoryChange::Renew).then_some(id)
}

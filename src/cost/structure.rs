//! What the engine needs to know of a program whatever its calls cost: the calls, sorted into
//! streams, and what may have to follow, wait for or slow what. It is worked out once for a
//! program; draws and what-if change nothing but prices.

use super::channels::ChannelLayout;
use super::classes::Classes;
use super::copies::Copying;
use super::hand_overs::Ties;
use super::layout::Layout;
use super::links::Meetings;
use super::polling::Arrivals;
use super::waiting_kernels::WaitingKernels;
use super::work::{CallCost, CostKind};
use crate::program::Program;

/// The layout of a program, and what follows from it.
#[derive(Debug)]
pub(crate) struct Structure {
    /// What each cost is a cost of: with costs of other kinds, this is another program.
    kinds: Vec<CostKind>,
    pub layout: Layout,
    pub ties: Ties,
    pub copying: Vec<Copying>,
    pub arrivals: Arrivals,
    pub meetings: Meetings,
    pub waiting_kernels: WaitingKernels,
    pub channels: ChannelLayout,
}

impl Structure {
    /// `places`: for each class of calls, the place of its cost.
    pub fn new(
        program: &Program,
        classes: &Classes,
        (costs, places): (&[CallCost], &[u32]),
    ) -> Self {
        let layout = Layout::new(program, classes, (costs, places));
        Self {
            kinds: costs.iter().map(CostKind::of).collect(),
            ties: Ties::new(&layout, costs),
            copying: Copying::of_devices(&layout, costs),
            arrivals: Arrivals::new(&layout, costs),
            meetings: Meetings::new(&layout, costs),
            waiting_kernels: WaitingKernels::new(&layout, costs),
            channels: ChannelLayout::new(program, &layout, costs),
            layout,
        }
    }

    /// Whether this is the structure of a program with these costs.
    pub fn is_of(&self, costs: &[CallCost]) -> bool {
        costs.iter().map(CostKind::of).eq(self.kinds.iter().copied())
    }
}

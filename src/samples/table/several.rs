//! Rows about several streams, graphs, kernels beside copies, memory management and set-up.

use super::row::Row;
use super::words::{KERNEL, OPERATIONS, PATHS, Path};
use crate::kernels::Variant;
use crate::machine::{Direction, OperationKind};
use crate::samples::{GraphCall, MemoryWork, Quantity, SetupStep};
use crate::units::Bytes;

/// Memory management that a table may have.
pub(super) const WORKS: [MemoryWork; 16] = {
    use MemoryWork::{
        DeviceAllocate, DeviceFree, FirstCopy, FirstRead, FirstTouch, ManagedAllocate,
        PageableAllocate, PageableFree, PinnedAllocate, PinnedFree, Register, Renew, SecondCopy,
        SecondRead, SecondTouch, Unregister,
    };
    [
        DeviceAllocate,
        DeviceFree,
        PinnedAllocate,
        PinnedFree,
        Register,
        Unregister,
        PageableAllocate,
        PageableFree,
        ManagedAllocate,
        FirstTouch,
        SecondTouch,
        FirstCopy,
        SecondCopy,
        FirstRead,
        SecondRead,
        Renew,
    ]
};

impl Row<'_> {
    /// A copy whose engine serves several streams or branches of a graph, or that kernels in other
    /// streams wait for.
    pub(super) fn of_several_streams(
        &self,
        path: Path,
        bytes: Bytes,
    ) -> Result<Option<Quantity>, String> {
        let (streams, branches) = (self.several("streams")?, self.several("branches")?);
        let kernels = self.whole("waiting")?;
        if streams.is_none() && branches.is_none() {
            self.leave_empty(
                &["waiting"],
                "only with `streams`, the streams in which kernels wait",
            )?;
            return Ok(None);
        }
        let others = ["until", "footprint", "concurrent", "gpu", "gpus"];
        self.leave_empty(&others, "not for copies in several streams")?;
        let Path::ToOrFromHost(direction) = path else {
            return Err("column `streams`: only for H2D and D2H copies; leave it empty".to_owned());
        };
        self.one_of("memory", &[("pinned", ())])?;
        Ok(Some(match (streams, branches, kernels) {
            (Some(_), Some(_), _) => {
                return Err("column `branches`: not together with `streams`; leave one of them \
                            empty"
                    .to_owned());
            }
            (Some(streams), None, Some(kernels)) if direction == Direction::HostToDevice => {
                Quantity::Refetched { bytes, streams, kernels }
            }
            (_, _, Some(_)) => {
                return Err(
                    "column `waiting`: only for H2D copies and kernels; leave it empty".to_owned()
                );
            }
            (Some(streams), None, None) => {
                Quantity::Rotation { direction, bytes, streams, in_graph: false }
            }
            (None, branches, None) => {
                let streams = branches.unwrap_or_default();
                Quantity::Rotation { direction, bytes, streams, in_graph: true }
            }
        }))
    }

    /// A number of streams.
    fn several(&self, column: &str) -> Result<Option<usize>, String> {
        match self.whole(column)? {
            Some(number @ 2..=1_000) => Ok(Some(number as usize)),
            Some(_) => Err(format!("column `{column}`: write a number from 2 to 1000")),
            None => Ok(None),
        }
    }

    /// A kernel beside copies.
    pub(super) fn kernel_beside(
        &self,
        variant: Variant,
        elements: u64,
    ) -> Result<Quantity, String> {
        self.leave_empty(&["gpu"], "only for kernels with nothing concurrent")?;
        match self.one_of("concurrent", &PATHS)? {
            Path::ToOrFromHost(direction) => {
                Ok(Quantity::KernelBeside { direction, variant, elements })
            }
            _ => {
                Err("column `concurrent`: write H2D or D2H, the copies during the kernel"
                    .to_owned())
            }
        }
    }

    /// A node of a graph, or a chain of nodes of one kind.
    pub(super) fn node(&self, of: OperationKind) -> Result<Quantity, String> {
        self.leave_empty(&["waiting", "concurrent"], "not for nodes of a graph")?;
        let after = match self.get("after") {
            None => None,
            Some(_) => Some(self.one_of("after", &OPERATIONS)?),
        };
        if after.into_iter().chain([of]).any(|kind| kind == OperationKind::PeerCopy) {
            return Err(
                "column `streams`: copies between GPUs are not supported in graphs".to_owned()
            );
        }
        Ok(if after == Some(of) {
            Quantity::GraphChain { links: vec![of] }
        } else {
            Quantity::Node { after, of }
        })
    }

    /// A kernel behind another one, while kernels wait in other streams.
    pub(super) fn polled(&self, of: OperationKind) -> Result<Quantity, String> {
        if (self.get("after"), of) != (Some(KERNEL), OperationKind::Kernel) {
            return Err(
                "column `waiting`: only for a `kernel` after a `kernel`; leave it empty".into()
            );
        }
        let others = self.whole("waiting")?.unwrap_or_default() as usize;
        let meanwhile = [("H2D", [true, false]), ("D2H", [false, true]), ("both", [true, true])];
        let copies = match self.get("concurrent") {
            None => [false; 2],
            Some(_) => self.one_of("concurrent", &meanwhile)?,
        };
        Ok(Quantity::Polled { others, copies })
    }

    /// A host call on a graph.
    pub(super) fn graph(&self) -> Result<Quantity, String> {
        let call = self.one_of("graph", &GraphCall::ALL.map(|call| (call.word(), call)))?;
        let nodes =
            self.whole("nodes")?.ok_or("column `nodes`: empty; write a number such as 64")?;
        if nodes > 10_000 {
            return Err("column `nodes`: write a number up to 10000".to_owned());
        }
        Ok(Quantity::GraphCall { call, nodes })
    }

    pub(super) fn memory_work(&self) -> Result<Quantity, String> {
        let work = self.one_of("manage", &WORKS.map(|work| (work.word(), work)))?;
        let bytes =
            self.bytes("bytes")?.ok_or("column `bytes`: empty; write a number such as 1048576")?;
        Ok(Quantity::Memory { work, bytes })
    }

    pub(super) fn setup(&self) -> Result<Quantity, String> {
        let steps = SetupStep::ALL.map(|step| (step.word(), step));
        Ok(Quantity::Setup { step: self.one_of("setup", &steps)? })
    }
}

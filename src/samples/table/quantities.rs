//! The quantity that a row of a table is about.

use super::row::Row;
use crate::kernels::{Kernel, Variant};
use crate::machine::{Direction, OperationKind};
use crate::samples::provenance::MOST_GPUS;
use crate::samples::{
    GraphCall, Load, MemoryWork, Quantity, SetupStep, Side, TimedCall, TransferPath,
    WRITTEN_THROUGH,
};
use crate::units::Bytes;

/// The columns of which a row fills in exactly one.
pub(super) const SORTS: [&str; 7] =
    ["path", "kernel", "call", "operation", "graph", "manage", "setup"];

/// The kind of host memory of a copy.
#[derive(Clone, Copy)]
enum Memory {
    Pinned,
    Pageable,
    WriteCombined,
    /// Not copied: a kernel uses it across the link.
    Mapped,
}

const MEMORIES: [(&str, Memory); 4] = [
    ("pinned", Memory::Pinned),
    ("pageable", Memory::Pageable),
    ("write-combined", Memory::WriteCombined),
    ("mapped", Memory::Mapped),
];

/// Where a copy comes from and where it goes.
#[derive(Clone, Copy)]
enum Path {
    ToOrFromHost(Direction),
    OnDevice,
    BetweenDevices,
}

const PATHS: [(&str, Path); 4] = [
    ("H2D", Path::ToOrFromHost(Direction::HostToDevice)),
    ("D2H", Path::ToOrFromHost(Direction::DeviceToHost)),
    ("D2D", Path::OnDevice),
    ("P2P", Path::BetweenDevices),
];

const OPERATIONS: [(&str, OperationKind); 4] = [
    ("copy-in", OperationKind::CopyIn),
    ("copy-out", OperationKind::CopyOut),
    ("kernel", OperationKind::Kernel),
    ("peer-copy", OperationKind::PeerCopy),
];

/// What two operations are in.
#[derive(Clone, Copy)]
enum Streams {
    One,
    Two,
    OfTwoGpus,
    InAGraph,
}

const STREAMS: [(&str, Streams); 4] = [
    ("one", Streams::One),
    ("two", Streams::Two),
    ("gpus", Streams::OfTwoGpus),
    ("graph", Streams::InAGraph),
];

/// Value of the column `concurrent` for copies beside kernels.
const KERNEL: &str = "kernel";

impl Row<'_> {
    /// What a row of a sort is about, from all of its columns that such a row may fill in.
    pub(super) fn quantity(&self, sort: &str) -> Result<Quantity, String> {
        match sort {
            "path" => self.copy(),
            "kernel" => self.kernel(),
            "call" => self.call(),
            "operation" => self.operation(),
            "graph" => self.graph(),
            "manage" => self.memory_work(),
            _ => self.setup(),
        }
    }

    fn copy(&self) -> Result<Quantity, String> {
        match self.one_of("path", &PATHS)? {
            Path::BetweenDevices => self.peer_copy(),
            Path::OnDevice => {
                let path = TransferPath::OnDevice;
                Ok(Quantity::Transfer { path, bytes: self.bytes("bytes")? })
            }
            Path::ToOrFromHost(direction) => self.host_copy(direction, self.bytes("bytes")?),
        }
    }

    fn host_copy(&self, direction: Direction, bytes: Bytes) -> Result<Quantity, String> {
        let transfer = |path| Ok(Quantity::Transfer { path, bytes });
        match (self.one_of("memory", &MEMORIES)?, direction) {
            (Memory::Pinned, _) => self.pinned_copy(direction, bytes),
            (Memory::Pageable, _) => {
                let ends = [("complete", true), ("return", false)];
                let complete = self.any_of("until", &ends)?.unwrap_or(true);
                let footprint = self.footprint(bytes)?;
                Ok(Quantity::Staged { direction, bytes, footprint, complete })
            }
            (Memory::WriteCombined, Direction::HostToDevice) => {
                transfer(TransferPath::WriteCombined)
            }
            (Memory::WriteCombined, Direction::DeviceToHost) => {
                Err("column `memory`: write-combined memory is only for H2D; set `path` to H2D"
                    .into())
            }
            (Memory::Mapped, _) if self.is_beside_the_other(direction)? => {
                transfer(TransferPath::MappedBoth)
            }
            (Memory::Mapped, Direction::HostToDevice) => transfer(TransferPath::MappedRead),
            (Memory::Mapped, Direction::DeviceToHost) => transfer(TransferPath::MappedWrite),
        }
    }

    /// A copy of pinned memory: by itself, on several GPUs at once, beside something, or by an
    /// engine that serves several streams or branches of a graph.
    fn pinned_copy(&self, direction: Direction, bytes: Bytes) -> Result<Quantity, String> {
        let several = |column| self.within(column, 2..=1_000, "a number");
        if let Some(streams) = several("streams")? {
            if direction == Direction::HostToDevice && self.get("waiting").is_some() {
                return Ok(Quantity::Refetched { bytes, streams, kernels: self.whole("waiting")? });
            }
            return Ok(Quantity::Rotation { direction, bytes, streams, in_graph: false });
        }
        if let Some(streams) = several("branches")? {
            return Ok(Quantity::Rotation { direction, bytes, streams, in_graph: true });
        }
        let at_once = "the number of GPUs that copy at once";
        if let Some(devices) = self.within("gpus", 2..=MOST_GPUS - 1, at_once)? {
            let both = self.is_beside_the_other(direction)?;
            return Ok(Quantity::Concurrent { direction, bytes, devices, both });
        }
        if self.get("concurrent") == Some(KERNEL) {
            let (load, of) = (Load::Kernel, Side::Copy);
            return Ok(Quantity::Beside { direction, bytes, load, of });
        }
        if self.is_beside_the_other(direction)? {
            return Ok(Quantity::Shared { direction, bytes, footprint: WRITTEN_THROUGH });
        }
        self.on(Quantity::Copy { direction, bytes })
    }

    /// Whether as many copies go the other way at once.
    fn is_beside_the_other(&self, direction: Direction) -> Result<bool, String> {
        match self.any_of("concurrent", &PATHS)? {
            None => Ok(false),
            Some(Path::ToOrFromHost(other)) if other != direction => Ok(true),
            Some(_) => Err(format!(
                "column `concurrent`: copies in the same direction do not run concurrently; \
                 write the direction opposite to {direction}, or leave it empty"
            )),
        }
    }

    /// A copy between GPUs that reach each other's memory, alone or with as many copies the other
    /// way.
    fn peer_copy(&self) -> Result<Quantity, String> {
        let end = |column| {
            let missing = || format!("column `{column}`: empty; write a GPU number, such as 0");
            self.gpu(column)?.ok_or_else(missing)
        };
        let (from, to) = (end("from")?, end("to")?);
        if from == to {
            return Err("column `to`: same GPU as `from`; write a different one".to_owned());
        }
        let both = self.any_of("concurrent", &[("P2P", ())])?.is_some();
        Ok(Quantity::PeerCopy { from, to, bytes: self.bytes("bytes")?, direct: true, both })
    }

    /// The quantity on the GPU that the row names, if it names one.
    fn on(&self, of: Quantity) -> Result<Quantity, String> {
        Ok(match self.gpu("gpu")? {
            Some(device) => Quantity::On { device, of: Box::new(of) },
            None => of,
        })
    }

    fn kernel(&self) -> Result<Quantity, String> {
        let kernel = self.one_of("kernel", &Kernel::ALL.map(|kernel| (kernel.name(), kernel)))?;
        let elements = self.whole("elements")?;
        let variant = Variant { kernel, extent: self.extent(kernel)? };
        let grain = kernel.grain(&variant.arguments());
        if !elements.is_multiple_of(grain) {
            return Err(format!("column `elements`: {elements} is not a multiple of {grain}"));
        }
        if self.any_of("processor", &[("gpu", false), ("cpu", true)])? == Some(true) {
            let footprint = self.footprint(Bytes::new(variant.bytes(elements)))?;
            return Ok(Quantity::Twin { variant, elements, footprint });
        }
        match self.any_of("concurrent", &PATHS)? {
            None => self.on(Quantity::Kernel { variant, elements }),
            Some(Path::ToOrFromHost(direction)) => {
                Ok(Quantity::KernelBeside { direction, variant, elements })
            }
            Some(_) => {
                Err("column `concurrent`: write H2D or D2H, the direction of the copies that run \
                     during the kernel"
                    .to_owned())
            }
        }
    }

    /// The bytes used in turn: `own` if the row does not say.
    fn footprint(&self, own: Bytes) -> Result<Bytes, String> {
        let said = self.get("footprint").map(|_| self.bytes("footprint")).transpose()?;
        match said {
            Some(less) if less < own => Err(format!(
                "column `footprint`: {less} is less than the {own} that one repetition uses; write \
                 at least that, or leave it empty"
            )),
            footprint => Ok(footprint.unwrap_or(own)),
        }
    }

    /// The kernel's whole-number argument. That of another kernel was meant for this one.
    fn extent(&self, kernel: Kernel) -> Result<u32, String> {
        let own = kernel.extent();
        let names = Kernel::ALL.into_iter().filter_map(Kernel::extent).map(|extent| extent.name);
        let mut others = names.filter(|&name| own.is_none_or(|own| own.name != name));
        if let Some(name) = others.find(|name| self.get(name).is_some()) {
            return Err(format!(
                "column `{name}`: `{kernel}` has no such argument; leave it empty"
            ));
        }
        let Some(own) = own else { return Ok(0) };
        let such_as = format!("write {own}, such as {}", own.default);
        let text = self.needs(own.name, &such_as)?;
        let number = text.parse().ok().and_then(|number| own.check(number));
        number.ok_or_else(|| format!("column `{}`: `{text}` is not valid; {such_as}", own.name))
    }

    /// A host call to a stream that has work.
    fn call(&self) -> Result<Quantity, String> {
        self.any_of("device", &[("busy", ())])?;
        let call = self.one_of("call", &TimedCall::ALL.map(|call| (call.word(), call)))?;
        Ok(Quantity::Call { call })
    }

    fn operation(&self) -> Result<Quantity, String> {
        let to = self.one_of("operation", &OPERATIONS)?;
        let after = self.any_of("after", &OPERATIONS)?;
        let only_kernels = (after, to) == (Some(OperationKind::Kernel), OperationKind::Kernel);
        match (self.any_of("streams", &STREAMS)?.unwrap_or(Streams::One), after) {
            (Streams::OfTwoGpus, _) if only_kernels => Ok(Quantity::Crossing { whole: false }),
            (Streams::OfTwoGpus, _) => {
                Err("column `streams`: `gpus` is only for a `kernel` after a `kernel`; it \
                     measures how much longer the wait takes than on one GPU"
                    .to_owned())
            }
            (Streams::InAGraph, _) => node(after, to),
            (Streams::One, _) if only_kernels && self.get("waiting").is_some() => self.polled(),
            (Streams::One, None) => {
                Ok(Quantity::RoundTrip { links: vec![to], across: false, long: false })
            }
            (Streams::Two, None) => {
                Err("column `streams`: a single operation is in one stream; leave it empty".into())
            }
            (Streams::One, Some(from)) if from == to => {
                Ok(Quantity::Chain { links: vec![to], across: false })
            }
            (streams, Some(from)) => {
                let across = matches!(streams, Streams::Two);
                Ok(Quantity::HandOver { from, to, across })
            }
        }
    }

    /// A kernel behind another one, while kernels wait in other streams.
    fn polled(&self) -> Result<Quantity, String> {
        let others = self.whole("waiting")? as usize;
        let meanwhile = [("H2D", [true, false]), ("D2H", [false, true]), ("both", [true, true])];
        let copies = self.any_of("concurrent", &meanwhile)?.unwrap_or_default();
        Ok(Quantity::Polled { others, copies })
    }

    /// A host call on a graph.
    fn graph(&self) -> Result<Quantity, String> {
        let call = self.one_of("graph", &GraphCall::ALL.map(|call| (call.word(), call)))?;
        let nodes = self.whole("nodes")?;
        if nodes > 10_000 {
            return Err("column `nodes`: write a number up to 10000".to_owned());
        }
        Ok(Quantity::GraphCall { call, nodes })
    }

    fn memory_work(&self) -> Result<Quantity, String> {
        let work = self.one_of("manage", &MemoryWork::ALL.map(|work| (work.word(), work)))?;
        Ok(Quantity::Memory { work, bytes: self.bytes("bytes")? })
    }

    fn setup(&self) -> Result<Quantity, String> {
        let steps = SetupStep::ALL.map(|step| (step.word(), step));
        Ok(Quantity::Setup { step: self.one_of("setup", &steps)? })
    }
}

/// A node of a graph, or a chain of nodes of one kind.
fn node(after: Option<OperationKind>, of: OperationKind) -> Result<Quantity, String> {
    if after.into_iter().chain([of]).any(|kind| kind == OperationKind::PeerCopy) {
        return Err("column `streams`: copies between GPUs are not supported in graphs".to_owned());
    }
    Ok(if after == Some(of) {
        Quantity::GraphChain { links: vec![of] }
    } else {
        Quantity::Node { after, of }
    })
}

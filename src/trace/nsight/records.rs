//! The tables of records, one method each.

use super::database::{Cells, Database, Unreadable};
use super::{Export, memory, process, thread};
use crate::trace::draft::{DraftCall, DraftRange, DraftWork, Fact, MemoryEvent, NO_ID};
use crate::trace::{TraceError, WorkKind};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// What all work of a GPU has, as the first columns of its table.
const WORK: [&str; 7] =
    ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphNodeId"];

/// The number of a thread's ranges in `eventType`: pushed and popped, or started and ended.
const RANGES: [u64; 2] = [59, 60];

impl Export {
    pub fn read_calls(
        &mut self,
        database: &Database,
        table: &'static str,
    ) -> Result<(), TraceError> {
        let columns = ["start", "end", "globalTid", "correlationId", "nameId"];
        self.read(database, table, &columns, |export, cells| {
            let (begin, end) = (cells.time(0)?, cells.time(1)?);
            let global = cells.must(2)?;
            let correlation = cells.natural(3)?.unwrap_or(NO_ID);
            let name = cells.integer(4)?.and_then(|id| export.names.get(&id)).ok_or(Unreadable)?;
            let draft = &mut export.draft;
            if draft.is_forwards(begin, end) {
                let thread = draft.threads.position(process(global), thread(global));
                let function = draft.functions.position(name);
                let arguments = None;
                draft.calls.push(DraftCall {
                    begin,
                    end,
                    correlation,
                    thread,
                    function,
                    arguments,
                });
            }
            Ok(())
        })
    }

    pub fn read_kernels(&mut self, database: &Database) -> Result<(), TraceError> {
        let own = [
            "demangledName",
            "shortName",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "registersPerThread",
            "staticSharedMemory",
            "dynamicSharedMemory",
        ];
        let columns = [&WORK[..], &own].concat();
        self.read(database, "CUPTI_ACTIVITY_KIND_KERNEL", &columns, |export, cells| {
            let name = |column| Ok(cells.integer(column)?.and_then(|id| export.names.get(&id)));
            let name = match name(7)? {
                Some(name) => Some(name),
                None => name(8)?,
            };
            let kind = WorkKind::Kernel {
                name: export.draft.name(name.ok_or(Unreadable)?),
                grid: [cells.small(9)?, cells.small(10)?, cells.small(11)?],
                block: [cells.small(12)?, cells.small(13)?, cells.small(14)?],
                registers: cells.small(15)?,
                shared: Bytes::new(u64::from(cells.small(16)?) + u64::from(cells.small(17)?)),
            };
            export.take_work(cells, kind, false)
        })
    }

    pub fn read_copies(&mut self, database: &Database) -> Result<(), TraceError> {
        /// Copies of managed memory, which the driver decides on.
        const MANAGED: std::ops::RangeInclusive<u64> = 11..=13;
        let columns = [&WORK[..], &["bytes", "srcKind", "dstKind", "copyKind"]].concat();
        self.read(database, "CUPTI_ACTIVITY_KIND_MEMCPY", &columns, |export, cells| {
            let (from, to) = (memory(cells.must(8)?)?, memory(cells.must(9)?)?);
            let bytes = cells.bytes(7)?;
            let is_uncalled = cells.natural(10)?.is_some_and(|kind| MANAGED.contains(&kind));
            export.take_work(cells, WorkKind::Copy { from, to, bytes }, is_uncalled)
        })
    }

    pub fn read_clears(&mut self, database: &Database) -> Result<(), TraceError> {
        let columns = [&WORK[..], &["bytes"]].concat();
        self.read(database, "CUPTI_ACTIVITY_KIND_MEMSET", &columns, |export, cells| {
            let bytes = cells.bytes(7)?;
            export.take_work(cells, WorkKind::Clear { bytes }, false)
        })
    }

    fn take_work(
        &mut self,
        cells: &Cells<'_>,
        kind: WorkKind,
        is_uncalled: bool,
    ) -> Result<(), Unreadable> {
        let (start, end) = (cells.time(0)?, cells.time(1)?);
        let work = DraftWork {
            kind,
            process: cells.natural(5)?.map(process),
            device: cells.small(2)?,
            stream: cells.must(3)?,
            start,
            end,
            correlation: cells.natural(4)?.unwrap_or(NO_ID),
            graph_node: cells.natural(6)?.filter(|&node| node != 0),
            is_uncalled,
        };
        if self.draft.is_forwards(start, end) {
            self.draft.work.push(work);
        }
        Ok(())
    }

    /// Which streams and events the calls were given that wait for or record them.
    pub fn read_waits(&mut self, database: &Database) -> Result<(), TraceError> {
        let columns = ["deviceId", "streamId", "correlationId", "globalPid", "eventId"];
        for table in ["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"] {
            self.read(database, table, &columns, |export, cells| {
                export.draft.facts.push(Fact {
                    process: cells.natural(3)?.map(process),
                    correlation: cells.must(2)?,
                    device: cells.small(0)?,
                    stream: cells.id(1)?,
                    event: cells.id(4)?,
                    is_indirect: false,
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    pub fn read_memory(&mut self, database: &Database) -> Result<(), TraceError> {
        let columns = ["start", "globalPid", "address", "bytes", "memKind", "memoryOperationType"];
        self.read(database, "CUDA_GPU_MEMORY_USAGE_EVENTS", &columns, |export, cells| {
            let is_free = match cells.must(5)? {
                0 => false,
                1 => true,
                _ => return Err(Unreadable),
            };
            export.draft.memory.push(MemoryEvent {
                process: process(cells.must(1)?),
                time: cells.time(0)?,
                memory: memory(cells.must(4)?)?,
                address: cells.must(2)?,
                bytes: cells.bytes(3)?.ok_or(Unreadable)?.get(),
                is_free,
            });
            Ok(())
        })
    }

    pub fn read_ranges(&mut self, database: &Database) -> Result<(), TraceError> {
        let columns = ["start", "end", "eventType", "text", "textId", "globalTid"];
        self.read(database, "NVTX_EVENTS", &columns, |export, cells| {
            // Marks and names of domains are no ranges, and some ranges never ended.
            let is_range = cells.natural(2)?.is_some_and(|kind| RANGES.contains(&kind));
            let Some(end) = cells.integer(1)?.filter(|_| is_range) else { return Ok(()) };
            let begin = cells.time(0)?;
            let global = cells.must(5)?;
            let id = cells.integer(4)?;
            let draft = &mut export.draft;
            let name = match cells.text(3) {
                Some(text) => draft.name(&text),
                None => {
                    let name = id.and_then(|id| export.names.get(&id)).ok_or(Unreadable)?;
                    draft.name(name)
                }
            };
            if draft.is_forwards(begin, end) {
                let thread = draft.threads.position(process(global), thread(global));
                draft.ranges.push(DraftRange { thread, name, begin, end });
            }
            Ok(())
        })
    }

    pub fn read_thread_names(&mut self, database: &Database) -> Result<(), TraceError> {
        self.read(database, "ThreadNames", &["nameId", "globalTid"], |export, cells| {
            let global = cells.must(1)?;
            if let Some(name) = cells.integer(0)?.and_then(|id| export.names.get(&id)) {
                export.draft.threads.set_name(process(global), thread(global), name);
            }
            Ok(())
        })
    }

    /// Programs number GPUs by themselves; newer exports say which of the machine's are meant.
    pub fn read_gpus(&mut self, database: &Database) -> Result<(), TraceError> {
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        self.read(database, "TARGET_INFO_GPU", &["id", "name"], |_, cells| {
            if let Some(name) = cells.text(1) {
                names.entry(cells.small(0)?).or_insert(name);
            }
            Ok(())
        })?;
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        self.read(database, "TARGET_INFO_CUDA_DEVICE", &["cudaId", "gpuId"], |_, cells| {
            numbers.entry(cells.small(0)?).or_insert(cells.small(1)?);
            Ok(())
        })?;
        let renumbered = numbers.iter().map(|(&device, gpu)| (device, names.get(gpu).cloned()));
        let renumbered: BTreeMap<u32, String> =
            renumbered.filter_map(|(device, name)| Some((device, name?))).collect();
        self.draft.gpu_names = if renumbered.is_empty() { names } else { renumbered };
        Ok(())
    }
}

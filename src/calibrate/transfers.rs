//! Data on other paths than plain copies: write-combined memory, copies on the device,
//! host memory that kernels access across the link, managed memory.

use super::context::{MeasurementContext, Timed, clocked};
use super::probe::{Counts, Probe, WarmUp};
use super::sizes::{LARGEST, POOL, Sizes};
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, Device, GpuError, GpuResult, ManagedMemory};
use crate::host::Operand;
use crate::kernels::{Kernel, Variant};
use crate::machine::{Direction, Residence};
use crate::samples::{MemoryWork, Quantity, TransferPath};
use crate::units::{Bytes, Span};

/// Size of the write-combined memory. Copies and the CPU cycle through it.
pub(super) const COMBINED: Bytes = Bytes::mib(64);

/// How much managed memory a calibration may use: a power of two, at most 256 MiB and at
/// most a sixteenth of the device memory that its arrays leave free.
///
/// # Errors
/// [`GpuError::NoManagedMemory`] if the device does not migrate pages on demand,
/// [`GpuError::LittleMemory`] if the limit is below 1 MiB.
pub fn managed_bytes(device: &Device) -> GpuResult<Bytes> {
    ManagedMemory::check(device)?;
    let free = device.free_memory()?;
    let most = free.get().saturating_sub(4 * LARGEST.get()) / 16;
    let power = most.min(LARGEST.get()).checked_ilog2().unwrap_or(0);
    let bytes = Bytes::new(1 << power);
    if bytes < Bytes::mib(1) { Err(GpuError::LittleMemory { free }) } else { Ok(bytes) }
}

/// The probes of every path but those of managed memory.
pub(super) fn probes(sizes: &Sizes) -> Vec<Probe> {
    let is_of_others = |path: &TransferPath| {
        !TransferPath::MANAGED.contains(path) && !TransferPath::WRITTEN.contains(path)
    };
    let paths = TransferPath::ALL.into_iter().filter(is_of_others);
    let alone = paths.flat_map(|path| transfers(sizes, path, LARGEST));
    let written = |bytes| {
        let what = TransferPath::WRITTEN.map(|path| Quantity::Transfer { path, bytes });
        Probe::together(what, Counts::Once).limit(0.2, 5).warm_up(WarmUp::Host)
    };
    alone.chain(sizes_of(sizes, TransferPath::WrittenByOne, LARGEST).map(written)).collect()
}

/// The probes of managed memory, up to `most` bytes of it.
pub(super) fn managed_probes(sizes: &Sizes, most: Bytes) -> Vec<Probe> {
    let allocate = |bytes| {
        let what = Quantity::Memory { work: MemoryWork::ManagedAllocate, bytes };
        Probe::new(what, Counts::Once).limit(0.5, 3)
    };
    let sizes_of = |path| sizes_of(sizes, path, most);
    let together = |paths: [TransferPath; 2]| {
        let probe = move |bytes| {
            let what = paths.map(|path| Quantity::Transfer { path, bytes });
            Probe::together(what, Counts::Once).limit(0.5, 5)
        };
        sizes_of(paths[0]).map(probe)
    };
    let alone = [TransferPath::ManagedFault, TransferPath::ManagedResident];
    let alone = alone.into_iter().flat_map(|path| transfers(sizes, path, most));
    let together = TransferPath::MANAGED_TOGETHER.into_iter().flat_map(together);
    alone.chain(together).chain(sizes_of(TransferPath::ManagedFault).map(allocate)).collect()
}

/// The sizes of a path up to `most`.
fn sizes_of(sizes: &Sizes, path: TransferPath, most: Bytes) -> impl Iterator<Item = Bytes> {
    let powers: &[u32] = match path {
        TransferPath::WriteCombined => sizes.either(&[12, 20, 24], &[12, 24]),
        TransferPath::OnDevice => sizes.either(&[12, 20, 24, 28], &[12, 24]),
        TransferPath::MappedRead | TransferPath::MappedWrite => {
            sizes.either(&[12, 18, 22, 26], &[12, 22])
        }
        TransferPath::MappedBoth => sizes.either(&[12, 18, 22, 26], &[]),
        path if TransferPath::WRITTEN.contains(&path) => {
            sizes.either(&[18, 20, 22, 24, 26], &[20, 24])
        }
        _ => sizes.either(&[16, 20, 24, 26, 28], &[16, 20, 24]),
    };
    powers.iter().map(|power| Bytes::new(1 << power)).filter(move |&bytes| bytes <= most)
}

fn transfers(sizes: &Sizes, path: TransferPath, most: Bytes) -> Vec<Probe> {
    let counts = match path {
        // Once per sample, because pages that have moved must be moved back.
        TransferPath::ManagedFault => Counts::Once,
        _ => Counts::ByDuration,
    };
    let probe = |bytes| Probe::new(Quantity::Transfer { path, bytes }, counts).limit(0.5, 5);
    sizes_of(sizes, path, most).map(probe).collect()
}

impl<D: AnyDevice> MeasurementContext<'_, D> {
    /// Time of `count` transfers in a row, or the times of paths that are measured together.
    pub fn transfer(&mut self, path: TransferPath, bytes: Bytes, count: u64) -> Timed<Vec<Span>> {
        Ok(vec![match path {
            TransferPath::WriteCombined => self.combined_copies(bytes, count)?,
            TransferPath::OnDevice => self.copies_on_device(bytes, count)?,
            TransferPath::MappedRead | TransferPath::MappedWrite | TransferPath::MappedBoth => {
                self.mapped(path, bytes, count)?
            }
            TransferPath::ManagedResident => self.resident(bytes, count)?,
            TransferPath::ManagedFault => self.faults(bytes)?,
            TransferPath::WrittenByOne => return Ok(self.just_written(bytes)?.to_vec()),
            _ => return Ok(self.migrated(path, bytes)?.to_vec()),
        }])
    }

    fn combined_copies(&mut self, bytes: Bytes, count: u64) -> Timed {
        let windows = self.windows(COMBINED, bytes, count);
        let from = self.combined()?.as_mut_ptr();
        self.held(|context| {
            let array = context.arrays[Direction::HostToDevice as usize].address();
            windows.into_iter().try_for_each(|offset| {
                // SAFETY: the window lies within the memory, which outlives the copy.
                unsafe { context.streams[0].copy_in(from.add(offset), array, bytes) }
            })
        })
    }

    /// The write-combined memory. It is allocated at its first use, because a check of a
    /// profile (`calibrate --check`) needs none.
    pub fn combined(&mut self) -> GpuResult<&D::PinnedMemory> {
        if self.combined.is_none() {
            let memory = self.device.allocate_write_combined(COMBINED)?;
            // SAFETY: the memory was just allocated with that size, and nobody else uses it yet.
            unsafe { memory.as_mut_ptr().write_bytes(0x3f, COMBINED.as_usize() / 4) };
            self.combined = Some(memory);
        }
        Ok(self.combined.as_ref().expect("just made"))
    }

    /// Device times of H2D copies, each of a window of pinned memory of its own: one thread has
    /// just written it, all threads have, nobody has. The CPU copies what it writes out of memory
    /// that no cache holds, as it would from pageable memory.
    fn just_written(&mut self, bytes: Bytes) -> Timed<[Span; 3]> {
        let (turn, length) = (self.turn, bytes.as_usize() / 4);
        let source = self.window(POOL, bytes, turn);
        let mut times = [Span::ZERO; 3];
        for ((path, time), at) in TransferPath::WRITTEN.into_iter().zip(&mut times).zip(0..) {
            let target = self.window(LARGEST, bytes, 3 * turn + at);
            let start = self.pinned[0].as_mut_ptr().wrapping_add(target);
            // SAFETY: the window lies within the memory, which nothing else uses now.
            let to = unsafe { std::slice::from_raw_parts_mut(start, length) };
            let from = &self.pools[0].as_slice()[source..source + length];
            match path {
                TransferPath::WrittenByOne => to.copy_from_slice(from),
                TransferPath::WrittenByAll => {
                    self.team.copy(bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
                }
                _ => {}
            }
            let start = match path {
                TransferPath::WrittenLongAgo => self.registered.as_ptr().wrapping_add(target),
                _ => start.cast_const(),
            };
            *time = self.held(|context| {
                let array = context.arrays[Direction::HostToDevice as usize].address();
                // SAFETY: the window lies within the memory, which outlives the copy.
                unsafe { context.streams[0].copy_in(start, array, bytes) }
            })?;
        }
        Ok(times)
    }

    fn copies_on_device(&mut self, bytes: Bytes, count: u64) -> Timed {
        self.held(|context| {
            let [from, to] = [2, 3].map(|at| context.arrays[at].address());
            context.windows(LARGEST, bytes, count).into_iter().try_for_each(|offset| {
                let offset = 4 * offset as u64;
                // SAFETY: the window lies within both arrays, which outlive the copy.
                unsafe { context.streams[0].copy_on_device(from + offset, to + offset, bytes) }
            })
        })
    }

    /// Time of kernels that read or write pinned memory across the link, each a window of its own.
    fn mapped(&mut self, path: TransferPath, bytes: Bytes, count: u64) -> Timed {
        let [there, _, _, back] = self.arrays.each_ref().map(|array| array.address());
        let [ashore, out] = self.pinned.each_ref().map(|memory| memory.as_mut_ptr() as u64);
        let (from, to) = match path {
            TransferPath::MappedRead => (ashore, back),
            TransferPath::MappedWrite => (there, out),
            _ => (ashore, out),
        };
        let launches = self.windows(LARGEST, bytes, count).into_iter().map(|offset| {
            let offset = 4 * offset as u64;
            self.streaming(from + offset, to + offset, bytes)
        });
        let launches = launches.collect::<Result<Vec<_>, _>>()?;
        self.held(|context| {
            // SAFETY: all memory belongs to the context and outlives the stream's work.
            launches.iter().try_for_each(|launch| unsafe { context.streams[0].launch(launch) })
        })
    }

    /// A launch of a kernel that only moves `bytes` bytes. With unified addressing, the
    /// host's addresses of pinned and managed memory are valid on the device.
    pub fn streaming(&self, from: u64, to: u64, bytes: Bytes) -> GpuResult<D::Launch> {
        let variant = Variant { kernel: Kernel::Scale, extent: 0 };
        let elements = bytes.as_f32_count();
        let kernel = (variant.kernel, variant.arguments());
        let workspace = self.workspace.address();
        self.device.kernel(kernel, &[from], (to, workspace), (elements, elements, 0))
    }

    /// The managed memory, at least `bytes` of it, which the CPU has written once.
    fn managed(&mut self, bytes: Bytes) -> GpuResult<&D::ManagedMemory> {
        let is_enough = |(_, has): &(D::ManagedMemory, Bytes)| *has >= bytes;
        if !self.managed.as_ref().is_some_and(is_enough) {
            self.managed = None;
            let memory = self.device.allocate_managed(bytes)?;
            // SAFETY: the memory was just allocated with that size, and the device does
            // not use it yet.
            unsafe { (memory.address() as *mut u8).write_bytes(0x3f, bytes.as_usize()) };
            self.managed = Some((memory, bytes));
        }
        Ok(&self.managed.as_ref().expect("just made").0)
    }

    fn reading_managed(&mut self, bytes: Bytes) -> GpuResult<D::Launch> {
        let (from, to) = (self.managed(bytes)?.address(), self.arrays[3].address());
        self.streaming(from, to, bytes)
    }

    fn resident(&mut self, bytes: Bytes, count: u64) -> Timed {
        let launch = self.reading_managed(bytes)?;
        self.move_managed(bytes, Residence::Device)?;
        self.launched(&launch, count)
    }

    /// Host time of a kernel whose data migrates page by page. The host takes part in migration, so
    /// calls issued behind a held stream might wait for it.
    fn faults(&mut self, bytes: Bytes) -> Timed {
        let launch = self.reading_managed(bytes)?;
        self.move_managed(bytes, Residence::Host)?;
        let stream = &self.streams[0];
        clocked::<D, _, _>(|| {
            // SAFETY: all memory belongs to the context and outlives the launch, which is waited
            // for.
            unsafe { stream.launch(&launch)? };
            stream.synchronize()
        })
    }

    /// Two times of a migration. A prefetch has the time until the pages have arrived and the one
    /// until the call returns; a use by the CPU, that with the pages on the device and then that
    /// with the pages on the host.
    fn migrated(&mut self, path: TransferPath, bytes: Bytes) -> Timed<[Span; 2]> {
        self.managed(bytes)?;
        let (before, after) = match path {
            TransferPath::ManagedPrefetchIn => (Residence::Host, Residence::Device),
            _ => (Residence::Device, Residence::Host),
        };
        self.move_managed(bytes, before)?;
        if path == TransferPath::ManagedFaultOut {
            let mut use_it = || clocked::<D, _, _>(|| self.read_managed(bytes));
            return Ok([use_it()?, use_it()?]);
        }
        let (memory, _) = self.managed.as_ref().expect("just made");
        let start = D::now();
        self.streams[0].prefetch(memory, (Bytes::ZERO, bytes), after)?;
        let returned = D::elapsed(start);
        self.streams[0].synchronize()?;
        Ok([D::elapsed(start).into(), returned.into()])
    }

    /// All threads of the CPU read the managed memory.
    fn read_managed(&mut self, bytes: Bytes) -> GpuResult {
        let start = self.managed(bytes)?.address() as *const f32;
        // SAFETY: the memory has that size, and the device does not use it now.
        let values = unsafe { std::slice::from_raw_parts(start, bytes.as_usize() / 4) };
        let [.., out] = &mut self.pools;
        let arguments = Variant { kernel: Kernel::Sum, extent: 0 }.arguments();
        let output = &mut out.as_mut_slice()[..1];
        self.team.run(Kernel::Sum, &arguments, &[Operand::Array(values)], output, 0);
        Ok(())
    }

    /// Time to allocate managed memory and to fill it by one thread.
    pub fn managed_anew(&self, bytes: Bytes) -> Timed {
        let start = D::now();
        let memory = self.device.allocate_managed(bytes)?;
        // SAFETY: the memory was just allocated with that size, and nobody else uses it.
        unsafe { (memory.address() as *mut u8).write_bytes(0, bytes.as_usize()) };
        Ok(D::elapsed(start).into())
    }

    /// Moves the pages to one side, and waits until they have arrived.
    fn move_managed(&self, bytes: Bytes, to: Residence) -> GpuResult {
        let (memory, _) = self.managed.as_ref().expect("who moves it has allocated it");
        self.streams[0].prefetch(memory, (Bytes::ZERO, bytes), to)?;
        self.streams[0].synchronize()
    }
}

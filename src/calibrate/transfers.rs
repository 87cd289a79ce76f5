//! Data on other ways than plain copies: write-combined memory, the device's own,
//! host memory that kernels use across the link, managed memory.

use super::probes::LARGEST;
use super::rig::{Rig, clocked};
use crate::gpu::{Device, GpuError, Launch, ManagedMemory, PinnedMemory, Residence};
use crate::kernels::{Kernel, Variant};
use crate::plan::Direction;
use crate::samples::TransferPath;
use crate::units::{Bytes, Span};

/// Write-combined memory, of which copies and the CPU go round.
pub(super) const COMBINED: Bytes = Bytes::mib(64);

/// How much managed memory a calibration may use, as a power of two: up to 256 MiB
/// and a sixteenth of the device memory that is free beside its arrays.
///
/// # Errors
/// [`GpuError::NoManagedMemory`] if its pages do not move by themselves,
/// [`GpuError::LittleMemory`] if not even a mebibyte is left.
pub fn managed_bytes(device: &Device) -> Result<Bytes, GpuError> {
    ManagedMemory::check(device)?;
    let free = device.free_memory()?;
    let most = free.get().saturating_sub(4 * LARGEST.get()) / 16;
    let power = most.min(LARGEST.get()).checked_ilog2().unwrap_or(0);
    let bytes = Bytes::new(1 << power);
    if bytes < Bytes::mib(1) { Err(GpuError::LittleMemory { free }) } else { Ok(bytes) }
}

impl Rig<'_> {
    /// Time of `count` transfers, one after the other.
    pub fn transfer(
        &mut self,
        path: TransferPath,
        bytes: Bytes,
        count: u64,
    ) -> Result<Span, GpuError> {
        match path {
            TransferPath::WriteCombined => self.combined_copies(bytes, count),
            TransferPath::OnDevice => self.copies_on_device(bytes, count),
            TransferPath::MappedRead | TransferPath::MappedWrite | TransferPath::MappedBoth => {
                self.mapped(path, bytes, count)
            }
            TransferPath::ManagedResident => self.resident(bytes, count),
            TransferPath::ManagedFault
            | TransferPath::ManagedPrefetchIn
            | TransferPath::ManagedPrefetchOut => self.migration(path, bytes),
        }
    }

    fn combined_copies(&mut self, bytes: Bytes, count: u64) -> Result<Span, GpuError> {
        let start = self.turn * count;
        let from = self.combined()?.as_mut_ptr();
        self.held(|rig| {
            let array = rig.arrays[Direction::HostToDevice as usize].address();
            (start..start + count).try_for_each(|index| {
                let from = from.wrapping_add(rig.window(COMBINED, bytes, index));
                // SAFETY: the window lies within the memory, which outlives the copy.
                unsafe { rig.streams[0].copy_in(from, array, bytes) }
            })
        })
    }

    /// The write-combined memory. Most calibrations that only check need none.
    pub fn combined(&mut self) -> Result<&PinnedMemory, GpuError> {
        if self.combined.is_none() {
            let memory = PinnedMemory::write_combined(self.device, COMBINED)?;
            // SAFETY: just allocated, of that size. Nobody reads it before this.
            unsafe { memory.as_mut_ptr().write_bytes(0x3f, COMBINED.as_usize() / 4) };
            self.combined = Some(memory);
        }
        Ok(self.combined.as_ref().expect("just made"))
    }

    fn copies_on_device(&mut self, bytes: Bytes, count: u64) -> Result<Span, GpuError> {
        let start = self.turn * count;
        self.held(|rig| {
            let [from, to] = [2, 3].map(|at| rig.arrays[at].address());
            (start..start + count).try_for_each(|index| {
                let offset = 4 * rig.window(LARGEST, bytes, index) as u64;
                // SAFETY: the window lies within both arrays, which outlive the copy.
                unsafe { rig.streams[0].copy_on_device(from + offset, to + offset, bytes) }
            })
        })
    }

    /// Kernels that read or write pinned memory across the link, each of other bytes.
    fn mapped(&mut self, path: TransferPath, bytes: Bytes, count: u64) -> Result<Span, GpuError> {
        let start = self.turn * count;
        let [there, _, _, back] = self.arrays.each_ref().map(|array| array.address());
        let [ashore, out] = self.pinned.each_ref().map(|memory| memory.as_mut_ptr() as u64);
        let (from, to) = match path {
            TransferPath::MappedRead => (ashore, back),
            TransferPath::MappedWrite => (there, out),
            _ => (ashore, out),
        };
        let launches = (start..start + count).map(|index| {
            let offset = 4 * self.window(LARGEST, bytes, index) as u64;
            self.streaming(from + offset, to + offset, bytes)
        });
        let launches = launches.collect::<Result<Vec<_>, _>>()?;
        self.held(|rig| {
            // SAFETY: all memory is the rig's and outlives the stream's work.
            launches.iter().try_for_each(|launch| unsafe { rig.streams[0].launch(launch) })
        })
    }

    /// A kernel that only moves so many bytes. With unified addressing, pinned and
    /// managed memory have the same address on the device as on the host.
    pub fn streaming(&self, from: u64, to: u64, bytes: Bytes) -> Result<Launch, GpuError> {
        let variant = Variant { kernel: Kernel::Scale, extent: 0 };
        let elements = bytes.as_f32_count();
        let kernel = (variant.kernel, variant.arguments());
        let workspace = self.workspace.address();
        Launch::new(self.device, kernel, &[from], (to, workspace), (elements, elements, 0))
    }

    /// The managed memory, all of it written by the CPU once.
    fn managed(&mut self, bytes: Bytes) -> Result<&ManagedMemory, GpuError> {
        let is_enough = |memory: &ManagedMemory| memory.bytes() >= bytes;
        if !self.managed.as_ref().is_some_and(is_enough) {
            self.managed = None;
            let memory = ManagedMemory::new(self.device, bytes)?;
            // SAFETY: just allocated, of that size, and the device does not use it yet.
            unsafe { (memory.address() as *mut u8).write_bytes(0x3f, bytes.as_usize()) };
            self.managed = Some(memory);
        }
        Ok(self.managed.as_ref().expect("just made"))
    }

    fn reading_managed(&mut self, bytes: Bytes) -> Result<Launch, GpuError> {
        let (from, to) = (self.managed(bytes)?.address(), self.arrays[3].address());
        self.streaming(from, to, bytes)
    }

    fn resident(&mut self, bytes: Bytes, count: u64) -> Result<Span, GpuError> {
        let launch = self.reading_managed(bytes)?;
        self.move_managed(bytes, Residence::Device)?;
        self.held(|rig| {
            // SAFETY: all memory is the rig's and outlives the stream's work.
            (0..count).try_for_each(|_| unsafe { rig.streams[0].launch(&launch) })
        })
    }

    /// Pages on the move, by the host's clock: the host has a part in moving them,
    /// and what is issued ahead of a held stream may wait for it.
    fn migration(&mut self, path: TransferPath, bytes: Bytes) -> Result<Span, GpuError> {
        let launch = self.reading_managed(bytes)?;
        let (before, after) = match path {
            TransferPath::ManagedPrefetchOut => (Residence::Device, Residence::Host),
            _ => (Residence::Host, Residence::Device),
        };
        self.move_managed(bytes, before)?;
        if path == TransferPath::ManagedFault {
            let stream = &self.streams[0];
            return clocked(|| {
                // SAFETY: all memory is the rig's and outlives the wait.
                unsafe { stream.launch(&launch)? };
                stream.synchronize()
            });
        }
        clocked(|| self.move_managed(bytes, after))
    }

    /// Moves the pages to one side, and waits until they are there.
    fn move_managed(&self, bytes: Bytes, to: Residence) -> Result<(), GpuError> {
        let memory = self.managed.as_ref().expect("a launch that reads it was made");
        memory.prefetch(&self.streams[0], bytes, to)?;
        self.streams[0].synchronize()
    }
}

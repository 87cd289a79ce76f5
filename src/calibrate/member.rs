//! One of several GPUs that are calibrated together.

use super::sizes::LARGEST;
use crate::gpu::{AnyDevice, AnyMemory, AnyStream, GpuResult};
use crate::machine::Direction;
use crate::samples::{LONG_COPY, LONG_KERNEL};
use crate::units::Bytes;

/// Index of a GPU's stream for copies to others. It follows those of the two directions.
pub(super) const ONWARD: usize = 2;

/// One of several GPUs, with what measurements use on it.
pub(super) struct Member<'d, D: AnyDevice> {
    pub device: &'d D,
    pub streams: [D::Stream; 3],
    /// Events before and after the work of each stream.
    pub marks: [[D::Event; 2]; 3],
    /// Pinned memory to copy from and to. Every GPU has its own.
    pub pinned: [D::PinnedMemory; 2],
    pub arrays: [D::DeviceMemory; 2],
    pub kernel: D::Launch,
}

impl<'d, D: AnyDevice> Member<'d, D> {
    /// The GPUs that are calibrated together, the first one first. Empty where a single
    /// one is calibrated.
    pub fn all(first: &'d D, devices: usize) -> GpuResult<Vec<Self>> {
        if devices < 2 {
            return Ok(Vec::new());
        }
        let members: Vec<Self> =
            (0..devices).map(|index| Self::new(first.nth(index)?)).collect::<Result<_, _>>()?;
        for other in &members[1..] {
            first.enable_access(other.device)?;
            other.device.enable_access(first)?;
        }
        let ready = members.iter().try_for_each(|member| member.use_once(&members));
        first.make_current()?;
        ready.map(|()| members)
    }

    fn new(device: &'d D) -> GpuResult<Self> {
        let stream = || device.stream(0);
        let mark = || device.timing_event();
        let pinned = || device.allocate_pinned(LARGEST);
        let array = || device.allocate(LARGEST);
        let arrays = [array()?, array()?];
        let (variant, elements) = LONG_KERNEL;
        let kernel = (variant.kernel, variant.arguments());
        let [x, out] = arrays.each_ref().map(AnyMemory::address);
        let sizes = (elements, elements, 0);
        Ok(Self {
            device,
            streams: [stream()?, stream()?, stream()?],
            marks: [[mark()?, mark()?], [mark()?, mark()?], [mark()?, mark()?]],
            pinned: [pinned()?, pinned()?],
            kernel: device.kernel(kernel, &[x, x, x], (out, 0), sizes)?,
            arrays,
        })
    }

    /// Uses everything once. A first use may load code or map memory, which waits for
    /// devices; on a held stream it would wait for ever.
    fn use_once(&self, members: &[Self]) -> GpuResult {
        self.device.make_current()?;
        for direction in Direction::BOTH {
            self.copy(direction, LARGEST, 0)?;
        }
        // SAFETY: the arrays are larger, and they outlive the launch, which is waited for.
        unsafe { self.streams[0].launch(&self.kernel)? };
        for other in members.iter().filter(|other| !std::ptr::eq(*other, self)) {
            self.copy_to(other, LONG_COPY, 0)?;
        }
        self.streams.iter().try_for_each(|stream| stream.synchronize())
    }

    /// Copies a window of host memory, in the stream of the direction. `offset` counts elements.
    pub fn copy(&self, direction: Direction, bytes: Bytes, offset: usize) -> GpuResult {
        let (stream, at) = (&self.streams[direction as usize], direction as usize);
        let there = self.arrays[at].address() + 4 * offset as u64;
        // SAFETY: the window lies within memory of the largest size on both sides, which
        // outlives the stream's work.
        unsafe {
            let ashore = self.pinned[at].as_mut_ptr().add(offset);
            stream.copy_across(direction, (ashore, there), bytes)
        }
    }

    pub fn copy_to(&self, other: &Self, bytes: Bytes, offset: usize) -> GpuResult {
        let offset = 4 * offset as u64;
        let [from, to] = [self.arrays[0].address(), other.arrays[1].address()].map(|a| a + offset);
        // SAFETY: the window lies within arrays of the largest size on both GPUs, which
        // outlive the stream's work.
        unsafe { self.streams[ONWARD].copy_to_peer(from, (other.device, to), bytes) }
    }
}

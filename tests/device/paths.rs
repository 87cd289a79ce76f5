//! Paths of data other than plain copies, extra contexts and modules, the blocker's
//! timeout, and what the device tells about itself.

use super::{download, on_a_gpu, random, upload};
use hallway::calibrate::managed_bytes;
use hallway::gpu::{
    AnyBlocker, AnyDevice, AnyEvent, AnyMemory, AnyStream, Blocker, Device, GpuError, Launch,
    Monitor,
};
use hallway::kernels::{Kernel, Variant};
use hallway::machine::Residence;
use hallway::units::{Bytes, Span};
use std::io::Write;
use std::time::{Duration, Instant};

const COUNT: usize = 100_003;

/// A launch that doubles `COUNT` elements at one address into another.
fn doubled(device: &Device, from: u64, to: u64) -> Result<Launch, GpuError> {
    let variant = Variant { kernel: Kernel::Scale, extent: 0 };
    let mut arguments = variant.arguments();
    arguments.a = 2.0;
    let count = COUNT as u64;
    device.kernel((variant.kernel, arguments), &[from], (to, 0), (count, count, 0))
}

fn is_double(values: &[f32], of: &[f32]) -> bool {
    values.len() == of.len() && values.iter().zip(of).all(|(value, x)| *value == 2.0 * x)
}

/// # Safety
/// The memory must hold `COUNT` values that have been written, and nobody else may use it
/// meanwhile.
unsafe fn values_of(memory: *const f32) -> Vec<f32> {
    // SAFETY: the caller promises that the memory holds that many values and that nobody
    // else uses it.
    unsafe { std::slice::from_raw_parts(memory, COUNT) }.to_vec()
}

#[test]
fn a_copy_on_the_device_keeps_every_value() {
    on_a_gpu("a_copy_on_the_device_keeps_every_value", |device| {
        let (stream, values) = (device.stream(0)?, random(COUNT, 1));
        let from = upload(device, &stream, &values)?;
        let to = device.allocate(from.bytes())?;
        // SAFETY: both hold that many bytes until the copies have been waited for.
        unsafe { stream.copy_on_device(from.address(), to.address(), from.bytes())? };
        assert_eq!(download(&stream, &to, COUNT)?, values);
        Ok(())
    });
}

#[test]
fn write_combined_memory_arrives_as_it_was_written() {
    on_a_gpu("write_combined_memory_arrives_as_it_was_written", |device| {
        let (stream, values) = (device.stream(0)?, random(COUNT, 2));
        let bytes = Bytes::of_f32(COUNT as u64);
        let from = device.allocate_write_combined(bytes)?;
        let to = device.allocate(bytes)?;
        // SAFETY: all three hold that many values until the copies have been waited for.
        unsafe {
            from.as_mut_ptr().copy_from_nonoverlapping(values.as_ptr(), COUNT);
            stream.copy_in(from.as_mut_ptr(), to.address(), bytes)?;
        }
        assert_eq!(download(&stream, &to, COUNT)?, values);
        Ok(())
    });
}

#[test]
fn kernels_read_and_write_pinned_memory_in_place() {
    on_a_gpu("kernels_read_and_write_pinned_memory_in_place", |device| {
        let (stream, values) = (device.stream(0)?, random(COUNT, 3));
        let bytes = Bytes::of_f32(COUNT as u64);
        let (from, to) = (device.allocate_pinned(bytes)?, device.allocate_pinned(bytes)?);
        let launch = doubled(device, from.as_mut_ptr() as u64, to.as_mut_ptr() as u64)?;
        // SAFETY: both hold that many values, and nobody else uses them until the kernel
        // has been waited for.
        let found = unsafe {
            from.as_mut_ptr().copy_from_nonoverlapping(values.as_ptr(), COUNT);
            stream.launch(&launch)?;
            stream.synchronize()?;
            values_of(to.as_mut_ptr())
        };
        assert!(is_double(&found, &values));
        Ok(())
    });
}

#[test]
fn managed_memory_is_the_same_wherever_its_pages_are() {
    on_a_gpu("managed_memory_is_the_same_wherever_its_pages_are", |device| {
        let most = managed_bytes(device)?;
        assert!(most >= Bytes::mib(1) && most <= Bytes::mib(256), "{most}");
        assert!(most <= device.free_memory()?);
        let (stream, values) = (device.stream(0)?, random(COUNT, 4));
        let bytes = Bytes::of_f32(COUNT as u64);
        let (from, to) = (device.allocate_managed(bytes)?, device.allocate_managed(bytes)?);
        assert_eq!((from.bytes(), to.bytes()), (bytes, bytes));
        let launch = doubled(device, from.address(), to.address())?;
        for residence in [None, Some(Residence::Host), Some(Residence::Device)] {
            // SAFETY: both hold that many values, and the stream is idle before and
            // after.
            let found = unsafe {
                (from.address() as *mut f32).copy_from_nonoverlapping(values.as_ptr(), COUNT);
                if let Some(to) = residence {
                    stream.prefetch(&from, (Bytes::ZERO, bytes), to)?;
                }
                stream.launch(&launch)?;
                stream.prefetch(&to, (Bytes::ZERO, bytes), Residence::Host)?;
                stream.synchronize()?;
                values_of(to.address() as *const f32)
            };
            assert!(is_double(&found, &values), "{residence:?}");
        }
        Ok(())
    });
}

#[test]
fn extra_contexts_and_modules_leave_everything_as_it_was() {
    on_a_gpu("extra_contexts_and_modules_leave_everything_as_it_was", |device| {
        let (stream, values) = (device.stream(0)?, random(COUNT, 5));
        let from = upload(device, &stream, &values)?;
        let to = device.allocate(from.bytes())?;
        if device.may_have_more_contexts()? {
            drop(device.another_context()?);
        }
        drop(device.load_again()?);
        // The first context is current again, and the first module still runs.
        let launch = doubled(device, from.address(), to.address())?;
        // SAFETY: both hold that many values until the kernel has been waited for.
        unsafe { stream.launch(&launch)? };
        assert!(is_double(&download(&stream, &to, COUNT)?, &values));
        Ok(())
    });
}

#[test]
fn a_hold_that_nobody_releases_ends_by_itself_and_is_reported() {
    on_a_gpu("a_hold_that_nobody_releases_ends_by_itself_and_is_reported", |device| {
        let stream = device.stream(0)?;
        let (before, after) = (device.timing_event()?, device.timing_event()?);
        let mut blocker = device.blocker()?;
        stream.record(&before)?;
        blocker.hold(&stream)?;
        stream.record(&after)?;
        let start = Instant::now();
        Blocker::finish(&stream)?;
        let waited = start.elapsed();
        let slack = Duration::from_millis(200);
        assert!(waited + slack >= Blocker::TIMEOUT, "it ended after {waited:?}");
        assert!(waited <= Blocker::TIMEOUT + slack, "it ended after {waited:?}");
        let held = after.since(&before)?;
        assert!(held + Span::from(slack) >= Span::from(Blocker::TIMEOUT), "held for {held}");
        let error = blocker.end(&[&stream]).expect_err("the hold had ended by itself");
        assert_eq!(error, GpuError::HeldTooLong { seconds: Blocker::TIMEOUT.as_secs() });
        // The next hold works like the first one.
        blocker.hold(&stream)?;
        assert!(!stream.is_done()?);
        blocker.end(&[&stream])?;
        assert!(stream.is_done()?);
        Ok(())
    });
}

#[test]
fn the_device_tells_its_state_quickly_where_nvml_is_there() {
    on_a_gpu("the_device_tells_its_state_quickly_where_nvml_is_there", |device| {
        let Some(monitor) = Monitor::new(device) else {
            let name = "the_device_tells_its_state_quickly_where_nvml_is_there";
            writeln!(std::io::stderr(), "{name}: skipped: no NVML").expect("standard error");
            return Ok(());
        };
        let (reading, near) = (monitor.read(), monitor.affinity());
        let shown = format!("{:?}\n{reading:#?}\n{near:?}", monitor.version());
        assert!(reading.sm_mhz.is_some_and(|mhz| (50..10_000).contains(&mhz)), "{shown}");
        assert!(reading.temperature.is_none_or(|degrees| degrees < 120), "{shown}");
        assert!(reading.pcie_generation.is_none_or(|number| (1..=8).contains(&number)), "{shown}");
        let start = Instant::now();
        (0..20).for_each(|_| drop(monitor.glance()));
        let each = start.elapsed() / 20;
        assert!(each < Duration::from_millis(20), "a glance takes {each:?}");
        writeln!(std::io::stderr(), "{shown}\na glance takes {each:?}").expect("standard error");
        Ok(())
    });
}

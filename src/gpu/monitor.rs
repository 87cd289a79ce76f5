//! What NVML tells of a device's state: clocks, temperature, the link.
//!
//! A dozen functions by hand, found when they are asked for: a wrapper would bring
//! the bindings of all there are. Without the library nothing is known, and
//! everything else works. Nothing here is on a timed path.

use super::device::Device;
use super::libraries::open;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulong, c_ulonglong, c_void};

const SUCCESS: c_int = 0;

type Handle = *mut c_void;

/// A function that writes one number of a device.
type Number = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;
/// One that takes what kind of number before.
type NumberOf = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
type Text = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
type Reasons = unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int;

/// NVML, asked about one device (NVML API Reference Guide, "Device Queries").
pub struct Monitor {
    library: &'static Library,
    device: Handle,
    // Those that are asked again and again.
    clock: NumberOf,
    reasons: Option<Reasons>,
}

/// A device's state at one moment, as far as it tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    /// Degrees Celsius.
    pub temperature: Option<u32>,
    /// From 0, full speed, to 15.
    pub power_state: Option<u32>,
    pub pcie_generation: Option<u32>,
    pub pcie_width: Option<u32>,
    /// What holds the clocks down.
    pub throttled: Vec<&'static str>,
}

/// Where the device is on its host, as lists such as `0-15,32-47`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub cpus: Option<String>,
    pub numa_nodes: Option<String>,
}

/// `nvmlClockType_t`.
const SM: c_uint = 1;
const MEMORY: c_uint = 2;
/// `nvmlTemperatureSensors_t`.
const ON_DIE: c_uint = 0;
/// `nvmlAffinityScope_t`: the nearest nodes, rather than those of the socket.
const NODE: c_uint = 0;

/// Bits of `nvmlClocksEventReasons`. Left out are idleness, and clocks that somebody
/// has set, which hold for every measurement.
const THROTTLES: [(u64, &str); 7] = [
    (0x04, "software power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "synchronised boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
    (0x100, "display clock setting"),
];

/// More CPUs or NUMA nodes than a host has, in words of a bit mask.
const MASK_WORDS: usize = 64;

impl Monitor {
    /// `None` where the library is not there or does not know the device.
    pub fn new(device: &Device) -> Option<Self> {
        let library = open(&["libnvidia-ml.so.1", "libnvidia-ml.so"])?;
        let id = CString::new(device.pci_bus_id()?).ok()?;
        // SAFETY: the types are those of the documentation; the identifier is
        // terminated, and the handle written on success.
        unsafe {
            let start = library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2\0").ok()?;
            let find = library
                .get::<unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int>(
                    b"nvmlDeviceGetHandleByPciBusId_v2\0",
                )
                .ok()?;
            let mut handle = std::ptr::null_mut();
            // It counts how often it was started, and ends with the process.
            if start() != SUCCESS || find(id.as_ptr(), &raw mut handle) != SUCCESS {
                return None;
            }
            let reasons = library
                .get(b"nvmlDeviceGetCurrentClocksEventReasons\0")
                .or_else(|_| library.get(b"nvmlDeviceGetCurrentClocksThrottleReasons\0"));
            Some(Self {
                library,
                device: handle,
                clock: *library.get(b"nvmlDeviceGetClockInfo\0").ok()?,
                reasons: reasons.ok().map(|found| *found),
            })
        }
    }

    /// The library's version, such as `12.580.95.05`.
    pub fn version(&self) -> Option<String> {
        self.text(b"nvmlSystemGetNVMLVersion\0")
    }

    /// The driver's version, such as `580.95.05`.
    pub fn driver(&self) -> Option<String> {
        self.text(b"nvmlSystemGetDriverVersion\0")
    }

    /// What tells the device from all others, such as `GPU-5b2e...`.
    pub fn uuid(&self) -> Option<String> {
        type TextOf = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_int;
        // SAFETY: the function of this name has this type.
        let ask = unsafe { self.library.get::<TextOf>(b"nvmlDeviceGetUUID\0").ok()? };
        // SAFETY: the buffer is as long as stated.
        text(|buffer, length| unsafe { ask(self.device, buffer, length) })
    }

    fn text(&self, name: &[u8]) -> Option<String> {
        // SAFETY: functions of these names have this type.
        let ask = unsafe { self.library.get::<Text>(name).ok()? };
        // SAFETY: the buffer is as long as stated.
        text(|buffer, length| unsafe { ask(buffer, length) })
    }

    /// Everything about the present.
    pub fn read(&self) -> Reading {
        Reading {
            memory_mhz: self.clock(MEMORY),
            temperature: self.number_of(b"nvmlDeviceGetTemperature\0", ON_DIE),
            // 32 stands for unknown.
            power_state: self
                .number(b"nvmlDeviceGetPerformanceState\0")
                .filter(|&state| state < 32),
            pcie_generation: self.number(b"nvmlDeviceGetCurrPcieLinkGeneration\0"),
            pcie_width: self.number(b"nvmlDeviceGetCurrPcieLinkWidth\0"),
            ..self.glance()
        }
    }

    /// Only the clock of the multiprocessors and what holds it down: cheap enough
    /// to be asked between measurements.
    pub fn glance(&self) -> Reading {
        let mut bits: c_ulonglong = 0;
        // SAFETY: the handle is NVML's, and the word is written on success.
        let told =
            self.reasons.is_some_and(|ask| unsafe { ask(self.device, &raw mut bits) == SUCCESS });
        let held = THROTTLES.iter().filter(|(bit, _)| told && bits & bit != 0);
        let throttled = held.map(|&(_, name)| name).collect();
        Reading { sm_mhz: self.clock(SM), throttled, ..Reading::default() }
    }

    /// The CPUs and the NUMA nodes next to the device.
    pub fn place(&self) -> Place {
        type Cpus = unsafe extern "C" fn(Handle, c_uint, *mut c_ulong) -> c_int;
        type Nodes = unsafe extern "C" fn(Handle, c_uint, *mut c_ulong, c_uint) -> c_int;
        let size = MASK_WORDS as c_uint;
        let mut cpus = [0; MASK_WORDS];
        let mut nodes = [0; MASK_WORDS];
        // SAFETY: the types are those of the documentation; the masks are as long as
        // stated.
        let (told_cpus, told_nodes) = unsafe {
            let ask = self.library.get::<Cpus>(b"nvmlDeviceGetCpuAffinity\0").ok();
            let cpus = ask.map(|ask| ask(self.device, size, cpus.as_mut_ptr()));
            let ask = self.library.get::<Nodes>(b"nvmlDeviceGetMemoryAffinity\0").ok();
            (cpus, ask.map(|ask| ask(self.device, size, nodes.as_mut_ptr(), NODE)))
        };
        Place {
            cpus: told_cpus.filter(|&result| result == SUCCESS).and_then(|_| ranges(&cpus)),
            numa_nodes: told_nodes.filter(|&result| result == SUCCESS).and_then(|_| ranges(&nodes)),
        }
    }

    fn clock(&self, which: c_uint) -> Option<u32> {
        let mut megahertz = 0;
        // SAFETY: the handle is NVML's, and the word is written on success.
        let result = unsafe { (self.clock)(self.device, which, &raw mut megahertz) };
        (result == SUCCESS).then_some(megahertz)
    }

    fn number(&self, name: &[u8]) -> Option<u32> {
        let mut value = 0;
        // SAFETY: functions of these names have this type; as for `clock`.
        let result = unsafe { self.library.get::<Number>(name).ok()?(self.device, &raw mut value) };
        (result == SUCCESS).then_some(value)
    }

    fn number_of(&self, name: &[u8], kind: c_uint) -> Option<u32> {
        let mut value = 0;
        // SAFETY: as for `number`.
        let result =
            unsafe { self.library.get::<NumberOf>(name).ok()?(self.device, kind, &raw mut value) };
        (result == SUCCESS).then_some(value)
    }
}

/// The bits of a mask as a list of ranges; `None` if there are none.
fn ranges(mask: &[c_ulong]) -> Option<String> {
    let width = c_ulong::BITS as usize;
    let is_set =
        |bit: usize| mask.get(bit / width).is_some_and(|word| word >> (bit % width) & 1 == 1);
    let bits = 0..width * mask.len();
    let starts = bits.filter(|&bit| is_set(bit) && (bit == 0 || !is_set(bit - 1)));
    let range = |start: usize| {
        let end = (start..).find(|&bit| !is_set(bit + 1)).unwrap_or(start);
        if end > start { format!("{start}-{end}") } else { start.to_string() }
    };
    let all: Vec<String> = starts.map(range).collect();
    (!all.is_empty()).then(|| all.join(","))
}

/// What a function writes into a buffer of so many bytes, up to a zero.
fn text(ask: impl FnOnce(*mut c_char, c_uint) -> c_int) -> Option<String> {
    let mut text = [0_u8; 96];
    let result = ask(text.as_mut_ptr().cast(), text.len() as c_uint);
    let end = text.iter().position(|&byte| byte == 0)?;
    (result == SUCCESS).then(|| String::from_utf8_lossy(&text[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn masks_are_read_as_ranges() {
        assert_eq!(ranges(&[0, 0]), None);
        assert_eq!(ranges(&[1]).as_deref(), Some("0"));
        assert_eq!(ranges(&[0b1011_0111]).as_deref(), Some("0-2,4-5,7"));
        assert_eq!(ranges(&[u64::MAX, 1]).as_deref(), Some("0-64"));
        assert_eq!(ranges(&[1 << 63, 0b101]).as_deref(), Some("63-64,66"));
    }
}

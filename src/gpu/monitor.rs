//! What NVML tells of a device's state: clocks, temperature, link, and where it sits.
//!
//! A dozen functions are declared by hand and looked up when needed, because a wrapper
//! crate would bring bindings for all of NVML. Without the library, nothing is known here
//! and everything else works. Nothing here is on a timed path.

use super::device::Device;
use super::libraries::{SUCCESS, open};
use crate::machine::Condition;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_ulong, c_ulonglong, c_void};

pub(super) const FILES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];

type Handle = *mut c_void;

/// A function that writes one number about a device.
type Number = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;
/// A function that takes the kind of number first, such as which clock.
type NumberOf = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
type Text = unsafe extern "C" fn(*mut c_char, c_uint) -> c_int;
type Reasons = unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int;

/// NVML for one device (NVML API Reference Guide, "Device Queries").
pub struct Monitor {
    library: &'static Library,
    device: Handle,
    // These two are called again and again, so they are looked up once.
    clock: NumberOf,
    reasons: Option<Reasons>,
}

/// The host's CPUs and NUMA nodes nearest to the device, as lists such as `0-15,32-47`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Affinity {
    pub cpus: Option<String>,
    pub numa_nodes: Option<String>,
}

/// Values of `nvmlClockType_t`.
const SM: c_uint = 1;
const MEMORY: c_uint = 2;
/// A value of `nvmlTemperatureSensors_t`.
const ON_DIE: c_uint = 0;
/// A value of `nvmlAffinityScope_t`: the nearest nodes, and not all nodes of the socket.
const NODE: c_uint = 0;

/// Bits of `nvmlClocksEventReasons` that count as throttling. Idleness does not, nor do
/// clocks that somebody has set: those hold for every measurement.
const THROTTLES: [(u64, &str); 7] = [
    (0x04, "software power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "synchronised boost"),
    (0x20, "software thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "hardware power brake"),
    (0x100, "display clock setting"),
];

/// Length of a bit mask of CPUs or NUMA nodes, in words. It exceeds what any host needs.
const MASK_WORDS: usize = 64;

impl Monitor {
    /// `None` if the library is missing or does not know the device.
    pub fn new(device: &Device) -> Option<Self> {
        let library = open(&FILES)?;
        let id = CString::new(device.pci_bus_id()?).ok()?;
        // SAFETY: the types are those of the documentation; the identifier is
        // zero-terminated, and `handle` is written on success.
        unsafe {
            let start = library.get::<unsafe extern "C" fn() -> c_int>(b"nvmlInit_v2\0").ok()?;
            let find = library
                .get::<unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int>(
                    b"nvmlDeviceGetHandleByPciBusId_v2\0",
                )
                .ok()?;
            let mut handle = std::ptr::null_mut();
            // NVML counts its initialisations and shuts down with the process, so none is undone.
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

    /// The device's unique identifier, such as `GPU-5b2e...`.
    pub fn uuid(&self) -> Option<String> {
        type TextOf = unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_int;
        // SAFETY: the function of this name has this type.
        let ask = unsafe { self.library.get::<TextOf>(b"nvmlDeviceGetUUID\0").ok()? };
        // SAFETY: the buffer is as long as stated.
        text(|buffer, length| unsafe { ask(self.device, buffer, length) })
    }

    /// How many processes have a context on the device, this one included if it has one.
    pub fn processes(&self) -> Option<usize> {
        /// The list itself is not asked for, and its entries have grown from version to version.
        type Count = unsafe extern "C" fn(Handle, *mut c_uint, *mut c_void) -> c_int;
        const LIST_TOO_SHORT: c_int = 7;
        let names: [&[u8]; 3] = [
            b"nvmlDeviceGetComputeRunningProcesses_v3\0",
            b"nvmlDeviceGetComputeRunningProcesses_v2\0",
            b"nvmlDeviceGetComputeRunningProcesses\0",
        ];
        // SAFETY: functions of these names have this type.
        let mut found = names.into_iter().map(|name| unsafe { self.library.get::<Count>(name) });
        let ask = found.find_map(Result::ok)?;
        let mut count = 0;
        // SAFETY: the word is written; a list of no entries is allowed to be null.
        let result = unsafe { ask(self.device, &raw mut count, std::ptr::null_mut()) };
        matches!(result, SUCCESS | LIST_TOO_SHORT).then_some(count as usize)
    }

    fn text(&self, name: &[u8]) -> Option<String> {
        // SAFETY: functions of these names have this type.
        let ask = unsafe { self.library.get::<Text>(name).ok()? };
        // SAFETY: the buffer is as long as stated.
        text(|buffer, length| unsafe { ask(buffer, length) })
    }

    /// Reads the whole state.
    pub fn read(&self) -> Condition {
        Condition {
            memory_mhz: self.clock(MEMORY),
            temperature: self.number_of(b"nvmlDeviceGetTemperature\0", ON_DIE),
            // 32 means unknown.
            power_state: self
                .number(b"nvmlDeviceGetPerformanceState\0")
                .filter(|&state| state < 32),
            pcie_generation: self.number(b"nvmlDeviceGetCurrPcieLinkGeneration\0"),
            pcie_width: self.number(b"nvmlDeviceGetCurrPcieLinkWidth\0"),
            ..self.glance()
        }
    }

    /// Reads only the multiprocessor clock and what holds it down. This is cheap enough
    /// to do between measurements.
    pub fn glance(&self) -> Condition {
        let mut bits: c_ulonglong = 0;
        // SAFETY: the handle is NVML's, and `bits` is written on success.
        let told =
            self.reasons.is_some_and(|ask| unsafe { ask(self.device, &raw mut bits) == SUCCESS });
        let held = THROTTLES.iter().filter(|(bit, _)| told && bits & bit != 0);
        let throttled = held.map(|&(_, name)| name.to_owned()).collect();
        Condition { sm_mhz: self.clock(SM), throttled, ..Condition::default() }
    }

    /// The CPUs and NUMA nodes nearest to the device.
    pub fn affinity(&self) -> Affinity {
        type Cpus = unsafe extern "C" fn(Handle, c_uint, *mut c_ulong) -> c_int;
        type Nodes = unsafe extern "C" fn(Handle, c_uint, *mut c_ulong, c_uint) -> c_int;
        let size = MASK_WORDS as c_uint;
        let mut cpus = [0; MASK_WORDS];
        let mut nodes = [0; MASK_WORDS];
        // SAFETY: the types are those of the documentation, and the masks are as long as stated.
        let (told_cpus, told_nodes) = unsafe {
            let ask = self.library.get::<Cpus>(b"nvmlDeviceGetCpuAffinity\0").ok();
            let cpus = ask.map(|ask| ask(self.device, size, cpus.as_mut_ptr()));
            let ask = self.library.get::<Nodes>(b"nvmlDeviceGetMemoryAffinity\0").ok();
            (cpus, ask.map(|ask| ask(self.device, size, nodes.as_mut_ptr(), NODE)))
        };
        Affinity {
            cpus: told_cpus.filter(|&result| result == SUCCESS).and_then(|_| ranges(&cpus)),
            numa_nodes: told_nodes.filter(|&result| result == SUCCESS).and_then(|_| ranges(&nodes)),
        }
    }

    fn clock(&self, which: c_uint) -> Option<u32> {
        // SAFETY: the handle is NVML's, and the word is written on success.
        number(|value| unsafe { (self.clock)(self.device, which, value) })
    }

    fn number(&self, name: &[u8]) -> Option<u32> {
        // SAFETY: functions of these names have this type.
        let ask = unsafe { self.library.get::<Number>(name).ok()? };
        // SAFETY: the handle is NVML's, and the word is written on success.
        number(|value| unsafe { ask(self.device, value) })
    }

    fn number_of(&self, name: &[u8], kind: c_uint) -> Option<u32> {
        // SAFETY: functions of these names have this type.
        let ask = unsafe { self.library.get::<NumberOf>(name).ok()? };
        // SAFETY: the handle is NVML's, and the word is written on success.
        number(|value| unsafe { ask(self.device, kind, value) })
    }
}

/// The number that `ask` writes.
fn number(ask: impl FnOnce(*mut c_uint) -> c_int) -> Option<u32> {
    let mut value = 0;
    (ask(&raw mut value) == SUCCESS).then_some(value)
}

/// Formats the set bits of a mask as a list of ranges; `None` if no bit is set.
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

/// The text that `ask` writes into a buffer, up to the terminating zero.
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

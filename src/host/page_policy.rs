//! How the operating system and the C library give pages of memory to a process.

use crate::machine::HostPages;
use crate::units::Bytes;
use std::fs;

/// The policy of this machine for this process.
pub fn page_policy() -> HostPages {
    HostPages {
        bytes: page_bytes(),
        huge: chosen("enabled"),
        defrag: chosen("defrag"),
        allocator: allocator(|name| std::env::var(name).ok()),
    }
}

fn page_bytes() -> Bytes {
    // SAFETY: the call only asks.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).ok().filter(|&bytes| bytes > 0).map_or(Bytes::kib(4), Bytes::new)
}

/// The word in brackets in a file such as `always [madvise] never` (the kernel's
/// Documentation/admin-guide/mm/transhuge.rst).
fn chosen(file: &str) -> Option<String> {
    let path = format!("/sys/kernel/mm/transparent_hugepage/{file}");
    in_brackets(&fs::read_to_string(path).ok()?)
}

fn in_brackets(words: &str) -> Option<String> {
    let (_, rest) = words.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// What the environment sets of malloc's thresholds (mallopt(3)), and the defaults of the others.
fn allocator(variable: impl Fn(&str) -> Option<String>) -> String {
    let tunables = variable("GLIBC_TUNABLES").unwrap_or_default();
    let of = |name: &str, old: &str, usual: &str| {
        let key = format!("glibc.malloc.{name}=");
        let set = tunables.split(':').find_map(|one| one.strip_prefix(&key).map(str::to_owned));
        let printable = |value: &String| value.chars().all(|sign| sign.is_ascii_graphic());
        let set = set.or_else(|| variable(old)).filter(printable);
        format!("{name} {}", set.unwrap_or_else(|| usual.to_owned()))
    };
    // Setting either of them keeps the other from following the sizes that are freed.
    [
        of("mmap_threshold", "MALLOC_MMAP_THRESHOLD_", "128 KiB to 32 MiB"),
        of("trim_threshold", "MALLOC_TRIM_THRESHOLD_", "twice that"),
    ]
    .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_word_in_brackets() {
        assert_eq!(in_brackets("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(in_brackets("always madvise never"), None);
    }

    #[test]
    fn thresholds_come_from_the_environment_or_are_the_defaults() {
        let set = |pairs: &'static [(&str, &str)]| {
            allocator(|name| {
                pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let usual = "mmap_threshold 128 KiB to 32 MiB, trim_threshold twice that";
        assert_eq!(set(&[]), usual);
        let tuned =
            set(&[("GLIBC_TUNABLES", "glibc.malloc.check=1:glibc.malloc.mmap_threshold=0")]);
        assert_eq!(tuned, "mmap_threshold 0, trim_threshold twice that");
        let old = set(&[("MALLOC_TRIM_THRESHOLD_", "4096")]);
        assert_eq!(old, "mmap_threshold 128 KiB to 32 MiB, trim_threshold 4096");
    }
}

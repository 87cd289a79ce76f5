//! What the user says of kernels' pointers.

use crate::units::words;
use std::collections::BTreeSet;
use std::str::FromStr;

words! {
    /// What a kernel does with memory.
    pub enum PointerAccess {
        Read = "read",
        Write = "write",
    }
}

/// What the user says of kernels whose names contain a text: which pointers they access in one way.
/// They access no other pointer in that way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    pub kernel: String,
    /// Positions among the pointers that a launch passes, from 0 on.
    pub pointers: BTreeSet<usize>,
}

impl FromStr for KernelUse {
    type Err = String;

    /// Reads `KERNEL=0,2`. Nothing behind the `=` stands for no pointer.
    fn from_str(text: &str) -> Result<Self, String> {
        let (kernel, list) = text.rsplit_once('=').unwrap_or_default();
        if kernel.is_empty() {
            return Err("expected KERNEL=0,2: part of a kernel's name, and the positions of \
                        pointers, counted from 0"
                .to_owned());
        }
        let numbers = list.split(',').filter(|number| !number.is_empty());
        let pointers = numbers.map(|number| {
            let number = number.trim();
            number.parse().map_err(|_| format!("`{number}` is not the position of a pointer"))
        });
        Ok(Self { kernel: kernel.to_owned(), pointers: pointers.collect::<Result<_, _>>()? })
    }
}

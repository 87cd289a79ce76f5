//! Amounts of data and the rates at which they move.

use super::{ParseError, number_and_unit};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    pub const ZERO: Self = Self(0);

    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` times 1024 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// `count` times 1024² bytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// The size of `count` `f32` values.
    pub const fn of_f32(count: u64) -> Self {
        Self(count * 4)
    }

    /// How many `f32` values fit into so many bytes, rounded down.
    pub const fn as_f32_count(self) -> u64 {
        self.0 / 4
    }

    /// How many `f32` values it takes to hold so many bytes.
    pub fn in_f32s(self) -> usize {
        self.as_usize().div_ceil(4)
    }

    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number in the largest binary unit of which it is a multiple, to be read again:
    /// `64 MiB`, `100000000 B`.
    pub fn exactly(self) -> String {
        let is_whole = |size: u64| self.0 > 0 && self.0.is_multiple_of(size);
        let (unit, size) = BINARY.into_iter().find(|&(_, size)| is_whole(size)).unwrap_or(("B", 1));
        format!("{} {unit}", self.0 / size)
    }

    /// The number as an index or allocation size on this machine.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("hallway runs on 64-bit machines")
    }

    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl From<u64> for Bytes {
    fn from(count: u64) -> Self {
        Self(count)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::ZERO, Add::add)
    }
}

const BINARY: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl fmt::Display for Bytes {
    /// Prints the largest binary unit that keeps the number at or above one: `64 MiB`, `1.5 KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = BINARY.into_iter().find(|&(_, size)| self.0 >= size).unwrap_or(("B", 1));
        if self.0.is_multiple_of(size) {
            write!(f, "{} {unit}", self.0 / size)
        } else {
            write!(f, "{:.1} {unit}", self.0 as f64 / size as f64)
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    /// Reads `"64 MiB"`, `"1.5 GB"` or `"512"` (bytes). `KiB`, `MiB`, `GiB` and `TiB` are powers of
    /// 1024; `kB`, `MB`, `GB` and `TB` are powers of 1000.
    ///
    /// # Errors
    /// If the text is not a number with such a unit, or not a whole number of bytes below 2^64.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = || ParseError {
            text: text.to_owned(),
            expected: "an amount of memory such as \"64 MiB\" or \"2 GB\"",
        };
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let size = match unit {
            "" | "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "TB" => 1e12,
            other => BINARY
                .into_iter()
                .find(|&(name, _)| name == other)
                .map(|(_, size)| size as f64)
                .ok_or_else(error)?,
        };
        let bytes = number * size;
        if bytes.fract() != 0.0 || bytes >= u64::MAX as f64 {
            return Err(error());
        }
        Ok(Self(bytes as u64))
    }
}

/// A rate of data, in bytes per second. Always positive and finite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Bandwidth(f64);

impl TryFrom<f64> for Bandwidth {
    type Error = &'static str;

    fn try_from(rate: f64) -> Result<Self, Self::Error> {
        let is_rate = rate > 0.0 && rate.is_finite();
        is_rate
            .then_some(Self(rate))
            .ok_or("a bandwidth must be a positive number of bytes per second")
    }
}

impl From<Bandwidth> for f64 {
    fn from(rate: Bandwidth) -> Self {
        rate.0
    }
}

impl Bandwidth {
    /// # Panics
    /// If the rate is not a positive finite number. Input is checked before it comes here.
    pub fn from_bytes_per_second(rate: f64) -> Self {
        Self::try_from(rate).unwrap_or_else(|_| panic!("a bandwidth of {rate} B/s"))
    }

    pub fn bytes_per_second(self) -> f64 {
        self.0
    }

    /// The rate if each byte takes so many nanoseconds longer, which are not below 0.
    #[must_use]
    pub fn slowed(self, longer: f64) -> Self {
        Self(1.0 / (1.0 / self.0 + longer * 1e-9))
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")]
            .into_iter()
            .find(|&(scale, _)| self.0 >= scale)
            .unwrap_or((1.0, "B/s"));
        write!(f, "{:.1} {unit}", self.0 / scale)
    }
}

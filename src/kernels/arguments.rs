//! The scalar arguments of kernels.

use super::Kernel;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The scalar arguments of a kernel; a kernel ignores those that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// The factor of `scale` and `saxpy`.
    pub a: f32,
    /// The whole number that [`super::Kernel::extent`] describes.
    pub extent: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { a: 0.5, extent: 16 }
    }
}

impl Arguments {
    /// What a kernel takes where nothing else is said.
    pub fn of(kernel: Kernel) -> Self {
        let default = Self::default();
        let extent = kernel.extent().map_or(default.extent, |extent| extent.default);
        Self { extent, ..default }
    }

    /// Sets an argument that the kernel has, by its name.
    ///
    /// # Errors
    /// What the kernel takes instead.
    pub fn set(&mut self, kernel: Kernel, name: &str, number: f64) -> Result<(), NotTaken> {
        if !kernel.arguments().contains(&name) {
            return Err(NotTaken::Name);
        }
        match kernel.extent().filter(|extent| extent.name == name) {
            Some(extent) => self.extent = extent.check(number).ok_or(NotTaken::Extent(extent))?,
            // A finite number in a file may overflow in the kernel's `f32`.
            None if (number as f32).is_finite() => self.a = number as f32,
            None => return Err(NotTaken::Factor),
        }
        Ok(())
    }
}

/// Why a kernel does not take an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// It has none of this name.
    #[error("there is no such argument")]
    Name,
    #[error("must be {0}")]
    Extent(Extent),
    #[error("must be a finite f32")]
    Factor,
}

/// The whole-number argument of a kernel. With the number of elements, it decides what the kernel
/// costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The name of the argument in a scenario.
    pub name: &'static str,
    pub least: u32,
    pub most: u32,
    pub numbers: Numbers,
    /// The value where the scenario gives none.
    pub default: u32,
}

/// Which whole numbers of a range are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    All,
    Odd,
    PowersOfTwo,
}

impl Extent {
    /// Allows every whole number from 1 to `most`.
    pub(super) const fn up_to(name: &'static str, most: u32, default: u32) -> Self {
        Self { name, least: 1, most, numbers: Numbers::All, default }
    }

    /// `number` as an integer, if it is allowed.
    pub fn check(&self, number: f64) -> Option<u32> {
        let within = (f64::from(self.least)..=f64::from(self.most)).contains(&number);
        let whole = (within && number.fract() == 0.0).then_some(number as u32)?;
        let fits = match self.numbers {
            Numbers::All => true,
            Numbers::Odd => whole % 2 == 1,
            Numbers::PowersOfTwo => whole.is_power_of_two(),
        };
        fits.then_some(whole)
    }
}

impl fmt::Display for Extent {
    /// Describes the numbers that are allowed: `a whole number from 1 to 8`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match self.numbers {
            Numbers::All => "a whole number",
            Numbers::Odd => "an odd number",
            Numbers::PowersOfTwo => "a power of two",
        };
        write!(f, "{numbers} from {} to {}", self.least, self.most)
    }
}

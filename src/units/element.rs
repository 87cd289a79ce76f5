//! The types of an array's elements.

use serde::{Deserialize, Serialize};

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ElementType {
    /// An unsigned 8-bit integer.
    U8,
    /// A signed 8-bit integer.
    I8,
    /// An unsigned 16-bit integer.
    U16,
    /// A signed 16-bit integer.
    I16,
    /// An unsigned 32-bit integer.
    U32,
    /// A signed 32-bit integer.
    I32,
    /// An unsigned 64-bit integer.
    U64,
    /// A signed 64-bit integer.
    I64,
    /// IEEE 754 half precision, 2 bytes.
    F16,
    /// The first half of an `f32`, 2 bytes.
    Bf16,
    /// IEEE 754 single precision, 4 bytes.
    F32,
    /// IEEE 754 double precision, 8 bytes.
    F64,
}

impl ElementType {
    /// Bytes of one element.
    pub const fn size(self) -> u64 {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The bits of the significand after the point; `None` of whole numbers.
    pub const fn fraction_bits(self) -> Option<u32> {
        match self {
            Self::F16 => Some(10),
            Self::Bf16 => Some(7),
            Self::F32 => Some(23),
            Self::F64 => Some(52),
            _ => None,
        }
    }

    /// The value of an element, given by its bits. (Whole numbers beyond 2^53 are rounded.)
    pub fn value(self, bits: u64) -> f64 {
        let width = 8 * self.size() as u32;
        match self.fraction_bits() {
            Some(_) if self == Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Some(_) if self == Self::F64 => f64::from_bits(bits),
            Some(fraction) => float(bits, width, fraction),
            None if matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64) => {
                let unused = u64::BITS - width;
                ((bits << unused).cast_signed() >> unused) as f64
            }
            None => bits as f64,
        }
    }
}

/// The value of a short binary floating-point number (IEEE 754-2019, 3.4).
fn float(bits: u64, width: u32, fraction: u32) -> f64 {
    let exponent_bits = width - 1 - fraction;
    let exponent = (bits >> fraction) & ((1 << exponent_bits) - 1);
    let bias = (1_i32 << (exponent_bits - 1)) - 1;
    let part = (bits & ((1 << fraction) - 1)) as f64 / 2_f64.powi(fraction.cast_signed());
    let size = match exponent {
        0 => part * 2_f64.powi(1 - bias),
        _ if exponent == (1 << exponent_bits) - 1 => {
            if part == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (1.0 + part) * 2_f64.powi(exponent as i32 - bias),
    };
    if bits >> (width - 1) & 1 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::ElementType::{Bf16, F16, F32, F64, I8, U8};
    use super::float;

    #[test]
    fn bits_have_the_values_of_their_type() {
        assert_eq!([U8.value(0xff), I8.value(0xff)], [255.0, -1.0]);
        assert_eq!(
            [F16.value(0x3c00), F16.value(0xc000), F16.value(1)],
            [1.0, -2.0, 2f64.powi(-24)]
        );
        assert_eq!([Bf16.value(0x3f80), Bf16.value(0xff80)], [1.0, f64::NEG_INFINITY]);
        assert!(F16.value(0x7e00).is_nan());
        for value in [0.1_f32, -3.5e-40, 1e38] {
            let bits = u64::from(value.to_bits());
            assert_eq!([F32.value(bits), float(bits, 32, 23)], [f64::from(value); 2]);
        }
        assert_eq!(F64.value(0.1_f64.to_bits()), 0.1);
    }
}

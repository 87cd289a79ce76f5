//! Times in decimal microseconds.

/// The nanoseconds in a decimal number of microseconds, rounded to the nearest; `None` if it is no
/// number or beyond 292 years.
///
/// Microseconds since 1970 with three decimals take 61 bits. A double would round them to a
/// quarter of a microsecond.
pub(super) fn nanos(text: &str) -> Option<i64> {
    const DIGITS_OF_MICROS: i64 = 3;
    /// More digits are beyond any time, or far below a nanosecond.
    const MOST: i64 = 25;

    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // As many digits of the number make whole nanoseconds.
    let whole_digits =
        (whole.len() as i64).saturating_add(exponent).checked_add(DIGITS_OF_MICROS)?;
    let mut value: i128 = 0;
    let mut significant = 0;
    let mut place = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        if place < whole_digits {
            significant += i64::from(significant > 0 || digit > 0);
            if significant > MOST {
                return None;
            }
            value = value * 10 + digit;
        } else if place == whole_digits {
            value += i128::from(digit >= 5);
        }
        place += 1;
    }
    if value > 0 && place < whole_digits {
        let missing = u32::try_from(whole_digits - place).ok()?;
        value = 10_i128.checked_pow(missing).and_then(|power| value.checked_mul(power))?;
    }
    i64::try_from(if is_negative { -value } else { value }).ok()
}

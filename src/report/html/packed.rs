//! Bytes as text that a script turns back: deflated, then in base 64.

use miniz_oxide::deflate::compress_to_vec;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Beyond this, columns of numbers shrink no further.
const LEVEL: u8 = 6;

/// The text of some bytes.
pub(super) fn packed(bytes: &[u8]) -> String {
    base64(&compress_to_vec(bytes, LEVEL))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// Test vectors of RFC 4648, section 10.
    #[test]
    fn the_text_is_base_64() {
        let vectors =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, text) in vectors {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}

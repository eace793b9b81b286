//! Percent-encoding, as in paths, queries and the headers of impersonation.
//!
//! ```
//! use kubewright_apimachinery::percent::{decode, decode_query};
//!
//! assert_eq!(decode("a%3Ab+c%"), "a:b+c%");
//! assert_eq!(decode_query("a%3Ab+c%"), "a:b c%");
//! ```

use std::borrow::Cow;

/// Decodes a percent-encoded string. A percent sign without two hexadecimal digits stays as it is.
#[inline]
pub fn decode(text: &str) -> Cow<'_, str> {
    decode_as(text, false)
}

/// Decodes a part of a query, where a plus sign stands for a blank.
#[inline]
pub fn decode_query(text: &str) -> Cow<'_, str> {
    decode_as(text, true)
}

fn decode_as(text: &str, plus: bool) -> Cow<'_, str> {
    let encoded = text.contains('%') || (plus && text.contains('+'));
    if !encoded {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1..at + 3).and_then(|pair| {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()
        });
        match (bytes[at], pair) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
                continue;
            }
            (b'+', _) if plus => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

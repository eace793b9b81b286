//! The ends of numbers and literals (`true`, `false`, `null`).

/// Where and why a text is not JSON.
pub(super) type Fault = (usize, &'static str);

#[inline]
pub(super) fn word(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, Fault> {
    if bytes[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err((at, "expected a value"))
    }
}

/// The position behind a number, and whether it is a whole one.
#[inline]
pub(super) fn number(bytes: &[u8], start: usize) -> Result<(usize, bool), Fault> {
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let first = start + usize::from(bytes[start] == b'-');
    let mut at = digits(first);
    let mut good = at > first && (bytes[first] != b'0' || at == first + 1);
    let mut whole = true;
    if good && bytes.get(at) == Some(&b'.') {
        whole = false;
        let fraction = at + 1;
        at = digits(fraction);
        good = at > fraction;
    }
    if good && matches!(bytes.get(at), Some(b'e' | b'E')) {
        whole = false;
        let exponent = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        at = digits(exponent);
        good = at > exponent;
    }
    if good {
        Ok((at, whole))
    } else {
        Err((at, "a number is malformed"))
    }
}

//! The inside of JSON strings: where they end, what their escapes mean, and how to write them.

#![expect(
    clippy::inline_always,
    reason = "a call per string costs more than most strings"
)]

/// The position of the first `"`, `\` or control character at or after `at`, or the end.
#[inline(always)]
pub(super) fn special(bytes: &[u8], at: usize) -> usize {
    // Most strings of Kubernetes objects are shorter than two words, most bytes are in long ones.
    for at in [at, at + 8] {
        let Some(word) = word(bytes, at) else {
            return tail(bytes, at);
        };
        let found = specials(word);
        if found != 0 {
            return at + first(found);
        }
    }
    far_special(bytes, at + 16)
}

fn far_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = chunk(bytes, at) {
        if is_special(chunk) {
            break;
        }
        at += chunk.len();
    }
    while let Some(word) = word(bytes, at) {
        let found = specials(word);
        if found != 0 {
            return at + first(found);
        }
        at += 8;
    }
    tail(bytes, at)
}

/// As much as the widest registers that every machine has look at in one go.
#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<&[u8; 16]> {
    bytes.get(at..)?.first_chunk()
}

#[inline(always)]
#[expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the comparison of a chunk is a few wide instructions"
)]
fn is_special(chunk: &[u8; 16]) -> bool {
    chunk.iter().fold(false, |found, byte| {
        found | (*byte < b' ') | (*byte == b'"') | (*byte == b'\\')
    })
}

/// Appends the rest of a string, decoded, and gives the position behind its closing quote.
///
/// The first byte is a special one.
pub(super) fn decode(
    bytes: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<usize, (usize, &'static str)> {
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'"') => break,
            Some(b'\\') => match bytes.get(at + 1) {
                Some(b'n') => {
                    out.push(b'\n');
                    at += 2;
                }
                Some(same @ (b'"' | b'\\' | b'/')) => {
                    out.push(*same);
                    at += 2;
                }
                _ => {
                    let Some((character, length)) = escape(&bytes[at + 1..]) else {
                        return Err((at, "a string has an escape that JSON does not know"));
                    };
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    at += 1 + length;
                }
            },
            // Only the first special byte can be another one: below, none is looked for.
            Some(_) => return Err((at, "a string has a control character")),
            None => return Err((at, "the text ends inside a string")),
        }
        let rest = &bytes[at..];
        let length = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..length]);
        at += length;
    }
    // Looked for once and in one go, since there never is one.
    let string = &bytes[start..at];
    let controls = string
        .iter()
        .fold(0, |found, byte| found | u8::from(*byte < b' '));
    if controls == 0 {
        return Ok(at + 1);
    }
    match string.iter().position(|byte| *byte < b' ') {
        Some(control) => Err((start + control, "a string has a control character")),
        None => Ok(at + 1),
    }
}

fn tail(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter()
        .position(|byte| matches!(byte, 0..b' ' | b'"' | b'\\'))
        .map_or(bytes.len(), |found| at + found)
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes
        .get(at..)?
        .first_chunk::<8>()
        .map(|chunk| u64::from_le_bytes(*chunk))
}

/// A word whose lowest set high bit marks the first special byte; later marks may be false, because of borrows.
#[inline(always)]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let quote = word ^ (ONES * 0x22);
    let slash = word ^ (ONES * 0x5c);
    ((quote.wrapping_sub(ONES) & !quote)
        | (slash.wrapping_sub(ONES) & !slash)
        | (word.wrapping_sub(ONES * 0x20) & !word))
        & HIGHS
}

#[inline(always)]
fn first(found: u64) -> usize {
    (found.trailing_zeros() / 8) as usize
}

/// What an escape stands for, and how many bytes it is long without its `\`.
///
/// A surrogate without its other half stands for U+FFFD, as Go's decoder has it.
#[inline]
pub(super) fn escape(rest: &[u8]) -> Option<(char, usize)> {
    Some(match rest.first()? {
        b'"' => ('"', 1),
        b'\\' => ('\\', 1),
        b'/' => ('/', 1),
        b'b' => ('\u{8}', 1),
        b'f' => ('\u{c}', 1),
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'u' => unicode(rest)?,
        _ => return None,
    })
}

fn unicode(rest: &[u8]) -> Option<(char, usize)> {
    let unit = hex(rest.get(1..5)?)?;
    if let Some(found) = char::from_u32(unit) {
        return Some((found, 5));
    }
    let low = match rest.get(5..11) {
        Some([b'\\', b'u', digits @ ..]) => Some(hex(digits)?),
        _ => None,
    };
    Some(match (unit, low) {
        (0xD800..0xDC00, Some(low @ 0xDC00..0xE000)) => {
            let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            (
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                11,
            )
        }
        _ => (char::REPLACEMENT_CHARACTER, 5),
    })
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value << 4 | (*digit as char).to_digit(16)?)
    })
}

/// Writes a string with its quotes.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut from = 0;
    loop {
        let at = special(bytes, from);
        out.extend_from_slice(&bytes[from..at]);
        let Some(byte) = bytes.get(at) else { break };
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            other => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(DIGITS[usize::from(other >> 4)]);
                out.push(DIGITS[usize::from(other & 15)]);
                from = at + 1;
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
        from = at + 1;
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_written_string_reads_as_it_was(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn strings_are_taken_and_read_as_serde_json_does(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "plain", "ä", "\\n", "\\\"", "\\u00e4", "\\ud83d\\ude00", "\\x", "\u{1}", "\\", "x", "sixteen bytes...",
            ]), 0..12)
        ) {
            let text = format!("\"{}\"", pieces.concat());
            let mut reader = crate::json::Reader::new(&text);
            reader.bump();
            let own = reader.string();
            let own = own.map(|read| reader.text(read).into_owned());
            let own = own.ok().filter(|_| reader.end().is_ok());
            // Half a surrogate pair is an error there.
            if own.as_ref().is_none_or(|own| !own.contains(char::REPLACEMENT_CHARACTER)) {
                prop_assert_eq!(own, serde_json::from_str::<String>(&text).ok());
            }
        }

        #[test]
        fn the_first_special_byte_is_found(bytes in prop::collection::vec(prop_oneof![8 => 32_u8..=255, 1 => any::<u8>()], 0..200), at in 0_usize..50) {
            let at = at.min(bytes.len());
            prop_assert_eq!(special(&bytes, at), tail(&bytes, at));
        }
    }
}

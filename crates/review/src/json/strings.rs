//! The inside of JSON strings: where they end, what their escapes mean, and how to write them.

#![expect(
    clippy::inline_always,
    reason = "a call per string costs more than most strings"
)]

use wide::u8x16;

/// As much as the widest registers that every machine has look at in one go.
const WIDTH: usize = 16;

type Chunk = [u8; WIDTH];

/// The position of the first `"`, `\` or control character at or after `at`, or the end.
#[inline(always)]
pub(super) fn special(bytes: &[u8], at: usize) -> usize {
    // Most strings of Kubernetes objects are shorter than a chunk, most bytes are in long ones.
    match chunk(bytes, at) {
        Some(chunk) => match place_in(chunk) {
            WIDTH => far_special(bytes, at + WIDTH),
            place => at + place,
        },
        None => near_end(bytes, at),
    }
}

fn far_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = chunk(bytes, at) {
        match place_in(chunk) {
            WIDTH => at += WIDTH,
            place => return at + place,
        }
    }
    near_end(bytes, at)
}

fn near_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..]
        .iter()
        .position(|byte| matches!(byte, 0..b' ' | b'"' | b'\\'))
        .map_or(bytes.len(), |found| at + found)
}

#[inline(always)]
fn chunk(bytes: &[u8], at: usize) -> Option<&Chunk> {
    bytes.get(at..)?.first_chunk()
}

/// Where the first special byte of a chunk is, or its width.
#[inline(always)]
fn place_in(chunk: &Chunk) -> usize {
    (specials(chunk) | 1 << WIDTH).trailing_zeros() as usize
}

/// Which bytes of a chunk are special: the lowest bit is about the first one.
#[inline(always)]
fn specials(chunk: &Chunk) -> u32 {
    let bytes = u8x16::new(*chunk);
    let is = |byte| bytes.simd_eq(u8x16::splat(byte));
    let control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    (control | is(b'"') | is(b'\\')).to_bitmask()
}

/// What the escapes of one letter stand for, by the letter; no escape stands for NUL.
const SHORT: [u8; 256] = {
    let mut short = [0; 256];
    short[b'"' as usize] = b'"';
    short[b'\\' as usize] = b'\\';
    short[b'/' as usize] = b'/';
    short[b'b' as usize] = 8;
    short[b'f' as usize] = 12;
    short[b'n' as usize] = b'\n';
    short[b'r' as usize] = b'\r';
    short[b't' as usize] = b'\t';
    short
};

/// How much of a string is decoded before it is appended.
const PIECE: usize = 1024;

/// A chunk whose last byte may begin an escape, and as much behind it as can be copied without a look at its length.
type Window = [u8; 2 * WIDTH];

/// Appends the rest of a string, decoded, and gives the position behind its closing quote.
pub(super) fn decode(
    bytes: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<usize, (usize, &'static str)> {
    let mut piece = [0; PIECE];
    let mut filled = 0;
    let mut at = start;
    loop {
        if filled > PIECE - 2 * size_of::<Window>() {
            out.extend_from_slice(&piece[..filled]);
            filled = 0;
        }
        if let Some(window) = bytes[at..].first_chunk() {
            let (taken, all) = decode_chunk(window, &mut piece, &mut filled);
            at += taken;
            if all {
                continue;
            }
        }
        match bytes.get(at) {
            Some(b'"') => {
                out.extend_from_slice(&piece[..filled]);
                return Ok(at + 1);
            }
            Some(b'\\') => {
                let Some((character, length)) = escape(&bytes[at + 1..]) else {
                    return Err((at, "a string has an escape that JSON does not know"));
                };
                filled += character.encode_utf8(&mut piece[filled..]).len();
                at += 1 + length;
            }
            Some(..b' ') => return Err((at, "a string has a control character")),
            Some(byte) => {
                piece[filled] = *byte;
                filled += 1;
                at += 1;
            }
            None => return Err((at, "the text ends inside a string")),
        }
    }
}

/// Decodes the first chunk of a window up to what is neither plain nor a short escape: how many bytes that were, and
/// whether there was nothing else.
///
/// Texts inside texts have an escape every ten bytes, so all special bytes are found before the first is looked at: no step
/// waits for the step before it.
#[inline(always)]
fn decode_chunk(window: &Window, piece: &mut [u8; PIECE], filled: &mut usize) -> (usize, bool) {
    let (chunks, _): (&[Chunk], _) = window.as_chunks();
    let mut left = specials(&chunks[0]);
    let mut from = 0;
    while left != 0 {
        let place = left.trailing_zeros() as usize;
        // What is copied too much is overwritten by what comes next.
        copy_chunk(window, from, piece, *filled);
        *filled += place - from;
        let short = SHORT[usize::from(window[place + 1])];
        if window[place] != b'\\' || short == 0 {
            return (place, false);
        }
        piece[*filled] = short;
        *filled += 1;
        from = place + 2;
        // The letter of the escape may look special itself.
        left &= !(0b11 << place);
    }
    if from < WIDTH {
        copy_chunk(window, from, piece, *filled);
        *filled += WIDTH - from;
        from = WIDTH;
    }
    (from, true)
}

#[inline(always)]
fn copy_chunk(window: &Window, from: usize, piece: &mut [u8; PIECE], to: usize) {
    piece[to..to + WIDTH].copy_from_slice(&window[from..from + WIDTH]);
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
        fn long_strings_decode_as_serde_json_decodes_them(
            pieces in prop::collection::vec(prop_oneof![
                4 => "[ -~ä€😀]{0,40}",
                4 => Just("\n".to_owned()),
                2 => Just("\u{1}\u{7f}\t\r\u{8}\u{c}".to_owned()),
                1 => any::<String>(),
            ], 0..200),
            behind in "[ \"\\\\x]{0,20}",
        ) {
            let text = pieces.concat();
            let json = serde_json::to_string(&text).unwrap();
            let document = format!("{json}{behind}");
            let mut out = b"before".to_vec();
            prop_assert_eq!(decode(document.as_bytes(), 1, &mut out), Ok(json.len()));
            prop_assert_eq!(out.strip_prefix(b"before"), Some(text.as_bytes()));
        }

        #[test]
        fn the_first_special_byte_is_found(bytes in prop::collection::vec(prop_oneof![8 => 32_u8..=255, 1 => any::<u8>()], 0..200), at in 0_usize..50) {
            let at = at.min(bytes.len());
            prop_assert_eq!(special(&bytes, at), near_end(&bytes, at));
        }
    }
}

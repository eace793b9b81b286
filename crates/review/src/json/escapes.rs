//! Strings with escapes: what the escapes mean, and the strings without them.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into the dispatched function is compiled for the smallest processor"
)]

use fearless_simd::{Level, dispatch, mask8x64, prelude::*, u8x64};

use super::block::{BLOCK, Block, below, escapes};

/// How much of a string is decoded before it is appended.
const PIECE: usize = 1024;

/// The letters of short escapes that stand for another character than themselves.
const LETTERS: [(u8, u8); 5] = [
    (b'n', b'\n'),
    (b't', b'\t'),
    (b'r', b'\r'),
    (b'b', 8),
    (b'f', 12),
];

/// Appends the rest of a string, decoded, and gives the position behind its closing quote.
pub(super) fn decode(
    bytes: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<usize, (usize, &'static str)> {
    dispatch!(Level::new(), simd => decode_with(simd, bytes, start, out))
}

#[inline(always)]
fn decode_with<S: Simd>(
    simd: S,
    bytes: &[u8],
    start: usize,
    out: &mut Vec<u8>,
) -> Result<usize, (usize, &'static str)> {
    let mut piece = [0; PIECE];
    let mut filled = 0;
    let mut at = start;
    loop {
        if filled > PIECE - BLOCK {
            out.extend_from_slice(&piece[..filled]);
            filled = 0;
        }
        if let Some(block) = bytes[at..].first_chunk() {
            let (taken, all) = decode_block(simd, block, &mut piece, &mut filled);
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
                let mut encoded = [0; 4];
                let encoded = character.encode_utf8(&mut encoded).as_bytes();
                out.extend_from_slice(&piece[..filled]);
                out.extend_from_slice(encoded);
                filled = 0;
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

/// Decodes a block up to what is neither plain nor a short escape: how many bytes that were, and whether the block has
/// nothing else.
///
/// Texts inside texts have an escape every ten bytes, so all of a block are taken out at once.
#[inline(always)]
fn decode_block<S: Simd>(
    simd: S,
    block: &[u8; BLOCK],
    piece: &mut [u8; PIECE],
    filled: &mut usize,
) -> (usize, bool) {
    let block = Block::new(simd, block);
    let backslashes = block.find(b'\\');
    let quotes = block.find(b'"');
    let mut text = block.bytes;
    let mut stops = quotes | block.find_below(b' ');
    let mut starts = 0;
    if backslashes != 0 {
        let letters;
        (starts, letters) = escapes(backslashes, 0);
        let mut known = quotes | backslashes | block.find(b'/');
        if letters & !known != 0 {
            for (letter, meaning) in LETTERS {
                let found = block.find(letter);
                known |= found;
                let found = mask8x64::from_bitmask(simd, found & letters);
                text = found.select(u8x64::splat(simd, meaning), text);
            }
        }
        // The letter of an escape at the very end is in the next block.
        let strange = (letters & !known) >> 1 | starts & 1 << (BLOCK - 1);
        stops = stops & !letters | strange;
    }
    let end = stops.trailing_zeros() as usize;
    let kept = !starts & below(end);
    let text = text.compress(mask8x64::from_bitmask(simd, kept));
    // What is stored too much is overwritten by what comes next.
    text.store_slice(&mut piece[*filled..*filled + BLOCK]);
    *filled += kept.count_ones() as usize;
    (end, end == BLOCK || starts >> end == 1 && end == BLOCK - 1)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
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
    }
}

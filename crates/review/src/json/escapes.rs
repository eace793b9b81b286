//! Strings with escapes: what the escapes mean, and the strings without them.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into the dispatched function is compiled for the smallest processor"
)]

use fearless_simd::{Level, dispatch, mask8x64, prelude::*, u8x64};

use super::block::{BLOCK, Block, below, escapes};
use super::scalars::Fault;

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
pub(super) fn decode(bytes: &[u8], start: usize, out: &mut String) -> Result<usize, Fault> {
    dispatch!(Level::new(), simd => decode_with(simd, bytes, start, out))
}

#[inline(always)]
fn decode_with<S: Simd>(
    simd: S,
    bytes: &[u8],
    start: usize,
    out: &mut String,
) -> Result<usize, Fault> {
    let mut piece = Piece {
        bytes: [0; PIECE],
        filled: 0,
    };
    let mut at = start;
    loop {
        at = decode_blocks(simd, bytes, at, &mut piece, out)?;
        match bytes.get(at) {
            Some(b'"') => {
                piece.append_to(out, at)?;
                return Ok(at + 1);
            }
            Some(b'\\') => {
                let Some((character, length)) = escape(&bytes[at + 1..]) else {
                    return Err((at, "a string has an escape that JSON does not know"));
                };
                let encoded = character.encode_utf8(&mut piece.bytes[piece.filled..]);
                piece.filled += encoded.len();
                at += 1 + length;
            }
            Some(..b' ') => return Err((at, "a string has a control character")),
            Some(byte) => {
                piece.bytes[piece.filled] = *byte;
                piece.filled += 1;
                at += 1;
            }
            None => return Err((at, "the text ends inside a string")),
        }
    }
}

/// Decodes whole blocks up to the first byte that is neither plain nor a short escape, or to the last block. Returns the
/// position of the rest, and leaves room for one more character.
///
/// JSON inside a string has an escape every ten bytes, so all escapes of a block are decoded at once.
#[inline(always)]
fn decode_blocks<S: Simd>(
    simd: S,
    bytes: &[u8],
    mut at: usize,
    piece: &mut Piece,
    out: &mut String,
) -> Result<usize, Fault> {
    // Whether the last byte has begun an escape.
    let mut carry = 0;
    loop {
        if piece.filled > PIECE - BLOCK {
            piece.append_to(out, at)?;
        }
        let Some(block) = bytes[at..].first_chunk() else {
            return Ok(at - usize::from(carry == 1));
        };
        let block = Block::new(simd, block);
        let mut text = block.bytes;
        let quotes = block.find(b'"');
        let backslashes = block.find(b'\\');
        let (starts, letters) = escapes(backslashes, carry);
        let mut known = quotes | backslashes | block.find(b'/');
        if letters & !known != 0 {
            for (letter, meaning) in LETTERS {
                let found = block.find(letter);
                known |= found;
                let found = mask8x64::from_bitmask(simd, found & letters);
                text = found.select(u8x64::splat(simd, meaning), text);
            }
        }
        let strange = letters & !known;
        let stops = (quotes | block.find_below(b' ')) & !letters | strange;
        // Nearly every block has none, and the next one need not wait for where it would be.
        if stops == 0 {
            piece.keep(simd, text, !starts);
            carry = starts >> (BLOCK - 1);
            at += BLOCK;
        } else {
            let end = stops.trailing_zeros() as usize;
            piece.keep(simd, text, !starts & below(end));
            // A strange escape is looked at as a whole.
            return Ok(at + end - usize::from(strange >> end & 1 == 1));
        }
    }
}

/// A part of the decoded string, on its way to the rest of it.
struct Piece {
    bytes: [u8; PIECE],
    filled: usize,
}

impl Piece {
    #[inline(always)]
    fn keep<S: Simd>(&mut self, simd: S, text: u8x64<S>, kept: u64) {
        let text = text.compress(mask8x64::from_bitmask(simd, kept));
        // What is stored too much is overwritten by what comes next.
        text.store_slice(&mut self.bytes[self.filled..self.filled + BLOCK]);
        self.filled += kept.count_ones() as usize;
    }

    fn append_to(&mut self, out: &mut String, at: usize) -> Result<(), Fault> {
        let bytes = &self.bytes[..self.filled];
        let length = match std::str::from_utf8(bytes) {
            Ok(whole) => {
                out.push_str(whole);
                self.filled = 0;
                return Ok(());
            }
            // A character goes on in the next piece.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Err((at, "a string is not UTF-8")),
        };
        let whole = std::str::from_utf8(&bytes[..length]);
        out.push_str(whole.map_err(|_| (at, "a string is not UTF-8"))?);
        self.bytes.copy_within(length..self.filled, 0);
        self.filled -= length;
        Ok(())
    }
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
            let mut out = "before".to_owned();
            prop_assert_eq!(decode(document.as_bytes(), 1, &mut out), Ok(json.len()));
            prop_assert_eq!(out.strip_prefix("before"), Some(&*text));
        }
    }
}

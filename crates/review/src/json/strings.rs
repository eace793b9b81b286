//! The inside of JSON strings: where something in them is special, and how to write them.

#![expect(
    clippy::inline_always,
    reason = "a call per string costs more than most strings"
)]

use fearless_simd::{Level, dispatch, prelude::*, u8x16};

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
    // What every processor of the platform has is compiled into the caller, unlike what some have.
    dispatch!(Level::baseline(), simd => specials_with(simd, chunk))
}

#[inline(always)]
fn specials_with<S: Simd>(simd: S, chunk: &Chunk) -> u32 {
    let bytes = u8x16::load_array_ref(simd, chunk);
    let is = |byte| bytes.simd_eq(u8x16::splat(simd, byte));
    let control = bytes.simd_lt(u8x16::splat(simd, b' '));
    #[expect(clippy::cast_possible_truncation, reason = "a chunk has sixteen bytes")]
    let specials = (control | is(b'"') | is(b'\\')).to_bitmask() as u32;
    specials
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
            prop_assert_eq!(special(&bytes, at), near_end(&bytes, at));
        }
    }
}

//! Search for bytes that a JSON string must escape.

/// The number of bytes before the first quote, backslash or control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks();
    for (index, word) in words.iter().enumerate() {
        let found = specials(u64::from_le_bytes(*word));
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().position(|byte| is_special(*byte));
    words.len() * 8 + plain.unwrap_or(rest.len())
}

/// Whether the bytes contain no quote, backslash or control character.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    let found = words
        .iter()
        .fold(0, |found, word| found | specials(u64::from_le_bytes(*word)));
    // Reads the remaining bytes as one word, together with bytes before them.
    let left = match (bytes.last_chunk(), rest.first_chunk(), rest.last_chunk()) {
        (Some(last), ..) => u64::from_le_bytes(*last),
        (None, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => return !rest.iter().any(|byte| is_special(*byte)),
    };
    (found | specials(left)) == 0
}

fn is_special(byte: u8) -> bool {
    matches!(byte, 0..b' ' | b'"' | b'\\')
}

/// A word whose lowest high bit marks the first special byte; later marks may be false, because of borrows.
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    // Swapping 32 with 34 puts the quote right behind the control characters: one comparison finds both.
    let control_or_quote = (word ^ (ONES * 2)).wrapping_sub(ONES * 33);
    let backslash = (word ^ (ONES * 0x5c)).wrapping_sub(ONES);
    (control_or_quote | backslash) & !word & HIGHS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_special_byte_ends_what_is_plain(
            bytes in prop::collection::vec(prop_oneof![30 => 32_u8..=255, 1 => any::<u8>()], 0..60)
        ) {
            let first = bytes.iter().position(|byte| is_special(*byte));
            prop_assert_eq!(plain_length(&bytes), first.unwrap_or(bytes.len()));
            prop_assert_eq!(is_plain(&bytes), first.is_none());
        }
    }
}

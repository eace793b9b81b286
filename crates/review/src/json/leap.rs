//! Steps over a whole object or list, sixty-four bytes at a time.
//!
//! Whether a text is JSON is nearly always a question of neighbours: what may follow a comma, a closing quote, a number. All
//! neighbours of a block are compared at once. Only brackets have to be taken one after the other. A text with something
//! unusual, such as white space or a fault, is left to the walk byte by byte.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined into the dispatched function is compiled for the smallest processor"
)]

use fearless_simd::{Level, Simd, dispatch};

use super::block::{BLOCK, Block, below, escapes};
use super::escapes::escape;
use super::scalars::{number, word};

/// The end of the object or list that begins at a position, if it is JSON without white space and not nested deeply.
pub(super) fn leap(bytes: &[u8], start: usize) -> Option<usize> {
    dispatch!(Level::new(), simd => leap_with(simd, bytes, start))
}

#[inline(always)]
fn leap_with<S: Simd>(simd: S, bytes: &[u8], start: usize) -> Option<usize> {
    let mut leap = Leap {
        // As if it followed a colon: a value has to begin.
        colon: 1,
        ..Leap::default()
    };
    let mut at = start;
    loop {
        let rest = bytes.get(at..)?;
        let block = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut padded = [0; BLOCK];
            padded[..rest.len()].copy_from_slice(rest);
            padded
        });
        let tokens = Tokens::of(Block::new(simd, &block), &mut leap);
        if let Some(length) = leap.pass(&tokens, bytes, at).ok()? {
            return Some(at + length);
        }
        at += BLOCK;
    }
}

/// What the bytes of a block are.
struct Tokens {
    /// Backslashes that begin an escape.
    escapes: u64,
    /// Opening and closing quotes.
    opens: u64,
    closes: u64,
    /// Strings with their opening quotes.
    strings: u64,
    /// Control characters in strings.
    control: u64,
    braces: [u64; 2],
    brackets: [u64; 2],
    colons: u64,
    commas: u64,
    /// Everything else: numbers, words, and what does not belong there.
    scalars: u64,
}

impl Tokens {
    #[inline(always)]
    fn of<S: Simd>(block: Block<S>, leap: &mut Leap) -> Self {
        let backslashes = block.find(b'\\');
        let mut quotes = block.find(b'"');
        let mut starts = 0;
        if backslashes | leap.escape != 0 {
            let letters;
            (starts, letters) = escapes(backslashes, leap.escape);
            leap.escape = starts >> (BLOCK - 1);
            quotes &= !letters;
        }
        let strings = parity(quotes) ^ leap.string;
        leap.string = if strings >> (BLOCK - 1) == 0 {
            0
        } else {
            u64::MAX
        };
        let opens = quotes & strings;
        let closes = quotes & !strings;
        let outside = !(strings | closes);
        let find = |byte| block.find(byte) & outside;
        let braces = [find(b'{'), find(b'}')];
        let brackets = [find(b'['), find(b']')];
        let (colons, commas) = (find(b':'), find(b','));
        let punctuation = braces[0] | braces[1] | brackets[0] | brackets[1] | colons | commas;
        Self {
            escapes: starts,
            opens,
            closes,
            strings,
            control: block.find_below(b' ') & strings,
            braces,
            brackets,
            colons,
            commas,
            scalars: outside & !punctuation,
        }
    }
}

/// For each bit, whether an odd number of bits is set up to it.
#[inline(always)]
fn parity(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

/// Something that a leap cannot judge, or a fault.
struct Unusual;

/// What is known of the text up to a block: of each kind of token whether the last byte was one, and the open brackets.
#[derive(Default)]
struct Leap {
    escape: u64,
    /// All bits if the last byte was in a string.
    string: u64,
    /// Whether that string follows an opening brace, or a comma.
    string_after_brace: u64,
    string_after_comma: u64,
    brace: u64,
    bracket: u64,
    colon: u64,
    comma: u64,
    end: u64,
    scalar: u64,
    close_after_brace: u64,
    close_after_comma: u64,
    close_of_value: u64,
    depth: u32,
    /// One bit for each open bracket, the innermost lowest: set for objects.
    nesting: u64,
}

impl Leap {
    /// Checks a block: where in it the value ends, if it does.
    #[inline(always)]
    fn pass(&mut self, tokens: &Tokens, bytes: &[u8], at: usize) -> Result<Option<usize>, Unusual> {
        let ends = tokens.braces[1] | tokens.brackets[1];
        let after_brace = after(tokens.braces[0], &mut self.brace);
        let after_bracket = after(tokens.brackets[0], &mut self.bracket);
        let after_colon = after(tokens.colons, &mut self.colon);
        let after_comma = after(tokens.commas, &mut self.comma);
        let after_end = after(ends, &mut self.end);
        let after_scalar = after(tokens.scalars, &mut self.scalar);

        let first_scalars = tokens.scalars & !after_scalar;
        let values = tokens.opens | tokens.braces[0] | tokens.brackets[0] | first_scalars;
        let mut wrong = tokens.control
            | after_brace & !(tokens.opens | tokens.braces[1])
            | after_bracket & !(values | tokens.brackets[1])
            | (after_colon | after_comma) & !values
            | (after_end | after_scalar & !tokens.scalars) & !(tokens.commas | ends);

        // What a string is, key or value, follows from what is before it, and shows in what is behind it.
        let close_after_brace = tokens.closes
            & through(
                tokens.opens & after_brace,
                tokens.strings,
                &mut self.string_after_brace,
            );
        let close_after_comma = tokens.closes
            & through(
                tokens.opens & after_comma,
                tokens.strings,
                &mut self.string_after_comma,
            );
        let close_of_value = tokens.closes & !(close_after_brace | close_after_comma);
        let behind_first_key = after(close_after_brace, &mut self.close_after_brace);
        let behind_any = after(close_after_comma, &mut self.close_after_comma);
        let behind_value = after(close_of_value, &mut self.close_of_value);
        wrong |= behind_first_key & !tokens.colons
            | (behind_value | behind_any) & !(tokens.commas | tokens.colons | ends)
            | tokens.colons & !(behind_first_key | behind_any);
        let in_objects = behind_any & tokens.colons;
        let in_lists = behind_any & !tokens.colons | after_comma & !tokens.opens;

        let end = self.nest(tokens, [in_lists, in_objects], &mut wrong)?;
        let seen = end.map_or(u64::MAX, below);
        if wrong & seen != 0 {
            return Err(Unusual);
        }
        each(tokens.escapes & seen, |bit| {
            escape(&bytes[at + bit + 1..]).is_some()
        })?;
        each(first_scalars & seen, |bit| is_scalar(bytes, at + bit))?;
        Ok(end)
    }

    /// Opens and closes the brackets of a block. What may only be in lists or only in objects is wrong elsewhere.
    #[inline(always)]
    fn nest(
        &mut self,
        tokens: &Tokens,
        only_in: [u64; 2],
        wrong: &mut u64,
    ) -> Result<Option<usize>, Unusual> {
        let opening = tokens.braces[0] | tokens.brackets[0];
        let braces = tokens.braces[0] | tokens.braces[1];
        let mut left = opening | tokens.braces[1] | tokens.brackets[1];
        let mut unseen = u64::MAX;
        while left != 0 {
            let place = left.trailing_zeros();
            let up_to = left ^ (left - 1);
            *wrong |= only_in[usize::from(self.nesting & 1 == 0)] & up_to & unseen;
            unseen = !up_to;
            left &= left - 1;
            let object = braces >> place & 1;
            if opening >> place & 1 == 1 {
                self.nesting = self.nesting << 1 | object;
                self.depth += 1;
                if self.depth == u64::BITS {
                    return Err(Unusual);
                }
            } else {
                *wrong |= ((self.nesting ^ object) & 1) << place;
                self.nesting >>= 1;
                self.depth -= 1;
                if self.depth == 0 {
                    return Ok(Some(place as usize + 1));
                }
            }
        }
        *wrong |= only_in[usize::from(self.nesting & 1 == 0)] & unseen;
        Ok(None)
    }
}

/// The bytes behind these ones, the last byte of the block before included.
#[inline(always)]
fn after(bits: u64, carry: &mut u64) -> u64 {
    let after = bits << 1 | *carry;
    *carry = bits >> (BLOCK - 1);
    after
}

/// The bytes behind the strings that begin with these quotes: an addition carries through each string.
#[inline(always)]
fn through(opens: u64, strings: u64, carry: &mut u64) -> u64 {
    let (sum, first) = strings.overflowing_add(opens);
    let (sum, second) = sum.overflowing_add(*carry);
    *carry = u64::from(first | second);
    sum & !strings
}

#[inline(always)]
fn each(mut bits: u64, holds: impl Fn(usize) -> bool) -> Result<(), Unusual> {
    while bits != 0 {
        if !holds(bits.trailing_zeros() as usize) {
            return Err(Unusual);
        }
        bits &= bits - 1;
    }
    Ok(())
}

/// Whether a number or word is at a position, and nothing more before the next comma or bracket.
fn is_scalar(bytes: &[u8], at: usize) -> bool {
    let end = match bytes.get(at) {
        Some(b't') => word(bytes, at, b"true"),
        Some(b'f') => word(bytes, at, b"false"),
        Some(b'n') => word(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => number(bytes, at).map(|(end, _)| end),
        _ => return false,
    };
    end.is_ok_and(|end| matches!(bytes.get(end), Some(b',' | b'}' | b']')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::skip::walk;
    use super::*;

    /// Documents with strings that end, and numbers that begin, at every place of a block.
    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f32>().prop_map(Value::from),
            "[ -~ä\n]{0,90}".prop_map(Value::from),
            "[\\\\\"]{0,9}".prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 8, |inner| {
            let key = "[a-z\\\\\"]{0,9}";
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::hash_map(key, inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn all_json_without_white_space_is_leapt_over(
            document in document(), before in "[ -~]{0,70}", behind in "[ -~]{0,70}"
        ) {
            prop_assume!(document.is_object() || document.is_array());
            let json = document.to_string();
            let text = format!("{before}{json}{behind}");
            let end = before.len() + json.len();
            prop_assert_eq!(leap(text.as_bytes(), before.len()), Some(end));
        }

        #[test]
        fn a_leap_lands_where_a_walk_ends(
            document in document(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(b"{}[]:,\"\\0n \x01".to_vec())), 1..3),
        ) {
            let mut text = format!("[{document}]").into_bytes();
            for (place, byte) in changes {
                let place = place.index(text.len() - 1);
                text[place + 1] = byte;
            }
            if let Some(end) = leap(&text, 0) {
                prop_assert_eq!(walk(&text, 0), Ok(end), "{}", String::from_utf8_lossy(&text));
            }
        }

        #[test]
        fn what_is_not_json_is_not_leapt_over(
            tokens in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"k\":", "1", "-", "0", "true", "null", " ", "\\", "\\u12ab", "\u{1}", "x",
            ]), 0..14),
            open in "[\\[{]",
        ) {
            let text = open + &tokens.concat();
            if let Some(end) = leap(text.as_bytes(), 0) {
                prop_assert_eq!(walk(text.as_bytes(), 0), Ok(end), "{}", text);
            }
        }
    }
}

//! Steps over one value: strict, without recursion, and bounded in depth.
//!
//! Most bytes of a review are only stepped over, so the position stays in a register and nothing is stored on the way.

#![expect(
    clippy::inline_always,
    reason = "a call per token costs more than the token: a third of the time of a whole review"
)]

use super::escapes::escape;
use super::leap::leap;
use super::scalars::{Fault, number, word};
use super::strings::special;

/// The deepest nesting that is stepped over, a multiple of 64. Go's decoder goes to 10,000.
const DEEPEST: usize = 9_984;

/// The end of the value that begins at or after a position.
pub(super) fn value(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let is_full = match bytes.get(at..at + 2) {
        Some([b'{', next]) => *next != b'}',
        Some([b'[', next]) => *next != b']',
        _ => false,
    };
    match is_full.then(|| leap(bytes, at)).flatten() {
        Some(end) => Ok(end),
        None => walk(bytes, at),
    }
}

/// The end of a value, byte by byte: of any value, and with the place and the nature of a fault.
pub(super) fn walk(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    let mut nesting = Nesting::default();
    loop {
        at = blank(bytes, at);
        match bytes.get(at) {
            Some(b'"') => at = string(bytes, at + 1)?,
            Some(b'{') => {
                at = blank(bytes, at + 1);
                if bytes.get(at) == Some(&b'}') {
                    at += 1;
                } else {
                    nesting.enter(true, at)?;
                    at = key(bytes, at)?;
                    continue;
                }
            }
            Some(b'[') => {
                at = blank(bytes, at + 1);
                if bytes.get(at) == Some(&b']') {
                    at += 1;
                } else {
                    nesting.enter(false, at)?;
                    continue;
                }
            }
            Some(b't') => at = word(bytes, at, b"true")?,
            Some(b'f') => at = word(bytes, at, b"false")?,
            Some(b'n') => at = word(bytes, at, b"null")?,
            Some(b'-' | b'0'..=b'9') => (at, _) = number(bytes, at)?,
            Some(_) => return Err((at, "expected a value")),
            None => return Err((at, "the text ends where a value belongs")),
        }
        loop {
            let Some(object) = nesting.in_object() else {
                return Ok(at);
            };
            at = blank(bytes, at);
            match bytes.get(at) {
                Some(b',') if object => {
                    at = key(bytes, blank(bytes, at + 1))?;
                    break;
                }
                Some(b',') => {
                    at += 1;
                    break;
                }
                Some(b'}') if object => at += 1,
                Some(b']') if !object => at += 1,
                Some(_) => return Err((at, "expected a comma or the end")),
                None => return Err((at, "the text ends inside an object or list")),
            }
            nesting.leave();
        }
    }
}

/// The position of the next byte that is not white space.
#[inline(always)]
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\t' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The position behind a key and its colon.
#[inline(always)]
fn key(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    if bytes.get(at) != Some(&b'"') {
        return Err((at, "expected a key"));
    }
    let at = blank(bytes, string(bytes, at + 1)?);
    if bytes.get(at) != Some(&b':') {
        return Err((at, "expected a colon"));
    }
    Ok(at + 1)
}

/// The position behind a string, whose opening quote was stepped over.
#[inline(always)]
pub(super) fn string(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let at = special(bytes, at);
    if bytes.get(at) == Some(&b'"') {
        return Ok(at + 1);
    }
    rest_of_string(bytes, at)
}

fn rest_of_string(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match escape(&bytes[at + 1..]) {
                Some((_, length)) => at += 1 + length,
                None => return Err((at, "a string has an escape that JSON does not know")),
            },
            Some(_) => return Err((at, "a string has a control character")),
            None => return Err((at, "the text ends inside a string")),
        }
        at = special(bytes, at);
    }
}

/// What the position is inside of: one bit for each level, set for objects.
#[derive(Default)]
struct Nesting {
    depth: usize,
    innermost: u64,
    outer: Vec<u64>,
}

impl Nesting {
    #[inline(always)]
    fn enter(&mut self, object: bool, at: usize) -> Result<(), Fault> {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.spill(at)?;
        }
        self.innermost = self.innermost << 1 | u64::from(object);
        self.depth += 1;
        Ok(())
    }

    #[cold]
    fn spill(&mut self, at: usize) -> Result<(), Fault> {
        if self.depth >= DEEPEST {
            return Err((at, "values are nested more than 9984 levels deep"));
        }
        self.outer.push(self.innermost);
        Ok(())
    }

    #[inline(always)]
    fn leave(&mut self) {
        self.innermost >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline(always)]
    fn in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nesting_is_bounded_and_costs_no_stack() {
        let nested = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
        for depth in [1, 63, 64, 65, 128, 129, 9_984] {
            assert_eq!(value(&nested(depth), 0), Ok(2 * depth));
        }
        let (_, why) = value(&nested(1_000_000), 0).unwrap_err();
        assert_eq!(why, "values are nested more than 9984 levels deep");
    }

    proptest! {
        #[test]
        fn exactly_what_serde_json_takes_is_taken(
            text in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"k\":", "1", "-", "0", ".5", "e1", "true", "null", " ", "\\", "\\u12ab", "x",
            ]), 0..12)
        ) {
            let text = text.concat();
            let own = value(text.as_bytes(), 0).is_ok_and(|end| text[end..].trim().is_empty());
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            prop_assert_eq!(own, theirs, "{}", text);
        }
    }
}

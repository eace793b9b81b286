//! A cursor over JSON text: strict, without recursion, and bounded in depth.

use std::borrow::Cow;

use super::JsonError;
use super::strings::{escape, special};

/// The deepest nesting that is skipped over; Go's decoder has the same limit.
const DEEPEST: usize = 10_000;

/// A cursor over JSON text.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How deeply typed values are nested, counted by their deserializers.
    pub(super) depth: u16,
    scratch: String,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            scratch: String::new(),
        }
    }

    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn go_to(&mut self, offset: usize) {
        self.at = offset;
        self.depth = 0;
    }

    /// The text from an offset up to here.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// The next byte that is not white space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Steps over the byte that was peeked.
    #[inline]
    pub(crate) fn bump(&mut self) {
        self.at += 1;
    }

    /// Steps over this byte if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over this byte, which has to be next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), JsonError> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(self.unexpected(what))
        }
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error("text follows the JSON value")),
        }
    }

    #[cold]
    pub(crate) fn error(&self, message: &'static str) -> JsonError {
        JsonError::new(message, self.at)
    }

    #[cold]
    pub(crate) fn unexpected(&mut self, expected: &'static str) -> JsonError {
        match self.peek() {
            None => JsonError::new(format!("the text ends where {expected} belongs"), self.at),
            Some(_) => JsonError::new(format!("expected {expected}"), self.at),
        }
    }

    /// Begins a list or object: whether it has members. The opening bracket was stepped over.
    #[inline]
    pub(crate) fn has_members(&mut self, close: u8) -> bool {
        !self.take(close)
    }

    /// After a member: whether there is another one.
    #[inline]
    pub(crate) fn has_more(&mut self, close: u8) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b',') => {
                self.bump();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.bump();
                Ok(false)
            }
            _ => Err(self.unexpected(if close == b'}' {
                "a comma or the end of the object"
            } else {
                "a comma or the end of the list"
            })),
        }
    }

    /// Reads a key and its colon, as [`Reader::string`] reads a string.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Option<&'a str>, JsonError> {
        self.expect(b'"', "a key")?;
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }

    /// Reads a string, whose opening quote was stepped over: as it stands in the document if it has no escapes,
    /// otherwise into [`Reader::decoded`].
    #[inline]
    pub(crate) fn string(&mut self) -> Result<Option<&'a str>, JsonError> {
        let start = self.at;
        let end = special(self.text.as_bytes(), start);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Some(&self.text[start..end]));
        }
        self.decode(end)?;
        Ok(None)
    }

    /// The last string that had escapes.
    pub(crate) fn decoded(&mut self) -> &mut String {
        &mut self.scratch
    }

    /// A string that was read, wherever it is.
    pub(crate) fn text(&self, read: Option<&'a str>) -> Cow<'a, str> {
        match read {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.scratch.clone()),
        }
    }

    /// A string that was read, until the next one is.
    #[inline]
    pub(crate) fn borrowed<'s>(&'s self, read: Option<&'a str>) -> &'s str {
        read.unwrap_or(&self.scratch)
    }

    /// Decodes a string that has something special at `special_at` into the buffer.
    fn decode(&mut self, mut special_at: usize) -> Result<(), JsonError> {
        let text = self.text;
        let bytes = text.as_bytes();
        self.scratch.clear();
        if self.scratch.capacity() == 0 {
            // No decoded string is longer than what is left of the document, and untouched memory costs nothing.
            self.scratch.reserve_exact(bytes.len() - self.at);
        }
        loop {
            self.scratch.push_str(&text[self.at..special_at]);
            self.at = special_at;
            match bytes.get(special_at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let Some((character, length)) = escape(&bytes[special_at + 1..]) else {
                        return Err(self.error("a string has an escape that JSON does not know"));
                    };
                    self.scratch.push(character);
                    self.at += 1 + length;
                }
                Some(_) => return Err(self.error("a string has a control character")),
                None => return Err(self.error("the text ends inside a string")),
            }
            special_at = special(bytes, self.at);
        }
    }

    /// Steps over the rest of a string.
    fn skip_string(&mut self) -> Result<(), JsonError> {
        let bytes = self.text.as_bytes();
        loop {
            self.at = special(bytes, self.at);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => match bytes.get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
                    _ => match escape(&bytes[self.at + 1..]) {
                        Some((_, length)) => self.at += 1 + length,
                        None => {
                            return Err(
                                self.error("a string has an escape that JSON does not know")
                            );
                        }
                    },
                },
                Some(_) => return Err(self.error("a string has a control character")),
                None => return Err(self.error("the text ends inside a string")),
            }
        }
    }

    /// Steps over `true`, `false` or `null`.
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), JsonError> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.error("expected a value"))
        }
    }

    /// Steps over `null` if it is next.
    pub(crate) fn is_null(&mut self) -> Result<bool, JsonError> {
        let null = self.peek() == Some(b'n');
        if null {
            self.word("null")?;
        }
        Ok(null)
    }

    /// Reads a number: its text, and whether it is a whole one.
    pub(crate) fn number(&mut self) -> Result<(&'a str, bool), JsonError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let first = at;
        at = digits(at);
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
        self.at = at;
        if good {
            Ok((&self.text[start..at], whole))
        } else {
            Err(self.error("a number is malformed"))
        }
    }

    /// Steps over one value of any kind and gives its text.
    pub(crate) fn skip(&mut self) -> Result<&'a str, JsonError> {
        self.peek();
        let start = self.at;
        self.skip_value()?;
        Ok(self.since(start))
    }

    fn skip_value(&mut self) -> Result<(), JsonError> {
        let mut nesting = Nesting::default();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.bump();
                    self.skip_string()?;
                }
                Some(b'{') => {
                    self.bump();
                    if self.has_members(b'}') {
                        nesting.enter(true).ok_or_else(|| self.too_deep())?;
                        self.skip_key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.bump();
                    if self.has_members(b']') {
                        nesting.enter(false).ok_or_else(|| self.too_deep())?;
                        continue;
                    }
                }
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(b'-' | b'0'..=b'9') => {
                    self.number()?;
                }
                _ => return Err(self.unexpected("a value")),
            }
            loop {
                let Some(object) = nesting.in_object() else {
                    return Ok(());
                };
                if self.has_more(if object { b'}' } else { b']' })? {
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                nesting.leave();
            }
        }
    }

    fn skip_key(&mut self) -> Result<(), JsonError> {
        self.expect(b'"', "a key")?;
        self.skip_string()?;
        self.expect(b':', "a colon")
    }

    #[cold]
    fn too_deep(&self) -> JsonError {
        self.error("values are nested more than 10000 levels deep")
    }
}

/// What the cursor is inside of: one bit for each level, set for objects.
#[derive(Default)]
struct Nesting {
    depth: usize,
    innermost: u64,
    outer: Vec<u64>,
}

impl Nesting {
    #[inline]
    fn enter(&mut self, object: bool) -> Option<()> {
        if self.depth == DEEPEST {
            return None;
        }
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.innermost);
        }
        self.innermost = self.innermost << 1 | u64::from(object);
        self.depth += 1;
        Some(())
    }

    #[inline]
    fn leave(&mut self) {
        self.innermost >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.innermost = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline]
    fn in_object(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.innermost & 1 == 1)
    }
}

//! A cursor over JSON text.

use std::borrow::Cow;

use super::JsonError;
use super::escapes::decode;
use super::scalars::{self, Fault};
use super::skip;
use super::strings::special;

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
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) == Some(&b'"') {
            let start = self.at + 1;
            let end = special(bytes, start);
            if let Some([b'"', b':']) = bytes.get(end..end + 2) {
                self.at = end + 2;
                return Ok(Some(&self.text[start..end]));
            }
        }
        self.spaced_key()
    }

    /// Reads a key that has escapes or white space around it.
    #[cold]
    fn spaced_key(&mut self) -> Result<Option<&'a str>, JsonError> {
        self.expect(b'"', "a key")?;
        let key = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(key)
    }

    /// Reads a string after its opening quote: returns a slice of the document if the string has no escapes, and otherwise
    /// decodes it into [`Reader::decoded`].
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
    pub(crate) fn decoded(&self) -> &str {
        &self.scratch
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

    /// Decodes a string that has something special at a position into the buffer.
    fn decode(&mut self, special_at: usize) -> Result<(), JsonError> {
        self.scratch.clear();
        self.scratch.push_str(&self.text[self.at..special_at]);
        let bytes = self.text.as_bytes();
        self.at = decode(bytes, special_at, &mut self.scratch).map_err(fault)?;
        Ok(())
    }

    /// Steps over `true`, `false` or `null`.
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), JsonError> {
        self.at = scalars::word(self.text.as_bytes(), self.at, word.as_bytes()).map_err(fault)?;
        Ok(())
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
        let start = self.at;
        let (end, whole) = scalars::number(self.text.as_bytes(), start).map_err(fault)?;
        self.at = end;
        Ok((&self.text[start..end], whole))
    }

    /// Steps over one value of any kind and gives its text.
    pub(crate) fn skip(&mut self) -> Result<&'a str, JsonError> {
        self.peek();
        let start = self.at;
        self.at = skip::value(self.text.as_bytes(), start).map_err(fault)?;
        Ok(&self.text[start..self.at])
    }
}

fn fault((at, message): Fault) -> JsonError {
    JsonError::new(message, at)
}

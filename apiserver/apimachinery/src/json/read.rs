//! Reads JSON text into a tree in one pass.
//!
//! It only says whether the text can be read: what is wrong with one that cannot is found out by [`super::syntax`].

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::duplicates::{Duplicates, Path, Step};
use super::plain::plain_length;

/// Why a text cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Syntax,
    /// This bracket opens one level too many.
    TooDeep(char),
    /// A number is larger than any that this server can hold.
    TooLarge,
}

/// Reads a whole text that is nested at most so deep.
pub(super) fn read(text: &str, deepest: usize) -> Result<(Value, Duplicates), Fault> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        deepest,
        duplicates: Duplicates::default(),
    };
    let value = reader.value(&Path::ROOT)?;
    match reader.peek() {
        None => Ok((value, reader.duplicates)),
        Some(_) => Err(Fault::Syntax),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    deepest: usize,
    duplicates: Duplicates,
}

impl<'a> Reader<'a> {
    fn value(&mut self, path: &Path<'_>) -> Result<Value, Fault> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                Ok(Value::String(self.string()?))
            }
            Some(b'{') => self.nested(|reader| reader.object(path)),
            Some(b'[') => self.nested(|reader| reader.list(path)),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(Fault::Syntax),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        if self.depth == self.deepest {
            let bracket = self.text.as_bytes()[self.at];
            return Err(Fault::TooDeep(bracket.into()));
        }
        self.at += 1;
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self, path: &Path<'_>) -> Result<Value, Fault> {
        let mut members = Map::new();
        if self.takes(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.expect(b'"')?;
            let name = self.string()?;
            self.expect(b':')?;
            let value = self.value(&path.step(Step::Key(&name)))?;
            match members.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.duplicates.add(path, place.key());
                    place.insert(value);
                }
            }
            if self.ends(b'}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn list(&mut self, path: &Path<'_>) -> Result<Value, Fault> {
        let mut items = Vec::new();
        if self.takes(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(&path.step(Step::Index(items.len())))?);
            if self.ends(b']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Reads a string whose opening quote was stepped over.
    fn string(&mut self) -> Result<String, Fault> {
        let text = self.plain();
        if self.text.as_bytes().get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(text.to_owned());
        }
        let mut decoded = String::with_capacity(2 * text.len());
        decoded.push_str(text);
        loop {
            match self.byte()? {
                b'"' => return Ok(decoded),
                b'\\' => decoded.push(self.escape()?),
                _ => return Err(Fault::Syntax),
            }
            decoded.push_str(self.plain());
        }
    }

    fn plain(&mut self) -> &'a str {
        let start = self.at;
        self.at += plain_length(&self.text.as_bytes()[start..]);
        &self.text[start..self.at]
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<char, Fault> {
        Ok(match self.byte()? {
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.unit()?;
                char::from_u32(unit).map_or_else(|| self.pair(unit), Ok)?
            }
            _ => return Err(Fault::Syntax),
        })
    }

    /// The character of a surrogate and the one behind it. Go replaces one that has no other half.
    fn pair(&mut self, high: u32) -> Result<char, Fault> {
        let rest = &self.text.as_bytes()[self.at..];
        if high < 0xDC00 && rest.starts_with(b"\\u") {
            let start = self.at;
            self.at += 2;
            let low = self.unit()?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = start;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn unit(&mut self) -> Result<u32, Fault> {
        (0..4).try_fold(0, |unit, _| {
            let digit = char::from(self.byte()?).to_digit(16);
            Ok(unit << 4 | digit.ok_or(Fault::Syntax)?)
        })
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        let length = rest
            .bytes()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
            .count();
        self.at += length;
        let text = &rest[..length];
        if let Some(number) = natural(text) {
            return Ok(number.into());
        }
        // Go reads a whole number, which has one zero.
        if text == "-0" {
            return Ok(0.into());
        }
        let number = serde_json::from_str::<Number>(text).map_err(|error| {
            if error.to_string().starts_with("number out of range") {
                Fault::TooLarge
            } else {
                Fault::Syntax
            }
        })?;
        Ok(Value::Number(number))
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Fault::Syntax);
        }
        self.at += word.len();
        Ok(value)
    }

    /// After a member: whether it was the last one.
    fn ends(&mut self, close: u8) -> Result<bool, Fault> {
        let found = self.peek().ok_or(Fault::Syntax)?;
        self.at += 1;
        match found {
            b',' => Ok(false),
            byte if byte == close => Ok(true),
            _ => Err(Fault::Syntax),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.takes(byte) {
            Ok(())
        } else {
            Err(Fault::Syntax)
        }
    }

    /// Steps over this byte if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = self.text.as_bytes().get(self.at).ok_or(Fault::Syntax)?;
        self.at += 1;
        Ok(*byte)
    }
}

/// Most numbers of Kubernetes objects are short natural ones.
fn natural(text: &str) -> Option<u64> {
    const DIGITS: usize = 18;
    let leads = text.starts_with('0') && text.len() > 1;
    if leads || text.len() > DIGITS {
        return None;
    }
    text.bytes().try_fold(0, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u64::from(byte - b'0'))
    })
}

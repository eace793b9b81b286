//! Says what is wrong with JSON in the words of Go's scanner. It runs only when the body could not be read.

use crate::go_text::quoted;

/// The first error of the text; none if Go would take it for JSON.
pub(super) fn first_error(bytes: &[u8]) -> Option<String> {
    Scanner { bytes, at: 0 }.document().err()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// What is open around the place that is being read.
#[derive(Clone, Copy)]
enum Open {
    Object,
    Array,
}

type Step = Result<(), String>;

impl Scanner<'_> {
    fn document(&mut self) -> Step {
        let mut open: Vec<Open> = Vec::new();
        'value: loop {
            // A value begins here.
            match self.next()? {
                b'{' => {
                    if self.next()? != b'}' {
                        self.back();
                        open.push(Open::Object);
                        self.key()?;
                        continue 'value;
                    }
                }
                b'[' => {
                    if self.next()? != b']' {
                        self.back();
                        open.push(Open::Array);
                        continue 'value;
                    }
                }
                byte => self.scalar(byte)?,
            }
            // A value has ended here.
            loop {
                let Some(around) = open.last() else {
                    return match self.peek() {
                        None => Ok(()),
                        Some(byte) => Err(invalid(byte, "after top-level value")),
                    };
                };
                let byte = self.next()?;
                match (around, byte) {
                    (Open::Object, b'}') | (Open::Array, b']') => {
                        open.pop();
                    }
                    (Open::Object, b',') => {
                        self.key()?;
                        continue 'value;
                    }
                    (Open::Array, b',') => continue 'value,
                    (Open::Object, _) => return Err(invalid(byte, "after object key:value pair")),
                    (Open::Array, _) => return Err(invalid(byte, "after array element")),
                }
            }
        }
    }

    fn key(&mut self) -> Step {
        match self.next()? {
            b'"' => self.string()?,
            byte => return Err(invalid(byte, "looking for beginning of object key string")),
        }
        match self.next()? {
            b':' => Ok(()),
            byte => Err(invalid(byte, "after object key")),
        }
    }

    fn scalar(&mut self, first: u8) -> Step {
        match first {
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number(first),
            byte => Err(invalid(byte, "looking for beginning of value")),
        }
    }

    fn string(&mut self) -> Step {
        loop {
            match self.byte()? {
                b'"' => return Ok(()),
                b'\\' => match self.byte()? {
                    b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                    b'u' => {
                        for _ in 0..4 {
                            let byte = self.byte()?;
                            if !byte.is_ascii_hexdigit() {
                                return Err(invalid(byte, "in \\u hexadecimal character escape"));
                            }
                        }
                    }
                    byte => return Err(invalid(byte, "in string escape code")),
                },
                byte if byte < 0x20 => return Err(invalid(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn literal(&mut self, word: &str) -> Step {
        for expected in word.bytes().skip(1) {
            let byte = self.byte()?;
            if byte != expected {
                let context = format!("in literal {word} (expecting '{}')", char::from(expected));
                return Err(invalid(byte, &context));
            }
        }
        Ok(())
    }

    fn number(&mut self, first: u8) -> Step {
        let first = if first == b'-' {
            self.digit("in numeric literal")?
        } else {
            first
        };
        if first != b'0' {
            self.digits();
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, context: &str) -> Result<u8, String> {
        let byte = self.byte()?;
        if byte.is_ascii_digit() {
            Ok(byte)
        } else {
            Err(invalid(byte, context))
        }
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    /// The next byte behind white space.
    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or_else(unexpected_end)?;
        self.at += 1;
        Ok(byte)
    }

    /// Skips white space and looks at what follows.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    /// The next byte. Go's scanner takes the end for a blank first, and that is what its errors show.
    fn byte(&mut self) -> Result<u8, String> {
        let byte = match self.bytes.get(self.at) {
            Some(byte) => *byte,
            None if self.at == self.bytes.len() => b' ',
            None => return Err(unexpected_end()),
        };
        self.at += 1;
        Ok(byte)
    }

    fn back(&mut self) {
        self.at -= 1;
    }
}

fn unexpected_end() -> String {
    "unexpected end of JSON input".to_owned()
}

fn invalid(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'"' => "\"".to_owned(),
        _ => {
            let quoted = quoted(&char::from(byte).to_string());
            quoted[1..quoted.len() - 1].to_owned()
        }
    };
    format!("invalid character '{shown}' {context}")
}

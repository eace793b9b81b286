//! Splits an expression into tokens.

use crate::source::Problem;

/// A piece of the expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: Tok,
    pub(super) text: &'s str,
    /// The offset in code points.
    pub(super) at: u32,
}

/// The kinds of tokens, in the order in which the grammar declares them: expected tokens are listed in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tok {
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscapedIdent,
    End,
}

impl Tok {
    /// The token as a list of expected tokens names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Equals => "'=='",
            Self::NotEquals => "'!='",
            Self::In => "'in'",
            Self::Less => "'<'",
            Self::LessEquals => "'<='",
            Self::GreaterEquals => "'>='",
            Self::Greater => "'>'",
            Self::And => "'&&'",
            Self::Or => "'||'",
            Self::OpenBracket => "'['",
            Self::CloseBracket => "']'",
            Self::OpenBrace => "'{'",
            Self::CloseBrace => "'}'",
            Self::OpenParen => "'('",
            Self::CloseParen => "')'",
            Self::Dot => "'.'",
            Self::Comma => "','",
            Self::Minus => "'-'",
            Self::Not => "'!'",
            Self::Question => "'?'",
            Self::Colon => "':'",
            Self::Plus => "'+'",
            Self::Star => "'*'",
            Self::Slash => "'/'",
            Self::Percent => "'%'",
            Self::True => "'true'",
            Self::False => "'false'",
            Self::Null => "'null'",
            Self::Float => "NUM_FLOAT",
            Self::Int => "NUM_INT",
            Self::Uint => "NUM_UINT",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Ident => "IDENTIFIER",
            Self::EscapedIdent => "ESC_IDENTIFIER",
            Self::End => "<EOF>",
        }
    }
}

/// Splits `source` into tokens. Characters that begin no token are reported and skipped.
pub(super) fn tokens<'s>(source: &'s str, problems: &mut Vec<Problem>) -> Vec<Token<'s>> {
    let mut lexer = Lexer {
        source,
        offset: 0,
        at: 0,
    };
    let mut tokens = Vec::with_capacity(source.len() / 4 + 1);
    loop {
        lexer.skip_blanks();
        let (start, at) = (lexer.offset, lexer.at);
        if lexer.rest().is_empty() {
            tokens.push(Token {
                kind: Tok::End,
                text: "<EOF>",
                at,
            });
            return tokens;
        }
        match scan(lexer.rest()) {
            Ok((kind, length)) => {
                lexer.advance(length);
                tokens.push(Token {
                    kind,
                    text: &source[start..lexer.offset],
                    at,
                });
            }
            Err(length) => {
                lexer.advance(length);
                let text = escape_blanks(&source[start..lexer.offset]);
                problems.push(Problem::at(
                    at,
                    format!("Syntax error: token recognition error at: '{text}'"),
                ));
            }
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    offset: usize,
    at: u32,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.offset..]
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.offset..self.offset + bytes];
        self.at += u32::try_from(passed.chars().count()).unwrap_or(u32::MAX);
        self.offset += bytes;
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len()
                - rest
                    .trim_start_matches([' ', '\t', '\r', '\n', '\u{c}'])
                    .len();
            if blanks > 0 {
                self.advance(blanks);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else {
                return;
            }
        }
    }
}

/// The token at the start of `text`, or the length of what is none.
fn scan(text: &str) -> Result<(Tok, usize), usize> {
    let bytes = text.as_bytes();
    let first = bytes[0];
    let second = bytes.get(1).copied();
    match first {
        b'0'..=b'9' => Ok(number(bytes)),
        b'.' if second.is_some_and(|byte| byte.is_ascii_digit()) => Ok(number(bytes)),
        b'"' | b'\'' => quoted(text, 0, false).map(|length| (Tok::String, length)),
        b'`' => escaped_identifier(text),
        _ if first == b'_' || first.is_ascii_alphabetic() => {
            if let Some(literal) = prefixed_literal(text) {
                return Ok(literal);
            }
            let length = bytes
                .iter()
                .take_while(|byte| **byte == b'_' || byte.is_ascii_alphanumeric())
                .count();
            let kind = match &text[..length] {
                "in" => Tok::In,
                "true" => Tok::True,
                "false" => Tok::False,
                "null" => Tok::Null,
                _ => Tok::Ident,
            };
            Ok((kind, length))
        }
        _ => punctuation(text, first, second),
    }
}

fn punctuation(text: &str, first: u8, second: Option<u8>) -> Result<(Tok, usize), usize> {
    let single = match first {
        b'=' if second == Some(b'=') => return Ok((Tok::Equals, 2)),
        b'!' if second == Some(b'=') => return Ok((Tok::NotEquals, 2)),
        b'<' if second == Some(b'=') => return Ok((Tok::LessEquals, 2)),
        b'>' if second == Some(b'=') => return Ok((Tok::GreaterEquals, 2)),
        b'&' if second == Some(b'&') => return Ok((Tok::And, 2)),
        b'|' if second == Some(b'|') => return Ok((Tok::Or, 2)),
        b'=' | b'&' | b'|' => return Err(through(text, 1)),
        b'<' => Tok::Less,
        b'>' => Tok::Greater,
        b'[' => Tok::OpenBracket,
        b']' => Tok::CloseBracket,
        b'{' => Tok::OpenBrace,
        b'}' => Tok::CloseBrace,
        b'(' => Tok::OpenParen,
        b')' => Tok::CloseParen,
        b'.' => Tok::Dot,
        b',' => Tok::Comma,
        b'-' => Tok::Minus,
        b'!' => Tok::Not,
        b'?' => Tok::Question,
        b':' => Tok::Colon,
        b'+' => Tok::Plus,
        b'*' => Tok::Star,
        b'/' => Tok::Slash,
        b'%' => Tok::Percent,
        _ => return Err(through(text, 0)),
    };
    Ok((single, 1))
}

/// The length of `text` up to and with the character at `offset`.
fn through(text: &str, offset: usize) -> usize {
    offset + text[offset..].chars().next().map_or(0, char::len_utf8)
}

fn number(bytes: &[u8]) -> (Tok, usize) {
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
    if at(0) == b'0' && at(1) == b'x' {
        let hex = bytes[2..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if hex > 0 {
            let end = 2 + hex;
            return if matches!(at(end), b'u' | b'U') {
                (Tok::Uint, end + 1)
            } else {
                (Tok::Int, end)
            };
        }
    }
    let mut end = digits(0);
    let mut float = false;
    if at(end) == b'.' && at(end + 1).is_ascii_digit() {
        end += 1 + digits(end + 1);
        float = true;
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            end += 1 + sign + digits(end + 1 + sign);
            float = true;
        }
    }
    if float {
        (Tok::Float, end)
    } else if matches!(at(end), b'u' | b'U') {
        (Tok::Uint, end + 1)
    } else {
        (Tok::Int, end)
    }
}

/// A string with `r` or `b` before it; a broken one is an identifier followed by a broken string.
fn prefixed_literal(text: &str) -> Option<(Tok, usize)> {
    let bytes = text.as_bytes();
    let lower = |index: usize| bytes.get(index).map(u8::to_ascii_lowercase);
    let (kind, mut at) = match lower(0)? {
        b'b' => (Tok::Bytes, 1),
        _ => (Tok::String, 0),
    };
    let raw = lower(at) == Some(b'r');
    at += usize::from(raw);
    if !matches!(bytes.get(at), Some(b'"' | b'\'')) {
        return None;
    }
    quoted(text, at, raw).ok().map(|length| (kind, length))
}

/// The length of `text` through the end of the string that opens at `open`.
fn quoted(text: &str, open: usize, raw: bool) -> Result<usize, usize> {
    let quote = &text[open..=open];
    let triple = quote.repeat(3);
    let body = &text[open..];
    if body.starts_with(&triple)
        && let Ok(end) = quoted_body(text, open + 3, &triple, raw)
    {
        return Ok(end);
    }
    quoted_body(text, open + 1, quote, raw)
}

fn quoted_body(text: &str, from: usize, close: &str, raw: bool) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let multiline = close.len() == 3;
    let mut at = from;
    while at < bytes.len() {
        if text[at..].starts_with(close) {
            return Ok(at + close.len());
        }
        match bytes[at] {
            b'\\' if !raw => at = escape(text, at)?,
            b'\n' | b'\r' if !multiline => return Err(through(text, at)),
            _ => at = through(text, at),
        }
    }
    Err(text.len())
}

/// The offset behind the escape at `at`, or the length through the character that breaks it.
fn escape(text: &str, at: usize) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let run = |count: usize, fits: fn(&u8) -> bool| {
        for index in 0..count {
            let place = at + 2 + index;
            match bytes.get(place) {
                Some(byte) if fits(byte) => {}
                Some(_) => return Err(through(text, place)),
                None => return Err(text.len()),
            }
        }
        Ok(at + 2 + count)
    };
    let octal = |byte: &u8| matches!(byte, b'0'..=b'7');
    match bytes.get(at + 1) {
        Some(
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`',
        ) => Ok(at + 2),
        Some(b'x' | b'X') => run(2, u8::is_ascii_hexdigit),
        Some(b'u') => run(4, u8::is_ascii_hexdigit),
        Some(b'U') => run(8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => run(2, octal),
        Some(_) => Err(through(text, at + 1)),
        None => Err(text.len()),
    }
}

fn escaped_identifier(text: &str) -> Result<(Tok, usize), usize> {
    let body = text[1..]
        .bytes()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/' | b' ')
        })
        .count();
    match text.as_bytes().get(1 + body) {
        Some(b'`') if body > 0 => Ok((Tok::EscapedIdent, body + 2)),
        Some(_) => Err(through(text, 1 + body)),
        None => Err(text.len()),
    }
}

fn escape_blanks(text: &str) -> String {
    text.replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

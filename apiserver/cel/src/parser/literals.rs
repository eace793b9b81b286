//! The values of literals: numbers and quoted strings.

use crate::ast::Literal;

/// The value of an integer; `negative` where a minus sign stands before it.
pub(super) fn int(text: &str, negative: bool) -> Result<Literal, &'static str> {
    let (digits, radix) = digits(text);
    let magnitude = u64::from_str_radix(digits, radix).map_err(|_| "invalid int literal")?;
    let value = i128::from(magnitude) * if negative { -1 } else { 1 };
    i64::try_from(value)
        .map(Literal::Int)
        .map_err(|_| "invalid int literal")
}

/// The value of an unsigned integer, which ends with `u`.
pub(super) fn uint(text: &str) -> Result<Literal, &'static str> {
    let (digits, radix) = digits(&text[..text.len() - 1]);
    u64::from_str_radix(digits, radix)
        .map(Literal::Uint)
        .map_err(|_| "invalid uint literal")
}

/// The value of a floating point number.
pub(super) fn double(text: &str, negative: bool) -> Result<Literal, &'static str> {
    let value: f64 = text.parse().map_err(|_| "invalid double literal")?;
    if value.is_infinite() {
        return Err("invalid double literal");
    }
    Ok(Literal::Double(if negative { -value } else { value }))
}

/// The text of a string literal with its quotes.
pub(super) fn string(text: &str) -> Result<String, &'static str> {
    let bytes = unescape(text, false)?;
    String::from_utf8(bytes).map_err(|_| "unable to unescape string")
}

/// The bytes of a bytes literal without its `b`.
pub(super) fn bytes(text: &str) -> Result<Vec<u8>, &'static str> {
    unescape(text, true)
}

fn digits(text: &str) -> (&str, u32) {
    text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16))
}

fn unescape(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let raw = text.starts_with(['r', 'R']);
    let text = if raw { &text[1..] } else { &text[..] };
    let quotes = if text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\"")) {
        3
    } else {
        1
    };
    let body = &text[quotes..text.len() - quotes];
    if raw || !body.contains('\\') {
        return Ok(body.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut characters = body.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            push(&mut out, character);
            continue;
        }
        let escape = characters.next().ok_or(BROKEN)?;
        let simple = match escape {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '\\' => b'\\',
            '\'' => b'\'',
            '"' => b'"',
            '`' => b'`',
            '?' => b'?',
            'x' | 'X' => {
                code(&mut out, run(&mut characters, 2, 16, 0)?, bytes)?;
                continue;
            }
            'u' | 'U' if bytes => return Err(BROKEN),
            'u' | 'U' => {
                let length = if escape == 'u' { 4 } else { 8 };
                code(&mut out, run(&mut characters, length, 16, 0)?, bytes)?;
                continue;
            }
            '0'..='3' => {
                let first = escape.to_digit(8).ok_or(BROKEN)?;
                code(&mut out, run(&mut characters, 2, 8, first)?, bytes)?;
                continue;
            }
            _ => return Err(BROKEN),
        };
        out.push(simple);
    }
    Ok(out)
}

fn run(
    characters: &mut std::str::Chars<'_>,
    length: usize,
    radix: u32,
    mut value: u32,
) -> Result<u32, &'static str> {
    for _ in 0..length {
        let digit = characters
            .next()
            .and_then(|character| character.to_digit(radix))
            .ok_or(BROKEN)?;
        value = value
            .checked_mul(radix)
            .and_then(|value| value.checked_add(digit))
            .ok_or(BROKEN)?;
    }
    Ok(value)
}

fn code(out: &mut Vec<u8>, value: u32, bytes: bool) -> Result<(), &'static str> {
    if bytes {
        out.push(u8::try_from(value).map_err(|_| BROKEN)?);
        return Ok(());
    }
    push(
        out,
        char::from_u32(value).ok_or("invalid unicode code point")?,
    );
    Ok(())
}

fn push(out: &mut Vec<u8>, character: char) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

const BROKEN: &str = "unable to unescape string";

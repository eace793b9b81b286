//! The differences between RE2's syntax and that of the `regex` crate.
//!
//! RE2's `\d`, `\s`, `\w` and `\b` know ASCII only; `\Q..\E` quotes; a class has no operators and no nested classes;
//! a brace that begins no repetition stands for itself.

use super::super::super::eval::Failure;

/// The pattern as the `regex` crate writes it.
pub(super) fn translate(pattern: &str) -> Result<String, Failure> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        match character {
            '\\' => rest = escape(rest, &mut out, false)?,
            '[' => rest = class(rest, &mut out)?,
            '{' => {
                if let Some(length) = repetition(rest) {
                    check_repetition(&rest[..length])?;
                    out.push_str(&rest[..length]);
                    rest = &rest[length..];
                } else {
                    out.push_str("\\{");
                    rest = &rest[1..];
                }
            }
            '}' => {
                out.push_str("\\}");
                rest = &rest[1..];
            }
            '(' if rest.starts_with("(?") => {
                check_flags(rest)?;
                out.push('(');
                rest = &rest[1..];
            }
            other => {
                out.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    Ok(out)
}

fn escape<'p>(rest: &'p str, out: &mut String, in_class: bool) -> Result<&'p str, Failure> {
    let Some(escaped) = rest[1..].chars().next() else {
        return Err(refuse("trailing backslash at end of expression", ""));
    };
    let after = &rest[1 + escaped.len_utf8()..];
    let ascii = match escaped {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => "[\\t\\n\\x0C\\r ]",
        'S' => "[^\\t\\n\\x0C\\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        'b' if !in_class => "(?-u:\\b)",
        'B' if !in_class => "(?-u:\\B)",
        'Q' if !in_class => {
            let (quoted, after) = after.split_once("\\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(after);
        }
        'A' | 'z' if !in_class => {
            out.push('\\');
            out.push(escaped);
            return Ok(after);
        }
        'a' | 'f' | 'n' | 'r' | 't' | 'v' | 'x' | 'p' | 'P' | '0'..='7' => {
            out.push('\\');
            out.push(escaped);
            return Ok(after);
        }
        punctuation if punctuation.is_ascii_punctuation() => {
            out.push_str(&regex::escape(punctuation.encode_utf8(&mut [0; 4])));
            return Ok(after);
        }
        other => return Err(refuse("invalid escape sequence", &format!("\\{other}"))),
    };
    out.push_str(ascii);
    Ok(after)
}

fn class<'p>(rest: &'p str, out: &mut String) -> Result<&'p str, Failure> {
    let whole = rest;
    out.push('[');
    let mut rest = &rest[1..];
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    let mut first = true;
    loop {
        let Some(character) = rest.chars().next() else {
            return Err(refuse("missing closing ]", whole));
        };
        match character {
            ']' if !first => {
                out.push(']');
                return Ok(&rest[1..]);
            }
            '[' if rest.starts_with("[:") && rest.contains(":]") => {
                let end = rest.find(":]").map_or(rest.len(), |at| at + 2);
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            '\\' => rest = escape(rest, out, true)?,
            ']' | '[' | '&' | '~' | '^' => {
                out.push('\\');
                out.push(character);
                rest = &rest[1..];
            }
            '-' if first || rest.starts_with("--") || rest.starts_with("-]") => {
                out.push_str("\\-");
                rest = &rest[1..];
            }
            other => {
                out.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
        first = false;
    }
}

/// The length of `{n}`, `{n,}` or `{n,m}` at the start.
fn repetition(rest: &str) -> Option<usize> {
    let end = rest.find('}')?;
    let inner = &rest[1..end];
    let (low, high) = inner
        .split_once(',')
        .map_or((inner, None), |(low, high)| (low, Some(high)));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = !low.is_empty() && digits(low) && high.is_none_or(digits);
    fits.then_some(end + 1)
}

fn check_repetition(text: &str) -> Result<(), Failure> {
    let counts = text
        .trim_matches(['{', '}'])
        .split(',')
        .filter(|count| !count.is_empty());
    let mut last = 0;
    for count in counts {
        let count: u32 = count.parse().unwrap_or(u32::MAX);
        if count > 1_000 || count < last {
            return Err(refuse("invalid repeat count", text));
        }
        last = count;
    }
    Ok(())
}

/// Go knows the flags i, m, s and U, and named groups.
fn check_flags(rest: &str) -> Result<(), Failure> {
    let inner = &rest[2..];
    if inner.starts_with("P<") || inner.starts_with('<') {
        return Ok(());
    }
    let end = inner.find([':', ')']).unwrap_or(inner.len());
    if inner[..end]
        .bytes()
        .all(|byte| matches!(byte, b'i' | b'm' | b's' | b'U' | b'-'))
    {
        return Ok(());
    }
    let shown = rest.chars().take(3).collect::<String>();
    Err(refuse("invalid or unsupported Perl syntax", &shown))
}

fn refuse(reason: &str, at: &str) -> Failure {
    Failure::new(format!("error parsing regexp: {reason}: `{at}`"))
}

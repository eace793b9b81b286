//! Strings as Go quotes them: in the errors of its library, and in formatted strings.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// The escape of a character that Go has a letter for.
pub(crate) fn short_escape(character: char) -> Option<&'static str> {
    Some(match character {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => return None,
    })
}

/// A string as Go's `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match short_escape(character) {
            Some(short) => out.write_str(short),
            None if character.is_ascii_control() => write!(out, "\\x{code:02x}"),
            None if character.is_ascii() || is_printable(character) => out.write_char(character),
            None if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            None => write!(out, "\\U{code:08x}"),
        };
    }
    out.push('"');
    out
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation and symbols.
fn is_printable(character: char) -> bool {
    static PRINTABLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").expect("a constant pattern"));
    PRINTABLE.is_match(character.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_go_does_not_print_is_escaped() {
        for (text, shown) in [
            ("a\"b\\", r#""a\"b\\""#),
            ("\u{7}\n\u{1}\u{7f}", r#""\a\n\x01\x7f""#),
            ("ä€😀 ", "\"ä€😀 \""),
            ("\u{200b}\u{a0}", r#""\u200b\u00a0""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }
}

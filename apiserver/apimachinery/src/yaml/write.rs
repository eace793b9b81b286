//! Writes YAML as Go's library does: which strings are quoted and how, where long ones are folded, and in which order keys
//! stand.

use serde_json::{Map, Value};

use super::order::by_key;
use super::plain::reads_as_string;
use crate::go_text::format_double;

/// A space behind this column is a line break, where a string may be folded.
const WIDTH: usize = 80;
/// How much deeper each level stands.
const STEP: usize = 2;
/// Longer keys stand behind a question mark.
const LONGEST_KEY: usize = 128;

/// Returns the text of a value.
pub(super) fn text(value: &Value) -> String {
    let mut writer = Writer {
        out: String::new(),
        column: 0,
    };
    match value {
        Value::Object(map) if !map.is_empty() => writer.map(map, 0, false),
        Value::Array(list) if !list.is_empty() => writer.list(list, 0, false),
        scalar => writer.scalar(scalar, STEP),
    }
    writer.end_line();
    writer.out
}

struct Writer {
    out: String,
    /// The number of characters in the line so far.
    column: usize,
}

/// How a string is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Writer {
    fn put(&mut self, letter: char) {
        self.out.push(letter);
        self.column += 1;
    }

    fn put_all(&mut self, text: &str) {
        text.chars().for_each(|letter| self.put(letter));
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn end_line(&mut self) {
        if self.column > 0 {
            self.new_line();
        }
    }

    fn indent(&mut self, indent: usize) {
        self.end_line();
        (0..indent).for_each(|_| self.put(' '));
    }

    /// The members of a map; the first continues the line if `inline`.
    fn map(&mut self, map: &Map<String, Value>, indent: usize, inline: bool) {
        for (at, (key, value)) in by_key(map).into_iter().enumerate() {
            if at > 0 || !inline {
                self.indent(indent);
            }
            if key.len() > LONGEST_KEY || key.contains(is_break) {
                self.put_all("? ");
                self.string(key, indent + STEP, false);
                self.indent(indent);
                self.put(':');
                self.item(value, indent + STEP);
            } else {
                self.string(key, indent, true);
                self.put(':');
                self.member(value, indent);
            }
        }
    }

    /// The value behind a key.
    fn member(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => self.map(map, indent + STEP, false),
            Value::Array(list) if !list.is_empty() => self.list(list, indent, false),
            scalar => {
                self.put(' ');
                self.scalar(scalar, indent + STEP);
            }
        }
    }

    fn list(&mut self, list: &[Value], indent: usize, inline: bool) {
        for (at, value) in list.iter().enumerate() {
            if at > 0 || !inline {
                self.indent(indent);
            }
            self.put('-');
            self.item(value, indent + STEP);
        }
    }

    /// The value behind a mark, in the line of the mark.
    fn item(&mut self, value: &Value, indent: usize) {
        self.put(' ');
        match value {
            Value::Object(map) if !map.is_empty() => self.map(map, indent, true),
            Value::Array(list) if !list.is_empty() => self.list(list, indent, true),
            scalar => self.scalar(scalar, indent),
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put_all("null"),
            Value::Bool(value) => self.put_all(if *value { "true" } else { "false" }),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => self.put_all(&format_double(float)),
                _ => self.put_all(&number.to_string()),
            },
            Value::String(text) => self.string(text, indent, false),
            Value::Array(_) => self.put_all("[]"),
            Value::Object(_) => self.put_all("{}"),
        }
    }

    fn string(&mut self, text: &str, indent: usize, is_key: bool) {
        match style(text, is_key) {
            Style::Plain => self.folded(text, indent, is_key, false),
            Style::Single => {
                self.put('\'');
                self.folded(text, indent, is_key, true);
                self.put('\'');
            }
            Style::Double => self.double(text, indent, is_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// A string that is plain or in single quotes, where a space beyond the width is a line break.
    fn folded(&mut self, text: &str, indent: usize, is_key: bool, quoted: bool) {
        let mut behind_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            if letter == ' ' {
                let inside = !quoted || at > 0 && next.is_some();
                let may = !is_key && !behind_space && self.column > WIDTH;
                if may && inside && next != Some(' ') {
                    self.indent(indent);
                } else {
                    self.put(' ');
                }
                behind_space = true;
                continue;
            }
            if is_break(letter) {
                self.out.push(letter);
                self.column = 0;
                if !next.is_some_and(is_break) {
                    (0..indent).for_each(|_| self.put(' '));
                }
                continue;
            }
            if quoted && letter == '\'' {
                self.put('\'');
            }
            self.put(letter);
            behind_space = false;
        }
    }

    fn double(&mut self, text: &str, indent: usize, is_key: bool) {
        self.put('"');
        let mut behind_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let next = letters.peek().map(|(_, next)| *next);
            if letter == ' ' {
                let may = !is_key && !behind_space && self.column > WIDTH;
                if may && at > 0 && next.is_some() {
                    self.indent(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                behind_space = true;
                continue;
            }
            behind_space = false;
            if is_printable(letter) && !is_break(letter) && !matches!(letter, '"' | '\\') {
                self.put(letter);
                continue;
            }
            self.put('\\');
            let short = match letter {
                '\0' => '0',
                '\x07' => 'a',
                '\x08' => 'b',
                '\t' => 't',
                '\n' => 'n',
                '\x0b' => 'v',
                '\x0c' => 'f',
                '\r' => 'r',
                '\x1b' => 'e',
                '"' => '"',
                '\\' => '\\',
                '\u{85}' => 'N',
                '\u{a0}' => '_',
                '\u{2028}' => 'L',
                '\u{2029}' => 'P',
                _ => {
                    let code = u32::from(letter);
                    let digits = if code <= 0xff {
                        format!("x{code:02X}")
                    } else if code <= 0xffff {
                        format!("u{code:04X}")
                    } else {
                        format!("U{code:08X}")
                    };
                    self.put_all(&digits);
                    continue;
                }
            };
            self.put(short);
        }
        self.put('"');
    }

    /// A string line by line, with marks for what stands before its first word and behind its last line.
    fn literal(&mut self, text: &str, indent: usize) {
        self.put('|');
        if text.starts_with(|letter| letter == ' ' || is_break(letter)) {
            self.put_all(&STEP.to_string());
        }
        let mut from_end = text.chars().rev();
        let breaks = [from_end.next(), from_end.next()].map(|letter| letter.map(is_break));
        match breaks {
            [Some(true), Some(true) | None] => self.put('+'),
            [Some(true), Some(false)] => {}
            _ => self.put('-'),
        }
        self.new_line();
        let mut begins = true;
        for letter in text.chars() {
            if is_break(letter) {
                self.out.push(letter);
                self.column = 0;
                begins = true;
                continue;
            }
            if begins {
                (0..indent).for_each(|_| self.put(' '));
                begins = false;
            }
            self.put(letter);
        }
    }
}

/// Chooses how a string is written: as its content wants it, unless that could be read as something else.
fn style(text: &str, is_key: bool) -> Style {
    let has_breaks = text.contains(is_break);
    let first = text.chars().next();
    let is_blank = |letter: Option<char>| {
        letter.is_none_or(|letter| matches!(letter, ' ' | '\t') || is_break(letter))
    };
    let around = |pair: fn(char, char) -> bool| {
        text.chars()
            .zip(text.chars().skip(1))
            .any(|(one, other)| pair(one, other))
    };
    let space_behind_break = around(|one, other| is_break(one) && other == ' ');
    let break_behind_space = around(|one, other| one == ' ' && is_break(other));
    let special = !text.chars().all(is_printable);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if reads_as_string(text) {
        Style::Plain
    } else {
        Style::Double
    };
    let second_is_blank = is_blank(text.chars().nth(1));
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    indicators |= match first {
        Some(
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
            | '@' | '`',
        ) => true,
        Some('?' | ':' | '-') => second_is_blank,
        _ => false,
    };
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        indicators |= before.is_some() && letter == ':' && is_blank(next);
        indicators |= before.is_some() && letter == '#' && is_blank(before);
        before = Some(letter);
    }
    let is_edge = |letter: char| letter == ' ' || is_break(letter);
    let edges = text.starts_with(is_edge) || text.ends_with(is_edge);
    let no_block = text.ends_with(' ') || break_behind_space || special;
    let no_single = space_behind_break || break_behind_space || special;
    let mut style = wanted;
    if is_key && has_breaks {
        style = Style::Double;
    }
    if style == Style::Plain && (edges || no_single || has_breaks || indicators) {
        style = Style::Single;
    }
    if style == Style::Single && no_single {
        style = Style::Double;
    }
    if style == Style::Literal && (no_block || is_key) {
        style = Style::Double;
    }
    style
}

fn is_break(letter: char) -> bool {
    matches!(letter, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What the library takes for printable, beyond which it knows no letters.
fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && letter != '\u{feff}'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_stand_below_their_keys_and_the_first_member_behind_the_dash() {
        let value = json!({
            "a": {"b": [{"c": 1, "d": [[1, 2], []]}, "x"], "e": {}},
            "f": null,
        });
        assert_eq!(
            text(&value),
            "a:\n  b:\n  - c: 1\n    d:\n    - - 1\n      - 2\n    - []\n  - x\n  e: {}\nf: null\n"
        );
        assert_eq!(text(&json!({})), "{}\n");
        assert_eq!(text(&json!("a b")), "a b\n");
        assert_eq!(text(&json!([1e21, 1.5])), "- 1e+21\n- 1.5\n");
    }

    #[test]
    fn strings_are_quoted_where_they_must_be() {
        for (string, written) in [
            ("plain: no", "'plain: no'"),
            ("a:b", "a:b"),
            ("it's", "it's"),
            ("'it'", "'''it'''"),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("a #b", "'a #b'"),
            ("a#b", "a#b"),
            (" a", "' a'"),
            ("a\t", "\"a\\t\""),
            ("", "\"\""),
            ("true", "\"true\""),
            ("2020-01-02T03:04:05Z", "\"2020-01-02T03:04:05Z\""),
            ("@a", "'@a'"),
            ("\u{1f600}", "\"\\U0001F600\""),
            ("\u{7}\u{e9}", "\"\\a\u{e9}\""),
        ] {
            assert_eq!(text(&json!({ "k": string })), format!("k: {written}\n"));
        }
        assert_eq!(
            text(&json!({"f:a b": 1, "f:": 2, "k:{\"n\":\"a\"}": 3})),
            "'f:': 2\nf:a b: 1\nk:{\"n\":\"a\"}: 3\n"
        );
    }

    #[test]
    fn lines_are_literal_and_long_ones_are_folded() {
        let lines = text(&json!({"a": {
            "b": "x\n\ny\n", "c": "x\ny", "d": "\n", "e": "x\n\n", "f": " x\n", "g": "x \ny",
        }}));
        assert_eq!(
            lines,
            "a:\n  b: |\n    x\n\n    y\n  c: |-\n    x\n    y\n  d: |2+\n\n  e: |+\n    x\n\n  f: |2\n     x\n  g: \"x \\ny\"\n"
        );
        let words = "word ".repeat(20);
        let folded = text(&json!({ "k": words.trim_end() }));
        let (first, rest) = folded.split_once('\n').unwrap();
        assert_eq!(first.len(), 82);
        assert!(rest.starts_with("  word"), "{rest}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for string in [
            "",
            "a",
            "y",
            "1e3",
            "0o7",
            "1:30",
            " a ",
            "a\n",
            "\na",
            "a\n\n",
            "a \nb",
            "\t",
            "a: b",
            "#",
            "? a",
            "%",
            "\u{feff}a",
            "a\r\nb",
            "---",
            "=",
            "!a",
            "&a",
            "*a",
        ] {
            let value = json!({ "k": [string], "l": { string: 1 } });
            let written = text(&value);
            let read = crate::yaml::parse(written.as_bytes()).unwrap().value;
            assert_eq!(read, value, "{written}");
        }
    }
}

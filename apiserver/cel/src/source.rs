//! Positions in an expression, and the errors at them.

use std::fmt;

/// The errors of an expression, each with its line and a caret under the column, as cel-go prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    text: String,
}

impl Issues {
    pub(crate) fn of(source: &str, mut problems: Vec<Problem>) -> Self {
        let lines: Vec<&str> = source.split('\n').collect();
        let mut located: Vec<(Location, String)> = problems
            .drain(..)
            .map(|problem| {
                let location = Location::of(&lines, problem.at);
                let text = location.display(&lines, &problem.message);
                (location, text)
            })
            .collect();
        located.sort_by_key(|(location, _)| (location.line, location.column));
        let more = located.len().saturating_sub(MAX_PROBLEMS);
        located.truncate(MAX_PROBLEMS);
        let mut messages: Vec<String> = located.into_iter().map(|(_, text)| text).collect();
        if more > 0 {
            messages.push(format!("{more} more errors were truncated"));
        }
        Self {
            text: messages.join("\n"),
        }
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Issues {}

/// One problem at a code point offset; without an offset for limits on the whole expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: Option<u32>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn at(at: u32, message: impl Into<String>) -> Self {
        Self {
            at: Some(at),
            message: message.into(),
        }
    }

    pub(crate) fn anywhere(message: impl Into<String>) -> Self {
        Self {
            at: None,
            message: message.into(),
        }
    }
}

#[derive(Clone, Copy)]
struct Location {
    line: i64,
    column: usize,
}

impl Location {
    fn of(lines: &[&str], at: Option<u32>) -> Self {
        let Some(at) = at else {
            return Self {
                line: -1,
                column: 0,
            };
        };
        let mut left = at as usize;
        for (index, line) in lines.iter().enumerate() {
            let length = line.chars().count();
            if left <= length || index + 1 == lines.len() {
                return Self {
                    line: i64::try_from(index).unwrap_or(i64::MAX) + 1,
                    column: left,
                };
            }
            left -= length + 1;
        }
        Self {
            line: -1,
            column: 0,
        }
    }

    fn display(self, lines: &[&str], message: &str) -> String {
        if self.line < 0 {
            return format!("ERROR: <input>:-1:0: {message}");
        }
        if lines == [""] {
            return format!("ERROR: <input>:1:0: {message}");
        }
        let head = format!(
            "ERROR: <input>:{}:{}: {message}",
            self.line,
            self.column + 1
        );
        let line = usize::try_from(self.line - 1)
            .ok()
            .and_then(|index| lines.get(index));
        let Some(line) = line.filter(|line| line.len() <= MAX_SNIPPET) else {
            return head;
        };
        let snippet = line.replace('\t', " ");
        let mut characters = snippet.chars();
        let mut pointer = String::new();
        for _ in 0..self.column {
            match characters.next() {
                Some(character) if character.len_utf8() > 1 => pointer.push('\u{ff0e}'),
                Some(_) => pointer.push('.'),
                None => break,
            }
        }
        let wide = characters
            .next()
            .is_some_and(|character| character.len_utf8() > 1);
        pointer.push(if wide { '\u{ff3e}' } else { '^' });
        format!("{head}\n | {snippet}\n | {pointer}")
    }
}

const MAX_PROBLEMS: usize = 100;
const MAX_SNIPPET: usize = 16_384;

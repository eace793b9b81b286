//! Strings from outside, made fit for one line of a log or of a message.

use std::fmt::{self, Display, Write as _};

/// The most that is shown of a string, in bytes: a message fits, and every name and key that Kubernetes accepts.
const LONGEST: usize = 1024;

/// Shows a string that comes from outside on one line: control characters and those that change the direction of text are
/// escaped, and a long string is cut.
///
/// ```
/// use kubewright_review::printable;
///
/// assert_eq!(printable("team").to_string(), "team");
/// assert_eq!(printable("team\nERROR").to_string(), "team\\nERROR");
/// assert_eq!(printable(&"a".repeat(2000)).to_string(), "a".repeat(1024) + "… (2000 bytes)");
/// ```
#[must_use]
pub fn printable(text: &str) -> impl Display + '_ {
    Printable(text)
}

struct Printable<'a>(&'a str);

impl Display for Printable<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.floor_char_boundary(LONGEST);
        for character in self.0[..end].chars() {
            if is_misleading(character) {
                write!(formatter, "{}", character.escape_default())?;
            } else {
                formatter.write_char(character)?;
            }
        }
        if end < self.0.len() {
            write!(formatter, "… ({} bytes)", self.0.len())?;
        }
        Ok(())
    }
}

/// Whether a character ends the line, commands a terminal, or makes text read in another order than it is written.
fn is_misleading(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ends_a_line_or_commands_a_terminal_is_escaped() {
        let shown = printable("a\r\n\u{1b}[31m\u{85}\u{2028}\u{202e}é").to_string();
        assert_eq!(shown, r"a\r\n\u{1b}[31m\u{85}\u{2028}\u{202e}é");
    }

    #[test]
    fn a_long_string_is_cut_between_two_characters() {
        let shown = printable(&"aé".repeat(400)).to_string();
        assert_eq!(shown, "aé".repeat(341) + "a… (1200 bytes)");
    }
}

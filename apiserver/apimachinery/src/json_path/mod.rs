//! Whether client-go can read a JSON path template, such as `{.spec.rules[0]}`.

use crate::go_text::is_printable;

mod go_string;

/// Reads a template.
///
/// ```
/// use kubewright_apimachinery::json_path;
///
/// assert_eq!(json_path::check("{.spec.rules[0]}"), Ok(()));
/// assert!(json_path::check("{.spec.rules[x]}").is_err());
/// ```
///
/// # Errors
/// The error of client-go for a template that it cannot read.
pub fn check(template: &str) -> Result<(), String> {
    let mut rest = template;
    while let Some((_, action)) = rest.split_once('{') {
        rest = self::action(action)?;
    }
    Ok(())
}

/// Reads to the end of an action, and returns what is behind it.
fn action(mut rest: &str) -> Result<&str, String> {
    let mut descended = false;
    loop {
        if let Some(behind) = rest.strip_prefix('}') {
            return Ok(behind);
        }
        if let Some(behind) = rest.strip_prefix("..") {
            if descended {
                return Err("invalid multiple recursive descent".to_owned());
            }
            descended = !behind.starts_with(is_word);
            rest = if descended { behind } else { field(behind) };
            continue;
        }
        let Some(first) = rest.chars().next().filter(|c| !matches!(c, '\n' | '\r')) else {
            return Err("unclosed action".to_owned());
        };
        let behind = &rest[first.len_utf8()..];
        rest = match first {
            ' ' | '@' | '$' => {
                rest = behind;
                continue;
            }
            '[' => match behind.strip_prefix("?(") {
                Some(condition) => filter(condition)?,
                None => array(behind)?,
            },
            '"' | '\'' => quoted(rest, first)?,
            '.' => field(behind),
            '+' | '-' | '0'..='9' => number(rest)?,
            first if is_word(first) => &rest[rest.find(is_terminator).unwrap_or(rest.len())..],
            first => {
                let number = u32::from(first);
                let shown = if is_printable(first) {
                    format!(" '{first}'")
                } else {
                    String::new()
                };
                return Err(format!(
                    "unrecognized character in action: U+{number:04X}{shown}"
                ));
            }
        };
        descended = false;
    }
}

fn field(text: &str) -> &str {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if is_terminator(letter) {
            return &text[at..];
        }
    }
    ""
}

fn number(text: &str) -> Result<&str, String> {
    let digits = text.trim_start_matches(['+', '-']);
    let sign = (text.len() - digits.len()).min(1);
    let end = text[sign..].find(|c: char| c != '.' && !c.is_ascii_digit());
    let (number, rest) = text.split_at(end.map_or(text.len(), |end| sign + end));
    // Go's parser of floats takes one that is too large for an error.
    if number.parse::<f64>().is_ok_and(f64::is_finite) {
        Ok(rest)
    } else {
        Err(format!("cannot parse number {number}"))
    }
}

fn array(text: &str) -> Result<&str, String> {
    let (index, rest) = text
        .split_once(']')
        .filter(|(index, _)| !index.contains('\n'))
        .ok_or("unterminated array")?;
    let parts: Vec<&str> = index.split(',').collect();
    if parts.len() > 1 {
        for part in parts {
            check(&format!("{{[{}]}}", part.trim_matches(' ')))?;
        }
        return Ok(rest);
    }
    let key = index
        .strip_prefix('\'')
        .and_then(|index| index.strip_suffix('\''));
    if let Some(key) = key.filter(|key| !key.contains('\'')) {
        check(&format!("{{.{key}}}"))?;
        return Ok(rest);
    }
    if index == "*" {
        return Ok(rest);
    }
    let bounds: Vec<&str> = index.split(':').collect();
    if bounds.len() > 3 || !bounds.iter().copied().all(is_number) {
        return Err(format!("invalid array index {index}"));
    }
    let mut given = bounds.iter().filter(|bound| !bound.is_empty());
    match given.find(|bound| bound.parse::<i64>().is_err()) {
        Some(bound) => Err(format!("array index {bound} is not a number")),
        None => Ok(rest),
    }
}

/// Whether it looks like a whole number; there may be no digits.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn filter(text: &str) -> Result<&str, String> {
    let end = end_of_condition(text).ok_or("unterminated filter")?;
    let rest = text[end + 1..]
        .strip_prefix(']')
        .ok_or("unclosed array expect ]")?;
    let condition = &text[..end];
    let operands = match sides(condition) {
        Some((left, right)) => vec![left, right],
        None => vec![condition],
    };
    for operand in operands {
        check(&format!("{{{operand}}}"))?;
    }
    Ok(rest)
}

/// The two sides of a comparison. Any run of these characters is an operator, but something has to follow it.
fn sides(condition: &str) -> Option<(&str, &str)> {
    const OPERATORS: [char; 4] = ['!', '<', '>', '='];
    let operator = condition.find(OPERATORS).filter(|at| *at > 0)?;
    let (left, rest) = condition.split_at(operator);
    let right = rest.trim_start_matches(OPERATORS);
    let right = if right.is_empty() {
        rest.get(1..)
            .and_then(|rest| rest.get(rest.len().checked_sub(1)?..))?
    } else {
        right
    };
    Some((left, right))
}

/// Where the parenthesis is that ends a condition. Only its first string is known to be one.
fn end_of_condition(text: &str) -> Option<usize> {
    let (mut quote, mut closed, mut before) = (None, false, ' ');
    for (at, letter) in text.char_indices() {
        match letter {
            '\n' => return None,
            '"' | '\'' => match quote {
                None => quote = Some(letter),
                Some(quote) => closed |= quote == letter && before != '\\',
            },
            ')' if quote.is_some() == closed => return Some(at),
            _ => {}
        }
        before = letter;
    }
    None
}

fn quoted(text: &str, mark: char) -> Result<&str, String> {
    let mut before = mark;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == '\n' {
            break;
        }
        if letter == mark && before != '\\' {
            let (string, rest) = text.split_at(at + 1);
            if !go_string::is_valid(&string[1..at], mark) {
                return Err(format!("unquote string {string} error invalid syntax"));
            }
            return Ok(rest);
        }
        before = letter;
    }
    Err("unterminated quoted string".to_owned())
}

fn is_terminator(letter: char) -> bool {
    " \t\r\n.,[]$@{}".contains(letter)
}

fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

#[cfg(test)]
mod tests;

//! Places in string literals of Rust: where a character of an expression is in the source that has the expression.

/// How far below a call its literals are looked for.
const LINES: usize = 60;

/// The line and column of the first error of an expression, `ERROR: <input>:1:8: …`, both from 1 on.
pub(super) fn of_error(error: &str) -> Option<(usize, usize)> {
    let (_, place) = error.split_once("<input>:")?;
    let mut numbers = place.splitn(3, ':');
    let line = numbers.next()?.parse().ok()?;
    Some((line, numbers.next()?.parse().ok()?))
}

/// The offset in characters of a line and column of an expression.
pub(super) fn offset(expression: &str, line: usize, column: usize) -> Option<usize> {
    let mut offset = 0;
    for (index, text) in expression.split('\n').enumerate() {
        if index + 1 == line {
            return Some(offset + column.checked_sub(1)?);
        }
        offset += text.chars().count() + 1;
    }
    None
}

/// The line and column in a source of a character of a literal with this value, after a call.
pub(super) fn in_literal(
    source: &str,
    line: u32,
    column: u32,
    value: &str,
    offset: usize,
) -> Option<(u32, u32)> {
    let characters: Vec<char> = source.chars().collect();
    let start = index_of(&characters, line as usize, column as usize)?;
    let end = index_of(&characters, line as usize + LINES, 1).unwrap_or(characters.len());
    let mut at = start;
    while at < end {
        match literal(&characters, at) {
            Some(literal) => {
                if literal.value == value {
                    let place = literal.places.get(offset).copied();
                    return line_and_column(&characters, place.unwrap_or(literal.end));
                }
                at = literal.end + 1;
            }
            None if characters[at..].starts_with(&['/', '/']) => {
                at += characters[at..].iter().position(|c| *c == '\n')?;
            }
            None => at += 1,
        }
    }
    None
}

/// A string literal: its value, the index of each of its characters, and that of its closing quote.
struct Literal {
    value: String,
    places: Vec<usize>,
    end: usize,
}

/// The literal that begins at an index.
fn literal(characters: &[char], at: usize) -> Option<Literal> {
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    let follows_word = at > 0 && characters.get(at - 1).is_some_and(is_word);
    match characters.get(at)? {
        '"' => plain(characters, at + 1),
        'r' if !follows_word => {
            let hashes = characters[at + 1..]
                .iter()
                .take_while(|c| **c == '#')
                .count();
            let quote = at + 1 + hashes;
            (characters.get(quote) == Some(&'"'))
                .then(|| raw(characters, quote + 1, hashes))
                .flatten()
        }
        _ => None,
    }
}

fn raw(characters: &[char], start: usize, hashes: usize) -> Option<Literal> {
    let closes = |at: &usize| {
        characters[*at] == '"'
            && characters[at + 1..]
                .iter()
                .take(hashes)
                .filter(|c| **c == '#')
                .count()
                == hashes
    };
    let end = (start..characters.len()).find(closes)?;
    Some(Literal {
        value: characters[start..end].iter().collect(),
        places: (start..end).collect(),
        end,
    })
}

fn plain(characters: &[char], start: usize) -> Option<Literal> {
    let (mut value, mut places, mut at) = (String::new(), Vec::new(), start);
    loop {
        let place = at;
        let character = match characters.get(at)? {
            '"' => {
                let end = at;
                return Some(Literal { value, places, end });
            }
            '\\' => {
                at += 1;
                match characters.get(at)? {
                    '\n' => {
                        // A line that is continued begins with its first character.
                        let blank = characters[at..].iter().take_while(|c| c.is_whitespace());
                        at += blank.count();
                        continue;
                    }
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    '0' => '\0',
                    'x' | 'u' => escaped(characters, &mut at)?,
                    other => *other,
                }
            }
            other => *other,
        };
        value.push(character);
        places.push(place);
        at += 1;
    }
}

/// The character of `\x41` or `\u{1F600}`; the index is that of its last character afterwards.
fn escaped(characters: &[char], at: &mut usize) -> Option<char> {
    let digits: String = if characters[*at] == 'x' {
        let digits = characters.get(*at + 1..*at + 3)?.iter().collect();
        *at += 2;
        digits
    } else {
        let length = characters[*at..].iter().position(|c| *c == '}')?;
        let digits = characters.get(*at + 2..*at + length)?.iter();
        *at += length;
        digits.filter(|c| **c != '_').collect()
    };
    char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
}

fn index_of(characters: &[char], line: usize, column: usize) -> Option<usize> {
    let mut lines = 1;
    let mut start = 0;
    while lines < line {
        start += characters[start..].iter().position(|c| *c == '\n')? + 1;
        lines += 1;
    }
    Some((start + column.saturating_sub(1)).min(characters.len()))
}

fn line_and_column(characters: &[char], index: usize) -> Option<(u32, u32)> {
    let before = characters.get(..index)?;
    let line = before.iter().filter(|c| **c == '\n').count() + 1;
    let column = before.iter().rev().take_while(|c| **c != '\n').count() + 1;
    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(source: &str, value: &str, offset: usize) -> Option<(u32, u32)> {
        in_literal(source, 1, 1, value, offset)
    }

    #[test]
    fn a_character_is_where_the_literal_has_it() {
        assert_eq!(place(r#".rule("a + b", "no")"#, "a + b", 2), Some((1, 10)));
        assert_eq!(
            place(r##".rule(r#"a "+" b"#)"##, "a \"+\" b", 4),
            Some((1, 14))
        );
        assert_eq!(place(r".rule(r'x')", "x", 0), None);
    }

    #[test]
    fn escapes_are_one_character_of_the_expression() {
        assert_eq!(
            place(r#".rule("\"\u{41}\x42" + c")"#, "\"AB", 2),
            Some((1, 16))
        );
        assert_eq!(
            place(".rule(\"a &&\\\n      b\")", "a &&b", 4),
            Some((2, 7))
        );
        assert_eq!(place(".rule(\"a\n  b\")", "a\n  b", 4), Some((2, 3)));
    }

    #[test]
    fn other_literals_and_comments_are_passed_over() {
        let source = ".rule( // not \"b\"\n  \"a\",\n  \"b\")";
        assert_eq!(place(source, "b", 0), Some((3, 4)));
    }

    #[test]
    fn an_expression_that_is_no_literal_has_no_place() {
        assert_eq!(place(".rule(EXPRESSION, \"no\")", "a", 0), None);
        assert_eq!(place(".rule(\"a", "a", 0), None);
    }
}

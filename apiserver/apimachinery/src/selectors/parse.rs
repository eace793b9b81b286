//! Parser for label selectors in a query, with the API server's messages for invalid ones.

use super::requirement::{Operator, Requirement};
use crate::go_text::quoted;
use crate::names;

/// Parses a whole selector.
pub(super) fn selector(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    if tokens.peek() == Token::End {
        return Ok(requirements);
    }
    loop {
        let first = tokens.peek();
        if !matches!(first, Token::Word(_) | Token::Not) {
            return Err(format!(
                "found '{}', expected: !, identifier, or 'end of string'",
                first.text()
            ));
        }
        let requirement = requirement(&mut tokens)
            .map_err(|error| format!("unable to parse requirement: {error}"))?;
        requirements.push(requirement);
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Comma => match tokens.peek() {
                Token::Word(_) | Token::Not => {}
                other => {
                    return Err(format!(
                        "found '{}', expected: identifier after ','",
                        other.text()
                    ));
                }
            },
            other => {
                return Err(format!(
                    "found '{}', expected: ',' or 'end of string'",
                    other.text()
                ));
            }
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    if tokens.peek() == Token::Not {
        tokens.next();
        return Requirement::new(key(tokens)?, Operator::DoesNotExist, Vec::new());
    }
    let key = key(tokens)?;
    if matches!(tokens.peek(), Token::End | Token::Comma) {
        return Requirement::new(key, Operator::Exists, Vec::new());
    }
    let operator = match tokens.next() {
        Token::Word("in") => return Requirement::new(key, Operator::In, set(tokens)?),
        Token::Word("notin") => return Requirement::new(key, Operator::NotIn, set(tokens)?),
        Token::Equals => Operator::In,
        Token::NotEquals => Operator::NotIn,
        Token::Greater => Operator::GreaterThan,
        Token::Less => Operator::LessThan,
        other => {
            return Err(format!(
                "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                other.text()
            ));
        }
    };
    Requirement::new(key, operator, vec![value(tokens)?])
}

fn key<'a>(tokens: &mut Tokens<'a>) -> Result<&'a str, String> {
    match tokens.next() {
        Token::Word(word) => match names::label_key(word).into_iter().next() {
            // The parser knows no path yet when it looks at a key.
            Some(problem) => Err(format!("<nil>: Invalid value: {}: {problem}", quoted(word))),
            None => Ok(word),
        },
        other => Err(format!("found '{}', expected: identifier", other.text())),
    }
}

fn value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    match tokens.peek() {
        Token::End | Token::Comma => Ok(String::new()),
        Token::Word(word) => {
            tokens.next();
            Ok(word.to_owned())
        }
        other => Err(format!("found '{}', expected: identifier", other.text())),
    }
}

fn set(tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    match tokens.next() {
        Token::Open => {}
        other => return Err(format!("found '{}' expected: '('", other.text())),
    }
    let mut values = Vec::new();
    loop {
        match tokens.next() {
            Token::Word(word) => {
                values.push(word.to_owned());
                match tokens.next() {
                    Token::Comma if tokens.peek() == Token::Close => values.push(String::new()),
                    Token::Comma => {}
                    Token::Close => break,
                    other => {
                        return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                    }
                }
            }
            Token::Comma => values.push(String::new()),
            Token::Close => {
                if values.is_empty() {
                    values.push(String::new());
                }
                break;
            }
            other => {
                return Err(format!(
                    "found '{}', expected: ',', ')' or identifier",
                    other.text()
                ));
            }
        }
    }
    values.sort();
    values.dedup();
    Ok(values)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Equals,
    NotEquals,
    Not,
    Greater,
    Less,
    Comma,
    Open,
    Close,
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(word) => word,
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::Not => "!",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::End => "",
        }
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Token<'a> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let fixed = [
            ("==", Token::Equals),
            ("!=", Token::NotEquals),
            ("=", Token::Equals),
            ("!", Token::Not),
            (">", Token::Greater),
            ("<", Token::Less),
            (",", Token::Comma),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        for (text, token) in fixed {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return token;
            }
        }
        let end = self
            .rest
            .find([' ', '\t', '\r', '\n', '=', '!', '>', '<', ',', '(', ')'])
            .unwrap_or(self.rest.len());
        if end == 0 {
            return Token::End;
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Word(word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_does_not_parse_is_named() {
        let table = [
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (
                "a in b",
                "unable to parse requirement: found 'b' expected: '('",
            ),
            (
                "a in (b",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            ("a=b,", "found '', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            (
                "=b",
                "found '=', expected: !, identifier, or 'end of string'",
            ),
            (
                "a>x",
                r#"unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer"#,
            ),
        ];
        for (text, error) in table {
            assert_eq!(selector(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn keys_and_values_are_checked_as_labels() {
        let key = selector("a/b/c=d").unwrap_err();
        assert!(key.starts_with(r#"unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label key must consist of"#), "{key}");
        let value = selector("a=-").unwrap_err();
        assert!(value.starts_with(r#"unable to parse requirement: values[0][a]: Invalid value: "-": a valid label must be"#), "{value}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,40}") {
            let _ = selector(&text);
        }
    }
}

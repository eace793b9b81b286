//! What expressions mention: names of fields, and literals.

use std::collections::BTreeSet;

/// The names and literals of expressions.
#[derive(Clone, Debug, Default)]
pub(super) struct Mentioned {
    pub(super) names: BTreeSet<String>,
    pub(super) strings: Vec<String>,
    pub(super) numbers: Vec<i64>,
}

impl Mentioned {
    pub(super) fn of<'e>(expressions: impl Iterator<Item = &'e str>) -> Self {
        let mut found = Self::default();
        for expression in expressions {
            found.read(expression);
        }
        found
    }

    fn read(&mut self, expression: &str) {
        let characters: Vec<char> = expression.chars().collect();
        let mut at = 0;
        while let Some(character) = characters.get(at) {
            let start = at;
            match character {
                '\'' | '"' => {
                    at += 1;
                    let mut text = String::new();
                    while let Some(next) = characters.get(at).filter(|next| *next != character) {
                        if *next == '\\' {
                            at += 1;
                        }
                        text.extend(characters.get(at));
                        at += 1;
                    }
                    if !self.strings.contains(&text) {
                        self.strings.push(text);
                    }
                    at += 1;
                }
                '0'..='9' => {
                    while characters.get(at).is_some_and(char::is_ascii_digit) {
                        at += 1;
                    }
                    let digits: String = characters[start..at].iter().collect();
                    self.numbers.extend(digits.parse::<i64>().ok());
                }
                character if character.is_alphabetic() || *character == '_' => {
                    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
                    while characters.get(at).is_some_and(is_word) {
                        at += 1;
                    }
                    self.names.insert(characters[start..at].iter().collect());
                }
                _ => at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_literals_of_an_expression_are_found() {
        let expression = r#"object.spec.?replicas.orValue(3) < 10 && "a'b" != 'c\'d'"#;
        let found = Mentioned::of([expression].into_iter());
        let names = ["object", "spec", "replicas", "orValue"];
        assert!(names.iter().all(|name| found.names.contains(*name)));
        assert_eq!(found.strings, ["a'b", "c'd"]);
        assert_eq!(found.numbers, [3, 10]);
    }
}

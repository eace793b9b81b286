//! Field paths in definitions: `.spec.replicas`, `.spec.labels['a.b']`.

use std::fmt::Write as _;

use kubewright_apimachinery::view::View;
use serde_json::Value;

/// A path as errors write it, and the schema it leads to.
#[derive(Debug)]
pub(crate) struct Written<'s> {
    /// Such as `spec.labels[a.b]`.
    pub text: String,
    /// The schema of the field.
    pub schema: &'s Value,
}

/// Parses a path that begins with a dot or a bracket, and follows it through a schema.
///
/// # Errors
/// The path is invalid, or the schema does not have the field.
pub(crate) fn read<'s>(path: &str, schema: &'s Value) -> Result<Written<'s>, String> {
    let mut written = Written {
        text: String::new(),
        schema,
    };
    let mut rest = path;
    while let Some((token, after)) = token(rest) {
        rest = after;
        match token {
            "." => {
                let name = next(&mut rest)?;
                written.follow(name)?;
            }
            "[" => {
                let quoted = next(&mut rest)?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                written.follow(&unescaped(inner)?)?;
                let end = next(&mut rest)?;
                if end != "]" {
                    return Err(format!("expected ] but got {end}"));
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(written)
}

impl Written<'_> {
    fn follow(&mut self, name: &str) -> Result<(), String> {
        const NOWHERE: &str = "does not refer to a valid field";
        if self.schema.entries("properties").next().is_some() {
            if !self.text.is_empty() {
                self.text.push('.');
            }
            self.text.push_str(name);
            let properties = self.schema.at("properties");
            self.schema = properties.get(name).ok_or_else(|| NOWHERE.to_owned())?;
        } else if self.schema.has("additionalProperties") {
            let _ = write!(self.text, "[{name}]");
            self.schema = self.schema.at("additionalProperties");
        } else {
            return Err(NOWHERE.to_owned());
        }
        Ok(())
    }
}

fn next<'p>(rest: &mut &'p str) -> Result<&'p str, String> {
    let (token, after) = token(rest).ok_or_else(|| "unexpected end of JSON path".to_owned())?;
    *rest = after;
    Ok(token)
}

/// A delimiter, a quoted text or a name. A quote that is not closed is no token.
fn token(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let length = match bytes.first()? {
        b'.' | b'[' | b']' => 1,
        b'\'' => {
            let closes = |at: &usize| bytes[*at] == b'\'' && bytes[at - 1] != b'\\';
            (1..bytes.len())
                .find(closes)
                .map_or(bytes.len(), |at| at + 1)
        }
        _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
    };
    Some(text.split_at(length))
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        out.push(match characters.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') | None => '\\',
            Some(other) => {
                return Err(format!(
                    "invalid string literal: invalid escape char \\{other}"
                ));
            }
        });
    }
    Ok(out)
}

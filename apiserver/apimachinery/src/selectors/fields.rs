//! Field selectors: `metadata.name=x,status.phase!=Running`.

/// A list of comparisons that must all hold. The empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<Comparison>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    field: String,
    value: String,
    equal: bool,
}

impl Fields {
    /// Reads `a=b`, `a==b` and `a!=b`, joined by commas; `\` escapes a comma, an equals sign or itself in a value.
    ///
    /// # Errors
    /// The text that the API server puts behind `unable to parse` for a term without a comparison, or for a bad escape.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut terms = terms(text);
        terms.sort_unstable();
        terms
            .into_iter()
            .filter(|term| !term.is_empty())
            .map(|term| comparison(term, text))
            // A comparison of nothing with nothing always holds, whatever the operator.
            .filter(
                |read| !matches!(read, Ok(term) if term.field.is_empty() && term.value.is_empty()),
            )
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Fields that must be equal to values.
    pub fn equal(fields: impl IntoIterator<Item = (String, String)>) -> Self {
        let comparison = |(field, value)| Comparison {
            field,
            value,
            equal: true,
        };
        Self(fields.into_iter().map(comparison).collect())
    }

    /// Whether there is nothing to compare.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields that are compared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|comparison| comparison.field.as_str())
    }

    /// The value that `field` must be equal to, if the selector says so.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|comparison| comparison.equal && comparison.field == field)
            .map(|comparison| comparison.value.as_str())
    }

    /// Whether `field` must be equal to this value.
    pub fn requires(&self, field: &str, value: &str) -> bool {
        self.0.iter().any(|comparison| {
            comparison.equal && comparison.field == field && comparison.value == value
        })
    }

    /// Whether every comparison holds, where `value` gives a field of the object (empty when it has none).
    pub fn matches<'a>(&self, mut value: impl FnMut(&str) -> std::borrow::Cow<'a, str>) -> bool {
        self.0.iter().all(|comparison| {
            (value(&comparison.field) == comparison.value.as_str()) == comparison.equal
        })
    }
}

fn terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn comparison(term: &str, selector: &str) -> Result<Comparison, String> {
    let mut escaped = false;
    for (at, c) in term.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        if c == '\\' {
            escaped = true;
            continue;
        }
        let rest = &term[at..];
        let Some((equal, operator)) = [(false, "!="), (true, "=="), (true, "=")]
            .into_iter()
            .find(|(_, op)| rest.starts_with(op))
        else {
            continue;
        };
        let value = unescape(&rest[operator.len()..])?;
        return Ok(Comparison {
            field: term[..at].to_owned(),
            value,
            equal,
        });
    }
    Err(format!(
        "invalid selector: '{selector}'; can't understand '{term}'"
    ))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut escaped = false;
    for c in value.chars() {
        match c {
            '\\' | ',' | '=' if escaped => {
                out.push(c);
                escaped = false;
            }
            c if escaped => {
                return Err(format!(
                    "invalid field selector: invalid escape sequence: \\{c}"
                ));
            }
            '\\' => escaped = true,
            ',' | '=' => {
                // Go prints the number of the character.
                let c = u32::from(c);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {c}"
                ));
            }
            c => out.push(c),
        }
    }
    if escaped {
        return Err("invalid field selector: invalid escape sequence: \\".to_owned());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn matches(selector: &str) -> bool {
        Fields::parse(selector)
            .unwrap()
            .matches(|field| match field {
                "metadata.name" => Cow::Borrowed("web"),
                "spec.nodeName" => Cow::Borrowed("a,b=c"),
                _ => Cow::Borrowed(""),
            })
    }

    #[test]
    fn comparisons_are_joined_by_and() {
        let table = [
            ("", true),
            ("metadata.name=web", true),
            ("metadata.name==web", true),
            ("metadata.name!=web", false),
            ("metadata.name=web,status.phase!=Running", true),
            ("metadata.name=web,status.phase=Running", false),
            ("status.phase=", true),
            (r"spec.nodeName=a\,b\=c", true),
            ("=", true),
            ("==,!=", true),
        ];
        for (selector, expected) in table {
            assert_eq!(matches(selector), expected, "{selector}");
        }
    }

    #[test]
    fn a_term_without_a_comparison_is_refused() {
        assert_eq!(
            Fields::parse("metadata.name=x,phase"),
            Err("invalid selector: 'metadata.name=x,phase'; can't understand 'phase'".to_owned())
        );
    }

    #[test]
    fn an_operator_in_a_value_is_refused_by_its_number() {
        assert_eq!(
            Fields::parse("metadata.name=a=b"),
            Err("invalid field selector: unescaped character in value: 61".to_owned())
        );
    }

    #[test]
    fn the_exact_name_is_known() {
        let fields = Fields::parse("metadata.name=web").unwrap();
        assert_eq!(fields.exact("metadata.name"), Some("web"));
        assert_eq!(fields.exact("metadata.namespace"), None);
    }
}

//! The order in which a body names its fields: Go's strict decoder complains in it, and a sorted map has lost it.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::duplicates::Duplicates;
use crate::go_text::quoted;

/// Sorts what a strict decoder says, `unknown field "a"` and `duplicate field "a"`, as the text names the fields: `paths` has every
/// path of it in order. A field counts as a duplicate where it stands again.
pub fn sort(problems: &mut [String], paths: &[String]) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, path) in paths.iter().enumerate() {
        places.entry(quoted(path)).or_default().push(at);
    }
    let place = |problem: &String| {
        let (what, field) = problem.split_once("field ")?;
        let repeated = usize::from(what == "duplicate ");
        places.get(field)?.get(repeated).copied()
    };
    problems.sort_by_cached_key(place);
}

/// Every path of a JSON body, in the order of the text; a field that stands twice is there twice.
///
/// A body that is not JSON has none.
pub fn paths(bytes: &[u8]) -> Vec<String> {
    Names::read(bytes).paths()
}

/// The names in a JSON document, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Names {
    /// A value that has none.
    #[default]
    None,
    List(Vec<Self>),
    /// A name may stand twice.
    Map(Vec<(String, Self)>),
}

impl Names {
    /// Reads a document; what is not JSON has no names.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The names in a value, which are sorted.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.iter().map(Self::of).collect()),
            Value::Object(members) => {
                let members = members.iter();
                Self::Map(
                    members
                        .map(|(name, value)| (name.clone(), Self::of(value)))
                        .collect(),
                )
            }
            _ => Self::None,
        }
    }

    /// Every path, a field that stands twice twice.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.each("", &mut |path, _| found.push(path.to_owned()));
        found
    }

    /// What a strict decoder says of fields that stand twice in one map.
    pub(crate) fn duplicates(&self) -> Vec<String> {
        let mut found = Duplicates::default();
        self.each("", &mut |path, is_repeated| {
            if is_repeated {
                found.add_field(path);
            }
        });
        found.0
    }

    fn each(&self, path: &str, tell: &mut impl FnMut(&str, bool)) {
        match self {
            Self::None => {}
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.each(&format!("{path}[{index}]"), tell);
                }
            }
            Self::Map(members) => {
                let mut seen = HashSet::new();
                for (name, below) in members {
                    let path = match path {
                        "" => name.clone(),
                        parent => format!("{parent}.{name}"),
                    };
                    tell(&path, !seen.insert(name));
                    below.each(&path, tell);
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Names, E> {
        Ok(Names::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Names, A::Error> {
        let mut found = Vec::new();
        while let Some(item) = items.next_element()? {
            found.push(item);
        }
        Ok(Names::List(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Names, A::Error> {
        let mut found = Vec::new();
        while let Some(member) = members.next_entry()? {
            found.push(member);
        }
        Ok(Names::Map(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_as_the_text_names_them() {
        let body = br#"{"z":1.5,"a":[{"y":true,"b":null}],"z":{"c":"x"}}"#;
        assert_eq!(paths(body), ["z", "a", "a[0].y", "a[0].b", "z", "z.c"]);
        assert!(paths(b"{").is_empty());
    }

    #[test]
    fn a_field_is_a_duplicate_where_its_own_map_has_it_twice() {
        let body = br#"{"a":{"b":1,"c":{"d":1,"d":2,"d":3}},"a":{"b":1}}"#;
        let said = [r#"duplicate field "a.c.d""#, r#"duplicate field "a""#];
        assert_eq!(Names::read(body).duplicates(), said);
    }

    #[test]
    fn no_more_duplicates_are_told_of_than_by_any_decoder() {
        let twice = |name: usize| format!(r#""{name}":1,"{name}":2"#);
        let members: Vec<String> = (0..1000).map(twice).collect();
        let body = format!("{{{}}}", members.join(","));
        let said = Names::read(body.as_bytes()).duplicates();
        let parsed = crate::json::parse(body.as_bytes()).unwrap();
        assert_eq!(said, parsed.duplicates);
        assert_eq!(said.len(), 100);
    }

    #[test]
    fn what_is_said_of_fields_is_sorted_as_the_text_has_them() {
        let body = br#"{"z":1,"b":{"y":1},"z":2,"a":1}"#;
        let mut said = [
            r#"unknown field "a""#,
            r#"unknown field "b.y""#,
            r#"duplicate field "z""#,
            r#"unknown field "z""#,
        ]
        .map(str::to_owned);
        sort(&mut said, &paths(body));
        assert_eq!(
            said,
            [
                r#"unknown field "z""#,
                r#"unknown field "b.y""#,
                r#"duplicate field "z""#,
                r#"unknown field "a""#,
            ]
        );
    }
}

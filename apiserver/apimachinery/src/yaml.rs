//! Reads YAML bodies: manifests, and apply patches; writes answers.
//!
//! ```
//! use kubewright_apimachinery::yaml;
//!
//! assert_eq!(yaml::parse(b"mode: 0644")?.value["mode"], 0o644);
//! assert_eq!(yaml::parse(b"a: 1\na: 2")?.duplicates.len(), 1);
//! # Ok::<(), kubewright_apimachinery::json::Malformed>(())
//! ```

mod order;
mod plain;
mod write;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::DuplicateKeyPolicy;

use crate::depth::{DEEPEST, DEEPEST_OWN, with_room};
use crate::go_text::quoted;
use crate::json::{Malformed, Parsed};

/// How many values any text may have.
const LEAST_NODES: usize = 250_000;

/// Reads the first YAML document.
///
/// Numbers that begin with `0` are octal, and `yes`, `no`, `on` and `off` are booleans, as kubectl and the API server read
/// them (YAML 1.1). Keys that stand twice are found, but only the first of them is reported.
///
/// # Errors
///
/// `yaml: line <n>: <why>`, when this is not YAML or is nested deeper than 127 levels.
pub fn parse(bytes: &[u8]) -> Result<Parsed, Malformed> {
    with_room(|| parse_with_room(bytes))
}

/// Reads YAML that [`to_string`] wrote, which may be nested a little deeper than a body.
///
/// Returns `None` for anything else.
pub fn parse_own(bytes: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?;
    let read = with_room(|| read(text, DuplicateKeyPolicy::LastWins, DEEPEST_OWN));
    read.ok().map(|parsed| parsed.value)
}

/// Returns the text of a value, as Go's library writes it.
pub fn to_string(value: &Value) -> String {
    with_room(|| write::text(value))
}

fn parse_with_room(bytes: &[u8]) -> Result<Parsed, Malformed> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Malformed("yaml: invalid leading UTF-8 octet".to_owned()))?;
    if let Some(why) = tab(text).or_else(|| wrong_escape(text)) {
        return Err(Malformed(why));
    }
    match read(text, DuplicateKeyPolicy::Error, DEEPEST) {
        Ok(parsed) => Ok(parsed),
        Err(error) => match error.without_snippet() {
            Error::DuplicateMappingKey { key, .. } => {
                let line = error.location().map_or(1, |location| location.line());
                let key = quoted(key.as_deref().unwrap_or_default());
                let duplicate =
                    format!("yaml: unmarshal errors:\n  line {line}: key {key} already set in map");
                let mut parsed = read(text, DuplicateKeyPolicy::LastWins, DEEPEST)
                    .map_err(|error| malformed(&error))?;
                parsed.duplicates = vec![duplicate];
                Ok(parsed)
            }
            _ => Err(malformed(&error)),
        },
    }
}

fn read(text: &str, duplicate_keys: DuplicateKeyPolicy, deepest: usize) -> Result<Parsed, Error> {
    let nodes = text.len().max(LEAST_NODES);
    let options = serde_saphyr::options! {
        // Callers bound the text, and what is written out takes a byte at least. Aliases are bounded where they are replayed:
        // one anchor may be used as often as an author likes.
        budget: serde_saphyr::budget! {
            max_depth: deepest,
            max_nodes: nodes,
            max_events: nodes.saturating_mul(3),
            enforce_alias_anchor_ratio: false,
        },
        duplicate_keys: duplicate_keys,
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    let tree = Tree { levels: deepest };
    let value = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        tree.deserialize(reader)
    })?;
    Ok(Parsed {
        value,
        duplicates: Vec::new(),
    })
}

/// Deserializes any value; converts keys that are not strings to strings.
///
/// The library's own limit does not count the levels of an alias at the position of the alias.
#[derive(Clone, Copy)]
struct Tree {
    /// Number of levels that may follow.
    levels: usize,
}

impl Tree {
    fn below<E: serde::de::Error>(self) -> Result<Self, E> {
        let levels = self.levels.checked_sub(1);
        let levels = levels.ok_or_else(|| E::custom("exceeded max depth"))?;
        Ok(Self { levels })
    }
}

impl<'de> DeserializeSeed<'de> for Tree {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value that JSON has")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // Go turns YAML into JSON, in which a whole number has no point, and reads that.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number of this size is exact"
        )]
        if value.fract() == 0.0 && value.abs() < 9e18 {
            return Ok((value as i64).into());
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            map.insert(key, entries.next_value_seed(below)?);
        }
        Ok(Value::Object(map))
    }
}

/// The reader's words in those of the API server's YAML library, where the fault is a common one.
fn malformed(error: &Error) -> Malformed {
    let error = error.without_snippet();
    let text = error.to_string();
    let text = match text.rfind(" at line ") {
        Some(end) => &text[..end],
        None => text.as_str(),
    };
    let text = match text.split_once(": ") {
        Some((line, text)) if line.starts_with("line ") => text,
        _ => text,
    };
    // Go's library names the problem alone.
    let text = match text.split_once(", ") {
        Some((context, problem)) if context.starts_with("while ") => problem,
        _ => text,
    };
    let line = error.location().map_or(1, |location| location.line());
    if is_bomb(error) {
        return Malformed("yaml: document contains excessive aliasing".to_owned());
    }
    let too_deep = matches!(
        error,
        Error::Budget {
            breach: BudgetBreach::Depth { .. },
            ..
        }
    );
    let too_deep = too_deep || text.contains("recursion limit exceeded");
    if too_deep || text.contains("exceeded max depth") {
        return Malformed(format!("yaml: exceeded max depth of {DEEPEST}"));
    }
    if text.starts_with("unclosed bracket") {
        let ends = if text.contains('{') { "}" } else { "]" };
        return Malformed(format!(
            "yaml: line {line}: did not find expected ',' or '{ends}'"
        ));
    }
    Malformed(located(line, text))
}

/// Whether aliases make a document larger than its text could be.
fn is_bomb(error: &Error) -> bool {
    match error {
        Error::AliasError { error, .. } => is_bomb(error.without_snippet()),
        Error::Budget { breach, .. } => matches!(
            breach,
            BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }
        ),
        Error::AliasReplayLimitExceeded { .. } => true,
        _ => false,
    }
}

/// The library does not count the first line.
fn located(line: impl Into<u64>, text: &str) -> String {
    match line.into() {
        0 | 1 => format!("yaml: {text}"),
        line => format!("yaml: line {line}: {text}"),
    }
}

/// Returns an error for the first line that is indented by a tab, which the parser would take for a blank.
fn tab(text: &str) -> Option<String> {
    let mut lines = text.lines().enumerate();
    let (at, _) = lines.find(|(_, line)| line.starts_with('\t') && !line.trim().is_empty())?;
    let before = text.lines().take(at).collect::<Vec<_>>();
    // Inside brackets, quotes and block scalars a tab is allowed anywhere: only block structure is certain.
    let plain = before
        .iter()
        .all(|line| !line.contains(['{', '[', '"', '\'', '|', '>']));
    plain.then(|| {
        let line = u64::try_from(at + 1).unwrap_or(u64::MAX);
        located(line, "found character that cannot start any token")
    })
}

/// The first text in double quotes that names half of a character, or one beyond the last.
fn wrong_escape(text: &str) -> Option<String> {
    // Most bodies have no escape that could be wrong.
    if !text.contains("\\u") && !text.contains("\\U") {
        return None;
    }
    let (mut line, mut began, mut quoted) = (1_u64, 1, false);
    let mut before = '\n';
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '\n' => line += 1,
            '"' if quoted => quoted = false,
            // A quote within a plain text does not begin one in quotes.
            '"' if matches!(before, '\n' | ':' | '-' | ',' | '[' | '{' | '?') => {
                (began, quoted) = (line, true);
            }
            '\\' if quoted => {
                let (_, escape) = rest.next()?;
                let digits = match escape {
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                let code = text.get(at + 2..at + 2 + digits);
                let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
                if code.is_some_and(|code| char::from_u32(code).is_none()) {
                    let why = "found invalid Unicode character escape code";
                    return Some(located(began, why));
                }
            }
            _ => {}
        }
        if !c.is_whitespace() || c == '\n' {
            before = c;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(text: &str) -> serde_json::Value {
        parse(text.as_bytes()).unwrap().value
    }

    #[test]
    fn a_manifest_is_read_as_kubectl_reads_it() {
        let text =
            "apiVersion: v1\nkind: Pod\nspec:\n  list:\n  - a\n  - {b: 1}\n  none: ~\n  empty:\n";
        assert_eq!(
            value(text),
            json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": {"list": ["a", {"b": 1}], "none": null, "empty": null},
            })
        );
    }

    #[test]
    fn aliases_are_bounded_by_what_they_make_and_not_by_their_number() {
        let many = format!("a: &a x\nb: [{}]", "*a, ".repeat(5_000));
        assert_eq!(value(&many)["b"][4_999], "x");
        let level = |level: usize| {
            let below = match level.checked_sub(1) {
                None => "x, ".repeat(10),
                Some(below) => format!("*a{below}, ").repeat(10),
            };
            format!("a{level}: &a{level} [{below}]\n")
        };
        let bomb: String = (0..10).map(level).collect();
        let Malformed(why) = parse(bomb.as_bytes()).unwrap_err();
        assert_eq!(why, "yaml: document contains excessive aliasing");
    }

    #[test]
    fn a_text_may_have_as_many_values_as_its_size_allows() {
        let text = format!("a: [{}]", "1, ".repeat(400_000));
        assert_eq!(value(&text)["a"].as_array().map(Vec::len), Some(400_000));
    }

    #[test]
    fn scalars_are_those_of_yaml_1_1() {
        let text = "octal: 0644\nyes: yes\noff: off\ntext: \"yes\"\ntime: 2024-01-02T03:04:05Z\nport: 80\nhalf: 0.5\n1: one\n";
        assert_eq!(
            value(text),
            json!({
                "octal": 420,
                "yes": true,
                "off": false,
                "text": "yes",
                "time": "2024-01-02T03:04:05Z",
                "port": 80,
                "half": 0.5,
                "1": "one",
            })
        );
    }

    #[test]
    fn json_is_yaml() {
        let text = r#"{"kind":"ConfigMap","data":{"a":"1","b":"x\ny"}}"#;
        assert_eq!(
            value(text),
            json!({"kind": "ConfigMap", "data": {"a": "1", "b": "x\ny"}})
        );
    }

    #[test]
    fn a_key_that_stands_twice_is_reported_with_its_line_and_the_last_one_wins() {
        let parsed = parse(b"a: 1\nb:\n  c: 1\n  c: 2\n").unwrap();
        assert_eq!(parsed.value, json!({"a": 1, "b": {"c": 2}}));
        assert_eq!(
            parsed.duplicates,
            ["yaml: unmarshal errors:\n  line 4: key \"c\" already set in map"]
        );
    }

    #[test]
    fn half_a_character_is_refused_with_the_line_where_its_text_begins() {
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        let why = "found invalid Unicode character escape code";
        assert_eq!(error(r#"{"a":"\ud83d\ude00"}"#), format!("yaml: {why}"));
        assert_eq!(
            error("a: 1\nb:\n- \"x\\\\\n  \\U00110000\"\n"),
            format!("yaml: line 3: {why}")
        );
        for text in ["a: '\\ud800'\n", "a: x\"\\ud800\n", r#"a: "\\ud800""#] {
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
        assert_eq!(value(r#"a: "\u00e9""#), json!({"a": "é"}));
    }

    #[test]
    fn what_is_no_yaml_is_refused_with_its_line() {
        let error = parse(b"a: 1\nb: [\n").unwrap_err().to_string();
        assert!(error.starts_with("yaml: line "), "{error}");
        assert!(parse(b"\xff").is_err());
    }

    #[test]
    fn nesting_is_refused_where_json_is_refused_in_flow_blocks_and_aliases() {
        fn flow(levels: usize) -> String {
            "[".repeat(levels) + &"]".repeat(levels)
        }
        fn block(levels: usize) -> String {
            "- ".repeat(levels) + "a"
        }
        fn alias(levels: usize) -> String {
            let other = flow(60).replace("[]", "[*a]");
            format!("- &a {}\n- {other}\n", flow(levels))
        }
        let refused = "yaml: exceeded max depth of 127";
        for nested in [flow, block, alias] {
            for levels in [128, 10_000] {
                let error = parse(nested(levels).as_bytes()).unwrap_err();
                assert_eq!(error.to_string(), refused);
            }
        }
        assert!(parse(flow(127).as_bytes()).is_ok());
        assert!(parse(block(127).as_bytes()).is_ok());
        assert!(parse(alias(66).as_bytes()).is_ok());
        assert!(parse(alias(67).as_bytes()).is_err());
    }
}

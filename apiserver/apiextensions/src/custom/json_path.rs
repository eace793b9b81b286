//! Paths through objects as `kubectl` and definitions write them: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! The dialect is older than the standard, and differs: no `$`, names with escaped dots, one comparison in a filter.

use std::cmp::Ordering;

use serde_json::Value;

/// A path that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// Every member or item.
    Every,
    /// This value and all below it.
    Below,
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Index(i64),
    Filter(Box<Filter>),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    /// None asks only whether there is something on the left.
    compared: Option<(Operator, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(JsonPath),
    Literal(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            rest = match first {
                '.' if rest.starts_with("..") => {
                    steps.push(Step::Below);
                    let behind = &rest[1..];
                    if behind[1..].starts_with('[') {
                        &behind[1..]
                    } else {
                        behind
                    }
                }
                '.' => name(&rest[1..], &mut steps)?,
                '[' => {
                    let end = closing(rest).ok_or("unterminated array")?;
                    steps.push(bracket(&rest[1..end])?);
                    &rest[end + 1..]
                }
                _ => return Err(format!("unrecognized character in action: {first}")),
            };
        }
        Ok(Self(steps))
    }

    /// The values at the path; none where it leads nowhere.
    pub(super) fn find<'v>(&self, root: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![root];
        for step in &self.0 {
            let mut next = Vec::new();
            for value in found {
                step.take(value, &mut next);
            }
            found = next;
        }
        found
    }
}

/// Reads a name up to the next step; a backslash takes the letter behind it as it is.
fn name<'t>(text: &'t str, steps: &mut Vec<Step>) -> Result<&'t str, String> {
    let mut name = String::new();
    let mut letters = text.char_indices();
    let mut end = text.len();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => {
                end = at;
                break;
            }
            ' ' | '(' | ')' | '{' | '}' | '|' => {
                return Err(format!("unrecognized character in action: {letter}"));
            }
            letter => name.push(letter),
        }
    }
    match name.as_str() {
        // The dot alone is the object itself.
        "" => {}
        "*" => steps.push(Step::Every),
        _ => steps.push(Step::Field(name)),
    }
    Ok(&text[end..])
}

/// Where the bracket ends that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (_, '\\') => drop(letters.next()),
            (Some(mark), letter) if mark == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<Step, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(Step::Every);
    }
    if let Some(quoted) = unquoted(text) {
        return Ok(Step::Field(quoted));
    }
    if let Some(filter) = text
        .strip_prefix("?(")
        .and_then(|text| text.strip_suffix(')'))
    {
        return Ok(Step::Filter(Box::new(filter_of(filter)?)));
    }
    let number = |text: &str| -> Result<Option<i64>, String> {
        match text.trim() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| format!("invalid array index {text}")),
        }
    };
    let mut parts = text.split(':');
    let start = number(parts.next().unwrap_or_default())?;
    let Some(end) = parts.next() else {
        return start
            .map(Step::Index)
            .ok_or_else(|| "invalid array index".to_owned());
    };
    let step = number(parts.next().unwrap_or_default())?.unwrap_or(1);
    if step < 1 {
        return Err("step must be > 0".to_owned());
    }
    Ok(Step::Slice {
        start,
        end: number(end)?,
        step,
    })
}

fn unquoted(text: &str) -> Option<String> {
    let mark = text
        .chars()
        .next()
        .filter(|mark| matches!(mark, '\'' | '"'))?;
    let inside = text.strip_prefix(mark)?.strip_suffix(mark)?;
    let mut out = String::new();
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    Some(out)
}

fn filter_of(text: &str) -> Result<Filter, String> {
    const OPERATORS: [(&str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(mark), letter) if mark == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '=' | '!' | '<' | '>') => {
                let rest = &text[at..];
                let found = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
                let (sign, operator) = found.ok_or("unrecognized operator in filter")?;
                return Ok(Filter {
                    left: operand(&text[..at])?,
                    compared: Some((*operator, operand(&rest[sign.len()..])?)),
                });
            }
            _ => {}
        }
    }
    Ok(Filter {
        left: operand(text)?,
        compared: None,
    })
}

fn operand(text: &str) -> Result<Operand, String> {
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        return JsonPath::parse(path).map(Operand::Path);
    }
    if let Some(text) = unquoted(text) {
        return Ok(Operand::Literal(text.into()));
    }
    serde_json::from_str(text)
        .map(Operand::Literal)
        .map_err(|_| format!("unrecognized operand in filter: {text}"))
}

impl Step {
    fn take<'v>(&self, value: &'v Value, out: &mut Vec<&'v Value>) {
        match (self, value) {
            (Self::Field(name), Value::Object(members)) => out.extend(members.get(name)),
            (Self::Every, Value::Object(members)) => out.extend(members.values()),
            (Self::Every, Value::Array(items)) => out.extend(items),
            (Self::Below, value) => below(value, out),
            (Self::Index(at), Value::Array(items)) => {
                out.extend(
                    usize::try_from(from_end(*at, items))
                        .ok()
                        .and_then(|at| items.get(at)),
                );
            }
            (Self::Slice { start, end, step }, Value::Array(items)) => {
                let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
                let start = start.map_or(0, |at| from_end(at, items)).clamp(0, length);
                let end = end
                    .map_or(length, |at| from_end(at, items))
                    .clamp(start, length);
                let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
                let step = usize::try_from(*step).unwrap_or(1);
                out.extend(items[range].iter().step_by(step));
            }
            (Self::Filter(filter), Value::Array(items)) => {
                out.extend(items.iter().filter(|item| filter.holds(item)));
            }
            _ => {}
        }
    }
}

fn from_end(at: i64, items: &[Value]) -> i64 {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if at < 0 { at + length } else { at }
}

fn below<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    out.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| below(item, out)),
        Value::Object(members) => members.values().for_each(|member| below(member, out)),
        _ => {}
    }
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let Some(left) = self.left.value(item) else {
            return false;
        };
        let Some((operator, right)) = &self.compared else {
            return true;
        };
        let Some(right) = right.value(item) else {
            return false;
        };
        let order = || match (left, right) {
            (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
            (a, b) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        };
        match operator {
            Operator::Equal => left == right || order() == Some(Ordering::Equal),
            Operator::Unequal => left != right && order() != Some(Ordering::Equal),
            Operator::Less => order() == Some(Ordering::Less),
            Operator::AtMost => order().is_some_and(Ordering::is_le),
            Operator::Greater => order() == Some(Ordering::Greater),
            Operator::AtLeast => order().is_some_and(Ordering::is_ge),
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, item: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Path(path) => path.find(item).into_iter().next(),
            Self::Literal(value) => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_where_they_say() {
        let object = json!({
            "metadata": {"labels": {"a.b/c": "dotted"}},
            "spec": {"list": [1, 2, 3], "parts": [{"name": "x"}, {"name": "y"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
        });
        for (path, expected) in [
            (".spec.list[0]", json!([1])),
            (".spec.list[-1]", json!([3])),
            (".spec.list[-1:]", json!([3])),
            (".spec.list[0:3:2]", json!([1, 3])),
            (".spec.list[*]", json!([1, 2, 3])),
            (".spec.list[7]", json!([])),
            (".spec.parts[*].name", json!(["x", "y"])),
            (".metadata.labels['a.b/c']", json!(["dotted"])),
            (".metadata.labels.a\\.b/c", json!(["dotted"])),
            (
                ".status.conditions[?(@.type==\"Ready\")].status",
                json!(["True"]),
            ),
            (
                ".status.conditions[?(@.type!='Ready')].status",
                json!(["False"]),
            ),
            ("..name", json!(["x", "y"])),
            (".nothing.below", json!([])),
        ] {
            let found = JsonPath::parse(path).expect(path);
            let found: Vec<Value> = found.find(&object).into_iter().cloned().collect();
            assert_eq!(Value::from(found), expected, "{path}");
        }
        assert_eq!(
            JsonPath::parse(".").expect("a dot").find(&object),
            [&object]
        );
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["spec", ".spec[", ".spec[x]", ".a b", ".list[0:1:0]"] {
            assert!(JsonPath::parse(text).is_err(), "{text}");
        }
    }
}

//! A difference that a generated case shows: what it is known by, and the smallest case that still shows it.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;
use serde_json::{Value, json};

use crate::case::Case;
use crate::compare::{Difference, shown};
use crate::differences::Known;
use crate::generate::generated::{Generated, read};
use crate::generate::pair::Pair;
use crate::generate::shrink;

/// How many differences are shown of one case.
pub(crate) const SHOWN: usize = 6;

/// A difference that a generated case shows.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) signature: Signature,
    generated: Generated,
    differences: Vec<Difference>,
}

impl Finding {
    /// The findings of a case, one for each step that differs.
    pub(crate) fn of(generated: &Generated, differences: &[Difference]) -> Vec<Self> {
        let same_step = |one: &Difference, other: &Difference| step(&one.at) == step(&other.at);
        differences
            .chunk_by(same_step)
            .map(|differences| Self {
                signature: Signature::of(differences),
                generated: generated.clone(),
                differences: differences.to_vec(),
            })
            .collect()
    }

    /// Makes the case as small as it can be while it differs at the same place.
    pub(crate) async fn shrink(&mut self, pair: &Pair, known: &Known) -> Result<()> {
        let family = self.generated.family;
        let places = places(&self.differences);
        let name = self.generated.entry.remove("name");
        let named = |(index, entry): (usize, &Value)| -> Option<Case> {
            let mut entry = entry.clone();
            let name = name.as_ref().and_then(Value::as_str)?;
            entry["name"] = format!("{name}, trial {index}").into();
            read(family, &entry).ok()
        };
        let differing = async |trials: &[Value]| -> Result<Vec<Vec<Difference>>> {
            let cases: Vec<Option<Case>> = trials.iter().enumerate().map(named).collect();
            let whole: Vec<Case> = cases.iter().flatten().cloned().collect();
            let report = pair.compare(&whole, known).await?;
            let of_case = |case: &Option<Case>| {
                let title = case.as_ref()?.title();
                let found = report.unknown.iter().find(|(found, _)| *found == title)?;
                Some(found.1.clone())
            };
            Ok(cases
                .iter()
                .map(|case| of_case(case).unwrap_or_default())
                .collect())
        };
        let shows = async |trials: &[Value]| {
            let found = differing(trials).await?;
            let same = |found: &Vec<Difference>| {
                let found = self::places(found);
                !found.is_empty() && found.iter().any(|place| places.contains(place))
            };
            Ok(found.iter().map(same).collect())
        };
        let entry = Value::Object(std::mem::take(&mut self.generated.entry));
        let small = shrink::shrink(entry, shows).await?;
        let found = differing(std::slice::from_ref(&small)).await?;
        if let Some(found) = found.into_iter().find(|found| !found.is_empty()) {
            self.signature = Signature::of(&found);
            self.differences = found;
        }
        if let Value::Object(mut fields) = small {
            fields.extend(name.map(|name| ("name".to_owned(), name)));
            self.generated.entry = fields;
        }
        Ok(())
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "--- {}", self.signature)?;
        for difference in self.differences.iter().take(SHOWN) {
            for line in difference.to_string().lines() {
                writeln!(f, "# {line}")?;
            }
        }
        write!(f, "{}", self.generated)
    }
}

/// In the format of the suite: structures are written as JSON, which is YAML.
impl Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = &self.entry;
        writeln!(f, "- name: {}", entry.get("name").unwrap_or(&json!("")))?;
        if entry.get("alone") == Some(&json!(true)) {
            writeln!(f, "  alone: true")?;
        }
        if entry.get("audit") == Some(&json!(true)) {
            writeln!(f, "  audit: true")?;
        }
        for part in ["given", "converters", "hooks", "policies", "steps"] {
            let Some(Value::Array(items)) = entry.get(part) else {
                continue;
            };
            writeln!(f, "  {part}:")?;
            for item in items {
                writeln!(f, "  - {item}")?;
            }
        }
        Ok(())
    }
}

/// What differences of different cases have in common: where they are, the statuses, and the words of the messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signature(String);

impl Signature {
    fn of(differences: &[Difference]) -> Self {
        let Some(first) = differences.first() else {
            return Self(String::new());
        };
        let step = step(&first.at);
        let of_step = || {
            differences
                .iter()
                .filter(|found| self::step(&found.at) == step)
        };
        let status = of_step().find(|found| is_status(&found.at));
        // A cause says more than the message that has all of them.
        let message = of_step()
            .find(|found| found.at.contains("/body/details/causes/"))
            .or_else(|| of_step().find(|found| found.at.ends_with("/body/message")));
        let told = match (status, message) {
            (Some(status), Some(message)) => format!("{} {}", words(status), words(message)),
            (None, Some(message)) => words(message),
            (Some(status), None) => words(status),
            (None, None) => words(first),
        };
        Self(told)
    }
}

impl Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn words(found: &Difference) -> String {
    let side = |value: &Option<Value>| {
        let text = shown(value.as_ref());
        let text = QUOTED.replace_all(&text, "Q");
        let text = NUMBER.replace_all(&text, "N");
        text.chars().take(300).collect::<String>()
    };
    format!(
        "{}: {} | {}",
        place(&found.at),
        side(&found.real),
        side(&found.embedded)
    )
}

/// Where differences are, and what the statuses there are.
fn places(differences: &[Difference]) -> BTreeSet<String> {
    let of = |found: &Difference| {
        let place = place(&found.at);
        if is_status(&found.at) {
            let [real, embedded] = [&found.real, &found.embedded].map(|side| shown(side.as_ref()));
            return format!("{place} {real} {embedded}");
        }
        place
    };
    let all: BTreeSet<String> = differences.iter().map(of).collect();
    // Where the statuses differ, all else does.
    let statuses: BTreeSet<String> = all
        .iter()
        .filter(|place| place.contains("/status "))
        .cloned()
        .collect();
    if statuses.is_empty() { all } else { statuses }
}

/// Whether a pointer is that of an answer's status code.
fn is_status(at: &str) -> bool {
    at.ends_with("/status") && at.matches('/').count() == 3
}

/// A pointer without the numbers of the step and of the items.
fn place(at: &str) -> String {
    let tokens = at.split('/').map(|token| {
        if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            "N"
        } else {
            token
        }
    });
    tokens.collect::<Vec<_>>().join("/")
}

fn step(at: &str) -> &str {
    at.strip_prefix("/steps/")
        .and_then(|rest| rest.split('/').next())
        .unwrap_or_default()
}

static QUOTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\\"(?:[^"\\]|\\\\.)*?\\"|'[^']*'"#).expect("the pattern is well formed")
});
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+").expect("the pattern is well formed"));

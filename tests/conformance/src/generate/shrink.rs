//! Makes a structure as small as it can be while it still shows what it showed.

use std::collections::HashSet;

use anyhow::Result;
use serde_json::Value;

/// How many smaller structures are tried at once.
pub(crate) const AT_ONCE: usize = 12;

/// How many smaller structures are tried in all.
const TRIALS: usize = 480;

/// Strings that are longer are tried at half their length.
const LONG: usize = 24;

/// Removes what can be removed, the largest parts first. `shows` says of each of some structures whether it still shows
/// what the first one did.
///
/// # Errors
/// `shows` fails.
pub(crate) async fn shrink(
    mut value: Value,
    shows: impl AsyncFn(&[Value]) -> Result<Vec<bool>>,
) -> Result<Value> {
    let mut tried = HashSet::new();
    let mut largest = usize::MAX;
    let mut shrunk = false;
    loop {
        let mut smaller = candidates(&value);
        smaller.retain(|(removed, candidate)| {
            *removed <= largest && !tried.contains(&candidate.to_string())
        });
        let mut better = None;
        for group in smaller.chunks(AT_ONCE) {
            if tried.len() >= TRIALS {
                return Ok(value);
            }
            let structures: Vec<Value> = group.iter().map(|(_, value)| value.clone()).collect();
            tried.extend(structures.iter().map(Value::to_string));
            let held = shows(&structures).await?;
            better = group
                .iter()
                .zip(held)
                .find_map(|(found, held)| held.then(|| found.clone()));
            if better.is_some() {
                break;
            }
        }
        match better {
            Some((removed, smaller)) => {
                (value, largest, shrunk) = (smaller, removed, true);
            }
            // What could not be removed before may be removable now.
            None if shrunk => (largest, shrunk) = (usize::MAX, false),
            None => return Ok(value),
        }
    }
}

/// Every structure with one part less, and how many bytes that removes.
fn candidates(value: &Value) -> Vec<(usize, Value)> {
    let size = value.to_string().len();
    let mut found = Vec::new();
    below(value, &mut |smaller| {
        let removed = size.saturating_sub(smaller.to_string().len());
        found.push((removed, smaller));
    });
    found.retain(|(removed, _)| *removed > 0);
    found.sort_by_key(|(removed, _)| std::cmp::Reverse(*removed));
    found
}

fn below(value: &Value, tell: &mut dyn FnMut(Value)) {
    match value {
        Value::Array(items) => {
            for (start, end) in runs(items.len()) {
                let kept = items[..start].iter().chain(&items[end..]);
                tell(kept.cloned().collect());
            }
            for (index, item) in items.iter().enumerate() {
                below(item, &mut |smaller| {
                    let mut items = items.clone();
                    items[index] = smaller;
                    tell(items.into());
                });
            }
        }
        Value::Object(fields) => {
            for (start, end) in runs(fields.len()) {
                let kept = fields.iter().enumerate();
                let kept = kept.filter(|(index, _)| !(start..end).contains(index));
                tell(
                    kept.map(|(_, (name, value))| (name.clone(), value.clone()))
                        .collect(),
                );
            }
            for (name, value) in fields {
                below(value, &mut |smaller| {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), smaller);
                    tell(fields.into());
                });
            }
        }
        Value::String(text) if text.len() > LONG && !text.contains('/') => {
            let half = text.chars().take(text.chars().count() / 2);
            tell(half.collect::<String>().into());
        }
        _ => {}
    }
}

/// Halves, quarters and so on to single items: from, to.
fn runs(length: usize) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut run = length;
    while run > 0 {
        runs.extend(
            (0..length)
                .step_by(run)
                .map(|start| (start, (start + run).min(length))),
        );
        run /= 2;
    }
    runs
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[tokio::test]
    async fn only_what_matters_is_left() {
        let large = json!({
            "steps": (0..40).map(|index| json!({"index": index, "spec": {"a": [1, 2, 3], "b": "x"}})).collect::<Vec<_>>(),
            "given": ["one", "two"],
        });
        let shows = async |all: &[Value]| {
            let holds = |value: &Value| {
                let steps = value["steps"]
                    .as_array()
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                steps
                    .iter()
                    .any(|step| step["index"] == 17 && step["spec"]["a"].get(1).is_some())
            };
            Ok(all.iter().map(holds).collect())
        };
        let small = shrink(large, shows).await.expect("it cannot fail");
        let steps = small["steps"].as_array().expect("steps");
        assert_eq!(small.as_object().map(Map::len), Some(1), "{small}");
        assert_eq!(steps.len(), 1, "{small}");
        assert_eq!(steps[0]["index"], 17, "{small}");
        assert_eq!(
            steps[0]["spec"]["a"].as_array().map(Vec::len),
            Some(2),
            "{small}"
        );
        assert_eq!(
            steps[0]["spec"].as_object().map(Map::len),
            Some(1),
            "{small}"
        );
    }
}

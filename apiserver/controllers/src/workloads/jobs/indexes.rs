//! The completion indexes of an indexed Job.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::super::object::Item;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The completion index of a pod.
pub(super) fn of(pod: &Item) -> Option<i64> {
    pod.pod.annotations.get(INDEX)?.parse().ok()
}

/// Sets the completion index of a pod: annotation, label, host name and environment variable.
pub(super) fn mark(pod: &mut Value, job: &str, index: i64) {
    let text = index.to_string();
    pod["metadata"]["annotations"][INDEX] = text.as_str().into();
    pod["metadata"]["labels"][INDEX] = text.as_str().into();
    pod["metadata"]["generateName"] = format!("{job}-{index}-").into();
    if pod["spec"]["hostname"].is_null() {
        pod["spec"]["hostname"] = format!("{job}-{index}").into();
    }
    let variable = json!({
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")}},
    });
    for name in ["initContainers", "containers"] {
        let Some(Value::Array(containers)) = pod["spec"].get_mut(name) else {
            continue;
        };
        for container in containers {
            if !container["env"].is_array() {
                container["env"] = json!([]);
            }
            if let Value::Array(variables) = &mut container["env"] {
                variables.push(variable.clone());
            }
        }
    }
}

/// Number of indexes.
pub(super) fn len(indexes: &[i64]) -> i64 {
    i64::try_from(indexes.len()).unwrap_or(i64::MAX)
}

/// Merges the indexes of a string such as `0,2-4` with others: sorted, without duplicates.
pub(super) fn merged(known: &str, new: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut all: BTreeSet<i64> = new.into_iter().collect();
    for part in known.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
            all.extend(first..=last);
        }
    }
    all.into_iter().collect()
}

/// Formats sorted indexes as `0,2-4`.
pub(super) fn written(indexes: &[i64]) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let parts: Vec<String> = runs
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_runs_and_read_back() {
        for (indexes, text) in [
            (vec![], ""),
            (vec![0], "0"),
            (vec![0, 1], "0,1"),
            (vec![0, 1, 2, 5], "0-2,5"),
        ] {
            assert_eq!(written(&indexes), text);
            assert_eq!(merged(text, []), indexes);
        }
        assert_eq!(merged("1,3-5", [4, 2]), [1, 2, 3, 4, 5]);
    }
}

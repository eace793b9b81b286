//! The completion indexes of an indexed Job.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::super::object::Item;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
const IGNORED: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Indexes in ascending order.
pub(super) type Indexes = BTreeSet<i64>;

/// The completion index of a pod.
pub(super) fn of(pod: &Item) -> Option<i64> {
    let index: i64 = pod.pod.annotations.get(INDEX)?.parse().ok()?;
    (index >= 0).then_some(index)
}

/// How many pods of the index have failed before this one: those that count, and those that a rule ignored.
pub(super) fn failures(pod: &Item) -> (i64, i64) {
    let number = |name| {
        let number = pod.pod.annotations.get(name)?;
        number.parse::<u32>().ok().map(i64::from)
    };
    let [counted, ignored] = [FAILURES, IGNORED].map(number);
    (counted.unwrap_or_default(), ignored.unwrap_or_default())
}

/// Notes how many pods of the index have failed before a pod.
pub(super) fn mark_failures(pod: &mut Value, (counted, ignored): (i64, i64)) {
    let annotations = &mut pod["metadata"]["annotations"];
    annotations[FAILURES] = counted.to_string().into();
    if ignored > 0 {
        annotations[IGNORED] = ignored.to_string().into();
    }
}

/// Sets the completion index of a pod: annotation, label, host name and environment variable.
pub(super) fn mark(pod: &mut Value, job: &str, index: i64) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    /// The longest prefix of a generated name.
    const LONGEST: usize = 58;
    let text = index.to_string();
    pod["metadata"]["annotations"][INDEX] = text.as_str().into();
    pod["metadata"]["labels"][INDEX] = text.as_str().into();
    let ending = format!("-{index}-");
    let kept = job.len().min(LONGEST.saturating_sub(ending.len()));
    pod["metadata"]["generateName"] = format!("{}{ending}", &job[..kept]).into();
    pod["spec"]["hostname"] = format!("{job}-{index}").into();
    let variable = json!({
        "name": NAME,
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
            if let Value::Array(variables) = &mut container["env"]
                && !variables.iter().any(|known| known["name"] == NAME)
            {
                variables.push(variable.clone());
            }
        }
    }
}

/// Number of indexes.
pub(super) fn len(indexes: &Indexes) -> i64 {
    i64::try_from(indexes.len()).unwrap_or(i64::MAX)
}

/// Reads indexes below a number of completions from a string such as `0,2-4`.
pub(super) fn read(text: &str, completions: i64) -> Indexes {
    let mut indexes = Indexes::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
            indexes.extend(first..=last.min(completions - 1));
        }
    }
    indexes
}

/// Formats indexes as `0,2-4`.
pub(super) fn written(indexes: &Indexes) -> String {
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
            let indexes = Indexes::from_iter(indexes);
            assert_eq!(written(&indexes), text);
            assert_eq!(read(text, 10), indexes);
        }
        assert_eq!(read("1,3-5", 5), Indexes::from([1, 3, 4]));
    }
}

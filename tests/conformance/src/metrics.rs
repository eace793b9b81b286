//! Metrics as they are compared: what a family is, and the names of its labels. What is counted differs from server to server.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The lines about one family, and the labels that its series have.
pub(crate) fn shape(text: &str, family: &str) -> Value {
    let about = |mark: &str| {
        let start = format!("# {mark} {family} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&*start));
        line.unwrap_or_default().to_owned()
    };
    let mut series = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, rest)) = line.split_once(['{', ' ']) else {
            continue;
        };
        let suffix = name.strip_prefix(family);
        if suffix.is_some_and(|suffix| matches!(suffix, "" | "_bucket" | "_sum" | "_count")) {
            let mut labels: Vec<&str> = rest.split("=\"").collect();
            // What is behind the last label is its value.
            labels.pop();
            let name_of = |text: &&str| {
                text.rsplit(['"', ','])
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            };
            let labels: Vec<String> = labels.iter().map(name_of).collect();
            series.insert(format!("{name} {}", labels.join(",")));
        }
    }
    json!({ "type": about("TYPE"), "help": about("HELP"), "series": series })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_its_type_and_its_labels() {
        let text = "# HELP a About a.\n# TYPE a histogram\na_bucket{b=\"1\",le=\"2\"} 3\na_count{b=\"1\"} 3\nab 1\n";
        assert_eq!(
            shape(text, "a"),
            json!({"type": "histogram", "help": "About a.", "series": ["a_bucket b,le", "a_count b"]})
        );
        assert_eq!(
            shape(text, "ab"),
            json!({"type": "", "help": "", "series": ["ab "]})
        );
    }
}

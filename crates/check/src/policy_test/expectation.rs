//! What is expected of a request, beside what came of it.

use std::collections::BTreeMap;

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::file::Expected;

/// What came of a request.
#[derive(Debug)]
pub(super) struct Observed {
    /// The answer: the object, or a `Status`.
    pub(super) body: Value,
    pub(super) allowed: bool,
    pub(super) warnings: Vec<String>,
    pub(super) audit_annotations: BTreeMap<String, String>,
}

impl Expected {
    /// What differs, a sentence each.
    pub(super) fn differences(&self, observed: &Observed) -> Vec<String> {
        let mut all = Vec::new();
        let message = observed.body.text("message");
        let denied = self.denied.is_some() || self.allowed == Some(false);
        let allowed = self.allowed == Some(true) || self.object.is_some();
        if denied && observed.allowed {
            all.push("expected a denial, but the request is allowed".to_owned());
        }
        if allowed && !observed.allowed {
            all.push(format!(
                "expected the request to be allowed, but it is denied: {message}"
            ));
        }
        if let Some(text) = &self.denied
            && !observed.allowed
            && !message.contains(text.as_str())
        {
            all.push(format!(
                "expected the denial {text:?}, but it says: {message}"
            ));
        }
        self.warnings(observed, &mut all);
        for (key, expected) in &self.audit_annotations {
            match observed.audit_annotations.get(key) {
                Some(found) if found == expected => {}
                Some(found) => all.push(format!(
                    "expected the audit annotation {key} to be {expected:?}, but it is {found:?}"
                )),
                None => all.push(format!(
                    "expected the audit annotation {key} to be {expected:?}, but there is none"
                )),
            }
        }
        if let Some(expected) = &self.object
            && observed.allowed
        {
            fields("", expected, &observed.body, &mut all);
        }
        all
    }

    fn warnings(&self, observed: &Observed, all: &mut Vec<String>) {
        let Some(expected) = &self.warnings else {
            return;
        };
        let found = &observed.warnings;
        if expected.is_empty() && !found.is_empty() {
            all.push(format!(
                "expected no warning, but there is: {}",
                found.join("; ")
            ));
        }
        for text in expected {
            if !found.iter().any(|warning| warning.contains(text.as_str())) {
                let others = if found.is_empty() {
                    "none".to_owned()
                } else {
                    found.join("; ")
                };
                all.push(format!(
                    "expected the warning {text:?}, but there is: {others}"
                ));
            }
        }
    }
}

/// Fields that differ from those that are expected. Lists must have the same length.
fn fields(path: &str, expected: &Value, found: &Value, all: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                let below = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                fields(&below, value, found.get(name).unwrap_or(&Value::Null), all);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (index, (value, found)) in expected.iter().zip(found).enumerate() {
                fields(&format!("{path}[{index}]"), value, found, all);
            }
        }
        (expected, found) if expected == found => {}
        (expected, Value::Null) => {
            all.push(format!(
                "expected {path} to be {expected}, but it is not there"
            ));
        }
        (Value::Null, found) => {
            all.push(format!("expected no {path}, but it is {found}"));
        }
        (expected, found) => {
            all.push(format!(
                "expected {path} to be {expected}, but it is {found}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn observed(allowed: bool, body: Value) -> Observed {
        Observed {
            body,
            allowed,
            warnings: vec!["Validation failed: name a version".to_owned()],
            audit_annotations: BTreeMap::from([("images/found".to_owned(), "a:latest".to_owned())]),
        }
    }

    fn differences(expected: Value, observed: &Observed) -> Vec<String> {
        let expected: Expected = serde_json::from_value(expected).expect("an expectation");
        expected.differences(observed)
    }

    #[test]
    fn what_is_as_expected_has_no_differences() {
        let refused = observed(false, json!({"message": "denied request: name a version"}));
        for expected in [
            json!({"allowed": false}),
            json!({"denied": "name a version"}),
            json!({"denied": ""}),
            json!({"warnings": ["name a version"], "auditAnnotations": {"images/found": "a:latest"}}),
        ] {
            assert_eq!(
                differences(expected.clone(), &refused),
                [""; 0],
                "{expected}"
            );
        }
        let stored = json!({"spec": {"replicas": 3, "list": [{"a": 1, "b": 2}]}});
        let accepted = observed(true, stored);
        for expected in [
            json!({"allowed": true}),
            json!({"object": {"spec": {"replicas": 3}}}),
            json!({"object": {"spec": {"list": [{"a": 1}], "paused": null}}}),
        ] {
            assert_eq!(
                differences(expected.clone(), &accepted),
                [""; 0],
                "{expected}"
            );
        }
    }

    #[test]
    fn each_difference_is_a_sentence() {
        let refused = observed(false, json!({"message": "denied request: name a version"}));
        let accepted = observed(true, json!({"spec": {"replicas": 3, "list": [1]}}));
        for (expected, observed, sentence) in [
            (
                json!({"allowed": true}),
                &refused,
                "expected the request to be allowed, but it is denied: denied request: name a version",
            ),
            (
                json!({"denied": "too many"}),
                &refused,
                "expected the denial \"too many\", but it says: denied request: name a version",
            ),
            (
                json!({"denied": "too many"}),
                &accepted,
                "expected a denial, but the request is allowed",
            ),
            (
                json!({"warnings": []}),
                &accepted,
                "expected no warning, but there is: Validation failed: name a version",
            ),
            (
                json!({"auditAnnotations": {"images/lost": "x"}}),
                &accepted,
                "expected the audit annotation images/lost to be \"x\", but there is none",
            ),
            (
                json!({"object": {"spec": {"replicas": 4}}}),
                &accepted,
                "expected spec.replicas to be 4, but it is 3",
            ),
            (
                json!({"object": {"spec": {"list": [1, 2]}}}),
                &accepted,
                "expected spec.list to be [1,2], but it is [1]",
            ),
            (
                json!({"object": {"spec": {"paused": true}}}),
                &accepted,
                "expected spec.paused to be true, but it is not there",
            ),
        ] {
            assert_eq!(differences(expected, observed), [sentence]);
        }
    }
}

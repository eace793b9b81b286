//! The demo of an example: objects to apply or delete, and the results to expect.
//!
//! The file `demo.yaml` beside the program's `Cargo.toml` contains the demo:
//!
//! ```yaml
//! steps:
//!   - title: a pod without annotations gets one
//!     apply: demo/pod.yaml               # or `object:` with the object itself; or `patch:`, `delete:`
//!     as: {user: alice, groups: [dev]}   # optional
//!     expect:
//!       stored: {metadata: {annotations: {mutate: welcome}}}
//! ```
//!
//! What a controller does takes a moment. Such a step says what there must be, or not be, in the end; an object without a
//! name is any one of its kind:
//!
//! ```yaml
//!   - title: a deleted Deployment is created again
//!     delete: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
//!     expect:
//!       eventually:
//!       - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
//!       gone:
//!       - {apiVersion: v1, kind: Pod, metadata: {name: old}}
//! ```

use std::fmt;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Steps, in order.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Demo {
    steps: Vec<Step>,
}

/// What is done in a step.
#[derive(Debug)]
pub(crate) enum Deed {
    Apply(Vec<Value>),
    /// A JSON merge patch, which also names the object.
    Patch(Value),
    Delete(Value),
}

/// One deed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) title: String,
    apply: Option<String>,
    object: Option<Value>,
    patch: Option<Value>,
    delete: Option<Value>,
    #[serde(default, rename = "as")]
    pub(crate) user: Option<User>,
    #[serde(default)]
    pub(crate) expect: Expectation,
    #[serde(skip)]
    deed: Option<Deed>,
}

/// Whom the step acts as.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    pub(crate) user: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}

/// What must come of a step; nothing said means that the API server accepts it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    stored: Option<Value>,
    pub(crate) denied: Option<Refusal>,
    /// Objects that there must be after a while.
    #[serde(default)]
    pub(crate) eventually: Vec<Value>,
    /// Objects that there must not be after a while.
    #[serde(default)]
    pub(crate) gone: Vec<Value>,
}

/// The refusal that a step is about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    by: String,
    message: Option<String>,
}

impl Demo {
    /// Reads `demo.yaml` in `folder` and the files that it names; `None` when there is no demo.
    pub(crate) fn read(folder: &Path) -> Outcome<Option<Self>> {
        let path = folder.join("demo.yaml");
        if !path.is_file() {
            return Ok(None);
        }
        let mut demo: Self = read_yaml(&path)?;
        for step in &mut demo.steps {
            let mut deeds = Vec::new();
            if let Some(file) = &step.apply {
                deeds.push(Deed::Apply(read_documents(&folder.join(file))?));
            }
            deeds.extend(step.object.take().map(|object| Deed::Apply(vec![object])));
            deeds.extend(step.patch.take().map(Deed::Patch));
            deeds.extend(step.delete.take().map(Deed::Delete));
            let (Some(deed), None) = (deeds.pop(), deeds.pop()) else {
                let step = &step.title;
                return Err(Failure::new(format!(
                    "step `{step}` of {} needs one of `apply`, `object`, `patch` and `delete`",
                    path.display()
                )));
            };
            step.deed = Some(deed);
        }
        Ok(Some(demo))
    }

    /// The steps, in order.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Step {
    /// What the step does.
    pub(crate) fn deed(&self) -> &Deed {
        self.deed
            .as_ref()
            .expect("a demo that was read has a deed in every step")
    }
}

impl Expectation {
    /// What is missing from the stored object, as `path: expected …, found …`; nothing when all is there.
    pub(crate) fn missing_from(&self, stored: &Value) -> Vec<String> {
        let expected = self.stored.as_ref();
        expected.map_or_else(Vec::new, |expected| missing("", expected, stored))
    }
}

impl Refusal {
    /// Whether the API server's message is this refusal.
    pub(crate) fn is(&self, message: &str) -> bool {
        let webhook = format!("admission webhook \"{}\" denied the request", self.by);
        let policy = format!("ValidatingAdmissionPolicy '{}' with binding '", self.by);
        let by_policy = || {
            let (_, rest) = message.split_once(&*policy)?;
            let (_, rest) = rest.split_once("' denied request")?;
            Some(rest)
        };
        let text = message.strip_prefix(&*webhook).or_else(by_policy);
        text.is_some_and(|rest| match &self.message {
            Some(text) => rest.strip_prefix(": ") == Some(text),
            None => true,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a denial by the webhook or policy {}", self.by)?;
        match &self.message {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}

/// What an object below a path lacks of what is expected, as `path: expected …, found …`; nothing when all is there.
pub(crate) fn missing(path: &str, expected: &Value, found: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    compare(path, expected, found, &mut missing);
    missing
}

fn compare(path: &str, expected: &Value, found: &Value, missing: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                compare(
                    &path,
                    value,
                    found.get(key).unwrap_or(&Value::Null),
                    missing,
                );
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{path}[{index}]"), expected, found, missing);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => missing.push(format!("{path}: expected {expected}, found {found}")),
    }
}

fn read_yaml<T: serde::de::DeserializeOwned>(path: &Path) -> Outcome<T> {
    let text = read(path)?;
    Ok(serde_saphyr::from_str(&text)
        .with_context(|| format!("cannot understand {}", path.display()))?)
}

pub(crate) fn read_documents(path: &Path) -> Outcome<Vec<Value>> {
    let text = read(path)?;
    let documents = serde_saphyr::from_multiple(&text);
    Ok(documents.with_context(|| format!("cannot understand {}", path.display()))?)
}

fn read(path: &Path) -> Outcome<String> {
    Ok(std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn expectation(value: Value) -> Expectation {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_stored_object_may_have_more_than_is_expected() {
        let expected = expectation(json!({"stored": {"spec": {"containers": [{"name": "a"}]}}}));
        let stored = json!({"spec": {"containers": [{"name": "a", "image": "x"}]}, "status": {}});
        assert_eq!(expected.missing_from(&stored), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_named_by_its_path() {
        let expected =
            expectation(json!({"stored": {"metadata": {"labels": {"a": "1"}}, "l": [1, 2]}}));
        assert_eq!(
            expected.missing_from(&json!({"metadata": {}, "l": [1]})),
            [
                "l: expected [1,2], found [1]",
                "metadata.labels: expected {\"a\":\"1\"}, found null"
            ]
        );
    }

    #[test]
    fn a_refusal_is_recognised_by_webhook_or_policy_and_text() {
        let refusal: Refusal =
            serde_json::from_value(json!({"by": "a.b.c", "message": "no"})).unwrap();
        assert!(refusal.is(r#"admission webhook "a.b.c" denied the request: no"#));
        assert!(!refusal.is(r#"admission webhook "a.b.c" denied the request: nope"#));
        assert!(!refusal.is(r#"admission webhook "x.b.c" denied the request: no"#));
        let policy = "gardens \"a\" is forbidden: ValidatingAdmissionPolicy 'a.b.c' with binding 'a.b.c' denied request: no";
        assert!(refusal.is(policy));
        assert!(!refusal.is(&policy.replace("a.b.c", "x.b.c")));
        assert!(!refusal.is(&format!("{policy}pe")));
    }
}

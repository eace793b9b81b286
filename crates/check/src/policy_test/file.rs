//! The format of a file of tests.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

/// Tests that share policies.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyTest {
    /// The file.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(rename = "apiVersion", default)]
    _api_version: String,
    #[serde(rename = "kind", default)]
    _kind: String,
    #[serde(rename = "metadata", default)]
    _metadata: Value,
    /// Files and folders with the policies and their bindings, from the folder of this file. A policy without a binding is bound to
    /// everything that it matches.
    #[serde(default)]
    pub policies: Vec<PathBuf>,
    /// Files and folders with CustomResourceDefinitions.
    #[serde(default)]
    pub definitions: Vec<PathBuf>,
    /// Files and folders with what else the cluster has: namespaces, params, roles.
    #[serde(default)]
    pub objects: Vec<PathBuf>,
    /// The tests.
    pub tests: Vec<Test>,
}

/// One request, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make tests of other formats"
)]
pub struct Test {
    /// What is shown.
    pub name: String,
    /// The object of the request. A `DELETE` has none.
    #[serde(default)]
    pub object: Option<Subject>,
    /// The object that the cluster has before.
    #[serde(default)]
    pub old_object: Option<Subject>,
    /// By default `UPDATE` if there is an old object, `DELETE` if there is nothing else, and `CREATE` otherwise.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// The subresource, such as `status`.
    #[serde(default)]
    pub subresource: String,
    /// Who asks. The default is an administrator.
    #[serde(default)]
    pub user: Option<User>,
    /// The labels of the object's namespace.
    #[serde(default)]
    pub namespace_labels: BTreeMap<String, String>,
    /// What the cluster has in this test alone, such as params.
    #[serde(default)]
    pub objects: Vec<Subject>,
    /// Only this policy applies, and each of its bindings denies: a result of Kyverno's is of one policy.
    #[serde(skip)]
    pub only: Option<String>,
    /// What must come of it.
    pub expect: Expected,
}

/// An object: itself, or the file that has it, and, in a file with several, `KIND/NAME` behind a `#`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
#[expect(clippy::exhaustive_enums, reason = "it is in a file or in the test")]
pub enum Subject {
    /// A file, and which of its objects.
    File(String),
    /// The object.
    Inline(Value),
}

/// What a request does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
#[expect(
    clippy::exhaustive_enums,
    reason = "these are the operations that policies see"
)]
pub enum Operation {
    /// It creates the object.
    Create,
    /// It puts the object in place of the old one.
    Update,
    /// It deletes the old object.
    Delete,
}

/// Who asks.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make tests of other formats"
)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// What must come of a request. What is not named may be as it is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers make tests of other formats"
)]
pub struct Expected {
    /// Whether the request is allowed. It need not be said beside `denied` and `object`.
    #[serde(default)]
    pub allowed: Option<bool>,
    /// The request is denied, and the message contains this.
    #[serde(default)]
    pub denied: Option<String>,
    /// There is a warning that contains each of these; with an empty list, there is none.
    #[serde(default)]
    pub warnings: Option<Vec<String>>,
    /// The audit annotations, by the name of the policy, a slash and the key.
    #[serde(default)]
    pub audit_annotations: BTreeMap<String, String>,
    /// The changed object has these fields with these values.
    #[serde(default)]
    pub object: Option<Value>,
}

impl PolicyTest {
    pub(super) fn new(policies: Vec<PathBuf>, objects: Vec<PathBuf>, tests: Vec<Test>) -> Self {
        Self {
            path: PathBuf::new(),
            _api_version: String::new(),
            _kind: String::new(),
            _metadata: Value::Null,
            policies,
            definitions: Vec::new(),
            objects,
            tests,
        }
    }

    pub(super) fn from_object(object: Value) -> Result<Self, String> {
        let read: Self = serde_json::from_value(object).map_err(|error| error.to_string())?;
        for test in &read.tests {
            test.contradiction()
                .map_or(Ok(()), |why| Err(format!("test {:?}: {why}", test.name)))?;
        }
        Ok(read)
    }
}

impl Test {
    /// What the request does.
    #[must_use]
    pub fn operation(&self) -> Operation {
        let by_objects = match (&self.object, &self.old_object) {
            (Some(_), Some(_)) => Operation::Update,
            (None, Some(_)) => Operation::Delete,
            _ => Operation::Create,
        };
        self.operation.unwrap_or(by_objects)
    }

    /// Why the test cannot be run, or could not fail.
    fn contradiction(&self) -> Option<&'static str> {
        let expected = &self.expect;
        let operation = self.operation();
        if operation == Operation::Delete {
            if self.old_object.is_none() {
                return Some("a DELETE needs an oldObject");
            }
        } else if self.object.is_none() {
            return Some("a CREATE or UPDATE needs an object");
        }
        if operation == Operation::Update && self.old_object.is_none() {
            return Some("an UPDATE needs an oldObject");
        }
        if *expected == Expected::default() {
            return Some(
                "nothing is expected: say allowed, denied, warnings, auditAnnotations or object",
            );
        }
        let refused = expected.denied.is_some() || expected.allowed == Some(false);
        if refused && (expected.object.is_some() || expected.allowed == Some(true)) {
            return Some("what is denied is not allowed and changes no object");
        }
        None
    }
}

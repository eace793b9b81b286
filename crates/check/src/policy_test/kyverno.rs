//! Tests in the format of Kyverno's command, of the policies that Kubernetes has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::file::{Expected, PolicyTest, Subject, Test};
use crate::manifest;
use crate::source::Source;

/// Reads `kyverno-test.yaml`: each result becomes a test for each of its resources.
///
/// What passes, and what a policy skips, is allowed; what fails is denied.
pub(super) fn test(folder: &Path, object: &Value) -> Result<PolicyTest, String> {
    let paths = |field: &str| -> Vec<PathBuf> {
        let named = object.list(field).iter().filter_map(Value::as_str);
        named.map(PathBuf::from).collect()
    };
    let resources = objects(folder, &paths("resources"))?;
    let mut tests = Vec::new();
    for result in object.list("results") {
        let policy = result.text("policy");
        let names = result.list("resources").iter().filter_map(Value::as_str);
        let one = Some(result.text("resource")).filter(|name| !name.is_empty());
        for name in names.chain(one) {
            let resource = resources.iter().find(|one| is_named(one, result, name));
            let resource = resource
                .ok_or_else(|| format!("no {} {name} is in its resources", result.text("kind")))?;
            tests.push(Test {
                name: format!(
                    "{policy}: {} {name}: {}",
                    result.text("kind"),
                    result.text("result")
                ),
                object: Some(Subject::Inline(resource.clone())),
                old_object: None,
                operation: None,
                subresource: String::new(),
                user: None,
                namespace_labels: BTreeMap::new(),
                objects: Vec::new(),
                only: Some(policy.to_owned()),
                expect: expected(folder, result, resource)?,
            });
        }
    }
    Ok(PolicyTest::new(paths("policies"), Vec::new(), tests))
}

fn expected(folder: &Path, result: &Value, resource: &Value) -> Result<Expected, String> {
    let mut expected = Expected::default();
    match result.text("result") {
        "pass" | "skip" => expected.allowed = Some(true),
        "fail" => expected.allowed = Some(false),
        other => {
            return Err(format!(
                "the result {other:?} is neither pass, fail nor skip"
            ));
        }
    }
    let patched = ["patchedResources", "patchedResource"].map(|field| result.text(field));
    if let Some(file) = patched.into_iter().find(|file| !file.is_empty()) {
        let changed = objects(folder, &[PathBuf::from(file)])?;
        let name = meta_text(resource, "name");
        let changed = changed.into_iter().find(|one| {
            meta_text(one, "name") == name && one.text("kind") == resource.text("kind")
        });
        expected.object = changed;
    }
    Ok(expected)
}

fn is_named(object: &Value, result: &Value, name: &str) -> bool {
    let namespace = meta_text(object, "namespace");
    let (of, name) = name
        .split_once('/')
        .unwrap_or((result.text("namespace"), name));
    let kind = result.text("kind");
    meta_text(object, "name") == name
        && (of.is_empty() || of == namespace)
        && (kind.is_empty() || kind == object.text("kind"))
}

/// The objects of some files.
fn objects(folder: &Path, files: &[PathBuf]) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for file in files {
        let source = Source::read(&folder.join(file))
            .map_err(|unreadable| format!("cannot read {}: {}", unreadable.name, unreadable.why))?;
        let (manifests, others) = manifest::read(0, &source);
        if let Some(other) = others.first() {
            return Err(format!("{}: {}", source.name, other.why));
        }
        all.extend(manifests.into_iter().map(|manifest| manifest.object));
    }
    Ok(all)
}

//! Validation, each expectation from the spec or from Kubernetes' own sources.

mod mutating_policies;
mod other_kinds;
mod pods;
mod policy_bindings;
mod samples;
mod validating_policies;
mod webhooks;
mod workloads;

use serde_json::{Value, json};

use crate::testing::{prepare_for_create, resource};
use kubewright_apimachinery::field::FieldError;

/// A JSON pointer, the value to set there, and the errors.
type Row = (&'static str, Value, &'static [&'static str]);

/// A sample after defaults and preparation: what validation sees.
fn ready(group: &str, version: &str, kind: &str, mut object: Value) -> Value {
    let resource = resource(group, version, kind);
    if let Value::Object(metadata) = &mut object["metadata"] {
        metadata.entry("uid").or_insert_with(|| "u".into());
        if resource.namespaced {
            metadata
                .entry("namespace")
                .or_insert_with(|| "default".into());
        }
    }
    resource.default(&mut object);
    prepare_for_create(&resource, &mut object);
    resource.strategy.read_back(&mut object);
    object
}

/// The errors of a sample with one value changed; null takes the field away.
fn created(sample: &samples::Sample, pointer: &str, value: Value) -> Vec<String> {
    let (group, version, kind, object) = sample;
    let object = ready(group, version, kind, changed(object, pointer, value));
    messages(&resource(group, version, kind).validate(&object).errors)
}

/// The errors of updating a sample by one changed value.
fn updated(sample: &samples::Sample, pointer: &str, value: Value) -> Vec<String> {
    let (group, version, kind, object) = sample;
    let resource = resource(group, version, kind);
    let old = ready(group, version, kind, object.clone());
    let mut new = changed(&old, pointer, value);
    resource.default(&mut new);
    resource.prepare_for_update("", &mut new, &old);
    messages(&resource.validate_update("", &new, &old).errors)
}

fn changed(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let mut at = &mut object;
    for part in parent.split('/').skip(1) {
        let part = part.replace("~1", "/");
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part.as_str()],
        };
    }
    let field = field.replace("~1", "/");
    match (at, field.parse::<usize>()) {
        (Value::Array(items), Ok(index)) if index == items.len() => items.push(value),
        (at, Ok(index)) => at[index] = value,
        (Value::Object(map), _) if value.is_null() => {
            map.remove(&field);
        }
        (at, _) => at[field.as_str()] = value,
    }
    object
}

fn messages(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn correct_objects_are_accepted_and_stay_so() {
    for (group, version, kind, object) in samples::all() {
        let resource = resource(group, version, kind);
        let object = ready(group, version, kind, object);
        assert_eq!(
            messages(&resource.validate(&object).errors),
            [""; 0],
            "{kind}"
        );
        let mut again = object.clone();
        resource.default(&mut again);
        assert_eq!(again, object, "{kind}");
        resource.prepare_for_update("", &mut again, &object);
        assert_eq!(
            messages(&resource.validate_update("", &again, &object).errors),
            [""; 0],
            "{kind}"
        );
        assert_eq!(
            again["metadata"]["generation"], object["metadata"]["generation"],
            "{kind}"
        );
    }
}

#[test]
fn metadata_is_held_to_the_rules_of_all_objects() {
    let map = samples::config_map();
    let label_rule = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
         an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let subdomain_rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
         '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let owner =
        json!({ "apiVersion": "v1", "kind": "A", "name": "x", "uid": "1", "controller": true });
    let second =
        json!({ "apiVersion": "v1", "kind": "B", "name": "y", "uid": "2", "controller": true });
    let both = json!([owner, second]);
    let shown = r#"[{"apiVersion":"v1","kind":"A","name":"x","uid":"1","controller":true},{"apiVersion":"v1","kind":"B","name":"y","uid":"2","controller":true}]"#;
    for (pointer, value, expected) in [
        ("/metadata/name", json!("A_b"), format!("metadata.name: Invalid value: \"A_b\": {subdomain_rule}")),
        ("/metadata/name", Value::Null, "metadata.name: Required value: name or generateName is required".into()),
        ("/metadata/labels", json!({ "a b": "c" }), format!("metadata.labels: Invalid value: \"a b\": {label_rule}")),
        ("/metadata/annotations", json!({ "a": "x".repeat(256 * 1024) }),
            "metadata.annotations: Too long: may not be more than 262144 bytes".into()),
        ("/metadata/ownerReferences", json!([{ "apiVersion": "v1", "kind": "A", "name": "x" }]),
            "metadata.ownerReferences[0].uid: Required value: must not be empty".into()),
        ("/metadata/ownerReferences", both, format!("metadata.ownerReferences: Invalid value: {shown}: \
            Only one reference can have Controller set to true. Found \"true\" in references for A/x and B/y")),
        ("/metadata/finalizers", json!(["orphan", "foregroundDeletion"]),
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set".into()),
        ("/metadata/finalizers", json!(["mine"]),
            "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully qualified".into()),
        ("/metadata/generation", json!(-1),
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0".into()),
    ] {
        assert_eq!(created(&map, pointer, value), [expected], "{pointer}");
    }
}

#[test]
fn prefixes_of_generated_names_may_end_with_a_dash() {
    let object = json!({ "metadata": { "name": "web-x", "generateName": "web-" } });
    let sample = ("", "v1", "ConfigMap", object);
    assert_eq!(created(&sample, "/data", Value::Null), [""; 0]);
}

#[test]
fn names_follow_the_rule_of_their_kind() {
    let problem = |group: &'static str, kind: &'static str, name: &str| {
        let object = json!({ "metadata": { "name": name, "namespace": "n" } });
        let errors = resource(group, "v1", kind).validate(&object).errors;
        errors
            .into_iter()
            .any(|error| error.field() == "metadata.name")
    };
    for (group, kind, good, bad) in [
        ("", "Namespace", "a-b", "a.b"),
        ("", "Service", "1a", "a.b"),
        ("", "Pod", "a.b", "A"),
        ("rbac.authorization.k8s.io", "Role", "system:A_b", "a/b"),
        (
            "rbac.authorization.k8s.io",
            "ClusterRoleBinding",
            "x:y",
            "a%b",
        ),
        ("apps", "Deployment", "a.b", "a_b"),
    ] {
        assert!(!problem(group, kind, good), "{kind} {good}");
        assert!(problem(group, kind, bad), "{kind} {bad}");
    }
    assert!(problem("batch", "CronJob", &"a".repeat(53)));
    assert!(!problem("batch", "CronJob", &"a".repeat(52)));
}

#[test]
fn an_update_cannot_change_who_an_object_is() {
    let map = samples::config_map();
    // Found for all kinds and for the kind, and reported once.
    let uid = "metadata.uid: Invalid value: \"other\": field is immutable";
    assert_eq!(updated(&map, "/metadata/uid", json!("other")), [uid]);
    let (group, version, kind, object) = samples::config_map();
    let resource = resource(group, version, kind);
    let mut old = ready(group, version, kind, object);
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let new = changed(&old, "/metadata/finalizers", json!(["a/b"]));
    let added = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"a/b\"}";
    assert_eq!(
        messages(&resource.validate_update("", &new, &old).errors),
        [added]
    );
}

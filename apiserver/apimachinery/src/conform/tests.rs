//! Objects against what Go's decoder and encoder make of them.

pub(crate) mod recorded;

use proptest::prelude::*;
use serde_json::json;

use super::walk::MAX_DEPTH;
use super::*;
use crate::fuzzer;

pub(crate) fn kind_of(object: &Value) -> GroupVersionKind {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    GroupVersionKind::from_api_version_and_kind(word("apiVersion"), word("kind"))
}

/// A kind of whole objects.
fn any_kind(seed: u64) -> &'static GroupVersionKind {
    let is_object = |ty: &types::TypeRef| {
        let metadata = ty.field("metadata").and_then(|field| field.slot().object());
        metadata.is_some_and(|metadata| metadata.short_name() == "ObjectMeta")
    };
    let kinds: Vec<_> = types::all()
        .filter(is_object)
        .filter_map(types::TypeRef::kind)
        .collect();
    assert!(kinds.len() > 90, "{}", kinds.len());
    kinds[usize::try_from(seed % kinds.len() as u64).unwrap()]
}

/// A random object of a random kind.
pub(crate) fn any_object(seed: u64) -> (GroupVersionKind, Value) {
    let kind = any_kind(seed);
    (kind.clone(), fuzzer::object(kind, seed).unwrap())
}

fn conformed(mut object: Value) -> (Value, Vec<String>) {
    let kind = kind_of(&object);
    let unknown = conform(&kind, &mut object).unwrap().unknown;
    write_empties(&kind, &mut object, Medium::Storage);
    (object, unknown)
}

fn unknown(kind: &GroupVersionKind, object: &mut Value) -> Result<Vec<String>, String> {
    conform(kind, object).map(|conformed| conformed.unknown)
}

fn error(mut object: Value) -> String {
    conform(&kind_of(&object), &mut object).unwrap_err()
}

/// A time with a time zone is not Go's zero value.
#[test]
fn the_zero_time_of_an_event_is_told_from_none_until_it_is_written() {
    let zero = "0001-01-01T00:00:00.0Z";
    let mut event =
        json!({"apiVersion": "v1", "kind": "Event", "firstTimestamp": zero, "lastTimestamp": null});
    let kind = kind_of(&event);
    assert!(conform(&kind, &mut event).unwrap().empties);
    let times = |event: &Value| {
        [
            event["firstTimestamp"].clone(),
            event["lastTimestamp"].clone(),
        ]
    };
    assert_eq!(times(&event), [json!("0001-01-01T00:00:00Z"), Value::Null]);
    write_empties(&kind, &mut event, Medium::Json);
    assert_eq!(times(&event), [Value::Null, Value::Null]);
}

#[test]
fn recorded_objects_become_what_go_makes_of_them() {
    for case in recorded::all() {
        let mut object = case.input.clone();
        let result = conform(&kind_of(&object), &mut object);
        if let Some(expected) = &case.error {
            assert_eq!(result.as_ref().unwrap_err(), expected, "{}", case.input);
            continue;
        }
        write_empties(&kind_of(&case.input), &mut object, Medium::Storage);
        let unknown: Vec<String> = result
            .unwrap()
            .unknown
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect();
        assert_eq!(unknown, case.strict, "{}", case.input);
        assert_eq!(object, case.output, "{}", case.input);
    }
}

#[test]
fn of_several_faults_the_first_one_in_the_text_is_told_unless_one_ends_the_decoder() {
    let kind = GroupVersionKind {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
    };
    for (text, first) in [
        (
            r#"{"spec":{"replicas":"x","paused":"y"},"metadata":{"name":5}}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c"},{"ports":[{"containerPort":"x"}],"image":5}]}}}}"#,
            "json: cannot unmarshal string into Go struct field ContainerPort.spec.template.spec.containers.ports.containerPort of type int32",
        ),
        (
            r#"{"spec":{"replicas":"x","selector":{"matchLabels":{"a":5}}},"metadata":{"creationTimestamp":"soon"}}"#,
            r#"parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006""#,
        ),
        (
            r#"{"metadata":{"labels":{"z":1,"a":true}},"spec":{"paused":"y"}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
    ] {
        let mut value = crate::json::parse(text.as_bytes()).unwrap().value;
        let paths = crate::json::order::paths(text.as_bytes());
        assert_eq!(
            first_fault(&kind, &mut value, &paths).as_deref(),
            Some(first)
        );
    }
    let mut sound = json!({"spec": {"replicas": 1}});
    assert_eq!(first_fault(&kind, &mut sound, &[]), None);
}

#[test]
fn what_the_server_always_shows_is_there_and_what_is_empty_is_not() {
    let (object, unknown) = conformed(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "creationTimestamp": null, "labels": {}, "annotations": null},
        "spec": {
            "paused": false,
            "minReadySeconds": 0,
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}, "matchExpressions": []},
            "template": {"spec": {"containers": [{"name": "c", "image": "", "args": [], "env": null}]}},
        },
    }));
    assert!(unknown.is_empty());
    assert_eq!(
        object,
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
            },
            "status": {},
        })
    );
}

#[test]
fn lists_that_are_always_written_are_null_when_nothing_is_in_them() {
    let role = |rules: Value| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules});
    assert_eq!(conformed(role(json!([]))).0, role(Value::Null));
    let (absent, _) = conformed(
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}}),
    );
    assert_eq!(absent, role(Value::Null));
}

#[test]
fn an_empty_list_stays_in_memory_and_goes_where_it_is_written() {
    let autoscaler = |spec: Value| json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": spec});
    let in_memory = |mut object: Value| {
        let conformed = conform(&kind_of(&object), &mut object).unwrap();
        (object, conformed.empties)
    };
    let written = |object: &Value, medium| {
        let mut object = object.clone();
        write_empties(&kind_of(&object), &mut object, medium);
        object
    };
    let (some, empties) = in_memory(autoscaler(
        json!({"metrics": [], "behavior": {"scaleUp": {"policies": []}}}),
    ));
    assert!(empties);
    assert_eq!(some["spec"]["metrics"], json!([]));
    assert_eq!(some["spec"]["behavior"]["scaleUp"], json!({"policies": []}));
    let (none, empties) = in_memory(autoscaler(json!({"behavior": {"scaleUp": {}}})));
    assert!(!empties);
    assert_eq!(written(&some, Medium::Json), none);
    assert_eq!(written(&some, Medium::Storage), none);

    let (role, empties) = in_memory(
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a", "labels": {}}, "rules": []}),
    );
    assert!(empties);
    let json = written(&role, Medium::Json);
    assert_eq!(
        (&json["metadata"], &json["rules"]),
        (&json!({"name": "a"}), &json!([]))
    );
    assert_eq!(written(&role, Medium::Storage)["rules"], Value::Null);
}

#[test]
fn unknown_fields_are_named_with_their_place_and_dropped() {
    let (object, unknown) = conformed(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"Name": "x", "name": "a"},
        "spec": {
            "containers": [{"name": "c"}, {"name": "d", "bar": 1, "resources": {"limits": {"cpu": 1}, "x": {}}}],
            "foo": {"deep": true},
        },
        "zzz": 1,
    }));
    assert_eq!(
        unknown,
        [
            "metadata.Name",
            "spec.containers[1].bar",
            "spec.containers[1].resources.x",
            "spec.foo",
            "zzz",
        ]
    );
    assert_eq!(object["spec"]["foo"], Value::Null);
    assert_eq!(
        object["spec"]["containers"][1]["resources"],
        json!({"limits": {"cpu": "1"}})
    );
}

#[test]
fn values_of_a_wrong_type_are_refused_in_the_words_of_go() {
    let deployment =
        |spec: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
    let pod = |container: Value| json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}});
    let cases = [
        (
            deployment(json!({"replicas": "3"})),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment(json!({"replicas": 3_000_000_000_i64})),
            "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment(json!([])),
            "json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec",
        ),
        (
            pod(json!({"imagePullPolicy": 1})),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            pod(json!({"args": "-v"})),
            "json: cannot unmarshal string into Go struct field Container.spec.containers.args of type []string",
        ),
        (
            pod(json!({"resources": {"limits": {"cpu": "lots"}}})),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}}),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "not base64"}}),
            "illegal base64 data at input byte 3",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"targetPort": true}]}}),
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(error(object), expected);
    }
}

#[test]
fn the_first_wrong_value_is_reported_unless_a_later_one_ends_the_decoding() {
    let both = json!({"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": "x"}}, "metadata": {"name": 1}});
    assert!(error(both).starts_with("quantities must match"));
    let both = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}, "immutable": 2});
    assert!(error(both).contains("ConfigMap.data"));
}

#[test]
fn a_kind_that_is_not_known_is_left_alone() {
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "spec": {"a": null}});
    let before = object.clone();
    let conformed = conform(&kind_of(&before), &mut object);
    assert_eq!(conformed, Ok(Conformed::default()));
    assert_eq!(object, before);
}

#[test]
fn deep_schemas_end_without_overflowing_the_stack() {
    let mut schema = json!({});
    for _ in 0..2 * MAX_DEPTH {
        schema = json!({"properties": {"a": schema}});
    }
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    });
    assert_eq!(error(definition), "exceeded max depth");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn conforming_twice_changes_nothing_more(seed: u64) {
        let (kind, mut object) = any_object(seed);
        conform(&kind, &mut object).unwrap();
        let once = object.clone();
        prop_assert_eq!(unknown(&kind, &mut object), Ok(Vec::new()));
        prop_assert_eq!(object, once);
    }

    #[test]
    fn what_has_changed_conforms_as_if_all_of_it_had(one: u64, other: u64, way: u64) {
        let (kind, mut object) = any_object(one);
        conform(&kind, &mut object).unwrap();
        let from = fuzzer::object(&kind, other).unwrap();
        let path = change(&mut object, &from, way);
        let mut changes = Changes::default();
        changes.add(path);
        let mut whole = object.clone();
        let result = unknown(&kind, &mut whole);
        let changed = conform_changes(&kind, &mut object, &changes);
        prop_assert_eq!(changed.map(|conformed| conformed.unknown), result);
        prop_assert_eq!(object, whole);
    }

    #[test]
    fn any_value_is_conformed_or_refused(seed: u64) {
        let kind = any_kind(seed);
        let mut object = fuzzer::object_with_mistakes(kind, seed).unwrap();
        let _ = conform(kind, &mut object);
    }

    #[test]
    fn the_types_of_k8s_openapi_agree(seed: u64) {
        type_agrees::<k8s_openapi::api::core::v1::Pod>(seed)?;
        type_agrees::<k8s_openapi::api::core::v1::Service>(seed)?;
        type_agrees::<k8s_openapi::api::apps::v1::Deployment>(seed)?;
        type_agrees::<k8s_openapi::api::batch::v1::CronJob>(seed)?;
        type_agrees::<k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler>(seed)?;
    }
}

/// Makes one member of an object, somewhere on a random way down, what it is in another object of the kind.
fn change(mut object: &mut Value, mut from: &Value, mut way: u64) -> Vec<String> {
    let mut path = Vec::new();
    loop {
        let (Value::Object(members), Value::Object(others)) = (&mut *object, from) else {
            return path;
        };
        let names: std::collections::BTreeSet<_> = members.keys().chain(others.keys()).collect();
        let Some(name) = names.into_iter().nth((way % 7) as usize).cloned() else {
            return path;
        };
        way /= 7;
        path.push(name.clone());
        match (members.contains_key(&name), others.get(&name)) {
            (true, Some(other)) if !way.is_multiple_of(5) => {
                from = other;
                object = members.get_mut(&name).unwrap();
            }
            (_, Some(other)) => {
                members.insert(name, other.clone());
                return path;
            }
            (_, None) => {
                members.remove(&name);
                return path;
            }
        }
    }
}

/// What the type writes, which always has the fields that the schema requires, conforms, and once conformed it stays.
fn type_agrees<K>(seed: u64) -> Result<(), TestCaseError>
where
    K: k8s_openapi::Resource + serde::Serialize + serde::de::DeserializeOwned,
{
    let kind = GroupVersionKind {
        group: K::GROUP.into(),
        version: K::VERSION.into(),
        kind: K::KIND.into(),
    };
    let through_the_type = |object: &Value| -> Result<Value, TestCaseError> {
        let typed = K::deserialize(object)
            .map_err(|error| TestCaseError::fail(format!("{error}: {object}")))?;
        let mut object = serde_json::to_value(typed).unwrap();
        let conformed = unknown(&kind, &mut object);
        // The types write an empty string for a quantity that is required and missing, which is no quantity.
        prop_assume!(!matches!(&conformed, Err(why) if why.starts_with("quantities must match")));
        prop_assert_eq!(conformed, Ok(Vec::new()));
        Ok(object)
    };
    let mut object = fuzzer::object(&kind, seed).unwrap();
    conform(&kind, &mut object).unwrap();
    let once = through_the_type(&object)?;
    prop_assert_eq!(through_the_type(&once)?, once);
    Ok(())
}

//! Who owns what after creates, updates and applies.

use std::sync::Arc;

use kubewright_apimachinery::conform;
use kubewright_apimachinery::fuzzer;
use kubewright_apimachinery::json::ordered;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::Resource;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ApplyError, Tracked, apply, check, create, empty, update};

const NOW: &str = "2030-01-01T00:00:00Z";

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}

struct Api(GroupVersionKind);

impl Api {
    fn config_maps() -> Self {
        Self(kind("", "v1", "ConfigMap"))
    }

    fn deployments() -> Self {
        Self(kind("apps", "v1", "Deployment"))
    }

    fn with<T>(&self, act: impl FnOnce(&Tracked<'_>) -> T) -> T {
        let registry = kubewright_apiextensions::builtin::registry();
        let resource = registry.by_kind(&self.0).unwrap();
        act(&Tracked {
            versions: &super::Versions::default(),
            resource: &resource,
            kind: &self.0,
            subresource: "",
            registry,
            now: NOW,
        })
    }

    fn object(&self, of: &Value) -> Value {
        let mut object = of.clone();
        object["apiVersion"] = self.0.api_version().into();
        object["kind"] = self.0.kind.as_str().into();
        object
    }

    fn stored(&self, of: &Value) -> Value {
        let mut object = self.object(of);
        conform::conform(&self.0, &mut object).unwrap();
        object
    }

    fn created(&self, of: &Value, manager: &str) -> Value {
        let mut object = self.stored(of);
        self.with(|tracked| update(tracked, &empty(&self.0), &mut object, false, manager));
        object["metadata"]["uid"] = "u".into();
        object
    }

    fn updated(&self, live: &Value, of: &Value, manager: &str) -> Value {
        let mut object = self.stored(of);
        object["metadata"]["uid"] = "u".into();
        self.with(|tracked| update(tracked, live, &mut object, false, manager));
        object
    }

    fn apply(
        &self,
        live: &Value,
        of: &Value,
        manager: &str,
        force: bool,
    ) -> Result<Value, ApplyError> {
        let applied = self.object(of);
        let mut object = self
            .with(|tracked| apply(tracked, live, &applied, manager, force))?
            .object;
        conform::conform(&self.0, &mut object).unwrap();
        Ok(object)
    }

    fn applied(&self, live: &Value, of: &Value, manager: &str) -> Value {
        let mut object = self.apply(live, of, manager, false).unwrap();
        object["metadata"]["uid"] = "u".into();
        object
    }
}

/// Manager and operation of each entry, with its fields.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .map(|entry| {
            let name = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let who = format!("{} {}", name("manager"), name("operation"));
            (who, entry["fieldsV1"].clone())
        })
        .collect()
}

fn message(error: ApplyError) -> String {
    error.into_status().message().to_owned()
}

/// Returns the `managedFields` of a new object from both functions: the comparison with an empty object, and [`create`].
fn managed_fields_of_new(object: &Value, empties: bool) -> [String; 2] {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    let kind = GroupVersionKind::from_api_version_and_kind(word("apiVersion"), word("kind"));
    let resource = kubewright_apiextensions::builtin::with_all_versions()
        .by_kind(&kind)
        .unwrap();
    let tracked = Tracked {
        versions: &super::Versions::default(),
        resource: &resource,
        kind: &kind,
        subresource: "",
        registry: kubewright_apiextensions::builtin::with_all_versions(),
        now: NOW,
    };
    let written = create(&tracked, &empty(&kind), object, empties, "m");
    let written = written.unwrap_or_else(|| super::NewManagedFields::of(&Value::Null));
    let mut object = object.clone();
    update(&tracked, &empty(&kind), &mut object, empties, "m");
    let mut shown = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {}});
    let mut beside = Vec::new();
    ordered::write_object(&mut beside, &shown, Some(written.json()));
    shown["metadata"]["managedFields"] = object["metadata"]["managedFields"].take();
    [ordered::text(&shown), beside].map(|text| String::from_utf8(text).unwrap())
}

/// A random object of a random resource that is served in some version.
fn random_object(seed: u64) -> (Arc<Resource>, Value) {
    let resources: Vec<_> = kubewright_apiextensions::builtin::with_all_versions()
        .all()
        .collect();
    let resource = resources[usize::try_from(seed % resources.len() as u64).unwrap()];
    let object = fuzzer::object(&resource.group_version_kind(), seed).unwrap();
    (resource.clone(), object)
}

proptest! {
    #[test]
    fn the_owners_of_a_new_object_are_those_that_a_comparison_with_nothing_finds(seed in any::<u64>()) {
        let (resource, mut object) = random_object(seed);
        let kind = resource.group_version_kind();
        // What may lack the keys of its items is always compared, as it may have no owners at all.
        prop_assume!(!super::may_not_fit(&resource));
        let conformed = conform::conform(&kind, &mut object).unwrap();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            metadata.remove("uid");
        }
        let [compared, written] = managed_fields_of_new(&object, conformed.empties);
        prop_assert_eq!(written, compared);
    }
}

#[test]
fn items_whose_keys_are_numbers_stand_in_the_order_of_their_text() {
    let ports = [443, 80, 8080].map(|port| json!({"containerPort": port}));
    let annotations = json!({"a\"b": "1", "é": "2"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations, "finalizers": ["b/b", "a/a"]},
        "spec": {"containers": [{"name": "c", "ports": ports}, {"name": "d"}, {"name": "d"}]},
        "status": {"phase": "Running"}
    });
    let [compared, written] = managed_fields_of_new(&pod, false);
    assert_eq!(written, compared);
    assert!(written.contains(r#""k:{\"containerPort\":443"#) && !written.contains("phase"));
}

#[test]
fn a_create_owns_all_that_it_says() {
    let api = Api::config_maps();
    let object = api.created(
        &json!({"metadata": {"name": "a", "labels": {"app": "web"}}, "data": {"k": "v"}}),
        "kubectl-create",
    );
    let fields = json!({
        "f:data": {".": {}, "f:k": {}},
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    });
    assert_eq!(
        owners(&object),
        [("kubectl-create Update".to_owned(), fields)]
    );
    let entry = &object["metadata"]["managedFields"][0];
    assert_eq!(entry["time"], NOW);
    assert_eq!(entry["fieldsType"], "FieldsV1");
    assert_eq!(entry["apiVersion"], "v1");
}

#[test]
fn list_items_are_known_by_their_keys() {
    let api = Api::deployments();
    let object = api.created(
        &json!({
            "metadata": {"name": "a"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"spec": {"containers": [
                    {"name": "c", "image": "i", "ports": [{"containerPort": 80}]},
                ]}},
            },
        }),
        "m",
    );
    let fields = &owners(&object)[0].1["f:spec"];
    // A selector is owned as a whole.
    assert_eq!(fields["f:selector"], json!({}));
    let container = &fields["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"];
    assert_eq!(
        *container,
        json!({
            ".": {}, "f:image": {}, "f:name": {}, "f:resources": {},
            "f:ports": {
                ".": {},
                "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}},
            },
        })
    );
}

#[test]
fn an_update_takes_what_it_changes() {
    let api = Api::config_maps();
    let live = api.created(
        &json!({"metadata": {"name": "a"}, "data": {"k": "v", "l": "w"}}),
        "one",
    );
    let new = api.updated(
        &live,
        &json!({"metadata": {"name": "a"}, "data": {"k": "x", "m": "y"}}),
        "two",
    );
    assert_eq!(
        owners(&new),
        [
            ("one Update".to_owned(), json!({"f:data": {}})),
            (
                "two Update".to_owned(),
                json!({"f:data": {"f:k": {}, "f:m": {}}})
            ),
        ]
    );
}

#[test]
fn what_is_no_longer_applied_goes() {
    let api = Api::config_maps();
    let first = json!({"metadata": {"name": "a"}, "data": {"k": "v", "l": "w"}});
    let live = api.applied(&empty(&api.0), &first, "m");
    assert_eq!(
        owners(&live),
        [(
            "m Apply".to_owned(),
            json!({"f:data": {"f:k": {}, "f:l": {}}})
        )]
    );
    let live = api.applied(
        &live,
        &json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        "m",
    );
    assert_eq!(live["data"], json!({"k": "v"}));
    assert_eq!(
        owners(&live),
        [("m Apply".to_owned(), json!({"f:data": {"f:k": {}}}))]
    );
}

#[test]
fn what_another_manager_applies_too_stays() {
    let api = Api::config_maps();
    let both = json!({"metadata": {"name": "a"}, "data": {"k": "v", "l": "w"}});
    let live = api.applied(&empty(&api.0), &both, "m");
    let live = api.applied(
        &live,
        &json!({"metadata": {"name": "a"}, "data": {"l": "w"}}),
        "n",
    );
    let live = api.applied(
        &live,
        &json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        "m",
    );
    assert_eq!(live["data"], json!({"k": "v", "l": "w"}));
}

#[test]
fn another_value_for_an_owned_field_is_a_conflict() {
    let api = Api::deployments();
    let containers = |image: &str| {
        json!({
            "metadata": {"name": "a"},
            "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"spec": {"containers": [{"name": "c", "image": image}]}},
            },
        })
    };
    let live = api.created(&containers("i"), "kubectl-create");
    let wanted = json!({
        "metadata": {"name": "a"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}},
    });
    let refused = api.apply(&live, &wanted, "m", false).unwrap_err();
    assert_eq!(
        message(refused),
        "Apply failed with 1 conflict: conflict with \"kubectl-create\" using apps/v1: \
         .spec.template.spec.containers[name=\"c\"].image"
    );
    let forced = api.apply(&live, &wanted, "m", true).unwrap();
    assert_eq!(
        forced["spec"]["template"]["spec"]["containers"][0]["image"],
        "j"
    );
    let managers: Vec<_> = owners(&forced).into_iter().map(|(who, _)| who).collect();
    assert_eq!(managers, ["m Apply", "kubectl-create Update"]);
}

#[test]
fn applying_the_same_again_changes_nothing() {
    let api = Api::config_maps();
    let wanted = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let live = api.applied(&empty(&api.0), &wanted, "m");
    assert_eq!(api.applied(&live, &wanted, "m"), live);
}

#[test]
fn what_was_there_before_the_first_apply_has_a_manager() {
    let api = Api::config_maps();
    let mut live = api.stored(&json!({"metadata": {"name": "a", "uid": "u"}, "data": {"k": "v"}}));
    live["metadata"]["uid"] = "u".into();
    let refused = api
        .apply(
            &live,
            &json!({"metadata": {"name": "a"}, "data": {"k": "w"}}),
            "m",
            false,
        )
        .unwrap_err();
    assert_eq!(
        message(refused),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.k"
    );
}

#[test]
fn what_is_no_object_of_the_kind_is_refused() {
    let api = Api::config_maps();
    let live = empty(&api.0);
    for (wanted, why) in [
        (
            json!({"metadata": {"name": "a"}, "data": {"k": 1}}),
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got \
             &value.valueUnstructured{Value:1}",
        ),
        (
            json!({"metadata": {"name": "a"}, "spec": {}}),
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .spec: field not declared in schema",
        ),
        (
            json!({"metadata": {"name": "a", "managedFields": []}}),
            "metadata.managedFields must be nil",
        ),
    ] {
        assert_eq!(
            message(api.apply(&live, &wanted, "m", false).unwrap_err()),
            why
        );
    }
}

#[test]
fn items_stand_in_the_order_of_what_is_applied() {
    let api = Api::deployments();
    let containers = |names: &[&str]| {
        let containers: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "image": "i"}))
            .collect();
        json!({"metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": containers}}}})
    };
    let live = api.created(&containers(&["a", "b", "c", "d"]), "one");
    let live = api.applied(&live, &containers(&["c", "x", "a"]), "m");
    let names: Vec<_> = live["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|container| container["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "c", "d", "x", "a"]);
}

#[test]
fn long_lists_are_merged_item_by_item() {
    const MANY: usize = 20_000;
    let api = Api::config_maps();
    let finalizers = |from: usize| {
        let names: Vec<_> = (from..from + MANY)
            .map(|at| format!("example.com/f{at}"))
            .collect();
        json!({"metadata": {"name": "a", "finalizers": names}})
    };
    let live = api.applied(&empty(&api.0), &finalizers(0), "one");
    let live = api.applied(&live, &finalizers(MANY / 2), "two");
    let merged = live["metadata"]["finalizers"].as_array().unwrap();
    assert_eq!(merged.len(), MANY + MANY / 2);
    assert_eq!(merged[MANY], format!("example.com/f{MANY}"));
}

#[test]
fn forgetting_is_an_empty_list() {
    let api = Api::config_maps();
    let live = api.created(
        &json!({"metadata": {"name": "a"}, "data": {"k": "v"}}),
        "one",
    );
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{}]);
    api.with(|tracked| update(tracked, &live, &mut new, false, "two"));
    assert_eq!(new["metadata"].get("managedFields"), None);
}

#[test]
fn the_oldest_updates_are_joined() {
    let api = Api::config_maps();
    let data = |count: usize| {
        let data: serde_json::Map<_, _> = (0..count)
            .map(|at| (format!("k{at}"), "v".into()))
            .collect();
        json!({"metadata": {"name": "a"}, "data": data})
    };
    let mut live = api.created(&data(1), "m00");
    for count in 2..13 {
        live = api.updated(&live, &data(count), &format!("m{:02}", count - 1));
    }
    let managers: Vec<_> = owners(&live).into_iter().map(|(who, _)| who).collect();
    assert_eq!(managers.len(), 10);
    assert_eq!(managers[0], "ancient-changes Update");
    assert_eq!(
        owners(&live)[0].1,
        json!({"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}})
    );
}

#[test]
fn invalid_entries_are_rejected_with_the_reason() {
    for (entries, why) in [
        (
            json!([{"operation": "Look"}]),
            "operation must be `Apply` or `Update`",
        ),
        (
            json!([{"operation": "Apply"}]),
            "apiVersion must not be empty",
        ),
        (
            json!([{"operation": "Apply", "apiVersion": "v1"}]),
            "missing fieldsType in managed fields entry 0",
        ),
        (
            json!([{"operation": "Apply", "apiVersion": "v1", "fieldsType": "X"}]),
            "invalid fieldsType \"X\" in managed fields entry 0",
        ),
    ] {
        assert_eq!(check(&entries).unwrap_err(), why);
    }
}

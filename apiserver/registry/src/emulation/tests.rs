//! What older versions serve, keep and refuse.

use kubewright_apimachinery::field::FieldError;
use kubewright_apimachinery::version::KubernetesVersion::{V1_35, V1_36, V1_37};
use serde_json::{Value, json};

use super::*;
use crate::registry::Versions;
use crate::strategy::Creation;
use crate::testing::registry;
use kubewright_apimachinery::user::User;

fn resource(version: KubernetesVersion, group: &str, plural: &str) -> Arc<Resource> {
    let registry = emulated(registry(Versions::Default), version);
    let group = registry.group(group).expect("a group").clone();
    let mut versions = group.versions.iter();
    let found = versions.find_map(|version| registry.find(&group.name, &version.version, plural));
    found.expect("a resource")
}

fn created(resource: &Resource, mut object: Value) -> Value {
    resource.default(&mut object);
    let user = User::default();
    let mut creation = Creation {
        user: &user,
        warnings: Vec::new(),
    };
    resource
        .strategy
        .prepare_for_create(&mut object, &mut creation);
    object
}

#[test]
fn a_version_serves_what_it_had() {
    let newest = registry(Versions::Default);
    let names = |version| {
        let older = emulated(newest, version);
        let gone = newest.all().filter(|resource| {
            older
                .find(&resource.group, &resource.version, &resource.plural)
                .is_none()
        });
        gone.map(|resource| resource.plural.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(V1_37), [""; 0]);
    let mut of_1_37 = names(V1_36);
    of_1_37.sort();
    assert_eq!(
        of_1_37,
        [
            "clustertrustbundles",
            "devicetaintrules",
            "podcertificaterequests",
            "storageversionmigrations"
        ]
    );
    assert_eq!(names(V1_35).len(), 6);
    assert!(
        emulated(newest, V1_36)
            .group("storagemigration.k8s.io")
            .is_none()
    );
}

#[test]
fn every_gate_is_of_a_kind_and_of_fields_that_it_has() {
    let newest = registry(Versions::All);
    let older = emulated(newest, V1_35);
    let changed = newest.all().filter(|resource| {
        let found = older.find(&resource.group, &resource.version, &resource.plural);
        found.is_some_and(|older| !Arc::ptr_eq(&older.strategy, &resource.strategy))
    });
    let kinds: std::collections::BTreeSet<_> = changed
        .map(|resource| (resource.group.as_str(), resource.kind.as_str()))
        .collect();
    for (group, kind) in gates::kinds() {
        assert!(kinds.contains(&(group, kind)), "{group}/{kind}");
    }
}

#[test]
fn a_field_that_came_later_is_dropped_unless_it_was_in_use() {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}},
        },
    });
    let most = |object: &Value| {
        object["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"].clone()
    };
    let newest = created(&resource(V1_37, "apps", "statefulsets"), set.clone());
    assert_eq!(most(&newest), 2);
    let older = resource(V1_36, "apps", "statefulsets");
    let dropped = created(&older, set.clone());
    assert_eq!(most(&dropped), Value::Null);
    let mut changed = newest.clone();
    changed["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(3);
    older.prepare_for_update("", &mut changed, &newest);
    assert_eq!(most(&changed), 3);
    let mut set_again = dropped.clone();
    set_again["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(3);
    older.prepare_for_update("", &mut set_again, &dropped);
    assert_eq!(set_again["spec"], dropped["spec"]);
    assert_eq!(
        set_again["metadata"]["generation"],
        dropped["metadata"]["generation"]
    );
}

#[test]
fn a_field_that_came_later_has_no_default() {
    let set = json!({"spec": {"template": {"spec": {"containers": []}}}});
    for (version, default) in [(V1_37, json!(1)), (V1_36, Value::Null)] {
        let mut object = set.clone();
        resource(version, "apps", "statefulsets").default(&mut object);
        let strategy = &object["spec"]["updateStrategy"]["rollingUpdate"];
        assert_eq!(strategy["maxUnavailable"], default);
        assert_eq!(strategy["partition"], 0);
    }
}

#[test]
fn volumes_of_pods_lose_what_came_later_in_each_kind() {
    let volumes = json!([{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}, {"secret": {"name": "s"}}]}}]);
    let pod = json!({"metadata": {"name": "p"}, "spec": {"volumes": volumes, "containers": []}});
    let dropped = created(&resource(V1_36, "", "pods"), pod);
    assert_eq!(
        dropped["spec"]["volumes"][0]["projected"]["sources"][0],
        json!({})
    );
    let job = json!({"metadata": {"name": "j"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": {"volumes": volumes, "containers": []}}}}}});
    let dropped = created(&resource(V1_36, "batch", "cronjobs"), job);
    let sources =
        dropped.pointer("/spec/jobTemplate/spec/template/spec/volumes/0/projected/sources");
    assert_eq!(sources.expect("sources")[0], json!({}));
}

#[test]
fn what_a_newer_version_allows_is_refused() {
    let service =
        json!({"metadata": {"name": "1a", "namespace": "n"}, "spec": {"ports": [{"port": 80}]}});
    let problems = |version, group, plural, object: &Value| {
        let resource = resource(version, group, plural);
        let mut object = object.clone();
        resource.default(&mut object);
        let found = resource.validate(&object).errors;
        found
            .iter()
            .map(|error| error.field().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!problems(V1_36, "", "services", &service).contains(&"metadata.name".to_owned()));
    assert!(problems(V1_35, "", "services", &service).contains(&"metadata.name".to_owned()));
    let scaler = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"minReplicas": 0, "maxReplicas": 2}});
    let at = "spec.minReplicas".to_owned();
    assert!(!problems(V1_37, "autoscaling", "horizontalpodautoscalers", &scaler).contains(&at));
    assert!(problems(V1_36, "autoscaling", "horizontalpodautoscalers", &scaler).contains(&at));
}

#[test]
fn configurations_of_webhooks_end_as_they_like_and_may_name_reviews() {
    let configuration = json!({
        "metadata": {"name": "a.static.k8s.io"},
        "webhooks": [{
            "name": "a.example.com",
            "rules": [{"operations": ["CREATE"], "apiGroups": ["authorization.k8s.io"], "apiVersions": ["v1"],
                "resources": ["subjectaccessreviews"]}],
        }],
    });
    let said = |version| {
        let group = "admissionregistration.k8s.io";
        let resource = resource(version, group, "validatingwebhookconfigurations");
        let errors = resource.validate(&configuration).errors;
        let is_of_name = |error: &&FieldError| error.field() == "metadata.name";
        let refused = errors.iter().filter(is_of_name).count();
        let warnings = resource.strategy.warnings(&configuration, &Value::Null);
        (refused, warnings.len())
    };
    assert_eq!(said(V1_37), (1, 2));
    // The name is warned of in each version.
    assert_eq!(said(V1_36), (0, 1));
}

#[test]
fn volumes_are_labelled_recursively_unless_they_were_not_before() {
    let pod = |policy: &str| {
        json!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"securityContext": {"seLinuxChangePolicy": policy}, "containers": []},
        })
    };
    let problems = |version, new: &Value, old: &Value| {
        let found = resource(version, "", "pods").validate_update("", new, old);
        let is_of_policy = |error: &&FieldError| error.field().ends_with("seLinuxChangePolicy");
        found.errors.iter().filter(is_of_policy).count()
    };
    let mounted = pod("MountOption");
    assert_eq!(problems(V1_37, &mounted, &json!({})), 0);
    assert_eq!(problems(V1_36, &mounted, &json!({})), 1);
    assert_eq!(problems(V1_36, &mounted, &mounted), 0);
    let unselected = json!({
        "metadata": {"name": "d", "namespace": "n"},
        "spec": {"selector": {"matchExpressions": [{}]}, "template": mounted},
    });
    let found = resource(V1_36, "apps", "deployments").validate(&unselected);
    let mut errors = found.errors.iter();
    assert!(!errors.any(|error| error.field().starts_with("spec.template")));
    let unnamed = resource(V1_36, "", "pods").validate(&pod("")).errors;
    let said: Vec<String> = unnamed.iter().map(ToString::to_string).collect();
    let wanted = "spec.securityContext.seLinuxChangePolicy: Unsupported value: \"\": supported values: \"Recursive\"";
    assert!(said.iter().any(|said| said == wanted), "{said:?}");
}

#[test]
fn the_rules_of_sidecars_are_refused_where_they_are_looked_at() {
    let pod = |rules: Value| {
        json!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {
                "dnsPolicy": "none",
                "containers": [{"name": "c", "image": "i"}],
                "initContainers": [
                    {"name": "a", "restartPolicy": "Always", "restartPolicyRules": rules, "readinessProbe": {"tcpSocket": {}}},
                    {"name": "b", "readinessProbe": {}},
                ],
            },
        })
    };
    let said = |version, rules: Value| -> Vec<String> {
        let found = resource(version, "", "pods").validate(&pod(rules)).errors;
        let fields = found.iter().map(|error| error.field().to_owned());
        let fields = fields.filter(|field| field.starts_with("spec.initContainers"));
        fields
            .filter(|field| {
                field.contains("restartPolicyRules") || field.contains("readinessProbe")
            })
            .collect()
    };
    let complete = json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]);
    for rules in [complete, json!([{}])] {
        assert_eq!(
            said(V1_35, rules),
            [
                "spec.initContainers[0].restartPolicyRules",
                "spec.initContainers[0].readinessProbe.tcpSocket.port",
                "spec.initContainers[1].readinessProbe",
            ]
        );
    }
    let found = said(V1_37, json!([{}]));
    assert!(
        found
            .iter()
            .any(|field| field.contains("restartPolicyRules[0]")),
        "{found:?}"
    );
}

#[test]
fn what_the_server_sets_later_stays_as_clients_send_it_until_then() {
    let scaler = json!({"metadata": {"name": "h", "generation": 7}, "spec": {"maxReplicas": 3}});
    let generation = |version, object: &Value| {
        let resource = resource(version, "autoscaling", "horizontalpodautoscalers");
        created(&resource, object.clone())["metadata"]["generation"].clone()
    };
    assert_eq!(generation(V1_37, &scaler), 1);
    assert_eq!(generation(V1_36, &scaler), 7);
    let silent = json!({"metadata": {"name": "h"}, "spec": {"maxReplicas": 3}});
    assert_eq!(generation(V1_36, &silent), Value::Null);
}

fn bodies(version: KubernetesVersion, group: &str, plural: &str, object: &Value) -> Vec<String> {
    let mut errors = resource(version, group, plural).validate(object).errors;
    FieldError::settle(&mut errors);
    errors.iter().map(|error| error.body().to_owned()).collect()
}

#[test]
fn handwritten_rules_say_it_where_declarations_do_not_yet() {
    let role = json!({
        "metadata": {"name": "r", "namespace": "n"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": []}],
    });
    let said = |version| bodies(version, "rbac.authorization.k8s.io", "roles", &role);
    assert_eq!(said(V1_36), ["Required value"]);
    assert_eq!(
        said(V1_35),
        ["Required value: verbs must contain at least one value"]
    );
}

#[test]
fn addresses_are_written_as_they_once_were() {
    let policy = |cidr: &str| {
        json!({
            "metadata": {"name": "p", "namespace": "n"},
            "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{"to": [{"ipBlock": {"cidr": cidr}}]}]},
        })
    };
    let said = |version, cidr: &str| {
        let found = bodies(
            version,
            "networking.k8s.io",
            "networkpolicies",
            &policy(cidr),
        );
        found.len()
    };
    for cidr in ["010.0.0.0/8", "10.0.0.1/8"] {
        assert_eq!((said(V1_36, cidr), said(V1_35, cidr)), (1, 0), "{cidr}");
    }
    assert_eq!(said(V1_35, "10.0.0.0/33"), 1);
}

#[test]
fn no_expression_asks_whether_a_device_is_shared() {
    let class = json!({
        "metadata": {"name": "c"},
        "spec": {"selectors": [{"cel": {"expression": "device.allowMultipleAllocations == true"}}]},
    });
    let said = |version| bodies(version, "resource.k8s.io", "deviceclasses", &class);
    assert_eq!(said(V1_36), [""; 0]);
    let [problem] = &said(V1_35)[..] else {
        panic!("one problem");
    };
    assert!(
        problem.contains("undefined field 'allowMultipleAllocations'"),
        "{problem}"
    );
    let older = resource(V1_35, "resource.k8s.io", "deviceclasses");
    let kept = older.validate_update("", &class, &class);
    assert!(kept.errors.is_empty(), "what was stored is taken again");
}

/// `PodLevelResourcesFixDefaulting`.
#[test]
fn resources_of_a_whole_pod_are_completed_before_admission_and_without_limits() {
    let limited = json!({ "limits": { "cpu": "2" } });
    let asked = |version, resources: Value| {
        let pods = resource(version, "", "pods");
        let mut pod = json!({ "metadata": { "name": "a" }, "spec": { "resources": resources,
            "containers": [{ "name": "a", "image": "a", "resources": limited }] } });
        pods.default(&mut pod);
        let by_default = pod["spec"]["resources"].clone();
        let stored = created(&pods, pod);
        (by_default, stored["spec"]["resources"].clone())
    };
    let requests = json!({ "requests": { "cpu": "3" } });
    let limits = json!({ "requests": { "cpu": "3" }, "limits": { "cpu": "3" } });
    assert_eq!(
        asked(V1_36, requests.clone()),
        (requests.clone(), requests.clone())
    );
    assert_eq!(asked(V1_37, requests.clone()), (requests, limits));
    let limits = json!({ "limits": { "cpu": "4" } });
    let both = json!({ "limits": { "cpu": "4" }, "requests": { "cpu": "2" } });
    assert_eq!(asked(V1_36, limits.clone()), (both.clone(), both.clone()));
    assert_eq!(asked(V1_37, limits.clone()), (limits, both));
}

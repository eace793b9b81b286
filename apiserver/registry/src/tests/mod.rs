//! Strategies, each expectation from the spec or from Kubernetes' documented behaviour.

mod validation;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::behavior::Propagation;
use crate::scale;
use crate::services::{Addresses as _, Pool, Refused, allocate, normalize_addresses};
use crate::testing::{prepare_for_create, resource};

fn created(group: &str, kind: &str, mut object: Value) -> Value {
    let resource = resource(group, "v1", kind);
    resource.default(&mut object);
    prepare_for_create(&resource, &mut object);
    object
}

fn updated(group: &str, kind: &str, subresource: &str, mut new: Value, old: &Value) -> Value {
    resource(group, "v1", kind).prepare_for_update(subresource, &mut new, old);
    new
}

#[test]
fn a_new_pod_is_pending_whatever_it_says() {
    let pod = created(
        "",
        "Pod",
        json!({ "spec": { "containers": [] }, "status": { "phase": "Running", "podIP": "1.2.3.4" } }),
    );
    assert_eq!(
        pod["status"],
        json!({ "phase": "Pending", "qosClass": "BestEffort" })
    );
    assert_eq!(pod["metadata"]["generation"], 1);
}

#[test]
fn the_quality_of_service_follows_requests_and_limits() {
    let class = |resources: Value| {
        let pod = json!({ "spec": { "containers": [{ "name": "c", "image": "a", "resources": resources }] } });
        created("", "Pod", pod)["status"]["qosClass"].clone()
    };
    for (resources, expected) in [
        (json!({}), "BestEffort"),
        (json!({ "requests": { "cpu": "1" } }), "Burstable"),
        (json!({ "limits": { "cpu": "1" } }), "Burstable"),
        (
            json!({ "limits": { "cpu": "1", "memory": "1Gi" } }),
            "Guaranteed",
        ),
        (
            json!({ "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "500m" } }),
            "Burstable",
        ),
        (
            json!({ "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "1000m", "memory": "1024Mi" } }),
            "Guaranteed",
        ),
        (
            json!({ "requests": { "ephemeral-storage": "1Gi" } }),
            "BestEffort",
        ),
    ] {
        assert_eq!(class(resources.clone()), expected, "{resources}");
    }
}

#[test]
fn limits_of_the_whole_pod_ask_for_what_its_containers_ask_for() {
    let pod = created(
        "",
        "Pod",
        json!({ "spec": { "resources": { "limits": { "cpu": "4", "memory": "4Gi" } }, "containers": [
            { "name": "a", "image": "a", "resources": { "requests": { "cpu": "500m" } } },
            { "name": "b", "image": "a", "resources": { "requests": { "cpu": "1" } } },
        ] } }),
    );
    assert_eq!(
        pod["spec"]["resources"]["requests"],
        json!({ "cpu": "1500m", "memory": "4Gi" })
    );
}

#[test]
fn the_main_path_keeps_the_status_and_the_status_path_keeps_the_rest() {
    let old = json!({ "metadata": { "name": "a", "generation": 3, "labels": { "a": "1" } },
        "spec": { "replicas": 1 }, "status": { "replicas": 1 } });
    let new = json!({ "metadata": { "name": "a", "generation": 9, "labels": { "a": "2" }, "annotations": { "b": "1" } },
        "spec": { "replicas": 2 }, "status": { "replicas": 2 } });
    let main = updated("apps", "ReplicaSet", "", new.clone(), &old);
    assert_eq!(main["spec"]["replicas"], 2);
    assert_eq!(main["status"]["replicas"], 1);
    assert_eq!(main["metadata"]["generation"], 4);
    let status = updated("apps", "ReplicaSet", "status", new.clone(), &old);
    assert_eq!(status["spec"]["replicas"], 1);
    assert_eq!(status["status"]["replicas"], 2);
    assert_eq!(status["metadata"]["generation"], 3);
    assert_eq!(status["metadata"]["labels"]["a"], "2");
    let deployment = updated("apps", "Deployment", "status", new, &old);
    assert_eq!(deployment["metadata"]["labels"]["a"], "1");
}

#[test]
fn generations_count_changes_of_what_the_kind_is_about() {
    let old = json!({ "metadata": { "generation": 1, "annotations": {} }, "spec": { "a": 1 } });
    let generation = |group: &str, kind: &str, new: Value| {
        updated(group, kind, "", new, &old)["metadata"]["generation"].clone()
    };
    let annotated = json!({ "metadata": { "annotations": { "x": "y" } }, "spec": { "a": 1 } });
    assert_eq!(generation("apps", "Deployment", annotated.clone()), 2);
    assert_eq!(generation("apps", "ReplicaSet", annotated.clone()), 1);
    let hooks = json!({ "metadata": {}, "spec": { "a": 1 }, "webhooks": [{}, { "name": "a" }] });
    let kind = "MutatingWebhookConfiguration";
    assert_eq!(generation("admissionregistration.k8s.io", kind, hooks), 2);
    assert_eq!(
        generation("admissionregistration.k8s.io", kind, annotated),
        1
    );
}

#[test]
fn a_generation_counts_what_go_takes_for_a_change() {
    let generation = |group: &str, kind: &str, old: Value, new: Value| {
        let old = json!({ "metadata": { "generation": 1 }, "spec": old });
        let new = json!({ "metadata": {}, "spec": new });
        updated(group, kind, "", new, &old)["metadata"]["generation"].clone()
    };
    let pod = |spec: Value| json!({ "replicas": 1, "template": { "spec": spec } });
    // Semantic equality takes an empty map or list for a missing one, and a pointer to an empty struct for a change.
    let empty = json!({ "nodeSelector": {}, "volumes": [], "hostname": null });
    assert_eq!(
        generation("apps", "ReplicaSet", pod(json!({})), pod(empty)),
        1
    );
    let pointer = json!({ "affinity": {} });
    assert_eq!(
        generation("apps", "ReplicaSet", pod(json!({})), pod(pointer)),
        2
    );
    // NetworkPolicies are compared without it.
    let (old, new) = (
        json!({ "ingress": [{}] }),
        json!({ "ingress": [{ "from": [] }] }),
    );
    assert_eq!(
        generation("networking.k8s.io", "NetworkPolicy", old, new),
        2
    );
}

#[test]
fn immutable_metadata_comes_from_the_stored_object() {
    let old = json!({ "metadata": { "uid": "u", "creationTimestamp": "t", "deletionTimestamp": "d",
        "deletionGracePeriodSeconds": 5 } });
    let new = json!({ "metadata": { "creationTimestamp": "other" } });
    let updated = updated("", "ConfigMap", "", new, &old);
    assert_eq!(updated["metadata"], old["metadata"]);
}

#[test]
fn a_namespace_has_its_finalizer_and_its_label() {
    let namespace = created("", "Namespace", json!({ "metadata": { "name": "blue" } }));
    assert_eq!(namespace["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(namespace["status"], json!({ "phase": "Active" }));
    let emptied = json!({ "metadata": { "name": "blue" }, "spec": { "finalizers": [] }, "status": { "phase": "x" } });
    let main = updated("", "Namespace", "", emptied.clone(), &namespace);
    assert_eq!(main["spec"]["finalizers"], json!(["kubernetes"]));
    let finalized = updated("", "Namespace", "finalize", emptied, &namespace);
    assert_eq!(finalized["spec"]["finalizers"], json!([]));
    assert_eq!(finalized["status"]["phase"], "Active");
}

#[test]
fn a_job_selects_its_own_pods() {
    let job = created(
        "batch",
        "Job",
        json!({ "metadata": { "name": "j", "uid": "u" }, "spec": { "template": { "spec": {} } } }),
    );
    assert_eq!(
        job["spec"]["selector"],
        json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } })
    );
    assert_eq!(
        job["spec"]["template"]["metadata"]["labels"],
        json!({ "job-name": "j", "batch.kubernetes.io/job-name": "j", "controller-uid": "u",
            "batch.kubernetes.io/controller-uid": "u" })
    );
}

#[test]
fn ephemeral_containers_change_nothing_else() {
    let old = json!({ "metadata": { "generation": 1, "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "a" }] } });
    let new = json!({ "metadata": { "labels": {} }, "spec": { "containers": [{ "name": "c", "image": "other" }],
        "ephemeralContainers": [{ "name": "debug" }] } });
    let updated = updated("", "Pod", "ephemeralcontainers", new, &old);
    assert_eq!(updated["spec"]["containers"][0]["image"], "a");
    assert_eq!(updated["spec"]["ephemeralContainers"][0]["name"], "debug");
    assert_eq!(updated["metadata"]["labels"], json!({ "a": "b" }));
    assert_eq!(updated["metadata"]["generation"], 2);
}

#[test]
fn a_resize_changes_resources_alone() {
    let old = json!({ "metadata": { "generation": 1 }, "spec": { "containers": [{ "name": "c", "image": "a" }] } });
    let resources = json!({ "requests": { "cpu": "2" } });
    let new = json!({ "metadata": {}, "spec": { "containers": [{ "name": "c", "image": "x", "resources": resources }] } });
    let updated = updated("", "Pod", "resize", new, &old);
    assert_eq!(updated["spec"]["containers"][0]["image"], "a");
    assert_eq!(updated["spec"]["containers"][0]["resources"], resources);
}

#[test]
fn pods_wait_for_their_grace_period_only_while_a_node_runs_them() {
    let pod = |node: &str, phase: &str| json!({ "spec": { "nodeName": node, "terminationGracePeriodSeconds": 30 }, "status": { "phase": phase } });
    let pods = resource("", "v1", "Pod");
    for (object, requested, expected) in [
        (pod("", "Pending"), None, Some(0)),
        (pod("", "Pending"), Some(10), Some(0)),
        (pod("n", "Running"), None, Some(30)),
        (pod("n", "Running"), Some(5), Some(5)),
        (pod("n", "Running"), Some(0), Some(0)),
        (pod("n", "Running"), Some(-1), Some(1)),
        (pod("n", "Succeeded"), None, Some(0)),
    ] {
        assert_eq!(
            pods.strategy.grace_period(&object, requested),
            expected,
            "{object} {requested:?}"
        );
    }
    assert_eq!(
        resource("", "v1", "ConfigMap")
            .strategy
            .grace_period(&json!({}), Some(5)),
        None
    );
}

#[test]
fn kinds_behave_as_the_spec_says() {
    let of = |group: &str, kind: &str| resource(group, "v1", kind).strategy.behavior();
    assert!(of("coordination.k8s.io", "Lease").create_on_update);
    assert!(!of("coordination.k8s.io", "Lease").unconditional_update);
    assert!(
        !of(
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration"
        )
        .unconditional_update
    );
    assert!(of("", "ConfigMap").unconditional_update);
    assert!(!of("", "ConfigMap").create_on_update);
    assert!(of("", "Event").create_on_update);
    assert!(of("", "Pod").returns_deleted);
    assert!(!of("", "ConfigMap").returns_deleted);
    assert_eq!(of("batch", "Job").propagation, Propagation::Orphan);
    assert_eq!(
        of("apps", "Deployment").propagation,
        Propagation::Background
    );
}

fn service(spec: &Value, pool: &mut Pool) -> Value {
    let mut service = created(
        "",
        "Service",
        json!({ "metadata": { "name": "s" }, "spec": spec }),
    );
    normalize_addresses(&mut service, None);
    assert_eq!(allocate(&mut service, None, pool), Ok(()));
    service
}

#[test]
fn services_get_addresses_and_ports() {
    let mut pool = Pool::new();
    let plain = service(&json!({ "ports": [{ "port": 80 }] }), &mut pool);
    let address = plain["spec"]["clusterIP"].as_str().unwrap();
    assert!(address.starts_with("10.0.0."), "{address}");
    assert_eq!(plain["spec"]["clusterIPs"], json!([address]));
    assert_eq!(plain["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(plain["spec"]["ipFamilyPolicy"], "SingleStack");
    let open = service(
        &json!({ "type": "NodePort", "ports": [{ "port": 80 }] }),
        &mut pool,
    );
    let port = open["spec"]["ports"][0]["nodePort"].as_i64().unwrap();
    assert!((30_000..=32_767).contains(&port));
    let headless = service(
        &json!({ "clusterIP": "None", "selector": { "a": "b" } }),
        &mut pool,
    );
    assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    let external = service(
        &json!({ "type": "ExternalName", "externalName": "a.b" }),
        &mut pool,
    );
    assert_eq!(external["spec"]["clusterIP"], Value::Null);
}

#[test]
fn those_who_name_no_address_or_port_get_the_low_ones_last() {
    let mut pool = Pool::new();
    let address = |pool: &mut Pool| pool.take_address(None).map(|address| address.octets()[3]);
    let high: BTreeSet<_> = (17..=254).map(|_| address(&mut pool).unwrap()).collect();
    assert_eq!(high, (17..=254).collect());
    let low: Vec<_> = (2..=16).map(|_| address(&mut pool).unwrap()).collect();
    assert_eq!(low, (2..=16).collect::<Vec<_>>());
    assert_eq!(address(&mut pool).unwrap_err(), "range is full");
    let high: BTreeSet<_> = (30_086..=32_767)
        .map(|_| pool.take_port(None).unwrap())
        .collect();
    assert_eq!(high, (30_086..=32_767).collect());
    assert_eq!(pool.take_port(None), Ok(30_000));
    pool.free_port(30_500);
    assert_eq!(pool.take_port(None), Ok(30_500));
}

#[test]
fn what_is_taken_cannot_be_taken_again() {
    let mut pool = Pool::new();
    let spec = json!({ "type": "NodePort", "clusterIP": "10.0.0.7", "ports": [{ "port": 80, "nodePort": 30080 }] });
    let first = service(&spec, &mut pool);
    let mut second = created(
        "",
        "Service",
        json!({ "metadata": { "name": "t" }, "spec": spec }),
    );
    normalize_addresses(&mut second, None);
    let refused = |service: &Value, pool: &Pool| match allocate(
        &mut service.clone(),
        None,
        &mut pool.clone(),
    ) {
        Err(Refused::Invalid(errors)) => errors[0].to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(&second, &pool),
        "spec.clusterIPs: Invalid value: [\"10.0.0.7\"]: failed to allocate IP 10.0.0.7: provided IP is already allocated",
    );
    let mut third = second.clone();
    third["spec"]["clusterIP"] = "10.0.0.8".into();
    third["spec"]["clusterIPs"] = json!(["10.0.0.8"]);
    assert_eq!(
        refused(&third, &pool),
        "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated",
    );
    pool.release(&first);
    assert_eq!(allocate(&mut second, None, &mut pool), Ok(()));
}

#[test]
fn ports_of_a_new_service_with_one_number_share_their_node_port() {
    let mut pool = Pool::new();
    let ports = json!([
        { "port": 53, "protocol": "TCP", "name": "a" }, { "port": 53, "protocol": "UDP", "name": "b", "nodePort": 30_053 },
        { "port": 53, "protocol": "SCTP", "name": "c", "nodePort": 30_054 },
    ]);
    let new = service(&json!({ "type": "NodePort", "ports": ports }), &mut pool);
    let of = |at: usize| new["spec"]["ports"][at]["nodePort"].as_i64();
    assert_eq!(
        [of(0), of(1), of(2)],
        [Some(30_053), Some(30_053), Some(30_054)]
    );
    let mut twice = new.clone();
    twice["spec"]["ports"][1]["protocol"] = "TCP".into();
    let refused = Refused::Plain("duplicate nodePort: {TCP 30053}".to_owned());
    assert_eq!(allocate(&mut twice, Some(&new), &mut pool), Err(refused));
}

#[test]
fn a_balanced_service_without_node_ports_has_those_that_it_asks_for() {
    let mut pool = Pool::new();
    let spec = json!({ "type": "LoadBalancer", "allocateLoadBalancerNodePorts": false,
        "ports": [{ "port": 80, "name": "a", "nodePort": 30_080 }, { "port": 81, "name": "b" }] });
    let new = service(&spec, &mut pool);
    assert_eq!(new["spec"]["ports"][1]["nodePort"], Value::Null);
    assert!(pool.take_port(Some(30_080)).is_err());
}

#[test]
fn a_service_that_asks_for_the_address_of_another_service_changes_no_allocation() {
    let mut pool = Pool::new();
    let first = service(
        &json!({ "clusterIP": "10.0.0.7", "ports": [{ "port": 80 }] }),
        &mut pool,
    );
    let old = service(
        &json!({ "clusterIP": "10.0.0.8", "ports": [{ "port": 80 }] }),
        &mut pool,
    );
    let mut tried = pool.clone();
    let mut new = old.clone();
    new["spec"]["clusterIP"] = first["spec"]["clusterIP"].clone();
    new["spec"]["clusterIPs"] = first["spec"]["clusterIPs"].clone();
    // Validation rejects the update, and the pool takes back new allocations. The old address is not free before the write.
    assert_eq!(allocate(&mut new, Some(&old), &mut tried), Ok(()));
    let (taken, _) = pool.take_over(&tried);
    pool.give_back(&taken);
    let address = |last| Some(std::net::Ipv4Addr::new(10, 0, 0, last));
    assert!(pool.take_address(address(7)).is_err());
    assert!(pool.take_address(address(8)).is_err());
}

#[test]
fn a_service_that_says_nothing_keeps_what_it_has() {
    let mut pool = Pool::new();
    let old = service(
        &json!({ "type": "NodePort", "ports": [{ "port": 80 }] }),
        &mut pool,
    );
    let services = resource("", "v1", "Service");
    let mut new = json!({ "spec": { "type": "NodePort", "ports": [{ "port": 80 }] } });
    services.default(&mut new);
    services.prepare_for_update("", &mut new, &old);
    assert_eq!(allocate(&mut new, Some(&old), &mut pool), Ok(()));
    assert_eq!(new["spec"], old["spec"]);
    let mut external = json!({ "spec": { "type": "ExternalName", "externalName": "a.b", "clusterIP": old["spec"]["clusterIP"],
        "clusterIPs": old["spec"]["clusterIPs"], "ports": old["spec"]["ports"] } });
    services.prepare_for_update("", &mut external, &old);
    assert_eq!(external["spec"]["clusterIP"], Value::Null);
    assert_eq!(external["spec"]["ports"][0]["nodePort"], Value::Null);
}

#[test]
fn a_scale_shows_and_sets_the_replicas() {
    let mut deployment = json!({ "metadata": { "name": "web", "namespace": "n", "resourceVersion": "7", "labels": {} },
        "spec": { "replicas": 3, "selector": { "matchLabels": { "app": "web" } } }, "status": { "replicas": 2 } });
    let deployments = resource("apps", "v1", "Deployment");
    assert_eq!(
        scale::read(&deployments, &deployment),
        json!({ "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": { "name": "web", "namespace": "n", "resourceVersion": "7" },
            "spec": { "replicas": 3 }, "status": { "replicas": 2, "selector": "app=web" } })
    );
    scale::write(&mut deployment, &json!({ "spec": { "replicas": 5 } }));
    assert_eq!(deployment["spec"]["replicas"], 5);
}

#[test]
fn warnings_name_what_is_hardly_meant() {
    let pod = json!({ "metadata": { "name": "a.b" }, "spec": {
        "nodeSelector": { "beta.kubernetes.io/os": "linux" },
        "imagePullSecrets": [{ "name": "x" }, { "name": "x" }],
        "containers": [{ "name": "c", "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }],
            "ports": [{ "containerPort": 80, "protocol": "TCP" }, { "containerPort": 80, "protocol": "TCP" }],
            "resources": { "limits": { "memory": "100m" } } }] } });
    assert_eq!(
        resource("", "v1", "Pod")
            .strategy
            .warnings(&pod, &Value::Null),
        [
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
            "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
            "spec.imagePullSecrets[1].name: duplicate name \"x\"",
            "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ]
    );
    assert_eq!(
        resource("", "v1", "Pod").strategy.warnings(&pod, &pod),
        Vec::<String>::new()
    );
}

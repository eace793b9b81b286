//! Grafting on k8s-openapi's types, case by case.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, ContainerPort, EnvVar, Node, Pod, VolumeMount};
use kubewright_review::{AdmissionReview, Body, Image, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::graft_laws::review;

/// The patch that a change of the typed object makes of a raw one, after another implementation has applied it.
fn patch<K: DeserializeOwned + Serialize>(raw: &Value, change: impl FnOnce(&mut K)) -> Value {
    let (review, object) = AdmissionReview::read_typed::<K>(&review(raw), Scope::Object).unwrap();
    let mut object = object.unwrap().into_object();
    let before = Image::of(&object, 0).unwrap();
    change(&mut object);
    let patch = review
        .graft(&before, &before.then(&object).unwrap())
        .unwrap();
    review.check(&patch).unwrap();
    let mut patched = raw.clone();
    let operations: json_patch::Patch = serde_json::from_slice(&patch.to_json()).unwrap();
    json_patch::patch(&mut patched, &operations).unwrap();
    let own = review.changed_by(&patch).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(own.object().unwrap()).unwrap(),
        patched
    );
    serde_json::from_slice(&patch.to_json()).unwrap()
}

fn containers(pod: &mut Pod) -> &mut Vec<Container> {
    &mut pod.spec.as_mut().unwrap().containers
}

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": null}, "spec": spec})
}

#[test]
fn what_the_type_makes_up_or_drops_is_no_change() {
    let raw = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "creationTimestamp": null},
        "spec": {"futureField": 1, "replicas": 2}, "status": {}, "alsoUnknown": [],
    });
    assert_eq!(patch::<Deployment>(&raw, |_| ()), json!([]));
    let patched = patch::<Deployment>(&raw, |deployment| {
        deployment.spec.replicas = Some(3);
    });
    assert_eq!(
        patched,
        json!([{"op": "replace", "path": "/spec/replicas", "value": 3}])
    );
}

#[test]
fn missing_parents_are_made_with_nothing_that_the_type_makes_up() {
    let raw = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}});
    let patched = patch::<Job>(&raw, |job| {
        job.spec.get_or_insert_default().parallelism = Some(3);
    });
    assert_eq!(
        patched,
        json!([{"op": "add", "path": "/spec", "value": {"parallelism": 3, "template": {}}}])
    );
    let raw = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}});
    let patched = patch::<Deployment>(&raw, |deployment| {
        let template = &mut deployment.spec.template;
        let labels = template
            .metadata
            .get_or_insert_default()
            .labels
            .get_or_insert_default();
        labels.insert("a".into(), "b".into());
    });
    assert_eq!(
        patched,
        json!([{"op": "add", "path": "/spec/template", "value": {"metadata": {"labels": {"a": "b"}}}}])
    );
}

#[test]
fn a_container_in_front_is_one_operation() {
    let raw = pod(&json!({"containers": [{"name": "a", "new": 1}, {"name": "b", "new": 2}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let first = Container {
            name: "first".into(),
            ..Container::default()
        };
        containers(pod).insert(0, first);
    });
    assert_eq!(
        patched,
        json!([{"op": "add", "path": "/spec/containers/0", "value": {"name": "first"}}])
    );
}

#[test]
fn a_container_moves_with_all_that_it_has() {
    let raw = pod(&json!({"containers": [{"name": "a", "new": 1}, {"name": "b"}, {"name": "c"}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let first = containers(pod).remove(0);
        containers(pod).push(first);
        containers(pod)[2].image = Some("i".into());
    });
    assert_eq!(
        patched,
        json!([
            {"op": "move", "from": "/spec/containers/0", "path": "/spec/containers/2"},
            {"op": "add", "path": "/spec/containers/2/image", "value": "i"},
        ])
    );
}

#[test]
fn ports_are_known_by_port_and_protocol_and_tcp_is_the_default() {
    let raw = pod(&json!({"containers": [{"name": "a", "ports": [
        {"containerPort": 53, "protocol": "UDP", "new": "udp"},
        {"containerPort": 53, "new": "tcp"},
    ]}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let ports = containers(pod)[0].ports.as_mut().unwrap();
        ports[1].protocol = Some("TCP".into());
        ports.remove(0);
        ports.push(ContainerPort {
            container_port: 80,
            ..ContainerPort::default()
        });
    });
    assert_eq!(
        patched,
        json!([
            {"op": "remove", "path": "/spec/containers/0/ports/0"},
            {"op": "add", "path": "/spec/containers/0/ports/1", "value": {"containerPort": 80}},
            {"op": "add", "path": "/spec/containers/0/ports/0/protocol", "value": "TCP"},
        ])
    );
}

#[test]
fn mounts_are_known_by_their_path_and_conditions_by_their_type() {
    let raw = pod(&json!({"containers": [{"name": "a", "volumeMounts": [
        {"name": "v", "mountPath": "/a", "new": 1}, {"name": "v", "mountPath": "/b", "new": 2},
    ]}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let mounts = containers(pod)[0].volume_mounts.as_mut().unwrap();
        mounts.remove(0);
        mounts[0].read_only = Some(true);
        mounts.push(VolumeMount {
            name: "v".into(),
            mount_path: "/c".into(),
            ..VolumeMount::default()
        });
    });
    assert_eq!(
        patched,
        json!([
            {"op": "remove", "path": "/spec/containers/0/volumeMounts/0"},
            {"op": "add", "path": "/spec/containers/0/volumeMounts/1", "value": {"mountPath": "/c", "name": "v"}},
            {"op": "add", "path": "/spec/containers/0/volumeMounts/0/readOnly", "value": true},
        ])
    );
    let raw = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": [
        {"type": "Ready", "status": "True", "new": 1}, {"type": "DiskPressure", "status": "False", "new": 2},
    ]}});
    let patched = patch::<Node>(&raw, |node| {
        let conditions = node.status.as_mut().unwrap().conditions.as_mut().unwrap();
        conditions.remove(0);
        conditions[0].status = "True".into();
    });
    assert_eq!(
        patched,
        json!([
            {"op": "remove", "path": "/status/conditions/0"},
            {"op": "replace", "path": "/status/conditions/0/status", "value": "True"},
        ])
    );
}

#[test]
fn a_variable_that_comes_twice_is_not_mixed_up() {
    let raw = pod(&json!({"containers": [{"name": "a", "env": [
        {"name": "A", "value": "1", "new": 1}, {"name": "A", "value": "2", "new": 2},
    ]}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let env = containers(pod)[0].env.as_mut().unwrap();
        env[1].value = Some("3".into());
        env.push(EnvVar {
            name: "B".into(),
            ..EnvVar::default()
        });
    });
    assert_eq!(
        patched,
        json!([
            {"op": "add", "path": "/spec/containers/0/env/2", "value": {"name": "B"}},
            {"op": "replace", "path": "/spec/containers/0/env/1/value", "value": "3"},
        ])
    );
}

#[test]
fn of_a_spec_that_comes_twice_the_last_one_is_patched() {
    for (specs, operation) in [
        (r#""spec":{"replicas":1},"spec":{"paused":true}"#, "add"),
        (r#""spec":{"paused":true},"spec":{"replicas":1}"#, "replace"),
        (r#""spec":{"replicas":1},"spec":{}"#, "add"),
    ] {
        let body = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"CREATE","object":{{"metadata":{{}},{specs}}}}}}}"#
        );
        let body = Body::new(body.into_bytes()).unwrap();
        let (review, object) =
            AdmissionReview::read_typed::<Deployment>(&body, Scope::Object).unwrap();
        let mut object = object.unwrap().into_object();
        let before = Image::of(&object, 0).unwrap();
        object.spec.replicas = Some(5);
        let after = before.then(&object).unwrap();
        let patch = review.graft(&before, &after).unwrap();
        review.check(&patch).unwrap();
        let patch: Value = serde_json::from_slice(&patch.to_json()).unwrap();
        assert_eq!(
            patch,
            json!([{"op": operation, "path": "/spec/replicas", "value": 5}])
        );
    }
}

#[test]
fn an_argument_is_replaced_in_its_place() {
    let raw = pod(&json!({"containers": [{"name": "a", "args": ["--a", "--b", "--c"]}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let args = containers(pod)[0].args.as_mut().unwrap();
        args[1] = "--x".into();
        args.insert(0, "--first".into());
    });
    assert_eq!(
        patched,
        json!([
            {"op": "add", "path": "/spec/containers/0/args/0", "value": "--first"},
            {"op": "replace", "path": "/spec/containers/0/args/2", "value": "--x"},
        ])
    );
}

#[test]
fn what_is_taken_away_is_removed_once() {
    let raw = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a/b": "1", "c~d": "2", "e": "3"}}});
    let patched = patch::<Pod>(&raw, |pod| {
        pod.metadata
            .labels
            .as_mut()
            .unwrap()
            .retain(|key, _| key == "e");
    });
    assert_eq!(
        patched,
        json!([
            {"op": "remove", "path": "/metadata/labels/a~1b"},
            {"op": "remove", "path": "/metadata/labels/c~0d"},
        ])
    );
    let patched = patch::<Pod>(&raw, |pod| pod.metadata.labels = None);
    assert_eq!(
        patched,
        json!([{"op": "remove", "path": "/metadata/labels"}])
    );
}

#[test]
fn a_long_list_in_another_order_is_written_anew_with_unknown_fields() {
    let env: Vec<_> = (0..2000)
        .map(|n| json!({"name": format!("v{n}"), "new": n}))
        .collect();
    let raw = pod(&json!({"containers": [{"name": "a", "env": env}]}));
    let patched = patch::<Pod>(&raw, |pod| {
        let env = containers(pod)[0].env.as_mut().unwrap();
        env.reverse();
        env[0].value = Some("x".into());
    });
    assert_eq!(patched.as_array().unwrap().len(), 1);
    assert_eq!(patched[0]["path"], "/spec/containers/0/env");
    assert_eq!(
        patched[0]["value"][0],
        json!({"name": "v1999", "new": 1999, "value": "x"})
    );
    assert_eq!(patched[0]["value"][1999], json!({"name": "v0", "new": 0}));
}

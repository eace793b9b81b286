//! What admission gets of the events of an audit log.

use serde_json::json;

use super::*;

fn event(members: &Value) -> Event {
    let mut event = json!({
        "stage": "ResponseComplete", "verb": "create", "requestURI": "/api/v1/namespaces/blue/configmaps",
        "user": {"username": "alice", "groups": ["dev"]},
        "objectRef": {"resource": "configmaps", "namespace": "blue", "name": "a", "apiVersion": "v1"},
        "responseStatus": {"code": 200},
    });
    for (name, value) in members.as_object().unwrap() {
        event[name] = value.clone();
    }
    serde_json::from_value(event).unwrap()
}

fn map(data: &Value) -> Value {
    let metadata = json!({"name": "a", "namespace": "blue", "uid": "u", "resourceVersion": "7"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

fn remembered(object: &Value) -> History {
    let mut history = History::of(1 << 20);
    history.remember("", "configmaps", object);
    history
}

fn request(event: &Event, role: Role, history: &History) -> Result<AdmissionRequest, Missing> {
    let found = requests(event, operation(event).unwrap(), role, history)?;
    let [request] = <[AdmissionRequest; 1]>::try_from(found.requests).unwrap();
    Ok(request)
}

#[test]
fn requests_that_pass_no_admission_have_no_operation() {
    for (what, members) in [
        ("reads", json!({"verb": "get"})),
        ("is watched", json!({"verb": "watch"})),
        ("another stage", json!({"stage": "RequestReceived"})),
        (
            "no such object",
            json!({"verb": "update", "responseStatus": {"code": 404}}),
        ),
        (
            "forbidden",
            json!({"responseStatus": {"code": 403}, "annotations": {"authorization.k8s.io/decision": "forbid"}}),
        ),
    ] {
        assert_eq!(operation(&event(&members)), None, "{what}");
    }
    assert_eq!(operation(&event(&json!({"objectRef": null}))), None);
    for (verb, code, expected) in [
        ("create", 201, Operation::Create),
        ("create", 403, Operation::Create),
        ("update", 200, Operation::Update),
        ("patch", 200, Operation::Update),
        ("patch", 201, Operation::Create),
        ("delete", 200, Operation::Delete),
        ("deletecollection", 200, Operation::Delete),
    ] {
        let event = event(&json!({"verb": verb, "responseStatus": {"code": code}}));
        assert_eq!(operation(&event), Some(expected), "{verb} {code}");
    }
}

#[test]
fn mutating_webhooks_get_what_was_sent_and_validating_ones_what_is_stored() {
    let event = event(&json!({
        "requestObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "sent"}},
        "responseObject": map(&json!({"a": "stored"})),
        "responseStatus": {"code": 201},
        "requestURI": "/api/v1/namespaces/blue/configmaps?fieldManager=kubectl&dryRun=All",
    }));
    let history = History::of(0);
    let mutating = request(&event, Role::Mutating, &history).unwrap();
    assert_eq!(mutating.object["data"]["a"], "sent");
    assert_eq!(
        mutating.object["metadata"],
        json!({"name": "a", "namespace": "blue"})
    );
    assert_eq!(
        (mutating.user.username.as_str(), mutating.dry_run),
        ("alice", true)
    );
    assert_eq!(mutating.options["fieldManager"], "kubectl");
    assert_eq!(mutating.options["kind"], "CreateOptions");
    let validating = request(&event, Role::Validating, &history).unwrap();
    assert_eq!(validating.object["data"]["a"], "stored");
    assert_eq!(validating.object["metadata"]["uid"], "u");
    assert!(validating.object["metadata"]["resourceVersion"].is_null());
    assert!(validating.old_object.is_null());
}

#[test]
fn a_generated_name_is_that_of_the_stored_object_for_validating_webhooks() {
    let event = event(&json!({
        "objectRef": {"resource": "configmaps", "namespace": "blue", "apiVersion": "v1"},
        "requestObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}},
        "responseObject": map(&Value::Null),
    }));
    let history = History::of(0);
    assert_eq!(request(&event, Role::Mutating, &history).unwrap().name, "");
    assert_eq!(
        request(&event, Role::Validating, &history).unwrap().name,
        "a"
    );
}

#[test]
fn a_refused_create_is_replayed_as_it_was_sent() {
    let event = event(&json!({
        "requestObject": map(&json!({"a": "sent"})),
        "responseObject": {"apiVersion": "v1", "kind": "Status", "code": 403},
        "responseStatus": {"code": 403},
    }));
    let found = requests(&event, Operation::Create, Role::Validating, &History::of(0)).unwrap();
    assert_eq!(found.requests[0].object["data"]["a"], "sent");
    assert_eq!(found.assumed, [AS_SENT]);
}

#[test]
fn an_event_without_objects_says_which_level_has_them() {
    let history = remembered(&map(&Value::Null));
    for verb in ["create", "update", "patch", "deletecollection"] {
        let event = event(&json!({"verb": verb}));
        let missing = request(&event, Role::Validating, &history).unwrap_err();
        assert_eq!(missing, Missing::Object, "{verb}");
        assert!(missing.text().contains("RequestResponse"));
    }
}

#[test]
fn an_update_has_the_object_that_the_log_has_shown_before() {
    let update = event(&json!({
        "verb": "update",
        "requestObject": map(&json!({"a": "sent"})),
        "responseObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "8"}},
    }));
    let history = remembered(&map(&json!({"a": "before"})));
    let mutating = request(&update, Role::Mutating, &history).unwrap();
    assert_eq!(mutating.object["data"]["a"], "sent");
    assert_eq!(mutating.old_object["data"]["a"], "before");
    let validating = request(&update, Role::Validating, &history).unwrap();
    assert_eq!(validating.object["metadata"]["resourceVersion"], "7");
    let unknown = request(&update, Role::Validating, &History::of(0));
    assert_eq!(unknown.unwrap_err(), Missing::OldObject);
}

#[test]
fn a_patch_is_replayed_as_it_was_stored() {
    let patch = event(&json!({
        "verb": "patch",
        "requestObject": {"data": {"a": "patched"}},
        "responseObject": map(&json!({"a": "stored"})),
    }));
    let history = remembered(&map(&json!({"a": "before"})));
    let found = requests(&patch, Operation::Update, Role::Mutating, &history).unwrap();
    assert_eq!(found.requests[0].object["data"]["a"], "stored");
    assert_eq!(found.assumed, [AS_STORED]);
}

#[test]
fn a_refused_patch_is_made_here_unless_its_kind_matters() {
    let refused = |patch: Value| {
        let patch = event(&json!({
            "verb": "patch", "requestObject": patch, "responseStatus": {"code": 403},
            "responseObject": {"apiVersion": "v1", "kind": "Status"},
        }));
        let history = remembered(&map(&json!({"a": "before", "b": "stays"})));
        request(&patch, Role::Validating, &history).map(|request| request.object["data"].clone())
    };
    let merged = refused(json!({"data": {"a": "patched"}}));
    assert_eq!(merged.unwrap(), json!({"a": "patched", "b": "stays"}));
    let operations = json!([{"op": "replace", "path": "/data/a", "value": "replaced"}]);
    assert_eq!(
        refused(operations).unwrap(),
        json!({"a": "replaced", "b": "stays"})
    );
    for unknown in [
        json!({"metadata": {"finalizers": ["a"]}}),
        json!({"data": {"$patch": "replace"}}),
        json!([{"op": "test", "path": "/data/a", "value": "other"}]),
        json!([1]),
    ] {
        let missing = refused(unknown.clone()).unwrap_err();
        assert_eq!(missing, Missing::PatchedObject, "{unknown}");
    }
}

#[test]
fn a_deletion_has_the_object_and_the_options_that_were_sent() {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    let delete = event(&json!({
        "verb": "delete", "requestObject": options,
        "responseObject": {"apiVersion": "v1", "kind": "Status", "status": "Success"},
    }));
    let history = remembered(&map(&json!({"a": "before"})));
    let found = request(&delete, Role::Validating, &history).unwrap();
    assert!(found.object.is_null());
    assert_eq!(found.old_object["data"]["a"], "before");
    assert_eq!(found.options["gracePeriodSeconds"], 0);
    let unknown = request(&delete, Role::Validating, &History::of(0));
    assert_eq!(unknown.unwrap_err(), Missing::OldObject);
}

#[test]
fn a_collection_is_deleted_object_by_object() {
    let mut item = map(&json!({"a": "one"}));
    item.as_object_mut().unwrap().remove("kind");
    item.as_object_mut().unwrap().remove("apiVersion");
    let delete = event(&json!({
        "verb": "deletecollection",
        "objectRef": {"resource": "configmaps", "namespace": "blue", "apiVersion": "v1"},
        "responseObject": {"apiVersion": "v1", "kind": "ConfigMapList", "items": [item, item]},
    }));
    let found = requests(
        &delete,
        Operation::Delete,
        Role::Validating,
        &History::of(0),
    )
    .unwrap();
    assert_eq!(found.requests.len(), 2);
    assert_eq!(found.requests[1].old_object, map(&json!({"a": "one"})));
}

#[test]
fn a_connection_has_the_options_of_its_query() {
    let connect = |resource: &str, part: &str, uri: &str| {
        let event = event(&json!({
            "verb": "create", "requestURI": uri,
            "objectRef": {"resource": resource, "subresource": part, "namespace": "blue", "name": "web", "apiVersion": "v1"},
        }));
        assert_eq!(operation(&event), Some(Operation::Connect));
        request(&event, Role::Validating, &History::of(0))
            .unwrap()
            .object
    };
    assert_eq!(
        connect(
            "pods",
            "exec",
            "/api/v1/namespaces/blue/pods/web/exec?command=sh&command=-c&stdin=true&tty=false"
        ),
        json!({"kind": "PodExecOptions", "apiVersion": "v1", "stdin": true, "command": ["sh", "-c"]})
    );
    assert_eq!(
        connect(
            "pods",
            "portforward",
            "/api/v1/namespaces/blue/pods/web/portforward?ports=80,443"
        ),
        json!({"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": [80, 443]})
    );
    assert_eq!(
        connect(
            "services",
            "proxy",
            "/api/v1/namespaces/blue/services/web/proxy/health?a=b"
        ),
        json!({"kind": "ServiceProxyOptions", "apiVersion": "v1", "path": "/health"})
    );
}

#[test]
fn the_namespace_of_a_namespace_is_its_name() {
    let event = event(&json!({
        "objectRef": {"resource": "namespaces", "name": "blue", "apiVersion": "v1"},
        "requestObject": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "blue"}},
    }));
    let found = request(&event, Role::Mutating, &History::of(0)).unwrap();
    assert_eq!(found.namespace, "blue");
    assert!(found.object["metadata"]["namespace"].is_null());
}

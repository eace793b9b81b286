//! Garbage collection.

use kubewright_apiserver::Controllers;
use serde_json::{Value, json};

use super::{MAPS, settled, with};
use crate::cluster::{Cluster, map};

fn cluster() -> Cluster {
    with(Controllers::none().garbage_collection())
}

fn owned(name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": true,
            })
        })
        .collect();
    let mut object = map(name);
    object["metadata"]["ownerReferences"] = references.into();
    object
}

fn propagation(policy: &str) -> Value {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
}

#[tokio::test(start_paused = true)]
async fn what_an_owner_leaves_behind_is_deleted_down_to_the_last() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    let child = cluster.made(MAPS, &owned("child", &[&owner])).await;
    cluster.made(MAPS, &owned("grandchild", &[&child])).await;
    cluster.made(MAPS, &map("other")).await;
    assert_eq!(cluster.names(MAPS).await.len(), 4);
    let gone = cluster.delete(&format!("{MAPS}/owner")).await;
    gone.expect(200);
    settled().await;
    assert_eq!(cluster.names(MAPS).await, ["other"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_is_deleted_in_the_foreground_goes_last() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    let mut child = owned("child", &[&owner]);
    child["metadata"]["finalizers"] = json!(["example.com/wait"]);
    cluster.made(MAPS, &child).await;
    let path = format!("{MAPS}/owner");
    let deleted = cluster.delete_with(&path, &propagation("Foreground")).await;
    deleted.expect(200);
    settled().await;
    let owner = cluster.read(&path).await;
    assert_eq!(
        owner["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    let path = format!("{MAPS}/child");
    assert!(cluster.read(&path).await["metadata"]["deletionTimestamp"].is_string());
    let freed = json!({"metadata": {"finalizers": null}});
    cluster.patch("merge", &path, &freed).await.expect(200);
    settled().await;
    assert!(cluster.names(MAPS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_owner_does_not_wait_for_what_does_not_hold_it_up() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    let mut child = owned("child", &[&owner]);
    child["metadata"]["finalizers"] = json!(["example.com/wait"]);
    child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = false.into();
    cluster.made(MAPS, &child).await;
    let deleted = cluster
        .delete_with(&format!("{MAPS}/owner"), &propagation("Foreground"))
        .await;
    deleted.expect(200);
    settled().await;
    assert_eq!(cluster.names(MAPS).await, ["child"]);
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_forget_their_owner() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    cluster.made(MAPS, &owned("child", &[&owner])).await;
    let deleted = cluster
        .delete_with(&format!("{MAPS}/owner"), &propagation("Orphan"))
        .await;
    deleted.expect(200);
    settled().await;
    assert_eq!(cluster.names(MAPS).await, ["child"]);
    let child = cluster.read(&format!("{MAPS}/child")).await;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
    assert_eq!(child["metadata"].get("deletionTimestamp"), None);
}

#[tokio::test(start_paused = true)]
async fn one_owner_that_is_left_keeps_an_object_and_the_others_are_forgotten() {
    let cluster = cluster();
    let first = cluster.made(MAPS, &map("first")).await;
    let second = cluster.made(MAPS, &map("second")).await;
    cluster
        .made(MAPS, &owned("child", &[&first, &second]))
        .await;
    cluster.delete(&format!("{MAPS}/first")).await.expect(200);
    settled().await;
    let child = cluster.read(&format!("{MAPS}/child")).await;
    let owners = child["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["uid"], second["metadata"]["uid"]);
    cluster.delete(&format!("{MAPS}/second")).await.expect(200);
    settled().await;
    assert!(cluster.names(MAPS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_of_an_owner_that_was_never_there_or_is_another_by_now_is_deleted() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    let mut absent = owner.clone();
    absent["metadata"]["name"] = "absent".into();
    absent["metadata"]["uid"] = "0b2e1b3c-5c1a-4a86-8f33-000000000000".into();
    let mut another = owner;
    another["metadata"]["uid"] = "0b2e1b3c-5c1a-4a86-8f33-000000000001".into();
    cluster.made(MAPS, &owned("child", &[&absent])).await;
    cluster.made(MAPS, &owned("stale", &[&another])).await;
    assert_eq!(cluster.names(MAPS).await, ["owner"]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_absent_and_an_event_says_so() {
    let cluster = cluster();
    let there = "/api/v1/namespaces/kube-public/configmaps";
    let owner = cluster.made(there, &map("owner")).await;
    let child = cluster.made(MAPS, &owned("child", &[&owner])).await;
    assert!(cluster.names(MAPS).await.is_empty());
    let events = cluster.read("/api/v1/namespaces/default/events").await;
    let event = &events["items"][0];
    assert_eq!(event["reason"], "OwnerRefInvalidNamespace");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["involvedObject"]["uid"], child["metadata"]["uid"]);
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    assert_eq!(
        event["message"],
        format!(
            "ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] does not exist in namespace \"default\""
        ),
    );
}

#[tokio::test(start_paused = true)]
async fn what_has_no_namespace_is_not_deleted_for_an_owner_in_one() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    let mut role = owned("role", &[&owner]);
    role["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
    role["kind"] = "ClusterRole".into();
    role.as_object_mut().unwrap().remove("data");
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    cluster.made(roles, &role).await;
    cluster.delete(&format!("{MAPS}/owner")).await.expect(200);
    settled().await;
    cluster.get(&format!("{roles}/role")).await.expect(200);
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_a_kind_that_nobody_knows_keeps_its_objects() {
    let cluster = cluster();
    let mut owner = cluster.made(MAPS, &map("owner")).await;
    owner["apiVersion"] = "example.com/v1".into();
    owner["kind"] = "Unknown".into();
    cluster.made(MAPS, &owned("child", &[&owner])).await;
    assert_eq!(cluster.names(MAPS).await, ["child", "owner"]);
}

#[tokio::test(start_paused = true)]
async fn objects_that_own_each_other_do_not_wait_for_ever() {
    let cluster = cluster();
    let a = cluster.made(MAPS, &map("a")).await;
    let b = cluster.made(MAPS, &owned("b", &[&a])).await;
    let closed = json!({"metadata": {
        "ownerReferences": owned("a", &[&b])["metadata"]["ownerReferences"],
    }});
    let path = format!("{MAPS}/a");
    cluster.patch("merge", &path, &closed).await.expect(200);
    let deleted = cluster.delete_with(&path, &propagation("Foreground")).await;
    deleted.expect(200);
    settled().await;
    assert!(cluster.names(MAPS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_log_has_forgotten_is_found_in_what_is_stored() {
    let cluster = cluster();
    let owner = cluster.made(MAPS, &map("owner")).await;
    cluster.made(MAPS, &owned("child", &[&owner])).await;
    cluster.delete(&format!("{MAPS}/owner")).await.expect(200);
    cluster.server.compact();
    settled().await;
    assert!(cluster.names(MAPS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn custom_resources_own_and_are_owned_like_all_others() {
    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
    let cluster = cluster();
    let mut waiting = owned("waiting", &[]);
    waiting["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "name": "never",
        "uid": "0b2e1b3c-5c1a-4a86-8f33-000000000002",
    }]);
    cluster.made(MAPS, &waiting).await;
    assert_eq!(cluster.names(MAPS).await, ["waiting"]);

    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.made(definitions, &definition).await;
    assert!(cluster.names(MAPS).await.is_empty());

    let widget = json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "widget"},
    });
    let widget = cluster.made(WIDGETS, &widget).await;
    let map = cluster.made(MAPS, &owned("map", &[&widget])).await;
    let mut part = widget.clone();
    part["metadata"] = json!({
        "name": "part",
        "ownerReferences": owned("part", &[&map])["metadata"]["ownerReferences"],
    });
    cluster.made(WIDGETS, &part).await;
    assert_eq!(cluster.names(WIDGETS).await, ["part", "widget"]);
    let path = format!("{WIDGETS}/widget");
    let deleted = cluster.delete_with(&path, &propagation("Foreground")).await;
    deleted.expect(200);
    settled().await;
    assert!(cluster.names(MAPS).await.is_empty());
    assert!(cluster.names(WIDGETS).await.is_empty());

    let widget = json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "widget"},
    });
    let widget = cluster.made(WIDGETS, &widget).await;
    cluster.made(MAPS, &owned("map", &[&widget])).await;
    let deleted = cluster
        .delete(&format!("{definitions}/widgets.example.com"))
        .await;
    deleted.expect(200);
    tokio::time::sleep(std::time::Duration::from_hours(1)).await;
    assert_eq!(cluster.names(MAPS).await, ["map"]);
}

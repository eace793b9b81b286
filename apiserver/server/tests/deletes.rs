//! DELETE and collection deletes (spec section C.8).

use serde_json::json;

use crate::cluster::{Cluster, deployment, map, pod};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_delete_answers_a_status_or_the_object_by_kind() {
    let cluster = Cluster::start();
    let made = cluster
        .post(DEPLOYMENTS, &deployment("x"))
        .await
        .expect(201);
    let status = cluster
        .delete(&format!("{DEPLOYMENTS}/x"))
        .await
        .expect(200);
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
            "details": {"name": "x", "group": "apps", "kind": "deployments", "uid": made["metadata"]["uid"]},
        })
    );
    cluster.post(PODS, &pod("x")).await.expect(201);
    let deleted = cluster.delete(&format!("{PODS}/x")).await.expect(200);
    assert_eq!(deleted["kind"], "Pod");
}

#[tokio::test]
async fn finalizers_hold_an_object_until_they_are_gone() {
    let cluster = Cluster::start();
    let mut held = deployment("x");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(DEPLOYMENTS, &held).await.expect(201);
    let path = format!("{DEPLOYMENTS}/x");
    let marked = cluster.delete(&path).await.expect(200);
    assert_eq!(marked["kind"], "Deployment");
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(marked["metadata"]["generation"], 2);
    assert_eq!(cluster.delete(&path).await.expect(200), marked);

    let free = json!({"metadata": {"finalizers": null}});
    cluster.patch("merge", &path, &free).await.expect(200);
    let _ = cluster.get(&path).await.refused(404, "NotFound");
}

#[tokio::test]
async fn propagation_adds_the_garbage_collectors_finalizers() {
    let cluster = Cluster::start();
    for (policy, finalizer) in [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")] {
        let name = policy.to_lowercase();
        cluster.post(MAPS, &map(&name)).await.expect(201);
        let options = json!({"propagationPolicy": policy});
        let marked = cluster
            .delete_with(&format!("{MAPS}/{name}"), &options)
            .await
            .expect(200);
        assert_eq!(marked["metadata"]["finalizers"], json!([finalizer]));
    }
    cluster.post(MAPS, &map("x")).await.expect(201);
    let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    let message = cluster
        .delete_with(&format!("{MAPS}/x"), &both)
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains(
            "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation \
             cannot be both set"
        ),
        "{message}"
    );
    let gone = json!({"propagationPolicy": "Background"});
    cluster
        .delete_with(&format!("{MAPS}/x"), &gone)
        .await
        .expect(200);
    let _ = cluster
        .get(&format!("{MAPS}/x"))
        .await
        .refused(404, "NotFound");
}

#[tokio::test]
async fn preconditions_guard_a_delete() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    let path = format!("{MAPS}/x");
    let (uid, revision) = (
        &made["metadata"]["uid"],
        &made["metadata"]["resourceVersion"],
    );
    let wrong = json!({"preconditions": {"uid": "other"}});
    assert_eq!(
        cluster
            .delete_with(&path, &wrong)
            .await
            .refused(409, "Conflict"),
        format!(
            "Operation cannot be fulfilled on ConfigMap \"x\": the UID in the precondition (other) \
             does not match the UID in record ({}). The object might have been deleted and then \
             recreated",
            uid.as_str().unwrap()
        ),
    );
    let wrong = json!({"preconditions": {"resourceVersion": "1"}});
    assert_eq!(
        cluster
            .delete_with(&path, &wrong)
            .await
            .refused(409, "Conflict"),
        format!(
            "Operation cannot be fulfilled on ConfigMap \"x\": the ResourceVersion in the \
             precondition (1) does not match the ResourceVersion in record ({}). The object might \
             have been modified",
            revision.as_str().unwrap()
        ),
    );
    let right = json!({"preconditions": {"uid": uid, "resourceVersion": revision}});
    cluster.delete_with(&path, &right).await.expect(200);
}

#[tokio::test]
async fn a_scheduled_pod_is_given_its_grace_period() {
    let cluster = Cluster::start();
    let mut wanted = pod("x");
    wanted["spec"]["nodeName"] = "n".into();
    cluster.post(PODS, &wanted).await.expect(201);
    let path = format!("{PODS}/x");
    let marked = cluster.delete(&path).await.expect(200);
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 30);
    assert_eq!(cluster.delete(&path).await.expect(200), marked);
    let shorter = json!({"gracePeriodSeconds": 5});
    let shortened = cluster.delete_with(&path, &shorter).await.expect(200);
    assert_eq!(shortened["metadata"]["deletionGracePeriodSeconds"], 5);
    cluster
        .delete_with(&path, &json!({"gracePeriodSeconds": 0}))
        .await
        .expect(200);
    let _ = cluster.get(&path).await.refused(404, "NotFound");
}

#[tokio::test]
async fn an_unscheduled_pod_is_marked_and_gone_in_one_request() {
    let cluster = Cluster::start();
    let mut watch = cluster.watch(&format!("{PODS}?watch=1")).await;
    cluster.post(PODS, &pod("x")).await.expect(201);
    cluster.delete(&format!("{PODS}/x")).await.expect(200);
    assert_eq!(watch.next_named().await.0, "ADDED");
    let marked = watch.next().await.unwrap();
    assert_eq!(marked["type"], "MODIFIED");
    assert_eq!(
        marked["object"]["metadata"]["deletionGracePeriodSeconds"],
        0
    );
    assert_eq!(watch.next_named().await.0, "DELETED");
}

#[tokio::test]
async fn options_come_from_the_query_only_without_a_body() {
    let cluster = Cluster::start();
    let path = format!("{MAPS}/x?propagationPolicy=Foreground");
    cluster.post(MAPS, &map("x")).await.expect(201);
    cluster.delete_with(&path, &json!({})).await.expect(200);
    let _ = cluster
        .get(&format!("{MAPS}/x"))
        .await
        .refused(404, "NotFound");
    cluster.post(MAPS, &map("x")).await.expect(201);
    let marked = cluster.delete(&path).await.expect(200);
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
}

#[tokio::test]
async fn a_body_that_is_no_delete_options_is_refused() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let path = format!("{MAPS}/x");
    let _ = cluster
        .delete_with(&path, &json!({"gracePeriodSeconds": "x"}))
        .await
        .refused(400, "BadRequest");
    let _ = cluster
        .delete_with(&path, &json!({"kind": "Pod", "apiVersion": "v1"}))
        .await
        .refused(400, "BadRequest");
    for version in ["v1", "meta.k8s.io/v1"] {
        let options = json!({"kind": "DeleteOptions", "apiVersion": version, "dryRun": ["All"]});
        cluster.delete_with(&path, &options).await.expect(200);
    }
    cluster.get(&path).await.expect(200);
}

#[tokio::test]
async fn a_collection_delete_follows_the_selectors() {
    let cluster = Cluster::start();
    for name in ["a", "b", "c"] {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({"keep": (name == "c").to_string()});
        cluster.post(MAPS, &object).await.expect(201);
    }
    let list = cluster
        .delete(&format!("{MAPS}?labelSelector=keep=false"))
        .await
        .expect(200);
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let left = cluster.get(MAPS).await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(left["items"][0]["metadata"]["name"], "c");
}

#[tokio::test]
async fn jobs_orphan_their_pods_unless_told_otherwise() {
    let cluster = Cluster::start();
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = json!({
        "metadata": {"name": "x"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "i"}]}}},
    });
    cluster.post(jobs, &job).await.expect(201);
    let marked = cluster.delete(&format!("{jobs}/x")).await.expect(200);
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
}

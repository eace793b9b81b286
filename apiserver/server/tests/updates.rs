//! PUT (spec sections A.2.2, C.4, C.5).

use kubewright_apiserver::ApiServer;
use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::cluster::{Cluster, deployment, map, pod};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn an_update_without_a_revision_wins() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let mut changed = map("x");
    changed["data"]["k"] = "w".into();
    let updated = cluster
        .put(&format!("{MAPS}/x"), &changed)
        .await
        .expect(200);
    assert_eq!(updated["data"]["k"], "w");
}

#[tokio::test]
async fn some_kinds_need_a_revision_to_be_updated() {
    let cluster = Cluster::start();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({"metadata": {"name": "x"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}});
    cluster.post(leases, &lease).await.expect(201);
    let message = cluster
        .put(&format!("{leases}/x"), &lease)
        .await
        .refused(422, "Invalid");
    assert_eq!(
        message,
        "leases.coordination.k8s.io \"x\" is invalid: metadata.resourceVersion: Invalid value: 0: \
         must be specified for an update",
    );
}

#[tokio::test]
async fn a_lease_can_be_created_by_put() {
    let cluster = Cluster::start();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({"metadata": {"name": "x"}, "spec": {"holderIdentity": "me"}});
    let made = cluster
        .put(&format!("{leases}/x"), &lease)
        .await
        .expect(201);
    assert!(made["metadata"]["uid"].is_string());
    let message = cluster
        .put(&format!("{MAPS}/y"), &map("y"))
        .await
        .refused(404, "NotFound");
    assert_eq!(message, "configmaps \"y\" not found");
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let cluster = Cluster::start();
    let made = cluster
        .post(DEPLOYMENTS, &deployment("x"))
        .await
        .expect(201);
    let path = format!("{DEPLOYMENTS}/x");
    let mut same = deployment("x");
    same["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    assert_eq!(cluster.put(&path, &same).await.expect(200), made);
    assert_eq!(cluster.get(&path).await.expect(200), made);
}

#[tokio::test]
async fn the_name_in_the_body_is_that_of_the_path() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    let message = cluster
        .put(&format!("{MAPS}/x"), &map("y"))
        .await
        .refused(400, "BadRequest");
    assert_eq!(
        message,
        "the name of the object (y) does not match the name on the URL (x)"
    );
}

#[tokio::test]
async fn another_uid_is_a_conflict() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    let mut other = map("x");
    other["metadata"]["uid"] = "other".into();
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let message = cluster
        .put(&format!("{MAPS}/x"), &other)
        .await
        .refused(409, "Conflict");
    assert_eq!(
        message,
        format!(
            "Operation cannot be fulfilled on configmaps \"x\": StorageError: invalid object, Code: \
             4, Key: /registry/configmaps/default/x, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: other, UID in object meta: {uid}"
        ),
    );
}

#[tokio::test]
async fn the_generation_counts_changes_of_the_spec_only() {
    let cluster = Cluster::start();
    let path = format!("{DEPLOYMENTS}/x");
    let made = cluster
        .post(DEPLOYMENTS, &deployment("x"))
        .await
        .expect(201);
    assert_eq!(made["metadata"]["generation"], 1);
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let labelled = cluster.patch("merge", &path, &labels).await.expect(200);
    assert_eq!(labelled["metadata"]["generation"], 1);
    let scaled = cluster
        .patch("merge", &path, &json!({"spec": {"replicas": 5}}))
        .await
        .expect(200);
    assert_eq!(scaled["metadata"]["generation"], 2);
    let status = json!({"status": {"replicas": 5}});
    let reported = cluster
        .patch("merge", &format!("{path}/status"), &status)
        .await
        .expect(200);
    assert_eq!(reported["metadata"]["generation"], 2);
    assert_eq!(reported["status"]["replicas"], 5);
}

#[tokio::test]
async fn the_status_is_written_through_its_own_path_only() {
    let cluster = Cluster::start();
    let pods = "/api/v1/namespaces/default/pods";
    let made = cluster.post(pods, &pod("x")).await.expect(201);
    let mut changed = made.clone();
    changed["status"]["phase"] = "Running".into();
    let ignored = cluster
        .put(&format!("{pods}/x"), &changed)
        .await
        .expect(200);
    assert_eq!(ignored["status"]["phase"], "Pending");
    changed["spec"]["containers"][0]["image"] = "other".into();
    let taken = cluster
        .put(&format!("{pods}/x/status"), &changed)
        .await
        .expect(200);
    assert_eq!(taken["status"]["phase"], "Running");
    assert_eq!(taken["spec"]["containers"][0]["image"], "nginx");
    assert_eq!(
        cluster.get(&format!("{pods}/x/status")).await.expect(200),
        taken
    );
}

#[tokio::test]
async fn deletion_marks_are_kept_from_the_stored_object() {
    let cluster = Cluster::start();
    let mut held = map("x");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(MAPS, &held).await.expect(201);
    let path = format!("{MAPS}/x");
    let marked = cluster.delete(&path).await.expect(200);
    let mut unmarked = marked.clone();
    unmarked["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("deletionTimestamp");
    let updated = cluster.put(&path, &unmarked).await.expect(200);
    assert_eq!(updated, marked);
}

#[tokio::test]
async fn writers_that_race_all_succeed_and_lose_nothing() {
    let cluster = std::sync::Arc::new(Cluster::start());
    cluster.post(MAPS, &map("x")).await.expect(201);
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let cluster = cluster.clone();
            tokio::spawn(async move {
                let patch = json!({"data": {format!("k{n}"): "1"}});
                cluster
                    .patch("merge", &format!("{MAPS}/x"), &patch)
                    .await
                    .expect(200);
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let read = cluster.get(&format!("{MAPS}/x")).await.expect(200);
    assert_eq!(read["data"].as_object().unwrap().len(), 17);
}

#[tokio::test(start_paused = true)]
async fn every_write_takes_as_long_as_is_asked_for() {
    const LATENCY: Duration = Duration::from_millis(5);
    let cluster = Cluster::of(ApiServer::builder().write_latency(LATENCY).start());
    let begun = Instant::now();
    cluster.post(MAPS, &map("x")).await.expect(201);
    assert_eq!(begun.elapsed(), LATENCY);
    let path = format!("{MAPS}/x");
    let changed = json!({"data": {"k": "w"}});
    cluster.patch("merge", &path, &changed).await.expect(200);
    assert_eq!(begun.elapsed(), 2 * LATENCY);
    // Neither a change of nothing nor a dry run is written.
    cluster.patch("merge", &path, &changed).await.expect(200);
    cluster
        .post(&format!("{MAPS}?dryRun=All"), &map("y"))
        .await
        .expect(201);
    cluster.get(&path).await.expect(200);
    assert_eq!(begun.elapsed(), 2 * LATENCY);
    // A pod that was not scheduled is marked and removed: two writes.
    let pods = "/api/v1/namespaces/default/pods";
    cluster.post(pods, &pod("p")).await.expect(201);
    cluster.delete(&format!("{pods}/p")).await.expect(200);
    assert_eq!(begun.elapsed(), 5 * LATENCY);
}

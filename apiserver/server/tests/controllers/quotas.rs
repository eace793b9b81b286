//! Quotas: their status follows what there is, and no request exceeds them.

use std::time::Duration;

use kubewright_apiserver::{ApiServer, Controllers};
use serde_json::{Value, json};

use super::{MAPS, PODS, settled, with};
use crate::cluster::{Cluster, map, pod};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn quota(hard: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})
}

async fn status(cluster: &Cluster) -> Value {
    settled().await;
    cluster.read(&format!("{QUOTAS}/q")).await["status"].clone()
}

fn quotas() -> Cluster {
    with(Controllers::none().quotas())
}

#[tokio::test(start_paused = true)]
async fn what_there_is_is_counted_when_a_quota_is_made_or_changed() {
    let cluster = quotas();
    cluster.made(MAPS, &map("a")).await;
    let hard = json!({"configmaps": "5", "count/configmaps": "5", "pods": "1", "count/ghosts.example.com": "1"});
    cluster.made(QUOTAS, &quota(&hard)).await;
    let before = status(&cluster).await;
    assert_eq!(before["hard"], hard);
    assert_eq!(
        before["used"],
        json!({"configmaps": "1", "count/configmaps": "1", "pods": "0"})
    );
    let change = json!({"spec": {"hard": {"configmaps": "7", "count/configmaps": null}}});
    let path = format!("{QUOTAS}/q");
    cluster.patch("merge", &path, &change).await.expect(200);
    let after = status(&cluster).await;
    assert_eq!(after["hard"]["configmaps"], "7");
    assert_eq!(after["used"], json!({"configmaps": "1", "pods": "0"}));
}

#[tokio::test(start_paused = true)]
async fn what_goes_is_given_back() {
    let cluster = quotas();
    cluster.made(QUOTAS, &quota(&json!({"pods": "1"}))).await;
    cluster.made(PODS, &pod("a")).await;
    assert_eq!(status(&cluster).await["used"]["pods"], "1");
    let refused = cluster
        .post(PODS, &pod("b"))
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        refused,
        "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    );
    let succeeded = json!({"status": {"phase": "Succeeded"}});
    let path = format!("{PODS}/a/status");
    cluster.patch("merge", &path, &succeeded).await.expect(200);
    assert_eq!(status(&cluster).await["used"]["pods"], "0");
    cluster.made(PODS, &pod("b")).await;
    cluster
        .delete_with(&format!("{PODS}/b"), &json!({"gracePeriodSeconds": 0}))
        .await
        .expect(200);
    assert_eq!(status(&cluster).await["used"]["pods"], "0");
}

#[tokio::test(start_paused = true)]
async fn what_was_charged_for_a_request_that_failed_is_given_back_within_minutes() {
    let cluster = quotas();
    cluster
        .made(QUOTAS, &quota(&json!({"configmaps": "3"})))
        .await;
    cluster.made(MAPS, &map("a")).await;
    cluster
        .post(MAPS, &map("a"))
        .await
        .refused(409, "AlreadyExists");
    assert_eq!(status(&cluster).await["used"]["configmaps"], "2");
    tokio::time::sleep(Duration::from_mins(6)).await;
    assert_eq!(status(&cluster).await["used"]["configmaps"], "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_the_same_time_do_not_exceed_a_quota() {
    let server = ApiServer::start();
    let cluster = Cluster::of(server.clone());
    cluster
        .post(QUOTAS, &quota(&json!({"configmaps": "10"})))
        .await
        .expect(201);
    let known = json!({"status": {"hard": {"configmaps": "10"}, "used": {"configmaps": "0"}}});
    let path = format!("{QUOTAS}/q/status");
    cluster.patch("merge", &path, &known).await.expect(200);
    let requests = (0..50).map(|number| {
        let cluster = Cluster::of(server.clone());
        tokio::spawn(async move { cluster.post(MAPS, &map(&format!("m{number}"))).await.code })
    });
    let mut created = 0;
    for request in requests.collect::<Vec<_>>() {
        created += usize::from(request.await.unwrap() == 201);
    }
    assert_eq!(created, 10);
    let quota = cluster.get(&format!("{QUOTAS}/q")).await.expect(200);
    assert_eq!(quota["status"]["used"]["configmaps"], "10");
}

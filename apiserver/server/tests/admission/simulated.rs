//! Webhooks see what controllers write, under the names of the real ones.

use kubewright_apiserver::{ApiServer, Controllers};
use serde_json::{Value, json};

use super::for_all;
use super::hook::{Hook, answer};
use crate::cluster::{Cluster, deployment};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Waits until a watch shows an object that fits.
async fn shown(cluster: &Cluster, path: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let mut watch = cluster.watch(&format!("{path}?watch=1")).await;
    loop {
        let event = watch.next().await.expect("the watch goes on");
        if fits(&event["object"]) {
            return event["object"].clone();
        }
    }
}

fn cluster() -> Cluster {
    let controllers = Controllers::all();
    Cluster::of(ApiServer::builder().controllers(controllers).start())
}

#[tokio::test]
async fn a_webhook_sees_the_pods_of_a_deployment_and_who_makes_them() {
    let cluster = cluster();
    let hook = Hook::start(|call| answer(call, json!({"allowed": true}))).await;
    let webhook = for_all(hook.webhook("v.example.com"), &["pods", "pods/binding"]);
    cluster.validating("v", &[webhook]).await;
    let made = cluster.post(DEPLOYMENTS, &deployment("web")).await;
    assert_eq!(made.code, 201);
    shown(&cluster, DEPLOYMENTS, |web| {
        web["status"]["availableReplicas"] == 2
    })
    .await;
    let seen = hook.received();
    let by = |operation: &str, subresource: &str| {
        let requests = seen.iter().map(|call| &call.body["request"]);
        let mut users: Vec<_> = requests
            .filter(|request| request["operation"] == operation)
            .filter(|request| request["subResource"].as_str().unwrap_or_default() == subresource)
            .map(|request| request["userInfo"]["username"].as_str().unwrap())
            .collect();
        users.dedup();
        users
    };
    assert_eq!(
        by("CREATE", ""),
        ["system:serviceaccount:kube-system:replicaset-controller"]
    );
    assert_eq!(by("CREATE", "binding"), ["system:kube-scheduler"]);
}

#[tokio::test]
async fn a_set_says_why_its_pods_are_refused() {
    let cluster = cluster();
    let hook = Hook::start(|call| {
        let status = json!({"message": "not here"});
        answer(call, json!({"allowed": false, "status": status}))
    })
    .await;
    let webhook = for_all(hook.webhook("v.example.com"), &["pods"]);
    cluster.validating("v", &[webhook]).await;
    let made = cluster.post(DEPLOYMENTS, &deployment("web")).await;
    assert_eq!(made.code, 201);
    let failure = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        conditions
            .and_then(|all| all.iter().find(|one| one["type"] == "ReplicaFailure"))
            .cloned()
    };
    let web = shown(&cluster, DEPLOYMENTS, |web| failure(web).is_some()).await;
    let failure = failure(&web).unwrap();
    assert_eq!(failure["reason"], "FailedCreate");
    let refused = "admission webhook \"v.example.com\" denied the request: not here";
    assert_eq!(failure["message"], refused);
    let events = "/api/v1/namespaces/default/events";
    let event = shown(&cluster, events, |event| event["reason"] == "FailedCreate").await;
    assert_eq!(event["message"], format!("Error creating: {refused}"));
    assert_eq!(event["involvedObject"]["kind"], "ReplicaSet");
}

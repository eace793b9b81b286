//! Requests for sessions in pods: what the API server and the kubelet refuse, in their words.

use http::Method;
use kubewright_apiserver::ApiServer;
use serde_json::json;

use crate::cluster::{Cluster, pod};

const PODS: &str = "/api/v1/namespaces/default/pods";

const SPDY: [(&str, &str); 2] = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1")];
const WEBSOCKET: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("sec-websocket-version", "13"),
];

/// A cluster with a pod `x` on a node, whose container `c` runs.
async fn cluster() -> Cluster {
    let server = ApiServer::start();
    server.pods().on_exec(async |_| 0);
    let cluster = Cluster::of(server);
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    cluster.post("/api/v1/nodes", &node).await.expect(201);
    let mut bound = pod("x");
    bound["spec"]["nodeName"] = "n".into();
    let made = cluster.post(PODS, &bound).await.expect(201);
    let container = &made["spec"]["containers"][0];
    let running = json!({"status": {"phase": "Running", "containerStatuses": [{
        "name": container["name"], "image": "i", "imageID": "", "ready": true, "restartCount": 0,
        "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
    }]}});
    let status = format!("{PODS}/x/status");
    cluster.patch("merge", &status, &running).await.expect(200);
    cluster
}

#[tokio::test]
async fn a_request_that_cannot_be_upgraded_is_refused() {
    let cluster = cluster().await;
    let exec = format!("{PODS}/x/exec?command=ls&stdout=true");
    let ports = format!("{PODS}/x/portforward");
    let silent = format!("{PODS}/x/exec?command=ls");
    let other = ("x-stream-protocol-version", "v9.channel.k8s.io");
    let unknown = ("sec-websocket-protocol", "v9.channel.k8s.io");
    for (path, headers, code, expected) in [
        (&exec, vec![], 400, "Upgrade request required"),
        (&ports, vec![], 400, "Upgrade request required"),
        (
            &silent,
            SPDY.to_vec(),
            400,
            "you must specify at least 1 of stdin, stdout, stderr",
        ),
        (
            &exec,
            SPDY.to_vec(),
            400,
            "unable to upgrade: X-Stream-Protocol-Version is required",
        ),
        (
            &exec,
            [&SPDY[..], &[other]].concat(),
            403,
            "unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io], server accepts \
             [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]",
        ),
        (
            &exec,
            vec![("connection", "Upgrade"), ("upgrade", "other")],
            400,
            "unable to upgrade: missing upgrade headers in request",
        ),
        (
            &exec,
            [&WEBSOCKET[..], &[unknown]].concat(),
            403,
            "the requested protocols are not supported",
        ),
        (
            &exec,
            WEBSOCKET[..3].to_vec(),
            400,
            "missing or bad WebSocket Version",
        ),
        (
            &ports,
            WEBSOCKET.to_vec(),
            400,
            "query parameter \"port\" is required",
        ),
    ] {
        let answer = cluster.send(Method::POST, path, &headers, "").await;
        let body = String::from_utf8_lossy(&answer.text);
        assert!(
            answer.code.as_u16() == code && body.contains(expected),
            "{path} {headers:?}: {} {body}",
            answer.code
        );
    }
}

#[tokio::test]
async fn both_kinds_of_upgrades_switch_protocols() {
    let cluster = cluster().await;
    let exec = format!("{PODS}/x/exec?command=ls&stdout=true");
    let protocol = "v4.channel.k8s.io";
    for (upgrade, header) in [
        (&SPDY[..], "x-stream-protocol-version"),
        (&WEBSOCKET[..], "sec-websocket-protocol"),
    ] {
        let headers = [upgrade, &[(header, protocol)]].concat();
        let answer = cluster.send(Method::GET, &exec, &headers, "").await;
        assert_eq!(
            (answer.code.as_u16(), answer.header(header)),
            (101, protocol)
        );
        let upgraded = answer.header("upgrade");
        assert_eq!(upgraded, upgrade[1].1);
    }
}

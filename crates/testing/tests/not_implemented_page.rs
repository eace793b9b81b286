//! The guide's page about what answers 501, made from what a cluster answers.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::ListParams;
use kube::client::Body;
use kubewright_apiserver::Unanswered;
use kubewright_testing::{Controllers, Program, Server, TestCluster, Workloads, eventually, yaml};
use reference::cell;

const HEAD: &str = "\
# What answers 501

The embedded API server has no kubelet: nothing pulls an image, and a container is simulated unless a test gives its image a program. Requests
that only a kubelet could answer get `501 NotImplemented` and a sentence. This page is made from what a cluster answers to each; there are
no others.

Before such an answer, everything that the API server itself does is done as on a real one: authorization, admission, and the errors for pods
and containers that do not exist or are not bound to a node.

| request | to what | message |
|---|---|---|
";

/// What is asked: the request, and what is special about the pod or the command.
const ASKED: [(&str, &str, &str, &str); 7] = [
    (
        "`POST …/pods/POD/exec`",
        "a simulated container, and a command that it does not know",
        "/api/v1/namespaces/default/pods/simulated/exec?command=psql&stdout=true",
        "v5.channel.k8s.io",
    ),
    (
        "`POST …/pods/POD/exec`",
        "a container whose image has a program",
        "/api/v1/namespaces/default/pods/running/exec?command=psql&stdout=true",
        "v5.channel.k8s.io",
    ),
    (
        "`POST …/pods/POD/attach`",
        "a simulated container",
        "/api/v1/namespaces/default/pods/simulated/attach?stdout=true",
        "v5.channel.k8s.io",
    ),
    (
        "`POST …/pods/POD/attach`",
        "a container whose image has a program, with standard input",
        "/api/v1/namespaces/default/pods/running/attach?stdin=true&stdout=true",
        "v5.channel.k8s.io",
    ),
    (
        "`GET …/pods/POD/log`",
        "a simulated container",
        "/api/v1/namespaces/default/pods/simulated/log",
        "",
    ),
    (
        "any `…/pods/POD/proxy`, `…/services/SERVICE/proxy`",
        "a pod whose containers are simulated",
        "/api/v1/namespaces/default/pods/simulated:80/proxy/",
        "",
    ),
    (
        "any `…/nodes/NODE/proxy`",
        "a node",
        "/api/v1/nodes/NODE/proxy/",
        "",
    ),
];

#[tokio::test]
async fn every_501_is_in_the_guide() {
    let program = Program::function(async |container| {
        container.stopped().await;
        0
    });
    let workloads = Workloads::default().container("program", program);
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::all().workloads(workloads))
        .start()
        .await;
    for (name, image) in [("simulated", "nginx"), ("running", "program")] {
        let pod: Pod = yaml(&format!(
            "{{metadata: {{name: {name}}}, spec: {{containers: [{{name: main, image: {image}}}]}}}}"
        ));
        cluster.create(&pod).await.expect_allowed();
        eventually("a running pod", async || {
            let status = cluster.get::<Pod>(name).await?.status?;
            (status.phase.as_deref() == Some("Running")).then_some(())
        })
        .await;
    }
    let client = cluster.client();
    let nodes = kube::Api::<Node>::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await.unwrap();
    let node = nodes.items[0].metadata.name.clone().unwrap();
    let mut page = HEAD.to_owned();
    for ((request, to, path, protocol), unanswered) in
        ASKED.into_iter().zip(Unanswered::all("main", "psql"))
    {
        let message = answer(&client, &path.replace("NODE", &node), protocol).await;
        assert_eq!(message, unanswered.to_string(), "{path}");
        let _ = writeln!(page, "| {request} | {to} | {} |", cell(&message));
    }
    page.push_str(TAIL);
    reference::hold(
        "not-implemented.md",
        &page,
        "kubewright-testing",
        "not_implemented_page",
    );
}

const TAIL: &str = "
[Testing](testing.md#commands-in-pods) shows how a test answers `exec`, `attach` and `portforward`, and gives images programs.
";

/// The message of a 501.
async fn answer(client: &Client, path: &str, protocol: &str) -> String {
    let mut request = http::Request::get(path);
    if !protocol.is_empty() {
        request = request
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("sec-websocket-protocol", protocol);
    }
    let request = request.body(Body::empty()).unwrap();
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.status(), 501, "{path}");
    let body = answer.into_body().collect_bytes().await.unwrap();
    let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status["reason"], "NotImplemented");
    status["message"].as_str().unwrap().to_owned()
}

//! A.11 and A.14 as a client reads them: Status bodies, Warning headers, live configuration.

use serde_json::{Value, json};

use super::hook::{Hook, answer, but, patch, webhook};
use super::{CONFIG_MAPS, config_map, start};

#[tokio::test]
async fn a11_a_denial_is_the_clients_status() {
    let cluster = start();
    let status = json!({"message": "not today", "reason": "Forbidden", "code": 403, "details": {"kind": "x"}});
    let hook =
        Hook::start(move |call| answer(call, json!({"allowed": false, "status": status}))).await;
    cluster
        .validating("v", &[hook.webhook("v.example.com")])
        .await;
    let refused = cluster.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "admission webhook \"v.example.com\" denied the request: not today",
            "reason": "Forbidden", "details": {"kind": "x"}, "code": 403,
        })
    );
    assert_eq!(cluster.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
}

#[tokio::test]
async fn a14_warnings_are_sent_whatever_the_verdict() {
    let cluster = start();
    let hook = Hook::start(|call| {
        let name = &call.body["request"]["name"];
        let warnings = json!(["old field", "say \"no\" \\", "bad\nline", "old field"]);
        answer(
            call,
            json!({"allowed": name == "good", "warnings": warnings}),
        )
    })
    .await;
    cluster
        .mutating("m", &[hook.webhook("m.example.com")])
        .await;
    cluster
        .validating("v", &[hook.webhook("v.example.com")])
        .await;
    for (name, code) in [("good", 201), ("bad", 400)] {
        let answered = cluster.post(CONFIG_MAPS, &config_map(name)).await;
        assert_eq!(answered.code, code);
        let warnings: Vec<_> = answered.headers.get_all("warning").iter().collect();
        assert_eq!(
            warnings,
            [r#"299 - "old field""#, r#"299 - "say \"no\" \\""#]
        );
    }
    let dry = cluster
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), &config_map("good2"))
        .await;
    assert_eq!(dry.headers.get_all("warning").iter().count(), 2);
}

#[tokio::test]
async fn a4_a_configuration_works_as_soon_as_it_is_there_and_no_longer() {
    let cluster = start();
    let hook = Hook::start(|call| answer(call, json!({"allowed": false}))).await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
    cluster
        .validating("v", &[hook.webhook("v.example.com")])
        .await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("b")).await.code, 400);
    cluster
        .uninstall("validatingwebhookconfigurations", "v")
        .await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("b")).await.code, 201);
}

#[tokio::test]
async fn a11_a_dead_webhook_fails_or_is_ignored_by_its_policy() {
    let cluster = start();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", free.local_addr().unwrap());
    drop(free);
    let mut webhook = webhook("dead.example.com", &json!({"url": url}));
    cluster.mutating("m", &[webhook.clone()]).await;
    let refused = cluster.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(
        (refused.code.as_u16(), refused.json()["reason"].clone()),
        (500, json!("InternalError"))
    );
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    let start = "Internal error occurred: failed calling webhook \"dead.example.com\": failed to call webhook: Post \"https://127.0.0.1:";
    assert!(message.starts_with(start), "{message}");
    assert!(
        message.ends_with("connect: connection refused"),
        "{message}"
    );
    cluster
        .uninstall("mutatingwebhookconfigurations", "m")
        .await;
    webhook = but(webhook, json!({"failurePolicy": "Ignore"}));
    cluster.mutating("m", &[webhook]).await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
}

#[tokio::test]
async fn correction_14_a_request_over_its_own_time_has_a_bare_status() {
    let cluster = start();
    let hook = Hook::start(|_| super::hook::Reply::Hang).await;
    cluster
        .mutating("m", &[hook.webhook("m.example.com")])
        .await;
    let late = cluster
        .post(&format!("{CONFIG_MAPS}?timeout=200ms"), &config_map("a"))
        .await;
    assert_eq!(late.code, 504);
    assert_eq!(
        late.json(),
        json!({
            "metadata": {}, "status": "Failure",
            "message": "Timeout: request did not complete within the allotted timeout",
            "reason": "Timeout", "details": {}, "code": 504,
        })
    );
}

#[tokio::test]
async fn a8_defaults_of_a_configuration_are_filled_in() {
    let cluster = start();
    let hook = Hook::start(super::hook::allow).await;
    let url = json!({"url": format!("https://{}/", hook.address), "caBundle": hook.ca_bundle()});
    let webhook = json!({
        "name": "m.example.com",
        "clientConfig": url,
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    cluster.mutating("m", &[webhook]).await;
    assert_eq!(cluster.post(CONFIG_MAPS, &config_map("a")).await.code, 201);
    let expected: Value = json!("/?timeout=10s");
    assert_eq!(json!(hook.received()[0].target), expected);
}

#[tokio::test]
async fn a11_what_a_patch_makes_invalid_is_invalid_as_from_any_client() {
    let cluster = start();
    let hook = Hook::start(|call| {
        patch(
            call,
            &json!([{"op": "add", "path": "/metadata/labels", "value": {"bad key!": "x"}}]),
        )
    })
    .await;
    cluster
        .mutating("m", &[hook.webhook("m.example.com")])
        .await;
    let refused = cluster.post(CONFIG_MAPS, &config_map("a")).await;
    assert_eq!(refused.code, 422);
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.starts_with(
            "ConfigMap \"a\" is invalid: metadata.labels: Invalid value: \"bad key!\""
        ),
        "{message}"
    );
}

//! What webhooks leave in the audit log, where it needs no comparison with the real one's.

use kubewright_apiserver::audit::Level;
use serde_json::json;

use super::hook::{Hook, Reply, patch};
use super::{CONFIG_MAPS, config_map};
use crate::audit::audited;

#[tokio::test]
async fn a_webhooks_patch_is_written_where_requests_are() {
    let hook = Hook::start(|call| {
        let operations = json!([{"op": "add", "path": "/data/token", "value": "hunter2"}]);
        patch(call, &operations)
    })
    .await;
    for (level, is_written) in [(Level::Metadata, false), (Level::Request, true)] {
        let (cluster, log) = audited(level);
        cluster
            .mutating("m", &[hook.webhook("m.example.com")])
            .await;
        log.events();
        cluster.post(CONFIG_MAPS, &config_map("x")).await.ok();
        let event = log.only();
        let annotations = event["annotations"].as_object().unwrap();
        let keys: Vec<&String> = annotations.keys().collect();
        assert!(
            annotations.contains_key("mutation.webhook.admission.k8s.io/round_0_index_0"),
            "{keys:?}"
        );
        let patched = "patch.webhook.admission.k8s.io/round_0_index_0";
        assert_eq!(annotations.contains_key(patched), is_written, "{keys:?}");
        assert_eq!(event.to_string().contains("hunter2"), is_written);
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_has_what_its_handler_says() {
    let hook = Hook::start(|_| Reply::Hang).await;
    let (cluster, log) = audited(Level::Metadata);
    cluster
        .validating("v", &[hook.webhook("v.example.com")])
        .await;
    log.events();
    let path = format!("{CONFIG_MAPS}?timeout=50ms");
    assert_eq!(cluster.post(&path, &config_map("x")).await.code, 504);
    assert_eq!(
        log.only()["responseStatus"],
        json!({
            "metadata": {},
            "status": "Failure",
            "reason": "Timeout",
            "message": "Timeout: request did not complete within requested timeout - context deadline exceeded",
            "details": {},
            "code": 504,
        })
    );
}

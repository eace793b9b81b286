//! Prints what one review costs, without HTTP and TLS: `cargo run --release -p kubewright-webhook --example cost`.
//!
//! With a name and a number it only runs that case so many times, for a profiler.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::{PartialObjectMeta, ResourceExt};
use kubewright_webhook::{Change, Mutated, Review, Validated, Webhooks, mutating, validating};
use tower::Service;

async fn metadata(
    change: Change<PartialObjectMeta<Pod>>,
    _: Review,
) -> Mutated<PartialObjectMeta<Pod>> {
    let mut pod = change.into_object();
    pod.annotations_mut()
        .insert("mutate".into(), "welcome".into());
    Ok(pod)
}

async fn typed(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    pod.annotations_mut()
        .insert("mutate".into(), "welcome".into());
    Ok(pod)
}

async fn config_map(change: Change<ConfigMap>, _: Review) -> Mutated<ConfigMap> {
    let mut map = change.into_object();
    map.annotations_mut()
        .insert("mutate".into(), "welcome".into());
    Ok(map)
}

async fn judged(change: Change<Pod>, _: Review) -> Validated {
    black_box(&change);
    Ok(())
}

fn config_map_review() -> Vec<u8> {
    let panel = "{\n  \"title\": \"Requests per second\",\n  \"type\": \"timeseries\",\n  \"targets\": [\"sum(rate(http_requests_total{job='shop'}[5m])) by (code)\"]\n},\n";
    let dashboard =
        panel.repeat(281_000 / serde_json::to_string(panel).map_or(1, |text| text.len() - 2));
    serde_json::json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "2f0c1d3e-7a52-4b0c-9f0e-51a7d9c3b6aa",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "dashboards", "namespace": "monitoring", "operation": "CREATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "dashboards", "namespace": "monitoring"}, "data": {"dashboard.json": dashboard}},
        "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }})
    .to_string()
    .into_bytes()
}

#[expect(
    clippy::print_stdout,
    reason = "this program is for reading what it prints"
)]
fn main() {
    let webhooks = Webhooks::new("cost.example.com")
        .with(mutating("metadata", metadata))
        .with(mutating("typed", typed))
        .with(mutating("config-map", config_map))
        .with(validating("validate", judged));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime without threads starts");
    let pod = Bytes::from_static(include_bytes!(
        "../../review/fixtures/v1.36/create-pod.json"
    ));
    let config_map = Bytes::from(config_map_review());
    let cases = [
        ("/metadata", &pod),
        ("/validate", &pod),
        ("/typed", &pod),
        ("/config-map", &config_map),
        ("/nothing", &pod),
    ];
    let mut arguments = std::env::args().skip(1);
    let only = arguments.next();
    let times = arguments.next().and_then(|times| times.parse().ok());
    for (path, body) in cases {
        if only.as_deref().is_some_and(|only| only != path) {
            continue;
        }
        let rounds = times.unwrap_or(if body.len() > 100_000 { 300 } else { 3000 });
        let mut best = u128::MAX;
        for _ in 0..if times.is_some() { 1 } else { 7 } {
            let start = Instant::now();
            runtime.block_on(async {
                for _ in 0..rounds {
                    black_box(call(webhooks.clone(), path, body.clone()).await);
                }
            });
            best = best.min(Instant::now().duration_since(start).as_nanos() / rounds);
        }
        println!("{path:12} {:7} bytes {best:8} ns", body.len());
    }
}

async fn call(mut webhooks: Webhooks, path: &str, body: Bytes) -> http::StatusCode {
    let request = Request::post(format!("{path}?timeout=10s"))
        .header("content-type", "application/json")
        .body(Full::new(body))
        .expect("the path is a path");
    match webhooks.call(request).await {
        Ok(response) => response.status(),
        Err(never) => match never {},
    }
}

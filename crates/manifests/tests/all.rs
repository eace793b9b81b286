//! Webhook configurations as a program writes them.

#![cfg(test)]

mod charts;
mod compatibility;
mod fields;
mod installers;
mod laws;
mod monitoring;
mod policies;
mod refusals;
mod trees;

use k8s_openapi::api::core::v1::Pod;
use kubewright_manifests::{Endpoint, Manifests, WebhookConfigurations};
use kubewright_webhook::{
    Change, Hook, Mutated, Review, Validated, Webhooks, mutating, validating,
};
use serde_json::Value;

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

async fn same(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    Ok(change.into_object())
}

fn validator(name: &str) -> Hook {
    validating(name, allow)
}

fn mutator(name: &str) -> Hook {
    mutating(name, same)
}

fn local() -> Endpoint {
    Endpoint::url("https://127.0.0.1:8080").unwrap()
}

fn in_cluster() -> Endpoint {
    Endpoint::service("policy-system/policy").unwrap()
}

fn configurations(hooks: impl IntoIterator<Item = Hook>, at: Endpoint) -> WebhookConfigurations {
    let webhooks = hooks
        .into_iter()
        .fold(Webhooks::new("example.com"), Webhooks::with);
    WebhookConfigurations::new("policy", &webhooks, at)
}

fn built(hooks: impl IntoIterator<Item = Hook>, at: Endpoint) -> Manifests {
    configurations(hooks, at).build().unwrap()
}

/// The only webhook of the only configuration.
fn webhook(hook: Hook, at: Endpoint) -> Value {
    built([hook], at).objects()[0]["webhooks"][0].clone()
}

//! Whether a webhook would keep the program that serves it from starting again.

use std::collections::BTreeMap;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use kube::Client;
use kube::api::{Api, ListParams};
use kubewright_manifests::self_lock;
use serde_json::{Value, json};

use super::finding::{Check, Finding};
use crate::failure::Outcome;

/// What can be said about a webhook that is served in the cluster.
pub(super) async fn findings(client: &Client, webhook: &Value) -> Outcome<Vec<Finding>> {
    let service = &webhook["clientConfig"]["service"];
    let (Some(namespace), Some(name)) = (service["namespace"].as_str(), service["name"].as_str())
    else {
        return Ok(Vec::new());
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get_opt(namespace).await;
    let Some(found) = found.context("cannot read Namespaces")? else {
        return Ok(Vec::new());
    };
    let labels = found.metadata.labels.unwrap_or_default();
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let service = services
        .get_opt(name)
        .await
        .context("cannot read Services")?;
    let selector = service
        .and_then(|service| service.spec?.selector)
        .unwrap_or_default();
    let configuration = json!({"webhooks": [webhook]});
    for own in owns(client, namespace, selector).await? {
        if let Err(error) = self_lock(&configuration, &labels, &own) {
            let found = Finding::of(Check::LocksItselfOut, [("error", &error)]);
            return Ok(vec![found]);
        }
    }
    if webhook["failurePolicy"] == "Fail" && !webhook["matchConditions"].is_null() {
        return Ok(vec![Finding::of(Check::MatchConditions, [])]);
    }
    Ok(vec![Finding::good("its own program starts without it")])
}

/// The labels of the pods that serve it, or else those that they are known to have.
async fn owns(
    client: &Client,
    namespace: &str,
    selector: BTreeMap<String, String>,
) -> Outcome<Vec<BTreeMap<String, String>>> {
    let words: Vec<String> = selector
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if words.is_empty() {
        return Ok(vec![selector]);
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pods = pods
        .list(&ListParams::default().labels(&words.join(",")))
        .await;
    let pods = pods.context("cannot read Pods")?.items;
    if pods.is_empty() {
        return Ok(vec![selector]);
    }
    let labels = pods
        .into_iter()
        .map(|pod| pod.metadata.labels.unwrap_or_default());
    Ok(labels.collect())
}

//! What is wrong with the webhooks of a cluster, or could be.

mod finding;
mod lock;
mod reach;
mod trust;

use anyhow::Context as _;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};

#[cfg(test)]
pub(crate) use self::finding::Check;
pub(crate) use self::finding::{Finding, Weight};
pub(crate) use self::trust::read as read_bundle;
use crate::failure::Outcome;

/// One webhook with everything that was found out about it.
#[derive(Clone, Debug)]
pub(crate) struct Examined {
    pub(crate) configuration: String,
    pub(crate) webhook: String,
    pub(crate) findings: Vec<Finding>,
}

impl Examined {
    /// The heaviest finding.
    pub(crate) fn weight(&self) -> Weight {
        let weights = self.findings.iter().map(|finding| finding.weight);
        weights.max().unwrap_or(Weight::Good)
    }

    pub(crate) fn json(&self) -> Value {
        let told =
            |finding: &Finding| json!({"weight": finding.weight.word(), "text": finding.text});
        let findings: Vec<Value> = self.findings.iter().map(told).collect();
        json!({"configuration": self.configuration, "webhook": self.webhook, "findings": findings})
    }
}

/// A webhook, with the object that makes the API server call it.
pub(crate) struct Known {
    name: String,
    configuration: String,
    webhook: Value,
}

impl Known {
    /// Where the API server calls it, and whom it trusts there.
    pub(crate) fn client_config(&self) -> &Value {
        &self.webhook["clientConfig"]
    }
}

/// Returns every webhook of a cluster.
pub(crate) async fn webhooks(client: &Client) -> Outcome<Vec<Known>> {
    let mut webhooks = Vec::new();
    for (group, kind) in CALLERS {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let found = api.list(&ListParams::default()).await;
        let found = found.with_context(|| format!("cannot list {}s", kind.kind))?;
        for object in found.items {
            let name = object.metadata.name.unwrap_or_default();
            let called = called(&name, &object.data).into_iter();
            webhooks.extend(called.map(|webhook| Known {
                configuration: format!("{} {name}", kind.kind),
                name: name.clone(),
                webhook,
            }));
        }
    }
    Ok(webhooks)
}

/// Examines every webhook, or those of the configurations and definitions with these names.
pub(crate) async fn examine(client: &Client, names: &[String]) -> Outcome<Vec<Examined>> {
    let webhooks = webhooks(client).await?;
    let is_meant = |known: &&Known| names.is_empty() || names.contains(&known.name);
    let mut examined = Vec::new();
    for known in webhooks.iter().filter(is_meant) {
        let webhook = &known.webhook;
        let others = webhooks.iter().map(|other| &other.webhook);
        let mut findings = trust::findings(webhook, others);
        findings.extend(reach::findings(client, &webhook["clientConfig"]).await?);
        // Nothing that a program needs to start is converted by it.
        if webhook["rules"].is_array() {
            findings.extend(lock::findings(client, webhook).await?);
        }
        examined.push(Examined {
            configuration: known.configuration.clone(),
            webhook: webhook["name"].as_str().unwrap_or_default().to_owned(),
            findings,
        });
    }
    Ok(examined)
}

/// The webhooks in an object; the conversion of a definition is one, by the name of the definition.
fn called(name: &str, object: &Value) -> Vec<Value> {
    let conversion = &object["spec"]["conversion"];
    if conversion["strategy"] == "Webhook" {
        let config = &conversion["webhook"]["clientConfig"];
        return vec![json!({"name": name, "clientConfig": config})];
    }
    object["webhooks"].as_array().cloned().unwrap_or_default()
}

/// The kinds of objects that have webhooks called.
const CALLERS: [(&str, &str); 3] = [
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

//! What is wrong with the webhooks of a cluster, or could be.

mod lock;
mod reach;
mod trust;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};

use crate::failure::Outcome;

/// Something about a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) weight: Weight,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Good,
    /// It need not be wrong, but nobody can tell from here that it is right.
    Doubt,
    Problem,
}

impl Weight {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubt => "doubt",
            Self::Problem => "problem",
        }
    }
}

impl Finding {
    fn good(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Good,
            text,
        }
    }

    fn doubt(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Doubt,
            text,
        }
    }

    fn problem(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Problem,
            text,
        }
    }
}

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

/// Examines every webhook, or those of the configurations with these names.
pub(crate) async fn examine(client: &Client, names: &[String]) -> Outcome<Vec<Examined>> {
    let mut webhooks = Vec::new();
    for kind in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        for configuration in api.list(&ListParams::default()).await?.items {
            let called = format!(
                "{} {}",
                kind.kind,
                configuration.metadata.name.as_deref().unwrap_or_default()
            );
            let listed = configuration.data["webhooks"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let meant = names.is_empty()
                || names
                    .iter()
                    .any(|name| configuration.metadata.name.as_ref() == Some(name));
            webhooks.extend(
                listed
                    .into_iter()
                    .map(|webhook| (called.clone(), webhook, meant)),
            );
        }
    }
    let mut examined = Vec::new();
    for (configuration, webhook, _) in webhooks.iter().filter(|(_, _, meant)| *meant) {
        let config = &webhook["clientConfig"];
        let others = webhooks.iter().map(|(_, other, _)| other);
        let mut findings = trust::findings(webhook, others);
        findings.extend(reach::findings(client, config).await?);
        findings.extend(lock::findings(client, webhook).await?);
        examined.push(Examined {
            configuration: configuration.clone(),
            webhook: webhook["name"].as_str().unwrap_or_default().to_owned(),
            findings,
        });
    }
    Ok(examined)
}

//! Configurations of mutating and of validating webhooks.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::{static_suffix, webhooks};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of both kinds of webhook configurations.
#[derive(Debug)]
pub(crate) struct WebhookConfiguration {
    /// Whether its webhooks change objects.
    pub(super) mutating: bool,
}

impl Strategy for WebhookConfiguration {
    fn default(&self, object: &mut Value) {
        default(self.mutating, object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    /// These two kinds tell an empty list from none.
    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        if new.at("webhooks") != old.at("webhooks") {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        webhooks::configuration(object, &Value::Null, &mut found.errors);
        static_suffix::check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.create(new, &mut found.errors);
        webhooks::configuration(new, old, &mut found.errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut warnings = static_suffix::warnings(new);
        webhooks::warn_of_reviews(new, &mut warnings);
        warnings
    }

    /// Which of the webhooks has them is not stored: one that still does, or else the first one that can.
    fn with_unseen_bytes(&self, old: &Value, new: &Value) -> Option<Value> {
        let wanted = new.list("webhooks");
        let is_without = |webhook: &Value| !webhook.at("clientConfig").has("caBundle");
        let mut with = old.clone();
        let mut without: Vec<_> = with.each("webhooks").enumerate().collect();
        without.retain(|(_, webhook)| is_without(webhook));
        let keeps = |index: usize| {
            wanted
                .get(index)
                .is_some_and(|webhook| !is_without(webhook))
        };
        let at = without.iter().position(|(index, _)| keeps(*index));
        let (_, webhook) = without.into_iter().nth(at.unwrap_or(0))?;
        webhook.part("clientConfig")?.put("caBundle", "");
        Some(with)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

fn default(mutating: bool, object: &mut Value) {
    for webhook in object.each("webhooks") {
        webhook.fill("failurePolicy", "Fail");
        webhook.fill("matchPolicy", "Equivalent");
        webhook.part("namespaceSelector");
        webhook.part("objectSelector");
        webhook.fill("timeoutSeconds", 10);
        if mutating {
            webhook.fill("reinvocationPolicy", "Never");
        }
        if let Some(service) = webhook
            .part("clientConfig")
            .and_then(|client| client.existing("service"))
        {
            service.fill("port", 443);
        }
        for rule in webhook.each("rules") {
            rule.fill("scope", "*");
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let webhooks = row.object.list("webhooks").len().into();
    vec![row.name(), webhooks, row.age()]
}

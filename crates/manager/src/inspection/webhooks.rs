//! How the reviews of each hook ended: their numbers, and the last that were denied or failed.

use std::collections::HashMap;

use kubewright_webhook::{Outcomes, Webhooks};
use serde_json::{Value, json};

use super::Inspection;

impl Inspection {
    pub(super) fn webhooks(&self, hooks: Webhooks) {
        let declarations = hooks.declarations().into_iter();
        let paths: HashMap<String, String> = declarations
            .map(|declaration| (declaration.name, declaration.path))
            .collect();
        let last = self.last_reviews.clone();
        self.section("webhooks", move |now| {
            let outcomes = hooks.outcomes().into_iter();
            let outcomes = outcomes.map(|(name, outcomes)| {
                let last = paths.get(&name).map(|path| last.of(path, now));
                webhook(&name, outcomes, &last.unwrap_or_default())
            });
            outcomes.collect()
        });
    }
}

fn webhook(name: &str, outcomes: Outcomes, last: &[Value]) -> Value {
    json!({
        "name": name,
        "allowed": outcomes.allowed,
        "changed": outcomes.changed,
        "denied": outcomes.denied,
        "failed": outcomes.failed,
        "undecodable": outcomes.undecodable,
        "panicked": outcomes.panicked,
        "stopped": outcomes.stopped,
        "lastRefused": last,
    })
}

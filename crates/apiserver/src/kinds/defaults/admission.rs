//! Defaults of webhook configurations and admission policies.

use kubewright_apimachinery::view::Edit;
use serde_json::Value;

pub(super) fn apply(kind: &str, object: &mut Value) {
    match kind {
        "MutatingWebhookConfiguration" => webhooks(object, true),
        "ValidatingWebhookConfiguration" => webhooks(object, false),
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => policy(object),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            if let Some(spec) = object.part("spec")
                && let Some(resources) = spec.existing("matchResources")
            {
                match_resources(resources);
            }
        }
        _ => {}
    }
}

fn webhooks(object: &mut Value, mutating: bool) {
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

fn policy(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("failurePolicy", "Fail");
    if let Some(constraints) = spec.existing("matchConstraints") {
        match_resources(constraints);
    }
}

fn match_resources(resources: &mut Value) {
    resources.fill("matchPolicy", "Equivalent");
    resources.part("namespaceSelector");
    resources.part("objectSelector");
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.each(rules) {
            rule.fill("scope", "*");
        }
    }
}

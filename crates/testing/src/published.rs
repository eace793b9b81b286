//! Waiting for a program under test that publishes by which authority it is known.

use kube::Client;
use serde_json::Value;

use crate::eventually;

/// Waits until an object that leads to the program, and was installed without saying what to trust, says it.
pub(crate) async fn filled(client: &Client, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let what = format!("trust in the program under test, in {name}");
    eventually(&what, async || {
        let read = http::Request::get(path_of(object)).body(Vec::new()).ok()?;
        let found: Value = client.request(read).await.ok()?;
        is_filled(object, &found).then_some(())
    })
    .await;
}

/// Where an object is: a webhook configuration, a policy, its binding, or a definition.
pub(crate) fn path_of(object: &Value) -> String {
    let collection = match object["kind"].as_str() {
        Some("MutatingWebhookConfiguration") => {
            "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        }
        Some("ValidatingWebhookConfiguration") => {
            "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        }
        Some("MutatingAdmissionPolicy") => {
            "admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
        }
        Some("MutatingAdmissionPolicyBinding") => {
            "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
        }
        Some("ValidatingAdmissionPolicy") => {
            "admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        }
        Some("ValidatingAdmissionPolicyBinding") => {
            "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
        }
        _ => "apiextensions.k8s.io/v1/customresourcedefinitions",
    };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("/apis/{collection}/{name}")
}

/// Whether every place in what was found says what to trust, of those that are in what was installed.
fn is_filled(installed: &Value, found: &Value) -> bool {
    let says = |client: &Value| {
        client["caBundle"]
            .as_str()
            .is_some_and(|bundle| !bundle.is_empty())
    };
    let Some(webhooks) = installed["webhooks"].as_array() else {
        return says(&found["spec"]["conversion"]["webhook"]["clientConfig"]);
    };
    webhooks.iter().all(|installed| {
        let mut found = found["webhooks"].as_array().into_iter().flatten();
        found.any(|found| found["name"] == installed["name"] && says(&found["clientConfig"]))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_filled_when_every_place_that_was_installed_is() {
        let hook =
            |name: &str, bundle: &str| json!({"name": name, "clientConfig": {"caBundle": bundle}});
        let installed = json!({"webhooks": [{"name": "a"}, {"name": "b"}]});
        let found = |hooks: &[Value]| json!({"webhooks": hooks});
        let all = found(&[hook("probe", ""), hook("b", "Q0E="), hook("a", "Q0E=")]);
        assert!(is_filled(&installed, &all));
        assert!(!is_filled(
            &installed,
            &found(&[hook("a", "Q0E="), hook("b", "")])
        ));
        assert!(!is_filled(&installed, &found(&[hook("a", "Q0E=")])));
        let definition = json!({"spec": {}});
        let client = json!({"clientConfig": {"caBundle": "Q0E="}});
        let filled = json!({"spec": {"conversion": {"webhook": client}}});
        assert!(is_filled(&definition, &filled));
        assert!(!is_filled(&definition, &definition));
    }
}

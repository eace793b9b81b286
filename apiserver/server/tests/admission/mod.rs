//! Webhooks as the API server calls them, from a client's request to the stored object.

mod audit;
#[expect(
    dead_code,
    reason = "written for the chain's own tests, which use more of it"
)]
#[path = "../../../admission/src/tests/hook.rs"]
mod hook;
mod operations;
mod outcomes;
mod owners;
mod simulated;
mod subresources;

use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::cluster::{Answer, Cluster};

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

impl Cluster {
    /// Installs a mutating configuration.
    async fn mutating(&self, name: &str, webhooks: &[Value]) {
        self.install("MutatingWebhookConfiguration", name, webhooks)
            .await;
    }

    /// Installs a validating configuration.
    async fn validating(&self, name: &str, webhooks: &[Value]) {
        let without = |webhook: &Value| {
            let mut webhook = webhook.clone();
            webhook
                .as_object_mut()
                .unwrap()
                .remove("reinvocationPolicy");
            webhook
        };
        let webhooks: Vec<Value> = webhooks.iter().map(without).collect();
        self.install("ValidatingWebhookConfiguration", name, &webhooks)
            .await;
    }

    async fn install(&self, kind: &str, name: &str, webhooks: &[Value]) {
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name},
            "webhooks": webhooks,
        });
        let path = format!("{CONFIGURATIONS}/{}s", kind.to_lowercase());
        let answer = self.post(&path, &object).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }

    async fn uninstall(&self, resource: &str, name: &str) {
        let answer = self
            .delete(&format!("{CONFIGURATIONS}/{resource}/{name}"))
            .await;
        assert_eq!(answer.code, 200, "{answer:?}");
    }
}

impl Answer {
    /// The request went through.
    #[track_caller]
    fn ok(self) {
        assert!(
            self.code.is_success(),
            "{}",
            String::from_utf8_lossy(&self.text)
        );
    }
}

fn start() -> Cluster {
    Cluster::of(ApiServer::start())
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"start": "here"},
    })
}

/// A webhook for every operation on these resources.
fn for_all(webhook: Value, resources: &[&str]) -> Value {
    let rules = json!([{
        "operations": ["*"],
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": resources,
        "scope": "*",
    }]);
    hook::but(webhook, json!({"rules": rules}))
}

//! What `manifests` writes, and that the files under `deploy/` are current.

use annotate_pod::app;
use kubewright::Program;
use kubewright::manifests::{Endpoint, Manifests};
use serde_json::json;

use super::options;

fn manifests(endpoint: Endpoint) -> Manifests {
    Program::new(|needs| app(options(&[]), needs))
        .manifests(endpoint, None)
        .unwrap()
}

#[test]
fn the_configuration_is_the_one_that_users_know() {
    let manifests = manifests(Endpoint::url("https://127.0.0.1:8080").unwrap());
    assert_eq!(
        manifests.objects(),
        [json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "test-mutating-webhook"},
            "webhooks": [{
                "name": "test-mutating-webhook.example.com",
                "clientConfig": {"url": "https://127.0.0.1:8080/mutate"},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                    "operations": ["CREATE"], "scope": "Namespaced",
                }],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1", "v1beta1"],
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "reinvocationPolicy": "Never",
                "timeoutSeconds": 10,
            }],
        })]
    );
}

#[test]
fn the_deployed_files_are_current() {
    let installer = Program::new(|needs| app(options(&[]), needs))
        .deployment()
        .unwrap();
    installer.tree().check("deploy").unwrap();
}

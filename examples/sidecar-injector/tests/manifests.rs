//! What `manifests` writes, and what lies under `deploy/`.

use std::path::Path;

use kubewright::manifests::{Endpoint, Installer, Manifests};
use kubewright::{Live, Program};
use serde_json::{Value, json};
use sidecar_injector::{Sidecars, app, webhooks};

use super::options;

fn manifests() -> Manifests {
    let endpoint = Endpoint::service("sidecar-injector/sidecar-injector").unwrap();
    Program::new(|needs| app(options(Path::new("/nowhere")), needs))
        .manifests(endpoint, None)
        .unwrap()
}

fn installer() -> Installer {
    let program = Program::new(|needs| app(options(Path::new("/nowhere")), needs));
    program.deployment().unwrap()
}

#[test]
fn the_configuration_is_the_one_that_users_know() {
    let webhook = |name: &str, path: &str, namespaces: Value| {
        json!({
                "name": name,
                "clientConfig": {"service": {
                    "namespace": "sidecar-injector", "name": "sidecar-injector",
                    "path": path, "port": 443,
                }},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                    "operations": ["CREATE"], "scope": "Namespaced",
                }],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "matchPolicy": "Equivalent",
                "namespaceSelector": namespaces,
                "objectSelector": {},
                "reinvocationPolicy": "Never",
                "timeoutSeconds": 10,
        })
    };
    assert_eq!(
        manifests().objects(),
        [json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "sidecar-injector-webhook"},
            "webhooks": [
                webhook(
                    "sidecar-injector.morven.me",
                    "/inject",
                    json!({"matchLabels": {"sidecar-injection": "enabled"}}),
                ),
                webhook(
                    "sidecar-injector-enabled.morven.me",
                    "/inject/enabled",
                    json!({
                        "matchLabels": {"sidecar-injector": "enabled"},
                        "matchExpressions": [
                            {"key": "sidecar-injection", "operator": "NotIn", "values": ["enabled"]},
                        ],
                    }),
                ),
            ],
        })]
    );
}

#[test]
fn the_deployed_files_are_current() {
    installer().tree().check("deploy").unwrap();
}

#[test]
fn there_is_no_rule_for_updates() {
    let declarations = webhooks(Live::fixed(Sidecars::default())).declarations();
    let operations = declarations
        .iter()
        .flat_map(|hook| &hook.rules)
        .flat_map(|rule| &rule.operations);
    let operations: Vec<_> = operations.map(|operation| operation.as_str()).collect();
    // One for each of the two hooks.
    assert_eq!(operations, ["CREATE", "CREATE"]);
}

#[test]
fn the_deployed_sidecars_are_the_default() {
    let program = installer().program();
    let map = program
        .objects()
        .iter()
        .find(|object| object["kind"] == "ConfigMap")
        .unwrap();
    let sidecars: Sidecars =
        serde_saphyr::from_str(map["data"]["sidecarconfig.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(sidecars, Sidecars::default());
}

#[test]
fn the_program_needs_no_rights_in_the_cluster() {
    for object in installer().manifests() {
        let kind = object["kind"].as_str().unwrap();
        assert!(!kind.contains("Role"), "{kind}");
        if kind == "Deployment" {
            assert_eq!(
                object["spec"]["template"]["spec"]["automountServiceAccountToken"],
                false
            );
        }
    }
}

#[test]
fn the_configuration_can_be_applied_after_the_program() {
    let is_configuration = |object: &Value| {
        object["kind"]
            .as_str()
            .unwrap()
            .ends_with("WebhookConfiguration")
    };
    assert!(!installer().program().objects().iter().any(is_configuration));
    assert!(
        installer()
            .webhooks()
            .objects()
            .iter()
            .all(is_configuration)
    );
}

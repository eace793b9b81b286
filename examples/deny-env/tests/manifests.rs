//! What `manifests` writes, and that the files under `deploy/` are current.

use deny_env::app;
use kubewright::Program;
use kubewright::manifests::{Endpoint, Manifests};
use serde_json::{Value, json};

use super::options;

fn manifests(arguments: &[&str], endpoint: Endpoint) -> Manifests {
    Program::new(|needs| app(options(arguments), needs))
        .manifests(endpoint, None)
        .unwrap()
}

fn local() -> Endpoint {
    Endpoint::url("https://127.0.0.1:8443").unwrap()
}

fn in_cluster() -> Endpoint {
    Endpoint::service("deny-env/deny-env").unwrap()
}

fn webhook<'a>(manifests: &'a Manifests, name: &str) -> &'a Value {
    let webhooks = manifests
        .objects()
        .iter()
        .flat_map(|object| object["webhooks"].as_array().unwrap());
    webhooks
        .into_iter()
        .find(|webhook| webhook["name"] == name)
        .unwrap()
}

#[test]
fn the_configuration_is_the_one_that_users_know() {
    let manifests = manifests(&[], local());
    assert_eq!(
        manifests.objects(),
        [json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "denyenv"},
            "webhooks": [{
                "name": "denyenv.hightowerlabs.com",
                "clientConfig": {"url": "https://127.0.0.1:8443/denyenv"},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
                    "operations": ["CREATE"], "scope": "Namespaced",
                }],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "timeoutSeconds": 10,
            }],
        })]
    );
}

#[test]
fn ephemeral_containers_have_a_rule_of_their_own() {
    let manifests = manifests(&["--ephemeral-containers"], local());
    assert_eq!(
        webhook(&manifests, "denyenv.hightowerlabs.com")["rules"][1],
        json!({
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/ephemeralcontainers"],
            "operations": ["UPDATE"], "scope": "Namespaced",
        })
    );
}

#[test]
fn the_other_webhooks_are_there_only_if_asked_for() {
    let arguments = [
        "--reserved-namespaces",
        "billing",
        "--default-storage-class",
        "fast",
    ];
    let manifests = manifests(&arguments, in_cluster());
    let reserved = webhook(&manifests, "reserved-namespaces.hightowerlabs.com");
    assert_eq!(
        reserved["rules"],
        json!([{
            "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"],
            "operations": ["CREATE"], "scope": "Namespaced",
        }])
    );
    let billing =
        json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["billing"]});
    assert_eq!(
        reserved["namespaceSelector"],
        json!({"matchExpressions": [billing]})
    );

    let class = webhook(&manifests, "default-storage-class.hightowerlabs.com");
    assert_eq!(
        class["rules"][0]["resources"],
        json!(["persistentvolumeclaims"])
    );
    assert_eq!(class["rules"][0]["operations"], json!(["CREATE"]));
    assert_eq!(
        manifests.objects()[0]["kind"],
        "MutatingWebhookConfiguration"
    );
    assert_eq!(manifests.objects()[0]["metadata"]["name"], "denyenv");
}

#[test]
fn the_deployed_files_are_current() {
    let installer = Program::new(|needs| app(options(&[]), needs))
        .deployment()
        .unwrap();
    installer.tree().check("deploy").unwrap();
}

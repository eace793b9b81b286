//! What `manifests` and `permissions` write, and what lies under `deploy/`.

use kubewright::Program;
use kubewright::manifests::{Endpoint, Manifests};
use serde_json::json;

use super::options;

fn program() -> Program {
    Program::new(|needs| topolvm_hook::app(options(&[]), needs))
}

fn manifests() -> Manifests {
    let endpoint = Endpoint::service("topolvm-hook/topolvm-hook").unwrap();
    program().manifests(endpoint, None).unwrap()
}

#[test]
fn the_configuration_is_the_one_that_users_know() {
    let manifests = manifests();
    let [configuration] = manifests.objects() else {
        panic!("one configuration")
    };
    assert_eq!(configuration["metadata"]["name"], "topolvm-hook");
    let hook = &configuration["webhooks"][0];
    for (field, expected) in [
        ("name", json!("hook.topolvm.cybozu.com")),
        ("failurePolicy", json!("Fail")),
        ("matchPolicy", json!("Equivalent")),
        ("sideEffects", json!("None")),
    ] {
        assert_eq!(hook[field], expected, "{field}");
    }
    assert_eq!(hook["clientConfig"]["service"]["path"], "/mutate");
    assert_eq!(hook["rules"][0]["operations"], json!(["CREATE"]));
    assert_eq!(hook["rules"][0]["resources"], json!(["pods"]));
    assert_eq!(
        hook["namespaceSelector"]["matchExpressions"],
        json!([
            {"key": "topolvm.cybozu.com/webhook", "operator": "NotIn", "values": ["ignore"]},
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "topolvm-hook"]},
        ])
    );
}

#[test]
fn it_may_read_claims_and_classes_and_nothing_else() {
    let permissions = program().permissions();
    let [role] = permissions.objects() else {
        panic!("one role")
    };
    let read = json!(["get", "list", "watch"]);
    assert_eq!(
        role["rules"],
        json!([
            {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": read},
            {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": read},
        ])
    );
}

#[test]
fn the_deployed_files_are_current() {
    let installer = program().deployment().unwrap();
    installer.tree().check("deploy").unwrap();
}

#[test]
fn cert_manager_makes_its_certificate_and_has_it_trusted() {
    let installer = program().deployment().unwrap();
    let webhooks = installer.webhooks();
    let annotations = &webhooks.objects()[0]["metadata"]["annotations"];
    assert_eq!(
        *annotations,
        json!({"cert-manager.io/inject-ca-from": "topolvm-hook/topolvm-hook"})
    );
    let program = installer.program();
    let mut objects = program.objects().iter();
    let certificate = objects
        .find(|object| object["kind"] == "Certificate")
        .unwrap();
    assert_eq!(
        certificate["spec"]["dnsNames"][0],
        "topolvm-hook.topolvm-hook.svc"
    );
}

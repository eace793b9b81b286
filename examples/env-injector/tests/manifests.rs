//! What the program prints, and what lies under `deploy/`.

use env_injector::app;
use kubewright::Program;
use kubewright::manifests::{Endpoint, Manifests};
use serde_json::{Value, json};

fn manifests() -> Manifests {
    let endpoint = Endpoint::service("injector/env-injector:10443").unwrap();
    Program::new(app).manifests(endpoint, None).unwrap()
}

#[test]
fn the_configuration_is_the_one_that_users_know() {
    let manifests = manifests();
    let [configuration] = manifests.objects() else {
        panic!("one configuration")
    };
    assert_eq!(configuration["kind"], "MutatingWebhookConfiguration");
    assert_eq!(
        configuration["metadata"]["name"],
        "env-injector.toversus.dev"
    );
    let [hook] = &configuration["webhooks"].as_array().unwrap()[..] else {
        panic!("one webhook")
    };
    assert_eq!(hook["name"], "env-injector.toversus.dev");
    assert_eq!(
        hook["clientConfig"]["service"],
        json!({"namespace": "injector", "name": "env-injector", "path": "/inject", "port": 10443})
    );
    assert_eq!(
        hook["rules"],
        json!([{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
            "operations": ["CREATE", "UPDATE"], "scope": "Namespaced",
        }])
    );
    assert_eq!(hook["failurePolicy"], "Fail");
    assert_eq!(hook["sideEffects"], "None");
    assert_eq!(
        hook["namespaceSelector"]["matchExpressions"],
        json!([
            {"key": "toversus.dev.env-injector.exclude", "operator": "NotIn", "values": ["true"]},
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["injector"]},
        ])
    );
}

#[test]
fn the_deployed_configuration_is_current() {
    assert_eq!(
        include_str!("../deploy/webhook/configuration.yaml"),
        manifests().to_yaml(),
        "write it anew with: cargo run -p env-injector -- manifests --service injector/env-injector:10443"
    );
}

#[test]
fn the_deployed_permissions_are_current() {
    let program = Program::new(app);
    assert_eq!(
        include_str!("../deploy/program/permissions.yaml"),
        program.permissions().to_yaml(),
        "write it anew with: cargo run -p env-injector -- permissions"
    );
    assert_eq!(
        include_str!("../deploy/program/bindings.yaml"),
        program.bindings("injector", "env-injector").to_yaml(),
        "every role has its binding"
    );
}

#[test]
fn the_deployment_listens_where_the_service_sends_calls() {
    let read = |text| serde_saphyr::from_str::<Value>(text).unwrap();
    let deployment = read(include_str!("../deploy/program/deployment.yaml"));
    let service = read(include_str!("../deploy/program/service.yaml"));
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().unwrap();
    assert!(arguments.contains(&json!("--listen=0.0.0.0:10443")));
    assert_eq!(
        container["ports"][0],
        json!({"name": "webhooks", "containerPort": 10443})
    );
    assert_eq!(
        service["spec"]["ports"],
        json!([{"name": "webhooks", "port": 10443, "targetPort": "webhooks"}])
    );
}

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
fn the_deployed_files_are_current() {
    let installer = Program::new(app).deployment().unwrap();
    installer.tree().check("deploy").unwrap();
}

#[test]
fn it_may_look_after_its_own_secret_and_configuration_and_nothing_else() {
    let permissions = Program::new(app).permissions();
    let [everywhere, own] = permissions.objects() else {
        panic!("two roles")
    };
    assert_eq!(
        everywhere["rules"],
        json!([{
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": ["env-injector.toversus.dev"],
            "verbs": ["get", "list", "update", "watch"],
        }])
    );
    let names = |rule: &Value| rule["resourceNames"][0].clone();
    let rules = own["rules"].as_array().unwrap().iter();
    let named: Vec<Value> = rules.map(names).filter(|name| !name.is_null()).collect();
    assert_eq!(named, ["config-logging", "env-injector-certs"]);
}

#[test]
fn three_replicas_are_reached_at_the_port_that_users_know() {
    let installer = Program::new(app).deployment().unwrap();
    let program = installer.program();
    let of_kind = |kind: &str| {
        let mut objects = program.objects().iter();
        objects.find(|object| object["kind"] == kind).unwrap()
    };
    let service = of_kind("Service");
    assert_eq!(service["metadata"]["name"], "env-injector");
    assert_eq!(service["metadata"]["namespace"], "injector");
    assert_eq!(
        service["spec"]["ports"],
        json!([{"name": "webhooks", "port": 10443, "targetPort": "webhooks"}])
    );
    let deployment = of_kind("Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    // The program listens on this port by default.
    assert_eq!(
        container["ports"][0],
        json!({"name": "webhooks", "containerPort": 9443})
    );
    let arguments = container["args"].as_array().unwrap().iter();
    let mut arguments = arguments.filter_map(Value::as_str);
    assert!(!arguments.any(|argument| argument.starts_with("--listen")));
    assert_eq!(
        of_kind("ConfigMap")["data"],
        json!({"loglevel.env-injector": "info"})
    );
}

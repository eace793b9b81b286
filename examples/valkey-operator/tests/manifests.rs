//! What the program prints, and what lies under `deploy/`.

use kubewright::Program;
use serde_json::{Value, json};

use super::setting::{options, program};

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

const KEEP: &[&str] = &["create", "get", "list", "update", "watch"];

#[test]
fn it_may_do_what_it_does_and_nothing_else() {
    let options = options(&["--namespace", "blue"]);
    let permissions = Program::new(|needs| valkey_operator::app(options, needs)).permissions();
    let mut roles = permissions.objects().iter();
    let role = roles
        .find(|role| role["metadata"]["namespace"] == "blue")
        .unwrap();
    let jobs = ["create", "delete", "get", "list", "update", "watch"];
    let lease = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "update", "watch"],
        "resourceNames": ["valkey-operator"],
    });
    let core = json!({"apiGroups": [""], "resources": ["configmaps", "secrets", "services"], "verbs": KEEP});
    assert_eq!(
        role["rules"],
        json!([
            core,
            rule("", "pods", &["delete", "get", "list", "watch"]),
            rule("apps", "statefulsets", KEEP),
            rule("batch", "jobs", &jobs),
            rule("coordination.k8s.io", "leases", &["create"]),
            lease,
            rule("events.k8s.io", "events", &["create", "patch"]),
            rule("policy", "poddisruptionbudgets", KEEP),
            rule(
                "valkey.example.com",
                "valkeys",
                &["get", "list", "patch", "watch"]
            ),
            rule("valkey.example.com", "valkeys/status", &["patch"]),
        ])
    );
}

#[test]
fn no_role_of_the_program_has_a_wildcard() {
    let roles = Program::new(program).permissions();
    let mut rules = 0;
    for object in roles.objects() {
        for rule in object["rules"].as_array().into_iter().flatten() {
            rules += 1;
            assert!(!rule.to_string().contains('*'), "{rule}");
        }
    }
    assert!(rules > 10, "{rules}");
}

#[test]
fn the_deployed_files_are_current() {
    let installer = Program::new(program).deployment().unwrap();
    installer.tree().check("deploy").unwrap();
}

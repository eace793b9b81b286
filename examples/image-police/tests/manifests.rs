//! What the program prints, and what lies under `deploy/`.

use kubewright::Program;
use kubewright::manifests::Endpoint;
use serde_json::{Value, json};

use super::setting::options;

fn program(arguments: &[&str]) -> Program {
    Program::new(|needs| image_police::app(options(arguments), needs))
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

const READ: &[&str] = &["get", "list", "watch"];

#[test]
fn it_may_do_what_it_does_and_nothing_else() {
    let permissions = program(&[]).permissions();
    let [role] = permissions.objects() else {
        panic!("one role")
    };
    // The original's rules named another group than its WhiteLists are of.
    assert_eq!(
        role["rules"],
        json!([
            rule("apps", "deployments", &["delete", "get", "list", "watch"]),
            rule("events.k8s.io", "events", &["create", "patch"]),
            rule("police.foo.bar", "whitelists", READ),
            rule("police.foo.bar", "whitelists/status", &["patch"]),
        ])
    );
}

#[test]
fn a_dry_run_has_no_permission_to_delete() {
    for arguments in [&["--dry-run"][..], &["--dry-run", "--admission"]] {
        let permissions = program(arguments).permissions();
        let rules = permissions.objects()[0]["rules"].as_array().unwrap().iter();
        let deployments: Vec<&Value> = rules
            .filter(|rule| rule["resources"] == json!(["deployments"]))
            .collect();
        assert_eq!(deployments, [&rule("apps", "deployments", READ)]);
    }
}

#[test]
fn of_one_namespace_it_asks_for_one_namespace() {
    let permissions = program(&["--namespace", "blue"]).permissions();
    let [everywhere, blue] = permissions.objects() else {
        panic!("two roles")
    };
    let events = rule("events.k8s.io", "events", &["create", "patch"]);
    assert_eq!(everywhere["rules"], json!([events]));
    assert_eq!(blue["metadata"]["namespace"], "blue");
    assert_eq!(blue["rules"].as_array().unwrap().len(), 3);
}

#[test]
fn images_need_a_name_and_tags() {
    let crds = program(&[]).crds();
    let [crd] = crds.objects() else {
        panic!("one definition")
    };
    assert_eq!(crd["metadata"]["name"], "whitelists.police.foo.bar");
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["name"], "v1beta1");
    assert_eq!(version["subresources"], json!({"status": {}}));
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["required"], json!(["images"]));
    let image = &spec["properties"]["images"]["items"];
    assert_eq!(image["required"], json!(["name", "tags"]));
}

#[test]
fn the_webhooks_leave_the_cluster_and_the_police_alone() {
    let endpoint = Endpoint::service("image-police/image-police").unwrap();
    let manifests = program(&["--admission"]).manifests(endpoint, None).unwrap();
    let [configuration] = manifests.objects() else {
        panic!("one configuration")
    };
    for hook in configuration["webhooks"].as_array().unwrap() {
        assert_eq!(hook["failurePolicy"], "Fail");
        assert_eq!(hook["sideEffects"], "None");
        assert_eq!(
            hook["namespaceSelector"]["matchExpressions"],
            json!([{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "image-police"]}])
        );
    }
}

#[test]
fn the_deployed_files_are_current() {
    let installer = program(&[]).deployment().unwrap();
    installer.tree().check("deploy").unwrap();
}

#[test]
fn the_deployed_files_with_webhooks_are_current() {
    let program = program(&["--admission"]);
    // As `manifests --admission` does.
    let program = program.installed(|install| install.arguments(["--admission"]));
    let installer = program.deployment().unwrap();
    installer.tree().check("deploy/admission").unwrap();
}

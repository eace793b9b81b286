//! What the program prints, and what lies under `deploy/`.

use kubewright::Program;
use serde_json::json;

fn program() -> Program {
    Program::new(whitelist::app)
}

#[test]
fn it_keeps_deployments_and_reads_white_lists_and_nothing_else() {
    let permissions = program().permissions();
    let [role] = permissions.objects() else {
        panic!("one role")
    };
    assert_eq!(
        role["rules"],
        json!([
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["create", "get", "list", "update", "watch"]},
            {"apiGroups": ["police.foo.bar"], "resources": ["whitelists"], "verbs": ["get", "list", "watch"]},
        ])
    );
}

#[test]
fn the_definition_is_the_one_that_users_know() {
    let crds = program().crds();
    let [crd] = crds.objects() else {
        panic!("one definition")
    };
    assert_eq!(crd["metadata"]["name"], "whitelists.police.foo.bar");
    assert_eq!(crd["spec"]["scope"], "Namespaced");
    assert_eq!(crd["spec"]["names"]["kind"], "WhiteList");
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["name"], "v1beta1");
    let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["properties"]["foo"]["type"], "string");
}

#[test]
fn the_deployed_files_are_current() {
    let installer = program().deployment().unwrap();
    installer.tree().check("deploy").unwrap();
}

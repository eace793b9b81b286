//! The `deploy/` trees of the examples: an API server accepts them, and their pods are restricted.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright::testing::{Server, TestCluster};
use serde_json::{Value, json};

/// Every tree of an example.
fn trees() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let folders = fs::read_dir(folder).unwrap();
    let trees = folders.flat_map(|entry| {
        let deploy = entry.unwrap().path().join("deploy");
        [deploy.join("admission"), deploy]
    });
    let mut found: Vec<PathBuf> = trees
        .filter(|path| path.join("kustomization.yaml").exists())
        .collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// The objects of a Kustomize tree, in the order in which it lists them.
fn objects(folder: &Path) -> Vec<Value> {
    let listed = &read(&folder.join("kustomization.yaml"))[0];
    assert_eq!(listed["apiVersion"], "kustomize.config.k8s.io/v1beta1");
    assert_eq!(listed["kind"], "Kustomization");
    let resources = listed["resources"].as_array().unwrap();
    let paths = resources
        .iter()
        .map(|resource| folder.join(resource.as_str().unwrap()));
    paths
        .flat_map(|path| {
            if path.is_dir() {
                objects(&path)
            } else {
                read(&path)
            }
        })
        .collect()
}

/// The documents of a file.
fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects
        .iter()
        .find(|object| object["kind"] == kind)
        .unwrap()
}

fn is_configuration(object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap();
    kind.ends_with("WebhookConfiguration")
}

/// The last configuration. Policies do not wait for a program, and may come after it.
fn configuration(objects: &[Value]) -> &Value {
    let is_policy = |object: &&Value| object["kind"].as_str().unwrap().contains("AdmissionPolicy");
    let mut others = objects.iter().rev().skip_while(is_policy);
    let last = others.next().unwrap();
    assert!(is_configuration(last), "{} comes last", last["kind"]);
    last
}

#[tokio::test]
async fn every_tree_is_accepted() {
    for tree in trees() {
        // The objects have the names of a cluster of their own.
        let cluster = TestCluster::builder().on(Server::Embedded).start().await;
        let others = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/others.yaml");
        for definition in read(&others) {
            cluster.apply(&definition).await.expect_allowed();
        }
        let objects = objects(&tree);
        for object in &objects {
            let stored = cluster.apply(object).await.expect_allowed();
            assert_eq!(stored["metadata"]["name"], object["metadata"]["name"]);
        }
        for kind in ["Namespace", "ServiceAccount", "Deployment"] {
            of_kind(&objects, kind);
        }
        // A program of controllers alone is not called.
        if objects.iter().any(is_configuration) {
            of_kind(&objects, "Service");
            configuration(&objects);
        }
    }
}

#[test]
fn every_program_keeps_to_the_restricted_profile() {
    for tree in trees() {
        let objects = objects(&tree);
        let namespace = of_kind(&objects, "Namespace");
        let label = &namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"];
        assert_eq!(*label, "restricted");

        let pod = &of_kind(&objects, "Deployment")["spec"]["template"]["spec"];
        // A program without permissions needs no token.
        let has_permissions = objects
            .iter()
            .any(|object| object["kind"].as_str().unwrap().ends_with("RoleBinding"));
        assert_eq!(
            pod["automountServiceAccountToken"] != false,
            has_permissions
        );
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(
            pod["securityContext"]["seccompProfile"]["type"],
            "RuntimeDefault"
        );
        for container in pod["containers"].as_array().unwrap() {
            assert_eq!(
                container["securityContext"],
                json!({
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                })
            );
        }
    }
}

#[test]
fn every_program_is_found_by_the_service_that_its_configuration_names() {
    let trees = trees().into_iter().map(|tree| objects(&tree));
    for objects in trees.filter(|tree| tree.iter().any(is_configuration)) {
        let service = of_kind(&objects, "Service");
        let deployment = of_kind(&objects, "Deployment");
        let template = &deployment["spec"]["template"];
        assert_eq!(service["spec"]["selector"], template["metadata"]["labels"]);
        assert_eq!(
            deployment["spec"]["selector"]["matchLabels"],
            template["metadata"]["labels"]
        );

        let port = &service["spec"]["ports"][0];
        let target = &template["spec"]["containers"][0]["ports"][0];
        assert_eq!(port["targetPort"], target["name"]);
        for hook in configuration(&objects)["webhooks"].as_array().unwrap() {
            let called = &hook["clientConfig"]["service"];
            assert_eq!(called["namespace"], service["metadata"]["namespace"]);
            assert_eq!(called["name"], service["metadata"]["name"]);
            assert_eq!(called["port"], port["port"]);
        }
        for object in &objects {
            let namespace = &object["metadata"]["namespace"];
            assert!(namespace.is_null() || *namespace == service["metadata"]["namespace"]);
        }
    }
}

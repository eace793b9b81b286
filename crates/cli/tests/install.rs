//! `kubewright install`, `uninstall`, `deploy` and `undeploy`, on an embedded API server that goes by roles.

use std::fs;
use std::path::PathBuf;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kubewright_apiserver::{ApiServer, Controllers, Listening};
use kubewright_manifests::{Install, Installer, Parts};
use kubewright_testing::{apply, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{Ran, kubewright};

/// A cluster, and a package whose program prints what ours do.
pub(crate) struct World {
    folder: TempDir,
    server: ApiServer,
    listening: Listening,
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = ApiServer::builder()
            .controllers(Controllers::all())
            .rbac()
            .start();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let listening = server.listen(address).await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        let world = Self {
            folder,
            server,
            listening,
        };
        let mut parts = Parts::new("gardens");
        parts.crds = vec![definition()];
        let installer = Installer::new(&parts, &Install::in_namespace("green"));
        let mut manifests = installer.expect("manifests").manifests().to_yaml();
        manifests.push_str("---\n");
        manifests.push_str(&configuration().to_string());
        manifests.push('\n');
        for (path, text) in [
            ("package/Cargo.toml", PACKAGE),
            ("package/src/main.rs", PROGRAM),
            ("package/manifests.yaml", &manifests),
            ("package/crds.yaml", &definition().to_string()),
            ("kubeconfig", &world.listening.kubeconfig()),
        ] {
            let path = world.path(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        world
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = kubewright(&self.path("package"), arguments);
        command.env("KUBECONFIG", self.path("kubeconfig"));
        // Tests are run with what cargo says about another package.
        command.env_remove("CARGO_TARGET_DIR");
        Ran::of(&mut command).await
    }

    /// Runs a command that has to go well, and gives its lines.
    pub(crate) async fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let ran = self.run(arguments).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.lines().map(str::to_owned).collect()
    }

    pub(crate) fn gardens(&self) -> Api<DynamicObject> {
        let kind = kube::api::GroupVersionKind::gvk("example.com", "v1", "Garden");
        Api::namespaced_with(self.client(), "default", &ApiResource::from_gvk(&kind))
    }
}

#[tokio::test]
async fn a_program_is_deployed_in_order_and_a_second_time_changes_nothing() {
    let world = World::new().await;
    let lines = world
        .lines(&["deploy", "--namespace", "green", "--", "--fast"])
        .await;
    assert_eq!(lines[0], "Namespace green created");
    assert_eq!(
        lines[1],
        "CustomResourceDefinition gardens.example.com created"
    );
    assert_eq!(
        lines.last().unwrap(),
        "ValidatingWebhookConfiguration gardens created"
    );
    assert!(
        lines.contains(&"Deployment green/gardens created".to_owned()),
        "{lines:#?}"
    );
    assert!(
        lines.iter().all(|line| line.ends_with(" created")),
        "{lines:#?}"
    );
    let asked = fs::read_to_string(world.path("package/asked")).unwrap();
    assert_eq!(asked, "manifests --install-namespace green --fast");
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(world.client(), "green");
    eventually("the program's pods", async || {
        (!pods
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty())
        .then_some(())
    })
    .await;

    let again = world
        .lines(&["deploy", "--output", "json"])
        .await
        .join("\n");
    let again: Vec<Value> = serde_json::from_str(&again).unwrap();
    assert_eq!(again.len(), lines.len());
    for object in again {
        assert_eq!(object["became"], "unchanged", "{object}");
    }
}

#[tokio::test]
async fn what_has_a_program_called_goes_first_and_data_stays() {
    let world = World::new().await;
    world.lines(&["deploy"]).await;
    let gone = world.lines(&["undeploy"]).await;
    assert_eq!(gone[0], "ValidatingWebhookConfiguration gardens deleted");
    let position = |line: &str| gone.iter().position(|gone| gone == line).expect(line);
    assert!(
        position("Deployment green/gardens deleted")
            < position("ServiceAccount green/gardens deleted")
    );
    assert!(
        !gone
            .iter()
            .any(|line| line.starts_with("Namespace") || line.starts_with("CustomResource"))
    );
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(world.client());
    assert!(namespaces.get_opt("green").await.unwrap().is_some());
    world.gardens().list(&ListParams::default()).await.unwrap();

    let ran = world.run(&["undeploy"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.lines().all(|line| line.ends_with(" was not there")),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("`kubewright uninstall` deletes them"),
        "{}",
        ran.err
    );
    world.lines(&["undeploy", "--with-namespace"]).await;
    eventually("the end of the namespace", async || {
        namespaces
            .get_opt("green")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn definitions_go_only_when_their_objects_may() {
    let world = World::new().await;
    let installed = world.lines(&["install"]).await;
    assert_eq!(
        installed,
        ["CustomResourceDefinition gardens.example.com created"]
    );
    assert_eq!(
        world.lines(&["install"]).await,
        ["CustomResourceDefinition gardens.example.com unchanged"]
    );
    let garden =
        json!({"apiVersion": "example.com/v1", "kind": "Garden", "metadata": {"name": "rose"}});
    apply(&world.client(), "default", &garden).await.unwrap();

    let refused = world.run(&["uninstall"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(
        refused
            .err
            .contains("there are 1 objects of the CustomResourceDefinition gardens.example.com"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("hint: pass --with-objects"),
        "{}",
        refused.err
    );
    assert!(world.gardens().get_opt("rose").await.unwrap().is_some());

    let gone = world.lines(&["uninstall", "--with-objects"]).await;
    assert_eq!(
        gone,
        ["CustomResourceDefinition gardens.example.com deleted"]
    );
    world
        .gardens()
        .list(&ListParams::default())
        .await
        .expect_err("the definition is gone");
    assert_eq!(
        world.lines(&["uninstall"]).await,
        ["CustomResourceDefinition gardens.example.com was not there"]
    );
}

#[tokio::test]
async fn the_conversion_of_a_deployed_program_stays_when_its_definitions_are_installed() {
    let world = World::new().await;
    world.lines(&["install"]).await;
    let kind =
        kube::api::GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(world.client(), &ApiResource::from_gvk(&kind));
    let conversion = json!({"spec": {"conversion": {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://127.0.0.1:1/convert"},
            "conversionReviewVersions": ["v1"],
        },
    }}});
    let name = "gardens.example.com";
    let patch = Patch::Merge(&conversion);
    let params = PatchParams::default();
    definitions.patch(name, &params, &patch).await.unwrap();
    world.lines(&["install"]).await;
    let stored = definitions.get(name).await.unwrap();
    assert_eq!(stored.data["spec"]["conversion"]["strategy"], "Webhook");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_not_taken_for_one_without_the_kind() {
    let world = World::new().await;
    let kubeconfig = world.listening.kubeconfig();
    let (_, address) = kubeconfig.split_once("https://").unwrap();
    let address = address.split(['\n', '"', '/']).next().unwrap();
    fs::write(
        world.path("kubeconfig"),
        kubeconfig.replace(address, "127.0.0.1:1"),
    )
    .unwrap();
    let ran = world.run(&["deploy"]).await;
    assert_eq!(ran.code, Some(1));
    let error = ran.err.lines().find(|line| line.starts_with("error: "));
    let error = error.unwrap();
    assert!(
        error.starts_with("error: reading the Namespace green: "),
        "{error}"
    );
    assert!(error.contains("Connection refused"), "{error}");
    assert_eq!(error.matches("onnection refused").count(), 1, "{error}");
    assert!(!error.contains("does not know the kind"), "{error}");
}

#[tokio::test]
async fn what_others_keep_is_taken_over_only_if_that_is_asked_for() {
    let world = World::new().await;
    world.lines(&["deploy"]).await;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(world.client(), "green");
    let scaled = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "gardens"}, "spec": {"replicas": 7},
    });
    let theirs = PatchParams::apply("another-manager").force();
    deployments
        .patch("gardens", &theirs, &Patch::Apply(&scaled))
        .await
        .unwrap();

    let refused = world.run(&["deploy"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .err
            .contains("error: cannot apply the Deployment green/gardens: "),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("another-manager"), "{}", refused.err);
    assert!(
        refused.err.contains("hint: pass --force-conflicts"),
        "{}",
        refused.err
    );
    let lines = world.lines(&["deploy", "--force-conflicts"]).await;
    assert!(
        lines.contains(&"Deployment green/gardens changed".to_owned()),
        "{lines:#?}"
    );
    let deployment = deployments.get("gardens").await.unwrap();
    assert_ne!(deployment.spec.replicas, Some(7));
    assert_eq!(deployment.metadata.name.as_deref(), Some("gardens"));
}

#[tokio::test]
async fn a_forbidden_request_and_an_unknown_context_are_named() {
    let world = World::new().await;
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "guest"}});
    apply(&world.client(), "default", &account).await.unwrap();
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(world.client(), "default");
    let token = k8s_openapi::api::authentication::v1::TokenRequest::default();
    let token = accounts
        .create_token_request("guest", &kube::api::PostParams::default(), &token)
        .await
        .unwrap();
    let token = token.status.unwrap().token;
    let kubeconfig = world
        .listening
        .kubeconfig_with_token("guest", &token.unwrap());
    fs::write(world.path("kubeconfig"), kubeconfig).unwrap();
    let refused = world.run(&["deploy"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(
        refused.err.contains("error: reading the Namespace green: "),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("is forbidden"), "{}", refused.err);

    let unknown = world
        .run(&["deploy", "--context", "moon", "--output", "json"])
        .await;
    assert_eq!(unknown.code, Some(1));
    let error: Value = serde_json::from_str(unknown.err.lines().last().unwrap()).unwrap();
    assert_eq!(
        error["message"],
        "cannot tell which cluster is meant: the kubeconfig has no context moon"
    );
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Garden", "plural": "gardens", "singular": "garden"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

/// A configuration whose rules match no request, of a program that does not answer.
fn configuration() -> Value {
    let rule = json!({"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]});
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gardens", "labels": {"app.kubernetes.io/name": "gardens"}},
        "webhooks": [{
            "name": "all.gardens.example.com",
            "clientConfig": {"service": {"namespace": "green", "name": "gardens", "path": "/all"}},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

const PACKAGE: &str = r#"
[package]
name = "gardens"
version = "0.1.0"
edition = "2024"

[workspace]
"#;

const PROGRAM: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    std::fs::write("asked", arguments.join(" ")).unwrap();
    match arguments[0].as_str() {
        "crds" => print!("{}", include_str!("../crds.yaml")),
        "manifests" => print!("{}", include_str!("../manifests.yaml")),
        other => panic!("{other}"),
    }
}
"#;

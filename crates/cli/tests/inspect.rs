//! `kubewright inspect`, of a program in a pod of an embedded API server.

use std::net::SocketAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, Patch, PatchParams};
use kubewright_certificates::SelfSigned;
use kubewright_controller::{Context, Controller, Error, Scope};
use kubewright_manager::{App, Needs, Program};
use kubewright_manifests::{Endpoint, Install};
use kubewright_testing::{apply, eventually};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::cluster::World;
use crate::command::Ran;

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

async fn allow(_: Change<ConfigMap>, _: Review) -> Validated {
    Ok(())
}

async fn locked(_: Arc<ConfigMap>, _: Context) -> Result<kubewright_controller::Action, Error> {
    Err(Error::terminal("the bucket is locked"))
}

fn app(_: &mut Needs) -> App {
    let controller = Controller::new("maps", locked).within(Scope::all().labelled("mine"));
    App::new("gardens")
        .version("1.2.0")
        .webhooks(Webhooks::new("example.com").with(validating("maps", allow)))
        .install(Install::in_namespace("default").certificates_in_secret("tls"))
        .controller(controller)
        .secure_metrics()
}

/// A program behind a pod of a cluster.
struct Inside {
    world: World,
    address: SocketAddr,
    ca: String,
    _running: JoinSet<()>,
}

impl Inside {
    async fn new() -> Self {
        let world = World::new().await;
        let client = world.client();
        let labels = json!({"app.kubernetes.io/name": "gardens"});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "roses", "labels": {"mine": "yes"}}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "gardens-0", "labels": labels},
            "spec": {"nodeName": "node", "containers": [{"name": "gardens", "image": "gardens",
                "ports": [{"name": "metrics", "containerPort": 8443}]}]}});
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "gardens"},
            "spec": {"selector": labels, "ports": [{"port": 443}]}});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}});
        for object in [node, map, pod, service] {
            apply(&client, "default", &object).await.expect("an object");
        }
        let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
        let running = json!({"status": {"phase": "Running", "containerStatuses": [{
            "name": "gardens", "image": "gardens", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"running": {}}}]}});
        let patch = Patch::Merge(&running);
        pods.patch_status("gardens-0", &PatchParams::default(), &patch)
            .await
            .expect("a status");

        let program = Program::new(app);
        let role = program.deployment().expect("manifests").manifests();
        let mut role = role.objects().iter();
        let role = role.find(|object| object["metadata"]["name"] == "gardens-inspector");
        apply(&client, "default", role.expect("a role"))
            .await
            .expect("an object");
        let serving = program
            .client(client.clone())
            .metrics_bind_address(LOCAL)
            .bind(LOCAL, SelfSigned::for_names(["gardens.default.svc"]))
            .await
            .expect("a program");
        let called = serving.manifests(Endpoint::service("default/gardens").expect("a service"));
        for object in called.expect("webhooks").objects() {
            apply(&client, "default", object).await.expect("an object");
        }
        let (address, ca) = (
            serving.metrics_addr().expect("an address"),
            serving.trust().to_pem(),
        );
        world
            .pods()
            .on_port_forward(move |mut connection| async move {
                let mut program = TcpStream::connect(address).await?;
                let both = copy_bidirectional(&mut connection.stream, &mut program);
                both.await.map(drop)
            });
        let mut running = JoinSet::new();
        running.spawn(async move { serving.run(std::future::pending()).await.expect("it runs") });
        Self {
            world,
            address,
            ca,
            _running: running,
        }
    }

    async fn has(&self, object: &Value) {
        apply(&self.world.client(), "default", object)
            .await
            .expect("an object");
    }

    /// Lets the usual ServiceAccount look inside.
    async fn lets(&self) {
        self.has(&account()).await;
        self.has(&json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "gardens-inspector"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "gardens-inspector"},
            "subjects": [{"kind": "ServiceAccount", "name": "gardens-inspector", "namespace": "default"}],
        }))
        .await;
    }

    async fn inspect(&self, arguments: &[&str]) -> Ran {
        self.world.run(&[&["inspect"], arguments].concat()).await
    }
}

fn account() -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "gardens-inspector"}})
}

#[tokio::test]
async fn each_step_to_a_program_that_fails_says_what_to_do() {
    let inside = Inside::new().await;
    let fails = async |arguments: &[&str], expected: &[&str]| {
        let ran = inside.inspect(arguments).await;
        assert_eq!(ran.code, Some(1), "{ran:?}");
        for expected in expected {
            assert!(ran.err.contains(expected), "{expected} in {}", ran.err);
        }
    };
    fails(&[], &["cannot tell which program is meant", "--program"]).await;
    fails(
        &["--program", "parks"],
        &[
            "no pod with the label app.kubernetes.io/name=parks",
            "--namespace",
        ],
    )
    .await;
    fails(&["gone"], &["cannot read the Pod default/gone"]).await;
    fails(
        &["gardens-0"],
        &[
            "cannot get a token of the ServiceAccount default/gardens-inspector",
            "hint: create one that may look inside",
        ],
    )
    .await;
    inside.has(&account()).await;
    fails(
        &["gardens-0"],
        &["may not look inside", "kubectl create clusterrolebinding default-gardens-inspector --clusterrole gardens-inspector --serviceaccount default:gardens-inspector"],
    )
    .await;
    fails(
        &["gardens-0", "--token", "nonsense"],
        &["does not accept the token"],
    )
    .await;
    fails(
        &[
            "gardens-0",
            "--server-name",
            "other.example.com",
            "--ca-file",
            "none.crt",
        ],
        &["cannot read none.crt"],
    )
    .await;
}

#[tokio::test]
async fn a_program_in_a_pod_is_reached_by_its_label_and_verified_by_its_webhooks() {
    let inside = Inside::new().await;
    inside.lets().await;
    let report = eventually("the failing object", async || {
        let ran = inside.inspect(&["--program", "gardens"]).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out.contains("the bucket is locked").then_some(ran.out)
    })
    .await;
    assert!(
        report.starts_with("gardens 1.2.0 in default/gardens-0, up "),
        "{report}"
    );
    let row = |begins: &str| {
        report
            .lines()
            .find(|line| line.starts_with(begins))
            .map(str::to_owned)
    };
    let failing = report
        .lines()
        .find(|line| line.ends_with("the bucket is locked"));
    assert!(
        failing.is_some_and(|line| line.starts_with("maps        default/roses  for good")),
        "{report}"
    );
    for begins in [
        "certificate ",
        "serves on 127.0.0.1:",
        "configmaps  ",
        "maps.example.com  ",
        "the controllers  ",
    ] {
        assert!(row(begins).is_some(), "{begins} in {report}");
    }

    let json = inside.inspect(&["gardens-0", "--output", "json"]).await;
    let pages: Value = serde_json::from_str(&json.out).expect(&json.err);
    assert_eq!(
        pages[0]["pod"],
        json!({"namespace": "default", "name": "gardens-0"})
    );
    assert_eq!(
        pages[0]["controllers"][0]["failing"]["items"][0]["name"],
        "roses"
    );
    let yaml = inside.inspect(&["gardens-0", "--output", "yaml"]).await;
    assert!(yaml.out.contains("error: the bucket is locked"), "{yaml:?}");
}

#[tokio::test]
async fn a_certificate_that_no_one_vouches_for_is_accepted_only_on_request() {
    let inside = Inside::new().await;
    inside.lets().await;
    let configuration =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/gardens";
    let request = http::Request::delete(configuration)
        .body(Vec::new())
        .expect("a request");
    let _: Value = inside
        .world
        .client()
        .request(request)
        .await
        .expect("an answer");
    let ran = inside.inspect(&["gardens-0"]).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("no webhook of the cluster says which CA"),
        "{}",
        ran.err
    );
    let ran = inside
        .inspect(&["gardens-0", "--insecure-skip-tls-verify"])
        .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[tokio::test]
async fn a_program_outside_of_a_pod_is_reached_by_its_address() {
    let inside = Inside::new().await;
    inside.lets().await;
    let file = inside.world.path("ca.crt");
    std::fs::write(&file, &inside.ca).expect("a file");
    let (address, file) = (inside.address.to_string(), file.display().to_string());
    let common = [
        "--address",
        &address,
        "--program",
        "gardens",
        "--ca-file",
        &file,
    ];
    let ran = inside.inspect(&common).await;
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("--server-name"), "{}", ran.err);
    let named = [&common[..], &["--server-name", "gardens.default.svc"]].concat();
    let ran = inside.inspect(&named).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("gardens 1.2.0 in "), "{}", ran.out);
}

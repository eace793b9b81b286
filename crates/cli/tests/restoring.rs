//! `kubewright dev --context` that is killed at any of its writes: `--restore` restores the cluster.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use kubewright_apiserver::ApiServer;
use kubewright_manifests::{Install, Installer, Parts};
use kubewright_testing::apply;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;

use crate::command::{Ran, kubewright};
use crate::snapshot::{assert_same, snapshot};

/// Kills a process at one of the writes that it sends.
#[derive(Debug, Default)]
struct Fault {
    process: AtomicU32,
    writes: AtomicUsize,
    at: AtomicUsize,
    /// Whether Pod Security refuses every pod.
    refuses_pods: AtomicBool,
    /// Whether another client deletes each object a moment earlier.
    deletes_first: AtomicBool,
}

/// Whether the API server still does what it is asked for at the fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

impl Fault {
    /// Counts a write, and returns whether it is the one.
    fn meets(&self, method: &Method, moment: Moment) -> bool {
        if method == Method::GET {
            return false;
        }
        if moment == Moment::Before {
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        let at = self.at.load(Ordering::SeqCst);
        at == self.writes.load(Ordering::SeqCst) * 2 + usize::from(moment == Moment::After)
    }

    async fn kill(&self) {
        let process = self.process.load(Ordering::SeqCst);
        let process = Pid::from_raw(process.cast_signed()).expect("a process");
        kill_process(process, Signal::KILL).expect("it can be killed");
        std::future::pending::<()>().await;
    }
}

/// A cluster with a deployed program, another one of the same name and objects made by hand, behind a proxy with a fault.
struct World {
    folder: TempDir,
    server: ApiServer,
    fault: Arc<Fault>,
    before: BTreeMap<String, Value>,
}

impl World {
    async fn new() -> Self {
        let server = ApiServer::start();
        let fault = Arc::new(Fault::default());
        let address = proxy(&server, Arc::clone(&fault)).await;
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
        });
        let mut parts = Parts::new("gardens");
        parts.crds = vec![definition("gardens", "a garden")];
        let installer = Installer::new(&parts, &Install::in_namespace("green"));
        let mut deployed = installer.expect("manifests").manifests().objects().to_vec();
        deployed.push(configuration("gardens", "gardens/green", "Fail"));
        for (path, text) in [
            ("package/Cargo.toml", PACKAGE.to_owned()),
            ("package/src/main.rs", PROGRAM.to_owned()),
            ("package/demo.yaml", DEMO.to_owned()),
            ("package/deployed.yaml", stream(&deployed)),
            (
                "package/crds.yaml",
                stream(&[
                    definition("gardens", "a larger garden"),
                    definition("roses", "a rose"),
                ]),
            ),
            (
                "package/called.yaml",
                stream(&[
                    configuration("gardens", "gardens/green", "Fail"),
                    configuration("roses", "gardens/green", "Fail"),
                ]),
            ),
            ("kubeconfig", kubeconfig.to_string()),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let mut world = Self {
            folder,
            server,
            fault,
            before: BTreeMap::new(),
        };
        let ran = world
            .ran(&["deploy", "--context=lab", "--wait=false"])
            .await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"by": "hand"}});
        for object in [
            configuration("gardens-blue", "gardens/blue", "Fail"),
            configuration("by-hand", "", "Ignore"),
            map("settings"),
            map("other"),
        ] {
            apply(&world.client(), "default", &object)
                .await
                .expect("it is accepted");
        }
        world.before = snapshot(&world.client()).await;
        world
    }

    fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    fn package(&self) -> PathBuf {
        self.folder.path().join("package")
    }

    fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = kubewright(&self.package(), arguments);
        command.env("KUBECONFIG", self.folder.path().join("kubeconfig"));
        // A command that is killed leaves its folders behind: here they go with the test's own.
        command.env("TMPDIR", self.folder.path());
        command.env_remove("CARGO_TARGET_DIR");
        command
    }

    async fn ran(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments)).await
    }

    /// Runs a command that is killed at a moment; returns its exit code if it ends before.
    async fn killed(&self, arguments: &[&str], at: usize) -> Option<i32> {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        let id = child.id().expect("it runs");
        self.fault.process.store(id, Ordering::SeqCst);
        self.fault.writes.store(0, Ordering::SeqCst);
        self.fault.at.store(at, Ordering::SeqCst);
        let status = child.wait().await.expect("it ends");
        self.fault.at.store(0, Ordering::SeqCst);
        status.code()
    }

    async fn restored(&self, when: &str) {
        let ran = self.ran(&["dev", "--restore"]).await;
        assert_eq!(ran.code, Some(0), "{when}: {}", ran.err);
        assert!(!ran.err.contains("building"), "{}", ran.err);
        self.is_as_before(when).await;
    }

    async fn is_as_before(&self, when: &str) {
        let after = snapshot(&self.client()).await;
        assert_same(&self.before, &after, when);
        let state = self.package().join(".kubewright").read_dir();
        let mut records = state
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("it is read").path());
        assert!(
            !records.any(|path| path.extension().is_some_and(|end| end == "json")),
            "{when}"
        );
    }
}

const DEV: [&str; 6] = [
    "dev",
    "--context=lab",
    "--once",
    "--adopt=ConfigMap/default/settings",
    "--",
    "--fast",
];

#[tokio::test]
async fn what_was_borrowed_is_given_back_wherever_the_command_is_killed() {
    let world = World::new().await;
    let mut reached = 0;
    for at in 2.. {
        match world.killed(&DEV, at).await {
            None => reached += 1,
            Some(code) => {
                assert_eq!(code, 0, "a run without a fault succeeds");
                world.is_as_before("after a run without a fault").await;
                break;
            }
        }
        world.restored(&format!("after fault {at}")).await;
    }
    // Four objects of the program, two of the demo, each taken and given back.
    assert!(reached >= 24, "{reached}");
}

#[tokio::test]
async fn a_restore_that_is_killed_is_finished_by_the_next_one() {
    let world = World::new().await;
    let mut at = 2;
    loop {
        let mut dev = world
            .command(&["dev", "--context=lab", "--no-watch"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut lines = BufReader::new(dev.stderr.take().expect("a pipe")).lines();
        while let Some(line) = lines.next_line().await.expect("text") {
            if line.contains("✓ gardens serves on") {
                break;
            }
        }
        dev.kill().await.expect("it is killed");
        if let Some(code) = world.killed(&["dev", "--restore"], at).await {
            assert_eq!(code, 0);
            break;
        }
        world
            .restored(&format!("after fault {at} of a restore"))
            .await;
        at += 1;
    }
    world.is_as_before("after a restore without a fault").await;
    assert!(at > 10, "{at}");
}

#[tokio::test]
async fn what_another_client_deletes_a_moment_earlier_is_given_back_all_the_same() {
    let world = World::new().await;
    world.fault.deletes_first.store(true, Ordering::SeqCst);
    let ran = world.ran(&DEV).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    world.is_as_before("after a run beside that client").await;
}

#[tokio::test]
async fn objects_of_others_are_borrowed_only_if_they_are_named() {
    let world = World::new().await;
    let refused = world.ran(&["dev", "--context=lab", "--once"]).await;
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    let why = "the ConfigMap default/settings exists and was not installed by kubewright";
    assert!(refused.err.contains(why), "{}", refused.err);
    world.is_as_before("after a demo that was refused").await;

    let called = world.package().join("called.yaml");
    let theirs = ["gardens-blue", "by-hand"].map(|name| configuration(name, "", "Fail"));
    fs::write(called, stream(&theirs)).expect("a file");
    let refused = world.ran(&DEV).await;
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    for text in [
        "the ValidatingWebhookConfiguration gardens-blue belongs to the program gardens in the namespace blue",
        "the ValidatingWebhookConfiguration by-hand exists and was not installed by kubewright",
        "pass --adopt ValidatingWebhookConfiguration/gardens-blue,ValidatingWebhookConfiguration/by-hand",
    ] {
        assert!(
            refused.err.contains(text),
            "{text:?} is not in\n{}",
            refused.err
        );
    }
    world.is_as_before("after a program that was refused").await;
    let ran = world.ran(&["dev", "--restore", "--context=lab"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("nothing is borrowed from the cluster of the context lab"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn webhooks_fail_open_while_they_are_borrowed_unless_that_is_declined() {
    let world = World::new().await;
    for (flags, policy) in [(&[][..], "Ignore"), (&["--fail-closed"], "Fail")] {
        let arguments = [&["dev", "--context=lab", "--no-watch"], flags].concat();
        let mut dev = world
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut lines = BufReader::new(dev.stderr.take().expect("a pipe")).lines();
        while let Some(line) = lines.next_line().await.expect("text") {
            if line.contains("✓ gardens serves on") {
                break;
            }
        }
        let during = snapshot(&world.client()).await;
        let found = &during["ValidatingWebhookConfiguration null/\"gardens\""];
        assert_eq!(found["webhooks"][0]["failurePolicy"], policy, "{found}");
        dev.kill().await.expect("it is killed");
        world.restored("after a killed run").await;
    }
}

#[tokio::test]
async fn a_namespace_that_does_not_admit_the_program_is_refused() {
    let world = World::new().await;
    for command in ["undeploy", "uninstall"] {
        let ran = world.ran(&[command, "--context=lab"]).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    // From now on it is a namespace of another owner.
    let namespaces: Api<Namespace> = Api::all(world.client());
    let unmarked = json!({"metadata": {"annotations": {"kubewright.dev/installation": null}}});
    let patch = Patch::Merge(&unmarked);
    let patched = namespaces
        .patch("green", &PatchParams::default(), &patch)
        .await;
    patched.expect("it is accepted");
    let before = snapshot(&world.client()).await;

    let deploy = ["deploy", "--context=lab", "--wait=false"];
    world.fault.refuses_pods.store(true, Ordering::SeqCst);
    let refused = world.ran(&deploy).await;
    assert_eq!(
        (refused.code, refused.out.as_str()),
        (Some(1), ""),
        "{}",
        refused.err
    );
    let why = "error: the namespace green does not admit the pods of the program: \
               pods \"gardens\" is forbidden: violates PodSecurity \"restricted:latest\"";
    assert!(refused.err.contains(why), "{}", refused.err);
    assert_same(&before, &snapshot(&world.client()).await, "after a refusal");

    world.fault.refuses_pods.store(false, Ordering::SeqCst);
    let ran = world.ran(&deploy).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.starts_with("Namespace green left as it is\n"),
        "{}",
        ran.out
    );
    assert!(!ran.err.contains("cannot tell whether"), "{}", ran.err);
}

/// Serves the API server in clear text, with a fault.
async fn proxy(server: &ApiServer, fault: Arc<Fault>) -> std::net::SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let api = TowerToHyperService::new(server.service());
    let another = Client::new(server.service(), "default");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (api, fault, another) = (api.clone(), Arc::clone(&fault), another.clone());
            let service = service_fn(move |request: Request<Incoming>| {
                let (api, fault, another) = (api.clone(), Arc::clone(&fault), another.clone());
                async move {
                    let method = request.method().clone();
                    if method == Method::DELETE && fault.deletes_first.load(Ordering::SeqCst) {
                        deleted(&another, request.uri().path()).await;
                    }
                    if fault.meets(&method, Moment::Before) {
                        fault.kill().await;
                    }
                    if fault.refuses_pods.load(Ordering::SeqCst)
                        && method == Method::POST
                        && request.uri().path().ends_with("/namespaces/green/pods")
                    {
                        let body =
                            Full::new(Bytes::from(VIOLATION)).map_err(|never| match never {});
                        let answer = Response::builder().status(403).body(body.boxed_unsync());
                        return Ok(answer.expect("an answer"));
                    }
                    let answer = api.call(request).await;
                    let answer =
                        answer.map(|answer| answer.map(http_body_util::BodyExt::boxed_unsync));
                    if fault.meets(&method, Moment::After) {
                        fault.kill().await;
                    }
                    answer
                }
            });
            tokio::spawn(async move {
                let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                // A client that is killed closes its connection in the middle of a request.
                let _ = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    address
}

/// Deletes an object, and returns when it is gone.
async fn deleted(client: &Client, path: &str) {
    let request = |method| {
        let request = Request::builder().method(method).uri(path);
        request.body(Vec::new()).expect("a request")
    };
    let mut method = Method::DELETE;
    while client.request::<Value>(request(method)).await.is_ok() {
        method = Method::GET;
        tokio::task::yield_now().await;
    }
}

fn stream(objects: &[Value]) -> String {
    let objects: Vec<String> = objects.iter().map(Value::to_string).collect();
    objects.join("\n---\n")
}

fn definition(plural: &str, about: &str) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "description": about}});
    let (kind, singular) = match plural {
        "gardens" => ("Garden", "garden"),
        _ => ("Rose", "rose"),
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

fn configuration(name: &str, mark: &str, policy: &str) -> Value {
    let rule = json!({"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["x"]});
    let annotations = match mark {
        "" => json!({}),
        mark => json!({"kubewright.dev/installation": mark}),
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/name": "gardens"},
            "annotations": annotations,
        },
        "webhooks": [{
            "name": "all.gardens.example.com",
            "clientConfig": {"service": {"namespace": "green", "name": "gardens", "path": "/all"}},
            "rules": [rule],
            "failurePolicy": policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

const VIOLATION: &str = r#"{
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
    "message": "pods \"gardens\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true"
}"#;

const DEMO: &str = "
steps:
- title: one is created
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: tried}, data: {a: b}}
- title: one is changed
  patch: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {by: demo}}
";

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
    let print = |file: &str| print!("{}", std::fs::read_to_string(file).unwrap());
    match arguments[0].as_str() {
        "crds" => print("crds.yaml"),
        "manifests" if arguments.iter().any(|one| one == "--url") => print("called.yaml"),
        "manifests" => print("deployed.yaml"),
        "run" => {
            println!("serving webhooks on https://127.0.0.1:1");
            // It ends with its parent, which may be killed.
            let parent = std::os::unix::process::parent_id();
            while std::os::unix::process::parent_id() == parent {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
        other => panic!("{other}"),
    }
}
"#;

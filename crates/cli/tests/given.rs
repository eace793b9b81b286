//! `kubewright dev --context`: an existing cluster, which is restored in the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kubewright_apiserver::{ApiServer, Controllers, Listening};
use kubewright_testing::apply;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::command::{Ran, kubewright};

/// A cluster, and a kubeconfig with its context, which is not the current one.
struct World {
    folder: TempDir,
    server: ApiServer,
    _listening: Listening,
}

/// A command that runs.
struct Dev {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl World {
    async fn new() -> Self {
        let server = ApiServer::builder().controllers(Controllers::all()).start();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let listening = server.listen(address).await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        let mut kubeconfig: Value =
            serde_saphyr::from_str(&listening.kubeconfig()).expect("a kubeconfig");
        kubeconfig["contexts"][0]["name"] = "lab".into();
        kubeconfig["current-context"] = "".into();
        fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).expect("a file");
        Self {
            folder,
            server,
            _listening: listening,
        }
    }

    fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    fn command(&self, example: &Path, more: &[&str]) -> Command {
        let mut arguments = vec!["dev", example.to_str().expect("a path")];
        arguments.extend(["--context", "lab"]);
        arguments.extend([
            "--adopt",
            "MutatingWebhookConfiguration/test-mutating-webhook",
        ]);
        arguments.extend(more);
        let mut command = kubewright(self.folder.path(), &arguments);
        command.env("KUBECONFIG", self.folder.path().join("kubeconfig"));
        command
    }

    fn start(&self, example: &Path) -> Dev {
        let mut child = self
            .command(example, &["--no-watch"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let err = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        Dev { child, out, err }
    }

    fn configurations(&self) -> Api<MutatingWebhookConfiguration> {
        Api::all(self.client())
    }

    /// The configuration as it is, but for the numbers of its versions.
    async fn configuration(&self) -> Value {
        let found = self.configurations().get(CONFIGURATION).await;
        let mut found = serde_json::to_value(found.expect("a configuration")).expect("JSON");
        let metadata = found["metadata"].as_object_mut().expect("metadata");
        metadata.remove("resourceVersion");
        metadata.remove("generation");
        found
    }

    /// Deploys, as another field manager, a configuration with the name of the example's.
    async fn deploy(&self) -> Value {
        let deployed = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": CONFIGURATION, "labels": {"team": "blue"}},
            "webhooks": [{
                "name": "test-mutating-webhook.example.com",
                "clientConfig": {
                    "service": {"namespace": "blue", "name": "annotate", "path": "/mutate"},
                    "caBundle": "",
                },
                "failurePolicy": "Ignore",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 3,
            }],
        });
        let other = PatchParams::apply("another-manager");
        let applied = self.configurations();
        let patch = Patch::Apply(&deployed);
        let applied = applied.patch(CONFIGURATION, &other, &patch).await;
        applied.expect("it is accepted");
        self.configuration().await
    }

    async fn annotation(&self, name: &str) -> Option<String> {
        let pods: Api<Pod> = Api::default_namespaced(self.client());
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        });
        let pod = serde_json::from_value(pod).expect("a pod");
        let pod = pods.create(&PostParams::default(), &pod).await;
        let annotations = pod.expect("it is allowed").metadata.annotations;
        annotations.and_then(|annotations| annotations.get("mutate").cloned())
    }
}

impl Dev {
    async fn says(&mut self, text: &str) {
        wait_for(&mut self.err, text).await;
    }

    async fn shows(&mut self, text: &str) {
        wait_for(&mut self.out, text).await;
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let told = Command::new("kill").args([name, &id]).status().await;
        assert!(told.expect("kill runs").success());
    }

    /// Ends it as Ctrl-C does, and gives what it says from then on.
    async fn end(mut self) -> String {
        self.signal("-INT").await;
        let mut said = Vec::new();
        while let Some(line) = self.err.next_line().await.expect("text") {
            said.push(line);
        }
        let status = self.child.wait().await.expect("it ends");
        assert!(status.success(), "{said:#?}");
        said.join("\n")
    }

    /// Ends it as nothing can be done about, and gives its program, which still runs.
    async fn cut_off(mut self) -> String {
        let id = self.child.id().expect("it runs").to_string();
        let program = Command::new("pgrep").args(["-P", &id]).output().await;
        let program = String::from_utf8(program.expect("pgrep runs").stdout).expect("a number");
        self.signal("-KILL").await;
        self.child.wait().await.expect("it ends");
        assert!(runs(&program).await);
        program
    }
}

async fn runs(program: &str) -> bool {
    let mut asked = Command::new("kill");
    asked.args(["-0", program.trim()]).stderr(Stdio::null());
    asked.status().await.expect("kill runs").success()
}

async fn wait_for(lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>, text: &str) {
    let mut before = Vec::new();
    loop {
        let line = lines.next_line().await.expect("text");
        let all = || format!("{text:?} is said after\n{}", before.join("\n"));
        let line = line.ok_or_else(all).expect("a line");
        if line.contains(text) {
            return;
        }
        before.push(line);
    }
}

fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let example = examples.join(name).canonicalize();
    example.expect("the examples stand beside the crates")
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_here_answers_for_a_cluster_which_is_what_it_was_in_the_end() {
    let world = World::new().await;
    let before = world.deploy().await;
    let mut dev = world.start(&example("annotate-pod"));
    dev.says("✓ annotate-pod serves on").await;
    assert_eq!(world.annotation("web").await.as_deref(), Some("welcome"));
    dev.shows("test-mutating-webhook CREATE Pod default/web  changed")
        .await;
    dev.shows("add /metadata/annotations").await;
    let during = world.configuration().await;
    let called = &during["webhooks"][0]["clientConfig"];
    assert!(
        called["url"]
            .as_str()
            .expect("a URL")
            .starts_with("https://127.0.0.1:")
    );
    let by = during["metadata"]["annotations"]["kubewright.dev/dev"].as_str();
    assert!(by.expect("a mark").ends_with("examples/annotate-pod"));

    let said = dev.end().await;
    let restored = "the MutatingWebhookConfiguration test-mutating-webhook is what it was";
    assert!(said.contains(restored), "{said}");
    // The whole object, including its managedFields.
    assert_eq!(world.configuration().await, before);
    assert_eq!(world.annotation("other").await, None);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_was_cut_off_is_put_back_by_the_next_run() {
    let world = World::new().await;
    let before = world.deploy().await;
    let annotate = example("annotate-pod");
    let mut dev = world.start(&annotate);
    dev.says("✓ annotate-pod serves on").await;
    let program = dev.cut_off().await;
    assert_ne!(world.configuration().await, before);

    // Another program of the same name does not take the borrowed configuration for the original one.
    let other = tempfile::tempdir().expect("a folder");
    copy_as_other(&annotate, other.path());
    let refused = Ran::of(&mut world.command(other.path(), &["--once"])).await;
    assert_eq!(refused.code, Some(1));
    let why = "the MutatingWebhookConfiguration test-mutating-webhook is used by another `kubewright dev`: ";
    assert!(refused.err.contains(why), "{}", refused.err);

    let ran = Ran::of(&mut world.command(&annotate, &["--once"])).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let put_back = "an earlier run was cut off; what it has changed is put back first:\n\
                    the MutatingWebhookConfiguration test-mutating-webhook is what it was\n";
    assert!(ran.err.contains(put_back), "{}", ran.err);
    let ended = format!(
        "the program of that run, process {}, has ended\n",
        program.trim()
    );
    assert!(ran.err.contains(&ended), "{}", ran.err);
    assert!(ran.out.contains("✓ as expected"), "{}", ran.out);
    assert!(
        ran.out.contains("CREATE Pod default/nginx  changed"),
        "{}",
        ran.out
    );
    assert_eq!(world.configuration().await, before);
    let pods: Api<Pod> = Api::default_namespaced(world.client());
    let left = pods.list(&ListParams::default()).await.expect("a list");
    assert!(left.items.is_empty(), "the demo's pods are gone");
}

/// A package whose program prints the same configuration.
fn copy_as_other(example: &Path, folder: &Path) {
    let demo = "steps: []\n";
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": CONFIGURATION},
        "webhooks": [],
    });
    let main = format!(
        "fn main() {{ match std::env::args().nth(1).as_deref() {{\n\
         Some(\"manifests\") => print!(\"{{}}\", {:?}),\n\
         Some(\"run\") => {{ println!(\"serving webhooks on https://127.0.0.1:1\"); std::thread::park() }}\n\
         _ => {{}} }} }}\n",
        configuration.to_string()
    );
    assert!(example.join("demo.yaml").is_file());
    fs::create_dir(folder.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"other\"\nedition = \"2024\"\n\n[workspace]\n";
    for (path, text) in [
        ("Cargo.toml", manifest),
        ("demo.yaml", demo),
        ("src/main.rs", &main),
    ] {
        fs::write(folder.join(path), text).expect("a file");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_definition_goes_unless_there_are_objects_of_it() {
    let world = World::new().await;
    let whitelist = example("whitelist");
    let ran = Ran::of(&mut world.command(&whitelist, &["--once"])).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let definitions: Api<CustomResourceDefinition> = Api::all(world.client());
    let left = definitions
        .list(&ListParams::default())
        .await
        .expect("a list");
    assert!(left.items.is_empty(), "{:?}", left.items);

    let mut dev = world.start(&whitelist);
    dev.says("✓ whitelist ").await;
    let defined = definitions
        .list(&ListParams::default())
        .await
        .expect("a list");
    let definition = defined.items.first().expect("a definition");
    let kept = json!({
        "apiVersion": format!("{}/{}", definition.spec.group, definition.spec.versions[0].name),
        "kind": definition.spec.names.kind,
        "metadata": {"name": "kept"},
        "spec": {},
    });
    let object = fs::read_to_string(whitelist.join("demo/whitelist.yaml"));
    let object = object.map_or(kept, |text| {
        serde_saphyr::from_str(&text).expect("an object")
    });
    apply(&world.client(), "default", &object)
        .await
        .expect("it is accepted");
    let said = dev.end().await;
    assert!(said.contains("stays: there are 1 objects of it"), "{said}");
    let definition = definitions
        .list(&ListParams::default())
        .await
        .expect("a list");
    let annotations = definition.items[0]
        .metadata
        .annotations
        .clone()
        .unwrap_or_default();
    assert!(!annotations.contains_key("kubewright.dev/dev"));
}

#[tokio::test]
async fn a_context_that_there_is_not_is_named() {
    let world = World::new().await;
    let mut command = world.command(&example("annotate-pod"), &[]);
    let ran = Ran::of(command.args(["--context", "moon"])).await;
    assert_eq!(ran.code, Some(2), "a context is given once");
    let mut command = kubewright(world.folder.path(), &["dev", "--context", "moon"]);
    let ran = Ran::of(command.env("KUBECONFIG", world.folder.path().join("kubeconfig"))).await;
    assert_eq!(ran.code, Some(1));
    let why = "error: cannot tell which cluster is meant: the kubeconfig has no context moon";
    assert!(ran.err.contains(why), "{}", ran.err);
}

const CONFIGURATION: &str = "test-mutating-webhook";

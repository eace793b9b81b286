//! `kubewright dev` while the sources of its program change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::command::kubewright;

/// A package, and `kubewright dev` on it.
struct Development {
    folder: TempDir,
    dev: Child,
    errors: Lines<BufReader<ChildStderr>>,
}

impl Development {
    /// Starts `dev` in a folder that has a package.
    fn start(folder: TempDir, target: &Path, more: &[&str]) -> Self {
        let mut arguments = vec!["dev"];
        arguments.extend(more);
        let mut dev = kubewright(folder.path(), &arguments)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_COLOR", "never")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let errors = BufReader::new(dev.stderr.take().expect("it is piped")).lines();
        Self {
            folder,
            dev,
            errors,
        }
    }

    /// Waits for a line that contains `text`.
    async fn says(&mut self, text: &str) {
        self.says_all(&[text]).await;
    }

    /// Waits for lines that contain each of these strings, in any order: `dev` passes the program's output on concurrently.
    async fn says_all(&mut self, expected: &[&str]) {
        let (mut expected, mut said) = (expected.to_vec(), Vec::new());
        while !expected.is_empty() {
            let line = self.errors.next_line().await.expect("text");
            let all = || {
                format!(
                    "{expected:?} is said after
{}",
                    said.join(
                        "
"
                    )
                )
            };
            let line = line.ok_or_else(all).expect("a line");
            expected.retain(|text| !line.contains(text));
            said.push(line);
        }
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let path = self.folder.path().join(file);
        let text = fs::read_to_string(&path).expect("a source");
        assert!(text.contains(from), "{file} has no {from:?}");
        fs::write(path, text.replace(from, to)).expect("it can be written");
    }

    #[cfg(unix)]
    async fn end(mut self) -> TempDir {
        let id = self.dev.id().expect("it runs").to_string();
        let children = children(&id).await;
        assert!(!children.is_empty());
        let told = Command::new("kill").args(["-INT", &id]).status().await;
        assert!(told.expect("kill runs").success());
        // A process that writes more than a pipe holds waits for a reader.
        while let Ok(Some(_)) = self.errors.next_line().await {}
        assert!(self.dev.wait().await.expect("it ends").success());
        for child in children.split_whitespace() {
            let alive = Command::new("kill")
                .args(["-0", child])
                .stderr(Stdio::null())
                .status()
                .await;
            assert!(!alive.expect("kill runs").success(), "{child} still runs");
        }
        self.folder
    }
}

#[cfg(unix)]
async fn children(id: &str) -> String {
    let found = Command::new("pgrep").args(["-P", id]).output().await;
    String::from_utf8(found.expect("pgrep runs").stdout).expect("numbers")
}

/// A package without dependencies that does what a program without webhooks does, and one that it depends on by a path.
fn package() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in [
        ("Cargo.toml", MANIFEST),
        ("src/main.rs", MAIN),
        ("words/Cargo.toml", WORDS_MANIFEST),
        ("words/src/lib.rs", WORDS),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

#[cfg(unix)]
#[tokio::test]
async fn a_change_is_built_and_runs_and_what_cannot_be_built_leaves_the_program_as_it_is() {
    let folder = package();
    let target = folder.path().join("target");
    let mut development = Development::start(folder, &target, &[]);
    development
        .says_all(&["talker | version one", "✓ talker runs"])
        .await;

    development.change("src/main.rs", "version one", "version two");
    development.says("src/main.rs changed: building").await;
    development.says("✓ built talker").await;
    development.says("the program from before has ended").await;
    development
        .says_all(&["talker | version two, hello", "✓ talker runs"])
        .await;

    development.change("words/src/lib.rs", "hello", "good day");
    development.says("words/src/lib.rs changed: building").await;
    development
        .says_all(&["talker | version two, good day", "✓ talker runs"])
        .await;

    let program = children(&development.dev.id().expect("it runs").to_string()).await;
    development.change("src/main.rs", "println!(\"running\");", "missing();");
    development.says("cannot find function `missing`").await;
    development.says("error: cargo could not build .").await;
    development.says("the program from before still runs").await;
    let now = children(&development.dev.id().expect("it runs").to_string()).await;
    assert_eq!(now, program);

    // Back to what it was, which is built anew: the executable is another one.
    development.change("src/main.rs", "missing();", "println!(\"running\");");
    development
        .says_all(&["talker | version two, good day", "✓ talker runs"])
        .await;
    let folder = development.end().await;
    let left = folder
        .path()
        .join(".kubewright")
        .read_dir()
        .expect("a folder");
    assert_eq!(left.count(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_ends_by_itself_is_started_again_when_it_has_changed() {
    let folder = package();
    let target = folder.path().join("target");
    let mut development = Development::start(folder, &target, &[]);
    development.says("✓ talker runs").await;
    development.change(
        "src/main.rs",
        "std::thread::park();",
        "std::process::exit(3);",
    );
    development
        .says("error: talker ended: exit status: 3")
        .await;
    development
        .says("it is started again when its sources change")
        .await;
    development.change(
        "src/main.rs",
        "std::process::exit(3);",
        "std::thread::park();",
    );
    development.says("✓ talker runs").await;
    development.end().await;
}

#[cfg(unix)]
#[tokio::test]
async fn sources_are_left_alone_if_that_is_asked_for() {
    let folder = package();
    let target = folder.path().join("target");
    let mut development = Development::start(folder, &target, &["--no-watch"]);
    development.says("✓ talker runs").await;
    let program = children(&development.dev.id().expect("it runs").to_string()).await;
    development.change("src/main.rs", "version one", "version two");
    let told = Command::new("kill").arg(program.trim()).status().await;
    assert!(told.expect("kill runs").success());
    development.says("error: talker ended: signal: 15").await;
    assert_eq!(
        development.dev.wait().await.expect("it ends").code(),
        Some(1)
    );
}

/// A sample with a webhook, as a project of its own with what this workspace has built of its dependencies.
fn project() -> (TempDir, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace is above");
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let profiles = &workspace[workspace.find("[profile.dev]").expect("profiles")..];
    let facade = root.join("crates/kubewright");
    let manifest = format!(
        "[package]\nname = \"greeter\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         clap = {{ version = \"4\", features = [\"derive\"] }}\n\
         k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"v1_36\"] }}\n\
         kubewright = {{ path = '{}' }}\nmimalloc = {{ version = \"0.1\", features = [\"no_thp\"] }}\n\n{profiles}",
        facade.display()
    );
    let sample = root.join("examples/annotate-pod/src");
    fs::create_dir(folder.path().join("src")).expect("a folder");
    fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    for (from, to) in [
        (root.join("Cargo.lock"), "Cargo.lock"),
        (sample.join("lib.rs"), "src/lib.rs"),
    ] {
        fs::copy(from, folder.path().join(to)).expect("it can be copied");
    }
    let main = fs::read_to_string(sample.join("main.rs")).expect("a source");
    let main = main.replace("annotate_pod::", "greeter::");
    fs::write(folder.path().join("src/main.rs"), main).expect("a file");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    (folder, target.parent().expect("the target").to_owned())
}

#[cfg(unix)]
#[tokio::test]
async fn a_webhook_answers_as_its_sources_say_while_the_objects_of_the_cluster_stay() {
    let (folder, target) = project();
    let mut development = Development::start(folder, &target, &[]);
    development.says("✓ greeter serves on").await;
    let kubeconfig = development.folder.path().join(".kubewright/dev.kubeconfig");
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.expect("a cluster")).expect("a client");
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(client.clone());
    let greeting = async |name: &str| {
        let pod = serde_json::json!({
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        });
        let pod = serde_json::from_value(pod).expect("a pod");
        let pod = pods.create(&PostParams::default(), &pod).await;
        let annotations = pod.expect("it is allowed").metadata.annotations;
        annotations.expect("annotations")["mutate"].clone()
    };
    assert_eq!(greeting("first").await, "welcome");

    development.change("src/lib.rs", "self.text.clone()", "missing.clone()");
    development.says("cannot find value `missing`").await;
    development.says("the program from before still runs").await;
    assert_eq!(greeting("second").await, "welcome");

    development.change("src/lib.rs", "missing.clone()", "\"farewell\".to_owned()");
    development.change(
        "src/lib.rs",
        "test-mutating-webhook\")",
        "another-webhook\")",
    );
    development
        .says("the MutatingWebhookConfiguration test-mutating-webhook is removed")
        .await;
    development.says("✓ greeter serves on").await;
    assert_eq!(greeting("third").await, "farewell");
    assert!(pods.get_opt("first").await.expect("an answer").is_some());
    let configurations: Api<
        k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration,
    > = Api::all(client);
    let names = configurations.list_metadata(&ListParams::default()).await;
    let names = names.expect("a list").items.into_iter();
    let names: Vec<Option<String>> = names.map(|one| one.metadata.name).collect();
    assert_eq!(names, [Some("another-webhook".to_owned())]);
    development.end().await;
}

const MANIFEST: &str = r#"
[package]
name = "talker"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
words = { path = "words" }
"#;

const MAIN: &str = r#"
fn main() {
    if std::env::args().nth(1).as_deref() == Some("run") {
        eprintln!("version one, {}", words::GREETING);
        println!("running");
        std::thread::park();
    }
}
"#;

const WORDS_MANIFEST: &str = r#"
[package]
name = "words"
version = "0.1.0"
edition = "2024"
"#;

const WORDS: &str = "pub const GREETING: &str = \"hello\";\n";

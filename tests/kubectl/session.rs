//! One kubectl on one fresh cluster: commands are run as in a terminal, and what they print is compared.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::LazyLock;

use kubewright_manager::{App, Needs};
use kubewright_testing::{Builder, Controllers, Server, TestCluster, eventually};
use regex::Regex;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::machine::{Kubectl, kubectls};

/// A person at a terminal, with a cluster of their own.
pub(crate) struct Session {
    kubectl: Kubectl,
    home: TempDir,
    pub(crate) cluster: TestCluster,
}

/// What a command printed, with what changes from run to run replaced.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a scenario once for each kubectl of the machine.
pub(crate) async fn with_each_kubectl(scenario: impl AsyncFn(&Session)) {
    with_each_kubectl_since(0, scenario).await;
}

/// Runs a scenario once for each kubectl that is young enough to be asked for it.
pub(crate) async fn with_each_kubectl_since(minor: u32, scenario: impl AsyncFn(&Session)) {
    run(minor, &Controllers::none(), scenario).await;
}

/// Runs a scenario once for each kubectl of the machine, on a cluster with controllers.
pub(crate) async fn with_controllers(scenario: impl AsyncFn(&Session)) {
    run(0, &Controllers::all(), scenario).await;
}

/// Runs a scenario once for each kubectl of the machine, on a cluster with these controllers.
pub(crate) async fn with_these_controllers(
    controllers: &Controllers,
    scenario: impl AsyncFn(&Session),
) {
    run(0, controllers, scenario).await;
}

/// Runs a scenario once for each kubectl of the machine, on a cluster with controllers and a program.
pub(crate) async fn with_program(
    app: impl Fn(&mut Needs) -> App,
    scenario: impl AsyncFn(&Session),
) {
    let cluster = || {
        TestCluster::builder()
            .controllers(Controllers::all())
            .app(&app)
    };
    run_on(0, cluster, scenario).await;
}

async fn run(minor: u32, controllers: &Controllers, scenario: impl AsyncFn(&Session)) {
    let cluster = || TestCluster::builder().controllers(controllers.clone());
    run_on(minor, cluster, scenario).await;
}

async fn run_on(minor: u32, cluster: impl Fn() -> Builder, scenario: impl AsyncFn(&Session)) {
    for kubectl in kubectls() {
        if kubectl.minor < minor {
            println!("kubectl 1.{} cannot do this: it came later", kubectl.minor);
            continue;
        }
        println!("kubectl 1.{}", kubectl.minor);
        let cluster = cluster().on(Server::Embedded).listen().start().await;
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("kubeconfig"), cluster.kubeconfig()).unwrap();
        scenario(&Session {
            kubectl,
            home,
            cluster,
        })
        .await;
    }
}

impl Printed {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: redacted(&output.stdout),
            err: redacted(&output.stderr),
        }
    }
}

impl Session {
    /// The minor of this session's kubectl.
    pub(crate) fn minor(&self) -> u32 {
        self.kubectl.minor
    }

    /// Runs `kubectl <command>`; words are split at blanks, single quotes keep them together.
    pub(crate) async fn run(&self, command: &str) -> Printed {
        let output = self.command(command).output().await.expect("kubectl runs");
        Printed::of(&output)
    }

    /// Runs a command that reads a text from its standard input.
    pub(crate) async fn pipes(&self, command: &str, text: &str) -> Printed {
        let mut child = self.command(command);
        let mut child = child
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("kubectl runs");
        let mut stdin = child.stdin.take().expect("it is piped");
        let text = text.to_owned();
        let writes = async move { stdin.write_all(text.as_bytes()).await };
        let (written, output) = tokio::join!(writes, child.wait_with_output());
        written.expect("kubectl reads");
        Printed::of(&output.expect("kubectl runs"))
    }

    /// Runs a command that must fail with this exit code, after it has printed exactly this.
    pub(crate) async fn fails(&self, command: &str, code: i32, out: &str, err: &str) {
        let printed = self.run(command).await;
        assert_eq!(
            (printed.code, printed.out.trim_end(), printed.err.trim_end()),
            (code, out, err),
            "kubectl 1.{} {command}",
            self.minor()
        );
    }

    /// Runs a command until it succeeds and prints exactly this, for what takes a program a moment.
    pub(crate) async fn comes_to_print(&self, command: &str, expected: &str) {
        eventually(&format!("kubectl {command}"), async || {
            let printed = self.run(command).await;
            (printed.code == 0 && printed.out.trim_end() == expected).then_some(())
        })
        .await;
    }

    /// Starts a command that goes on until it is dropped.
    pub(crate) fn start(&self, command: &str) -> Child {
        self.command(command)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("kubectl runs")
    }

    /// Runs a command that must succeed and print exactly this.
    pub(crate) async fn prints(&self, command: &str, expected: &str) {
        let printed = self.run(command).await;
        assert_eq!(
            (printed.out.trim_end(), printed.code),
            (expected.trim_end(), 0),
            "kubectl 1.{} {command}\n{}",
            self.minor(),
            printed.err
        );
    }

    /// Runs a command that must succeed and print all of these lines (blanks at line ends do not count).
    pub(crate) async fn shows(&self, command: &str, expected: &[&str]) {
        let printed = self.run(command).await;
        assert_eq!(
            printed.code,
            0,
            "kubectl 1.{} {command}\n{}",
            self.minor(),
            printed.err
        );
        for text in expected {
            assert!(
                printed.out.contains(text),
                "kubectl 1.{} {command} does not show {text:?}:\n{}",
                self.minor(),
                printed.out
            );
        }
    }

    /// Runs a command that must fail with exactly this on standard error.
    pub(crate) async fn refuses(&self, command: &str, expected: &str) {
        let printed = self.run(command).await;
        assert_eq!(
            (printed.err.trim_end(), printed.code),
            (expected.trim_end(), 1),
            "kubectl 1.{} {command}\n{}",
            self.minor(),
            printed.out
        );
    }

    /// Runs a command that opens an editor, in which `sed` does the editing.
    pub(crate) async fn edits(&self, command: &str, change: &str, expected: &str) {
        let editor = format!("sed -i {change}");
        let output = self
            .command(command)
            .env("KUBE_EDITOR", editor)
            .output()
            .await;
        let output = output.expect("kubectl runs");
        let (out, err) = (redacted(&output.stdout), redacted(&output.stderr));
        assert_eq!(
            out.trim_end(),
            expected,
            "kubectl 1.{} {command}\n{err}",
            self.minor()
        );
    }

    /// A file of the session's own, for `-f`.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(&self.kubectl.path);
        command
            .args(words(line))
            .current_dir(self.home.path())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .stdin(Stdio::null());
        command
    }
}

fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("there is a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Ages, uids and addresses change from run to run; blanks at line ends depend on their width.
fn redacted(bytes: &[u8]) -> String {
    static PATTERNS: LazyLock<[(Regex, &str); 6]> = LazyLock::new(|| {
        [
            (
                Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap(),
                "<uid>",
            ),
            (
                Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap(),
                "<time>",
            ),
            (
                Regex::new(r#"resourceVersion: "\d+""#).unwrap(),
                "resourceVersion: <version>",
            ),
            (Regex::new(r"127\.0\.0\.1:\d+").unwrap(), "<address>"),
            (Regex::new(r"\b(\d+m)?\d+s\b").unwrap(), "<age>"),
            (Regex::new("<age> +").unwrap(), "<age>   "),
        ]
    });
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for (pattern, name) in PATTERNS.iter() {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

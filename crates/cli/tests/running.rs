//! `kubewright run` and `kubewright test`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::command::{Ran, kubewright};

/// A package whose program, and whose test, say what they are started with.
fn package() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in [
        ("Cargo.toml", MANIFEST),
        ("src/main.rs", MAIN),
        ("tests/told.rs", TEST),
        ("kubeconfig", KUBECONFIG),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = kubewright(folder, arguments);
    command
        .env("KUBECONFIG", folder.join("kubeconfig"))
        // Tests are run with what cargo and the workspace's own tests say about another package.
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("KUBEWRIGHT_TEST_CLUSTER")
        .env_remove("KUBEBUILDER_ASSETS");
    command
}

async fn run(folder: &Path, arguments: &[&str]) -> Ran {
    Ran::of(&mut command(folder, arguments)).await
}

#[tokio::test]
async fn a_program_runs_with_the_rights_of_a_context_and_a_certificate_for_this_machine() {
    let folder = package();
    let arguments = ["run", "--context", "lab", "--", "--end=7", "--fast"];
    let ran = run(folder.path(), &arguments).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("the cluster is https://127.0.0.1:1"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("error: teller ended: exit status: 7"),
        "{}",
        ran.err
    );
    let told: Vec<&str> = ran.out.lines().collect();
    let [asked, context, certificate] = told[..] else {
        panic!("{told:?}");
    };
    assert!(
        asked.starts_with("run --listen 127.0.0.1:0 --certificates "),
        "{asked}"
    );
    assert!(
        asked.ends_with(" --propagation 0 --end=7 --fast"),
        "{asked}"
    );
    assert_eq!(context, "lab");
    assert_eq!(certificate, "true");
}

#[tokio::test]
async fn what_is_said_of_the_program_goes_before_what_is_not() {
    let folder = package();
    let own = [
        "--listen=0.0.0.0:9443",
        "--self-signed",
        "me",
        "--propagation=3",
        "--end=0",
    ];
    let ran = run(folder.path(), &[&["run", "--"], &own[..]].concat()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.out.lines().next(),
        Some(&*format!("run {}", own.join(" ")))
    );
    assert_eq!(ran.out.lines().nth(1), Some("elsewhere"));
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupt_ends_a_program_that_runs() {
    let folder = package();
    let mut child = command(folder.path(), &["run", "--", "--end=never"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    while lines.next_line().await.expect("text").expect("a line") != "true" {}
    let id = child.id().expect("it runs").to_string();
    let program = Command::new("pgrep").args(["-P", &id]).output().await;
    let program = String::from_utf8(program.expect("pgrep runs").stdout).expect("a number");
    let told = Command::new("kill").args(["-INT", &id]).status().await;
    assert!(told.expect("kill runs").success());
    // The program does not look after signals, and says that it was ended by one.
    assert_eq!(child.wait().await.expect("it ends").code(), Some(1));
    let alive = Command::new("kill")
        .args(["-0", program.trim()])
        .stderr(Stdio::null())
        .status()
        .await;
    assert!(!alive.expect("kill runs").success());
}

#[tokio::test]
async fn tests_are_told_which_api_server_they_have() {
    let folder = package();
    let arguments = ["test", "--cluster=existing", "--context=lab", "--"];
    let show = ["--quiet", "--", "--nocapture"];
    let ran = run(folder.path(), &[&arguments[..], &show].concat()).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(
        ran.out
            .contains("cluster existing, context lab, programs none"),
        "{}",
        ran.out
    );
    let ran = run(folder.path(), &[&["test", "--"], &show[..]].concat()).await;
    assert!(
        ran.out
            .contains("cluster none, context elsewhere, programs none"),
        "{}",
        ran.out
    );

    let mut real = command(
        folder.path(),
        &[&["test", "--cluster=real", "--"], &show[..]].concat(),
    );
    let ran = Ran::of(real.env("KUBEBUILDER_ASSETS", "/programs")).await;
    assert!(
        ran.out
            .contains("cluster real, context elsewhere, programs /programs"),
        "{}",
        ran.out
    );
}

#[tokio::test]
async fn tests_that_fail_fail_the_command() {
    let folder = package();
    let ran = run(folder.path(), &["test", "--cluster=embedded"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("error: the tests of . do not pass"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn a_real_api_server_that_cannot_be_had_is_said_before_anything_is_built() {
    let folder = package();
    let mut real = command(
        folder.path(),
        &["test", "--cluster=real", "--kubernetes=1.36"],
    );
    let ran = Ran::of(
        real.env("KUBEWRIGHT_ASSETS_STORE", folder.path().join("store"))
            .env("KUBEWRIGHT_ASSETS_INDEX", "http://127.0.0.1:1/index.yaml"),
    )
    .await;
    assert_eq!(ran.code, Some(1));
    assert!(!ran.err.contains("Compiling"), "{}", ran.err);
    assert!(ran.err.contains("127.0.0.1:1"), "{}", ran.err);
}

const MANIFEST: &str = r#"
[package]
name = "teller"
version = "0.1.0"
edition = "2024"

[workspace]
"#;

const MAIN: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("{}", arguments.join(" "));
    let kubeconfig = std::fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let (_, rest) = kubeconfig.split_once("current-context").unwrap();
    println!("{}", if rest.contains("\"lab\"") { "lab" } else { "elsewhere" });
    let folder = arguments.iter().position(|one| one == "--certificates");
    let folder = folder.map(|at| std::path::PathBuf::from(&arguments[at + 1]));
    println!("{}", folder.is_some_and(|folder| folder.join("tls.crt").is_file()));
    match arguments.iter().find_map(|one| one.strip_prefix("--end=")) {
        Some("never") => std::thread::park(),
        Some(code) => std::process::exit(code.parse().unwrap()),
        None => {}
    }
}
"#;

const TEST: &str = r#"
#[test]
fn told() {
    let said = |name: &str| std::env::var(name).unwrap_or("none".to_owned());
    let kubeconfig = std::fs::read_to_string(std::env::var("KUBECONFIG").unwrap()).unwrap();
    let (_, rest) = kubeconfig.split_once("current-context").unwrap();
    let context = if rest.contains("\"lab\"") { "lab" } else { "elsewhere" };
    let cluster = said("KUBEWRIGHT_TEST_CLUSTER");
    println!("cluster {cluster}, context {context}, programs {}", said("KUBEBUILDER_ASSETS"));
    assert_ne!(cluster, "embedded");
}
"#;

const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
clusters:
- {name: far, cluster: {server: 'https://127.0.0.1:1'}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: lab, context: {cluster: far, user: me}}
- {name: elsewhere, context: {cluster: far, user: me}}
current-context: elsewhere
";

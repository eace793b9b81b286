//! `kubewright dev`, with the examples that stand beside it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::command::{kubewright, run};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
        .canonicalize()
        .expect("the examples stand beside the crates")
}

#[tokio::test]
async fn the_demo_shows_the_pod_before_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let example = example("annotate-pod");
    let ran = run(folder.path(), &["dev", example.to_str().unwrap(), "--once"]).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    for text in [
        "pod nginx, applied:",
        "test-mutating-webhook.example.com CREATE Pod default/nginx  changed",
        "    +     mutate: welcome",
        "pod nginx, stored with the API server's defaults:",
        "✓ as expected",
    ] {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
    let left: Vec<_> = folder
        .path()
        .join(".kubewright")
        .read_dir()
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_the_compiler_says_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("broken");
    std::fs::create_dir_all(package.join("src")).unwrap();
    let manifest = "[package]\nname = \"broken\"\nedition = \"2024\"\n\n[workspace]\n";
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(package.join("src/main.rs"), "fn main() { missing() }\n").unwrap();
    let ran = run(folder.path(), &["dev", "broken"]).await;
    assert_eq!(ran.code, Some(1));
    for text in [
        "Compiling broken",
        "cannot find function `missing`",
        "error: cargo could not build broken",
    ] {
        assert!(ran.err.contains(text), "{text:?} is not in\n{}", ran.err);
    }
}

#[tokio::test]
async fn the_other_demos_come_out_as_expected_too() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "deny-env",
        "env-injector",
        "image-police",
        "sidecar-injector",
        "topolvm-hook",
    ] {
        let ran = run(
            folder.path(),
            &["dev", example(name).to_str().unwrap(), "--once"],
        )
        .await;
        assert_eq!(ran.code, Some(0), "{name}: {}\n{}", ran.out, ran.err);
    }
}

#[tokio::test]
async fn what_a_controller_does_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let example = example("whitelist");
    let ran = run(folder.path(), &["dev", example.to_str().unwrap(), "--once"]).await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    for text in [
        "whitelist created Deployment default/sample-deployment",
        "whitelist changed Deployment default/sample-deployment",
        "-       - image: httpd",
        "+       - image: nginx",
        "garbage collection deleted Deployment default/sample-deployment",
    ] {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
    let log = "INFO whitelist: Creating Deployment default/sample-deployment";
    assert!(ran.err.contains(log), "{}", ran.err);
}

#[cfg(unix)]
#[tokio::test]
async fn a_demo_leaves_the_kubeconfig_of_an_api_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = kubewright(folder.path(), &["apiserver"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(
        lines
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .starts_with("ready: ")
    );
    let kubeconfig = folder.path().join(".kubewright/kubeconfig");
    let before = std::fs::read_to_string(&kubeconfig).unwrap();
    for more in [&[][..], &["--kubeconfig", ".kubewright/kubeconfig"]] {
        let example = example("annotate-pod");
        let arguments = [&["dev", example.to_str().unwrap(), "--once"], more].concat();
        let ran = run(folder.path(), &arguments).await;
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
        if more.is_empty() {
            assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), before);
        }
    }
    // The server does not remove a file that another command has replaced meanwhile.
    std::fs::write(&kubeconfig, "another one").unwrap();
    let id = server.id().unwrap().to_string();
    let told = tokio::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .await;
    assert!(told.unwrap().success());
    assert!(server.wait().await.unwrap().success());
    assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), "another one");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupt_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = kubewright(
        folder.path(),
        &["dev", example("annotate-pod").to_str().unwrap()],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(dev.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("kubectl get pods") {
            break;
        }
    }
    let kubeconfig = folder.path().join(".kubewright/dev.kubeconfig");
    assert!(kubeconfig.exists());
    let id = dev.id().unwrap().to_string();
    tokio::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .await
        .unwrap();
    assert!(dev.wait().await.unwrap().success());
    assert!(!kubeconfig.exists());
    let children = tokio::process::Command::new("pgrep")
        .args(["-P", &id])
        .output()
        .await
        .unwrap();
    assert!(children.stdout.is_empty(), "the program still runs");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_demo_has_shown_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let example = example("annotate-pod");
    let arguments = ["dev", example.to_str().unwrap(), "--once"];
    let mut dev = kubewright(folder.path(), &arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(dev.stderr.take().unwrap()).lines();
    assert!(
        lines
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .starts_with("· building")
    );
    let id = dev.id().unwrap().to_string();
    tokio::process::Command::new("kill")
        .args(["-INT", &id])
        .status()
        .await
        .unwrap();
    assert_eq!(dev.wait().await.unwrap().code(), Some(1));
}

#[tokio::test]
async fn a_folder_without_a_package_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["dev", "nothing"]).await;
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.err,
        "· building nothing …\n\
         error: nothing holds no Cargo.toml\n\
         hint: name the folder of a Rust package, such as examples/annotate-pod\n"
    );
}

//! Why a control plane does not start: told at once, with the words of the program that failed.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kubewright_testing::ControlPlane;
use tempfile::TempDir;

/// A folder with two programs that are shell scripts.
fn assets(kube_apiserver: &str, etcd: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in [("kube-apiserver", kube_apiserver), ("etcd", etcd)] {
        let file = folder.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

async fn error(folder: &Path) -> String {
    let error = ControlPlane::builder()
        .assets(folder)
        .start()
        .await
        .unwrap_err();
    assert!(error.source().is_none(), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn programs_that_are_not_there_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    assert_eq!(
        error(folder.path()).await,
        format!(
            "cannot find kube-apiserver and etcd in {path}; build them with tests/kube-apiserver/build, or set \
             KUBEBUILDER_ASSETS to the folder that has them, such as the one that `kubewright assets use` prints"
        )
    );
    // What a variable says that was set to the output of a command that failed.
    let nameless = error(Path::new("")).await;
    assert!(
        nameless.contains(" in a folder without a name; "),
        "{nameless}"
    );
}

#[tokio::test]
async fn a_program_that_ends_is_not_waited_for() {
    let assets = assets("exit 0", "echo 'no space left'; exit 3");
    assert_eq!(
        error(assets.path()).await,
        "etcd ended with exit code 3 while it was starting; its last words:\nno space left"
    );
}

#[tokio::test]
async fn a_program_that_cannot_run_is_named() {
    let assets = assets("exit 0", "exec ./nothing-of-that-name");
    let error = error(assets.path()).await;
    assert!(
        error.starts_with("etcd ended with exit code 127 while it was starting"),
        "{error}"
    );
    assert!(error.contains("nothing-of-that-name"), "{error}");
}

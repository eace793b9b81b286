//! The `kubewright` binary, as a person runs it, and cargo, as they would without a test around it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..").canonicalize();
    root.expect("the workspace is above this package")
}

/// The folder that everything is built in: what the workspace has built of dependencies is not built again.
pub(crate) fn target() -> PathBuf {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    own.parent().expect("it is in the target folder").to_owned()
}

/// Runs `kubewright` in a folder.
pub(crate) fn kubewright(folder: &Path, arguments: &[&str]) -> Output {
    let output = prepared(folder, arguments).output();
    output.expect("the binary that was just built can be run")
}

/// `kubewright`, to be run in a folder.
pub(crate) fn prepared(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = clean(BINARY.as_path());
    command.args(arguments).current_dir(folder);
    command
}

/// Runs `kubewright` in a folder, and insists that it succeeds.
pub(crate) fn succeeds(folder: &Path, arguments: &[&str]) -> Output {
    let output = kubewright(folder, arguments);
    let said = errors(&output);
    assert!(
        output.status.success(),
        "kubewright {arguments:?} failed:\n{said}"
    );
    output
}

/// Runs a command, and insists that it succeeds.
pub(crate) fn completes(command: &mut Command) -> Output {
    let output = command.output().expect("the program can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{command:?} failed:\n{said}\n{}",
        errors(&output)
    );
    output
}

/// What a command said to the person.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A command without what cargo tells a test of itself: crates that are built again would take that for a change.
pub(crate) fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    let told = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_CRATE_",
        "CARGO_BIN_",
        "CARGO_TARGET_TMPDIR",
    ];
    for (name, _) in std::env::vars_os() {
        if name
            .to_str()
            .is_some_and(|name| told.iter().any(|told| name.starts_with(told)))
        {
            command.env_remove(name);
        }
    }
    command
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TERM_COLOR", "never");
    command
}

static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = clean(Path::new(env!("CARGO")))
        .args(["build", "--package", "kubewright-cli", "--quiet"])
        .current_dir(root())
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "the command can be built"
    );
    target().join("debug/kubewright")
});

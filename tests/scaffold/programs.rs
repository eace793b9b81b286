//! What is made, built and run: its tests pass as they come, nothing is left to format or to lint, and its demo comes out as
//! it says.
//!
//! All projects are one cargo workspace with the versions that this workspace has, so that dependencies are built once, most of
//! them before this test.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cases::{commands, from_scratch, run};
use crate::command::{clean, errors, kubewright, root, succeeds, target};
use crate::deployed;

/// The cases whose programs are built, unless `KUBEWRIGHT_THOROUGH` has all of them built. Together they have everything that is
/// ever made; the last one has what all of them depend on, so that it can be built alone without building that again.
const PROGRAMS: [&str; 6] = [
    "controllers",
    "tasks-and-policies",
    "validating-built-in",
    "external-both",
    "groups",
    "everything",
];

#[test]
fn what_is_made_passes_its_tests_and_does_what_its_demo_says() {
    let programs = programs();
    let workspace = workspace(&programs);
    cargo(
        &workspace,
        &["test", "--workspace", "--all-targets", "--offline"],
    );
    nothing_is_left_to_mend(&workspace);
    let everything = workspace.join("everything");
    for case in programs {
        succeeds(&workspace.join(case), &["dev", "--once"]);
    }
    manifests_are_written_and_held(&everything);
    let program = target().join("debug/made-everything");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(deployed::works(&everything, &program, "made-everything"));
}

/// What the workflow of a project asks for, besides its tests.
fn nothing_is_left_to_mend(workspace: &Path) {
    cargo(workspace, &["fmt", "--all", "--check"]);
    let linted = ["clippy", "--workspace", "--all-targets", "--offline"];
    cargo(
        workspace,
        &[&linted[..], &["--", "-D", "warnings"]].concat(),
    );
}

fn manifests_are_written_and_held(project: &Path) {
    let missing = kubewright(project, &["manifests", "--check"]);
    assert_eq!(missing.status.code(), Some(1), "there is no deploy/ yet");
    succeeds(project, &["manifests"]);
    succeeds(project, &["manifests", "--check"]);
    let file = project.join("deploy/program.yaml");
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.contains("kind: Deployment"));
    std::fs::write(&file, text.replace("replicas: 2", "replicas: 7")).expect("it can be written");
    let drift = kubewright(project, &["manifests", "--check"]);
    assert_eq!(drift.status.code(), Some(1));
    let said = errors(&drift);
    assert!(
        said.contains("replicas: 7") && said.contains("hint: run `kubewright manifests`"),
        "{said}"
    );
    cargo_fails(project, "the_manifests_are_valid_and_up_to_date");
    succeeds(project, &["manifests"]);
}

fn programs() -> Vec<String> {
    match std::env::var_os("KUBEWRIGHT_THOROUGH") {
        Some(_) => from_scratch(),
        None => PROGRAMS.map(str::to_owned).to_vec(),
    }
}

/// The projects, in a folder that stays where it is: what is built there is found again.
fn workspace(programs: &[String]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scaffold");
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {programs:?}\n\n{}",
        profiles()
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("a file can be written");
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))
        .expect("the versions are known");
    for case in programs {
        let project = folder.join(case);
        std::fs::create_dir(&project).expect("a folder can be made");
        for command in commands(case, &format!("made-{case}")) {
            run(&project, &command);
        }
    }
    folder
}

/// The profiles of this workspace: with others, dependencies would be built anew.
pub(crate) fn profiles() -> String {
    let manifest =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    let start = manifest.find("[profile.dev]").expect("it has profiles");
    manifest[start..].to_owned()
}

fn cargo(folder: &Path, arguments: &[&str]) {
    let output = command(folder, arguments)
        .output()
        .expect("cargo can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "cargo {arguments:?}:\n{text}\n{}",
        errors(&output)
    );
}

/// A test of a project that is to fail.
fn cargo_fails(project: &Path, test: &str) {
    let output = command(project, &["test", "--test", "all", "--offline", test]).output();
    let output = output.expect("cargo can be run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        !output.status.success() && text.contains("replicas: 7"),
        "{text}"
    );
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = clean(Path::new(env!("CARGO")));
    command.args(arguments).current_dir(folder);
    command
}

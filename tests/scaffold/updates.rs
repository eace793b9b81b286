//! `kubewright update`: what it changes in a project of an earlier version, what it shows, and what it leaves alone.

use std::path::Path;
use std::process::{Command, Output};

use crate::command::{errors, kubewright, succeeds};
use crate::folder::{difference, read};

/// A project that an earlier version has made: the record says so, and requires that version.
fn project() -> tempfile::TempDir {
    let project = tempfile::tempdir().expect("there is room for a project");
    let folder = project.path();
    for command in [
        "init . --name guard --domain example.com",
        "create webhook --kind Pod --validating",
    ] {
        succeeds(folder, &command.split(' ').collect::<Vec<_>>());
    }
    change(folder, "kubewright.toml", VERSION, "version = \"0.0.9\"");
    project
}

const VERSION: &str = concat!("version = \"", env!("CARGO_PKG_VERSION"), "\"");

fn change(folder: &Path, file: &str, from: &str, to: &str) {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).expect("it was made");
    assert!(text.contains(from), "{file} has no {from}:\n{text}");
    std::fs::write(path, text.replace(from, to)).expect("it can be written");
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).expect("it is there")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Makes a file one of an earlier version: its text, and the hash of that.
fn earlier(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::remove_file(&path).expect("it was made");
    let record = self::text(folder, "kubewright.toml");
    let line = record.lines().find(|line| line.contains(file));
    let line = line.expect("it is recorded").to_owned();
    let hash = sha256(text);
    let (name, _) = line.split_once(" = ").expect("a hash");
    change(
        folder,
        "kubewright.toml",
        &line,
        &format!("{name} = \"{}\"", &hash[..16]),
    );
    std::fs::write(path, text).expect("it can be written");
}

/// The SHA-256 by the system's own program: a second opinion about what the record has.
fn sha256(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    std::fs::write(file.path(), text).expect("it can be written");
    let output = Command::new("sha256sum").arg(file.path()).output();
    said(&output.expect("coreutils are there"))
}

#[test]
fn a_file_that_nobody_has_changed_is_written_as_the_new_version_has_it() {
    let project = project();
    let folder = project.path();
    let (ci, hook) = (".github/workflows/ci.yml", "src/webhooks/pod.rs");
    let new = read(folder);
    earlier(folder, ci, "# As it was once.\n");
    earlier(folder, hook, "// As it was once.\n");
    change(
        folder,
        "Cargo.toml",
        "rust-version = \"1.",
        "rust-version = \"0.",
    );
    let output = succeeds(folder, &["update"]);
    assert_eq!(text(folder, ci), new[ci]);
    assert_eq!(text(folder, hook), new[hook]);
    assert_eq!(text(folder, "Cargo.toml"), new["Cargo.toml"]);
    let record = new["kubewright.toml"].replace("version = \"0.0.9\"", VERSION);
    assert_eq!(text(folder, "kubewright.toml"), record);
    assert!(!said(&output).contains("@@"), "nothing differs");
    // Nothing is left for a second time.
    let again = succeeds(folder, &["update"]);
    assert!(
        errors(&again).contains("nothing to do"),
        "{}",
        errors(&again)
    );
}

#[test]
fn a_file_that_its_user_has_changed_is_shown_beside_the_new_one_and_stays() {
    let project = project();
    let folder = project.path();
    let ci = ".github/workflows/ci.yml";
    earlier(folder, ci, "# As it was once.\n");
    let mine = "# As I want it.\n";
    for file in [ci, "Containerfile", "src/webhooks/pod.rs"] {
        std::fs::write(folder.join(file), mine).expect("it can be written");
    }
    let output = succeeds(folder, &["update"]);
    let shown = said(&output);
    assert!(
        shown.contains(&format!("{ci} is left as it is, since you have changed it"))
            && shown.contains("\n-# As I want it.\n+name: ci\n"),
        "{shown}"
    );
    let (files, _) = shown.split_once("What has changed").expect("a changelog");
    // The new version has the same Containerfile, and an example is replaced by what its user writes.
    assert!(
        !files.contains("Containerfile") && !files.contains("pod.rs"),
        "{files}"
    );
    for file in [ci, "Containerfile", "src/webhooks/pod.rs"] {
        assert_eq!(text(folder, file), mine);
    }
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let project = project();
    let folder = project.path();
    earlier(folder, ".gitignore", "/target\n");
    let before = read(folder);
    let dry = succeeds(folder, &["update", "--dry-run"]);
    assert_eq!(difference(&before, &read(folder)), "");
    let real = succeeds(folder, &["update"]);
    assert_eq!(said(&dry), said(&real));
    assert!(said(&real).starts_with("~ .gitignore\n~ kubewright.toml\n"));
}

#[test]
fn what_has_changed_of_what_the_project_uses_is_said() {
    let project = project();
    let folder = project.path();
    let unused = said(&succeeds(folder, &["update", "--dry-run"]));
    let entry = "* `Controller::priority` gives objects priorities";
    assert!(!unused.contains(entry), "{unused}");
    let used = "// later: controller.priority(…)\n";
    std::fs::write(folder.join("src/plan.rs"), used).expect("it can be written");
    let output = succeeds(folder, &["update", "--dry-run"]);
    assert!(said(&output).contains(entry), "{}", said(&output));
    assert!(errors(&output).contains("more changes are in CHANGELOG.md"));
}

#[test]
fn a_project_without_hashes_gets_those_of_what_is_as_it_was_generated() {
    let project = project();
    let folder = project.path();
    let record = text(folder, "kubewright.toml");
    let (head, _) = record.split_once("\n# The version").expect("a table");
    std::fs::write(folder.join("kubewright.toml"), head).expect("it can be written");
    std::fs::write(folder.join("README.md"), "# Mine\n").expect("it can be written");
    let output = succeeds(folder, &["update"]);
    assert!(said(&output).contains("README.md is left as it is"));
    let record = text(folder, "kubewright.toml");
    assert!(
        record.contains("\nContainerfile = ") && !record.contains("README.md"),
        "{record}"
    );
}

#[test]
fn versions_that_cannot_be_reached_are_refused() {
    let project = project();
    let folder = project.path();
    let newer = kubewright(folder, &["update", "--to", "99.0.0"]);
    assert!(
        errors(&newer).contains("does not know 99.0.0\nhint: install the newer one first: `cargo install kubewright-cli --version 99.0.0`"),
        "{}",
        errors(&newer)
    );
    let older = kubewright(folder, &["update", "--to", "0.0.1"]);
    assert!(
        errors(&older).contains("the project is of version 0.0.9, which is newer than 0.0.1"),
        "{}",
        errors(&older)
    );
}

#[test]
fn a_tree_that_is_not_committed_is_left_alone() {
    let project = project();
    let folder = project.path();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(arguments)
            .current_dir(folder)
            .output()
            .expect("git is there");
        assert!(output.status.success(), "{}", errors(&output));
    };
    git(&["init", "--quiet"]);
    let before = read(&folder.join("src"));
    let refused = kubewright(folder, &["update"]);
    assert_eq!(
        errors(&refused),
        "error: the project has changes that are not committed\n\
         hint: commit them, so that what the update changes can be seen, or pass --allow-dirty\n"
    );
    assert_eq!(difference(&before, &read(&folder.join("src"))), "");
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "As it was"]);
    succeeds(folder, &["update"]);
    assert!(text(folder, "kubewright.toml").contains(VERSION));
    // The record is changed now.
    let refused = kubewright(folder, &["update"]);
    assert_eq!(refused.status.code(), Some(1));
    succeeds(folder, &["update", "--allow-dirty"]);
}

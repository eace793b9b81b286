//! Cases: the commands of `commands`, run on the folder `in/` if there is one, make the folder `out/`.
//!
//! A file that `out/` does not contain must equal that of `cases/init/out`, with which every project begins. `hints` contains the
//! changes that the last command must leave to the user. `KUBEWRIGHT_UPDATE_CASES=1 cargo test -p scaffold` writes `out/` anew,
//! for review.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::command::{errors, kubewright, root, succeeds};
use crate::folder::{difference, read, write};

/// The folder with the cases.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// The commands of a case, for a project of this name, without the word `kubewright`.
pub(crate) fn commands(case: &str, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(cases().join(case).join("commands"));
    let text = text.expect("a case has commands");
    let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/definitions");
    let words = text.lines().map(|line| {
        let line = line.replace("NAME", name);
        let line = line.replace("DEFINITIONS", definitions);
        line.split_whitespace().map(str::to_owned).collect()
    });
    words.collect()
}

/// Runs a command of a case. A project takes Kubewright from the workspace.
pub(crate) fn run(folder: &Path, command: &[String]) {
    let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
    let kubewright = root().join("crates/kubewright");
    if words[0] == "init" {
        words.extend([
            "--kubewright-path",
            kubewright.to_str().expect("paths are UTF-8"),
        ]);
    }
    succeeds(folder, &words);
}

fn hold(case: &str) {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    let place = cases().join(case);
    write(folder, &read(&place.join("in")));
    let commands = commands(case, "guard");
    let hints = std::fs::read_to_string(place.join("hints")).unwrap_or_default();
    let (last, others) = commands.split_last().expect("a case has commands");
    for command in others {
        run(folder, command);
    }
    if hints.is_empty() {
        run(folder, last);
    } else {
        let words: Vec<&str> = last.iter().map(String::as_str).collect();
        let left = kubewright(folder, &words);
        assert_eq!(left.status.code(), Some(1));
        assert_eq!(errors(&left), hints, "{case}/hints");
    }
    let made = portable(read(folder));
    if std::env::var_os("KUBEWRIGHT_UPDATE_CASES").is_some() {
        update(case, &made);
    }
    let different = difference(&expected(case), &made);
    assert!(different.is_empty(), "cases/{case}:\n{different}");

    // With a deletion among the commands, a second run changes something in between.
    if !commands.iter().any(|words| words[0] == "delete") {
        for command in &commands {
            run(folder, command);
        }
    }
    let again = difference(&made, &portable(read(folder)));
    assert!(again.is_empty(), "cases/{case}, run twice:\n{again}");
}

/// Files without the place of this workspace, and without what follows from it: the hashes in the record.
fn portable(files: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let checkout = root();
    let library = checkout.join("crates/kubewright");
    let [checkout, library] =
        [&checkout, &library].map(|path| path.to_str().expect("paths are UTF-8"));
    let files = files.into_iter();
    let portable = |path: &str, text: String| {
        if path == "kubewright.toml" {
            return without_hashes(&text);
        }
        let text = text.replace(library, "/kubewright");
        text.replace(checkout, "/checkout")
    };
    let portable = files.map(|(path, text)| {
        let text = portable(&path, text);
        (path, text)
    });
    portable.collect()
}

/// The record with the names of the files, and no more of them.
fn without_hashes(record: &str) -> String {
    let Some((head, scaffold)) = record.split_once("\n[scaffold]\n") else {
        return record.to_owned();
    };
    let lines = scaffold.lines().map(|line| match line.split_once(" = ") {
        Some((name, _)) => format!("{name} = \"…\"\n"),
        None => format!("{line}\n"),
    });
    format!("{head}\n[scaffold]\n{}", lines.collect::<String>())
}

fn expected(case: &str) -> BTreeMap<String, String> {
    let mut files = if is_from_scratch(case) {
        read(&cases().join("init/out"))
    } else {
        BTreeMap::new()
    };
    files.extend(read(&cases().join(case).join("out")));
    files
}

/// Every case.
fn names() -> Vec<String> {
    let mut names: Vec<String> = cases()
        .read_dir()
        .expect("the cases are there")
        .flatten()
        .map(|entry| entry.file_name().into_string().expect("names are UTF-8"))
        .collect();
    names.sort();
    names
}

/// The cases that begin with an empty folder.
pub(crate) fn from_scratch() -> Vec<String> {
    let mut names = names();
    names.retain(|case| !cases().join(case).join("in").exists());
    names
}

/// Whether a case begins with an empty folder, and so with the files of the case `init`.
fn is_from_scratch(case: &str) -> bool {
    case != "init" && !cases().join(case).join("in").exists()
}

fn update(case: &str, made: &BTreeMap<String, String>) {
    let out = cases().join(case).join("out");
    // One that is not there has nothing to remove.
    let _ = std::fs::remove_dir_all(&out);
    let known = if is_from_scratch(case) {
        read(&cases().join("init/out"))
    } else {
        BTreeMap::new()
    };
    let new = made
        .iter()
        .filter(|(path, text)| known.get(*path) != Some(*text));
    write(
        &out,
        &new.map(|(path, text)| (path.clone(), text.clone()))
            .collect(),
    );
}

/// The numbers in the README, for a kind with webhooks and a controller.
#[test]
fn the_readme_counts_what_is_made() {
    let made = expected("webhooks-and-controller");
    let lines = |text: &String| text.lines().count();
    let yaml = made
        .iter()
        .filter(|(path, _)| matches!(path.rsplit('.').next(), Some("yaml" | "yml")));
    let yaml: Vec<usize> = yaml.map(|(_, text)| lines(text)).collect();
    let row = format!(
        "| {} files, {} lines | {} files, {} lines |",
        made.len(),
        made.values().map(lines).sum::<usize>(),
        yaml.len(),
        yaml.iter().sum::<usize>()
    );
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    assert!(
        readme.contains(&row),
        "the README says something else than: {row}"
    );
    assert!(made.len() <= 20, "a project is small");
}

/// Defines a test for each case.
macro_rules! cases {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            hold(&stringify!($name).replace('_', "-"));
        })+

        #[test]
        fn every_case_is_held() {
            let mut named = [$(stringify!($name).replace('_', "-")),+];
            named.sort();
            assert_eq!(names(), named);
        }
    };
}

cases! {
    init
    init_license
    validating_built_in
    defaulting_built_in
    both_built_in_cluster_scoped
    api
    api_cluster_scoped
    api_plural
    controller
    controller_cluster_scoped
    controller_later
    controller_built_in
    controllers
    controllers_deleted
    tasks_and_policies
    tasks_and_policies_deleted
    webhooks_one_by_one
    webhooks_and_controller
    conversion
    conversion_later
    groups
    everything
    external_webhooks
    external_controller
    external_both
    external_deleted
    edited
    left_to_you
    deleted
    deleted_in_part
}

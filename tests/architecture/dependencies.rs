//! The record of direct dependencies and the workspace's manifest name the same crates.

use std::collections::BTreeSet;

use crate::tree::root;

const RECORD: &str = "docs/decisions/0039-direct-dependencies.md";

#[test]
fn each_direct_dependency_has_a_reason() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let record = std::fs::read_to_string(root().join(RECORD)).expect("a record");
    let (declared, explained) = (declared(&manifest), explained(&record));
    let unexplained: Vec<_> = declared.difference(&explained).collect();
    assert!(
        unexplained.is_empty(),
        "{RECORD} does not say what these dependencies are for: {unexplained:?}"
    );
    let gone: Vec<_> = explained.difference(&declared).collect();
    assert!(
        gone.is_empty(),
        "{RECORD} lists what is no dependency: {gone:?}"
    );
}

#[test]
fn a_row_explains_each_crate_of_its_first_column() {
    let row = "| `a`, `b-c` | program | uses `d` | `e` |\n| --- |\n|---|\ntext `f`";
    let names: Vec<_> = explained(row).into_iter().collect();
    assert_eq!(names, ["a", "b-c"]);
}

/// Returns the crates of others in `[workspace.dependencies]`.
fn declared(manifest: &str) -> BTreeSet<String> {
    let (_, section) = manifest
        .split_once("[workspace.dependencies]\n")
        .expect("the workspace has dependencies");
    section
        .lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#') && !line.contains("{ path ="))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Returns the crates in the first column of the table.
fn explained(record: &str) -> BTreeSet<String> {
    record
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split(" | ").next())
        .flat_map(|column| column.split(','))
        .map(|name| name.trim().trim_matches('`').to_owned())
        .collect()
}

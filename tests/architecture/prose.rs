//! What the texts promise: the README's commands exist, every example explains and tests itself.

use crate::tree::{files, root};

#[test]
fn the_readme_starts_with_the_two_commands() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let first: Vec<&str> = readme
        .lines()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect();
    assert_eq!(
        first,
        [
            "cargo run -- dev examples/annotate-pod --once",
            "cargo test --workspace"
        ]
    );
}

#[test]
fn every_example_has_a_readme_a_demo_a_deployment_and_tests() {
    for manifest in files("Cargo.toml") {
        let Some(folder) = manifest.path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if !folder.starts_with("examples/") {
            continue;
        }
        for wanted in [
            "README.md",
            "demo.yaml",
            "deploy/kustomization.yaml",
            "tests",
        ] {
            assert!(
                root().join(folder).join(wanted).exists(),
                "{folder} has no {wanted}"
            );
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in files(".md") {
        let folder = root().join(&document.path).parent().unwrap().to_owned();
        for target in document.text.split("](").skip(1) {
            let target = target.split([')', '#', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            if !folder.join(target).exists() {
                broken.push(format!("{}: {target}", document.path));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_decision_says_what_was_decided_and_why() {
    for record in files(".md") {
        if record.path.starts_with("docs/decisions/") && !record.path.ends_with("README.md") {
            for heading in ["## Context", "## Decision", "## Consequences"] {
                assert!(
                    record.text.contains(heading),
                    "{} has no `{heading}`",
                    record.path
                );
            }
        }
    }
}

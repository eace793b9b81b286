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

/// A page is run as a doc test where it is part of the guide's rustdoc. The tutorial is run as one project instead.
#[test]
fn no_page_of_the_guide_is_left_out_of_the_tests_or_of_its_order() {
    let guide = std::fs::read_to_string(root().join("crates/kubewright/src/guide.rs")).unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let (order, modules) = guide.split_once("\n\n").unwrap();
    let mut listed = Vec::new();
    for line in order.lines().filter(|line| line.contains("]: ")) {
        let name = line.split(['`']).nth(1).unwrap();
        listed.push(format!("docs/guide/{}.md", name.replace('_', "-")));
    }
    let mut missing = Vec::new();
    let pages = files(".md");
    let pages: Vec<&str> = pages
        .iter()
        .map(|page| page.path.as_str())
        .filter(|path| path.starts_with("docs/guide/"))
        .collect();
    for page in &pages {
        let included = format!("#[doc = include_str!(\"../../../{page}\")]\npub mod ");
        let is_run = if *page == "docs/guide/tutorial.md" {
            let project = std::fs::read_to_string(root().join("tests/scaffold/tutorial.rs"));
            project.unwrap().contains(page)
        } else {
            modules.contains(&included)
        };
        if !is_run {
            missing.push(format!("{page} is in no test"));
        }
        if !listed.iter().any(|listed| listed == page) {
            missing.push(format!("{page} is not in the order of guide.rs"));
        }
        if !readme.contains(&format!("]({page})")) {
            missing.push(format!("the README does not lead to {page}"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert_eq!(
        listed.len(),
        pages.len(),
        "a page is listed twice, or is not there"
    );
    let in_readme: Vec<usize> = listed
        .iter()
        .map(|page| readme.rfind(&format!("]({page})")).unwrap())
        .collect();
    assert!(in_readme.is_sorted(), "the README has another order");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in files(".md") {
        let folder = root().join(&document.path).parent().unwrap().to_owned();
        for target in document.text.split("](").skip(1) {
            let target = target.split([')', ' ']).next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let (path, place) = target.split_once('#').unwrap_or((target, ""));
            let path = match path {
                "" => root().join(&document.path),
                path => folder.join(path),
            };
            let leads = match (place, std::fs::read_to_string(&path)) {
                ("", _) => path.exists(),
                (place, Ok(text)) => headings(&text).any(|heading| heading == place),
                (_, Err(_)) => false,
            };
            if !leads {
                broken.push(format!("{}: {target}", document.path));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The headings of a page as links name them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|heading| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
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

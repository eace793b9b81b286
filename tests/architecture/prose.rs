//! The documents keep their promises: the README's commands exist, and every example explains and tests itself.

use crate::tree::{File, files, is_in_a_crate, root};

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

/// A stranger finds a crate by its README, and its example runs as part of the crate's documentation.
#[test]
fn every_crate_has_a_readme_that_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for manifest in files("Cargo.toml") {
        let Some(folder) = manifest.path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if !is_in_a_crate(folder) {
            continue;
        }
        let read = |path: &str| std::fs::read_to_string(root().join(folder).join(path)).ok();
        let readme = File {
            path: format!("{folder}/README.md"),
            text: read("README.md").unwrap_or_default(),
        };
        wrong.extend(lacks(&readme, &manifest, read("src/lib.rs").as_deref()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_readme_that_is_only_a_heading_is_found() {
    let file = |path: &str, text: &str| File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let library = "#![doc = include_str!(\"../README.md\")]\n";
    let manifest = file("Cargo.toml", "name = \"words\"\nreadme = \"README.md\"\n");
    let good = "# words\n\nThis crate counts words.\n\n```rust\n```\n";
    assert!(lacks(&file("README.md", good), &manifest, Some(library)).is_empty());
    let bare = "# words\n\n## Usage\n\nIt counts words.\n";
    assert_eq!(
        lacks(&file("README.md", bare), &manifest, Some("//! Words.\n")),
        [
            "README.md: the first paragraph does not say what the crate is for",
            "README.md: there is no example",
            "README.md: the crate's documentation does not include it, so its example does not run",
        ]
    );
    assert_eq!(
        lacks(
            &file("README.md", ""),
            &file("Cargo.toml", "name = \"words\"\n"),
            None
        ),
        [
            "README.md: the first line is not `# words`",
            "README.md: the first paragraph does not say what the crate is for",
            "README.md: there is no example",
            "Cargo.toml: there is no `readme = \"README.md\"`",
        ]
    );
}

/// Returns a line for each thing that the README of a crate lacks. A binary has no `library`, and its example no test.
fn lacks(readme: &File, manifest: &File, library: Option<&str>) -> Vec<String> {
    let mut names = manifest.text.lines();
    let name = names.find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let heading = format!("# {}", name.unwrap_or_default());
    let mut lines = readme.text.lines();
    let is_headed = lines.next() == Some(&*heading);
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let example = library.map_or("```console", |_| "```rust");
    let include = "#![doc = include_str!(\"../README.md\")]";
    let rules = [
        (
            is_headed,
            readme,
            format!("the first line is not `{heading}`"),
        ),
        (
            first.starts_with(char::is_alphabetic),
            readme,
            "the first paragraph does not say what the crate is for".to_owned(),
        ),
        (
            readme.text.lines().any(|line| line == example),
            readme,
            "there is no example".to_owned(),
        ),
        (
            library.is_none_or(|text| text.contains(include)),
            readme,
            "the crate's documentation does not include it, so its example does not run".to_owned(),
        ),
        (
            manifest
                .text
                .lines()
                .any(|line| line == "readme = \"README.md\""),
            manifest,
            "there is no `readme = \"README.md\"`".to_owned(),
        ),
    ];
    let broken = rules.into_iter().filter(|(holds, ..)| !holds);
    broken
        .map(|(_, file, lack)| format!("{}: {lack}", file.path))
        .collect()
}

/// A page is run as a doc test where it is part of the guide's rustdoc. The tutorial is run as one project instead.
#[test]
fn every_page_of_the_guide_is_tested_and_listed_in_one_order_in_rustdoc_the_readme_and_the_book() {
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
        .filter(|path| path.starts_with("docs/guide/") && *path != SUMMARY)
        .collect();
    for page in &pages {
        // By a link in the folder of the crate, so that its package has the guide.
        let linked = page.trim_start_matches("docs/");
        let included = format!("#[doc = include_str!(\"../{linked}\")]\npub mod ");
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
    let summary = std::fs::read_to_string(root().join(SUMMARY)).unwrap();
    let in_book: Vec<String> = summary
        .lines()
        .filter_map(|line| {
            line.strip_prefix("- [")?
                .strip_suffix(')')?
                .split_once("](")
        })
        .map(|(_, page)| format!("docs/guide/{page}"))
        .collect();
    assert_eq!(listed, in_book, "the book has other pages or another order");
}

/// The table of contents of the book.
const SUMMARY: &str = "docs/guide/SUMMARY.md";

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

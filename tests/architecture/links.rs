//! Every link of every Markdown file leads to a file of the repository, and to a heading of it if it names one.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{File, files, paths};

/// The pages of the guide. In the book they have no other files beside them.
const GUIDE: &str = "docs/guide/";

/// Where readers of the book find the other files of the repository.
const REPOSITORY: &str = "https://github.com/kubewright/kubewright/blob/main/";

#[test]
fn every_link_between_documents_resolves() {
    let broken = broken(&files(".md"), &paths());
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_found() {
    let page = |path: &str, text: &str| File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = [
        page(
            "README.md",
            "[a](docs/guide/a.md#b--c) [b](docs) [c][c]\n\n[c]: LICENSE\n",
        ),
        page(
            "docs/guide/a.md",
            "# A\n## B & C\n[up](../../LICENSE)\n`[x](y)`\n```sh\n# d\n[z](z)\n```\n",
        ),
        page(
            "docs/other.md",
            "# E\n# E\n[e](#e-1) [f](#e-2) [d](guide/a.md#d) [g](Guide/a.md) <a href=\"n.md\">\n",
        ),
        page(
            "outside.md",
            "[up](../x.md) [web](https://example.com/x) [ours](https://github.com/kubewright/kubewright/blob/main/x.md)\n",
        ),
    ];
    let mut paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    paths.push("LICENSE".to_owned());
    assert_eq!(
        broken(&files, &paths),
        [
            "docs/guide/a.md: ../../LICENSE is not in the book: link to https://github.com/kubewright/kubewright/blob/main/LICENSE",
            "docs/other.md: #e-2: docs/other.md has no such heading",
            "docs/other.md: guide/a.md#d: docs/guide/a.md has no such heading",
            "docs/other.md: Guide/a.md: no such file",
            "docs/other.md: n.md: no such file",
            "outside.md: ../x.md: outside the repository",
            "outside.md: https://github.com/kubewright/kubewright/blob/main/x.md: no such file",
        ]
    );
}

/// One line for each link that leads nowhere.
fn broken(documents: &[File], paths: &[String]) -> Vec<String> {
    let mut known: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    for path in paths {
        known.extend(path.match_indices('/').map(|(end, _)| &path[..end]));
    }
    let anchors: BTreeMap<&str, BTreeSet<String>> = documents
        .iter()
        .map(|document| (&*document.path, anchors(&document.text)))
        .collect();
    let mut broken = Vec::new();
    for document in documents {
        for target in targets(&document.text) {
            if let Err(why) = resolve(&document.path, &target, &known, &anchors) {
                broken.push(format!("{}: {target}{why}", document.path));
            }
        }
    }
    broken
}

fn resolve(
    document: &str,
    target: &str,
    known: &BTreeSet<&str>,
    anchors: &BTreeMap<&str, BTreeSet<String>>,
) -> Result<(), String> {
    let ours = target.strip_prefix(REPOSITORY);
    if ours.is_none() && (target.contains("://") || target.starts_with("mailto:")) {
        return Ok(());
    }
    let (path, anchor) = ours
        .unwrap_or(target)
        .split_once('#')
        .unwrap_or((ours.unwrap_or(target), ""));
    let path = match (ours, path) {
        (Some(_), path) => path.to_owned(),
        (None, "") => document.to_owned(),
        (None, path) => joined(document, path).ok_or(": outside the repository")?,
    };
    if !known.contains(&*path) {
        return Err(": no such file".to_owned());
    }
    if ours.is_none() && document.starts_with(GUIDE) && !path.starts_with(GUIDE) {
        return Err(format!(" is not in the book: link to {REPOSITORY}{path}"));
    }
    let has_anchor = || anchors.get(&*path).is_some_and(|all| all.contains(anchor));
    if anchor.is_empty() || has_anchor() {
        Ok(())
    } else {
        Err(format!(": {path} has no such heading"))
    }
}

/// The path from the root of the repository of a path that is relative to a document.
fn joined(document: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines that are neither in a fenced block of code nor its fences.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        match fence {
            Some(end) if line.trim_end() == end => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => fence = Some("```"),
            None if line.starts_with("~~~") => fence = Some("~~~"),
            None => return true,
        }
        false
    })
}

/// The targets of inline links, images, link definitions and HTML attributes.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    // A link may go over the end of a line.
    let text = prose(text).collect::<Vec<_>>().join("\n");
    for paragraph in text.split("\n\n") {
        let prose: String = paragraph
            .split('`')
            .step_by(2)
            .collect::<Vec<_>>()
            .join("``");
        let inline = prose.split("](").skip(1);
        let inline = inline.filter_map(|rest| rest.split([')', ' ', '\n']).next());
        targets.extend(
            inline
                .filter(|target| !target.is_empty())
                .map(str::to_owned),
        );
        for attribute in ["href=\"", "src=\""] {
            let values = prose.split(attribute).skip(1);
            targets.extend(
                values
                    .filter_map(|rest| rest.split('"').next())
                    .map(str::to_owned),
            );
        }
        let definitions = prose.lines().filter(|line| line.starts_with('['));
        let definitions = definitions.filter_map(|line| line.split_once("]: "));
        targets.extend(
            definitions
                .filter_map(|(_, rest)| rest.split(' ').next())
                .map(str::to_owned),
        );
    }
    targets
}

/// The anchors of a page's headings, as GitHub and mdBook make them: a heading that comes again gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let words = line.trim_start_matches('#');
        if !(1..=6).contains(&(line.len() - words.len())) || !words.starts_with(' ') {
            continue;
        }
        let anchor = anchor(words.trim());
        let time = times.entry(anchor.clone()).or_default();
        anchors.insert(match *time {
            0 => anchor,
            time => format!("{anchor}-{time}"),
        });
        *time += 1;
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

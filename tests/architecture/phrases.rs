//! Phrases that replace a field term or the subject of a sentence: none in what users read, and ever fewer elsewhere.

use std::collections::BTreeMap;

use crate::tree::{File, files};

/// The phrases, and what to write instead.
const PHRASES: [(&str, &str); 9] = [
    ("whoever", "the client, the caller, the user, the operator"),
    ("somebody", "the client, the caller, the user, the operator"),
    ("nobody", "no client, no caller, no user"),
    ("stands in", "is in, is part of"),
    ("stands here", "is here, follows"),
    ("is told", "receives, is notified"),
    ("unless said", "unless set, by default"),
    ("at hand", "in progress, available"),
    ("what is wanted", "the wanted object, the request"),
];

/// Files that may contain phrases, with the reason.
const ALLOWED: [(&str, &str); 1] = [("tests/architecture/phrases.rs", "it lists the phrases")];

/// The number of phrases that are left in each part of the repository. No number may grow; a part that is not listed has none.
#[cfg(test)]
const LEFT: &[(&str, usize)] = &[
    ("CHANGELOG.md", 3),
    ("apiserver/admission", 8),
    ("apiserver/apiextensions", 14),
    ("apiserver/apimachinery", 9),
    ("apiserver/auth", 30),
    ("apiserver/cel", 1),
    ("apiserver/controllers", 18),
    ("apiserver/endpoints", 18),
    ("apiserver/fieldmanagement", 18),
    ("apiserver/registry", 6),
    ("apiserver/server", 23),
    ("apiserver/validation", 1),
    ("apiserver/webhook-client", 3),
    ("crates/certificates", 41),
    ("crates/controller", 42),
    ("crates/kubewright", 1),
    ("crates/manifests", 6),
    ("crates/review", 5),
    ("crates/server", 19),
    ("crates/testing", 35),
    ("crates/webhook", 19),
    ("docs/decisions", 64),
];

#[test]
fn no_part_of_the_repository_has_more_phrases_than_are_left() {
    let left: BTreeMap<&str, usize> = LEFT.iter().copied().collect();
    for (part, phrases) in found() {
        let allowed = left.get(&*part).copied().unwrap_or_default();
        assert!(
            phrases.len() <= allowed,
            "{part} has {} phrases, and {allowed} are left:\n{}",
            phrases.len(),
            phrases.join("\n")
        );
        assert!(
            phrases.len() >= allowed,
            "{part} has {} phrases: lower the number in LEFT",
            phrases.len()
        );
    }
}

#[test]
fn a_planted_sentence_is_found_with_what_to_write_instead() {
    let file = |text: &str| File {
        path: "docs/guide/planted.md".to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(
        phrases(&file("One.\nThis is for Whoever reads it.")),
        [
            "docs/guide/planted.md:2: \"whoever\"; write the client, the caller, the user, the operator"
        ]
    );
    assert!(phrases(&file("The phrase stands inside of a word: whatsoever.")).is_empty());
}

/// Returns a line for each phrase, by the part of the repository that it is in.
///
/// # Panics
///
/// If git cannot list the files of the repository.
pub fn found() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ending in [".rs", ".md", ".jinja"] {
        for file in files(ending) {
            let is_allowed = ALLOWED.iter().any(|(path, _)| file.path == *path);
            // Inputs and outputs of the scaffolder's tests are made from its templates.
            if !is_allowed && !file.path.starts_with("tests/scaffold/cases/") {
                let part = found.entry(part(&file.path)).or_default();
                part.extend(phrases(&file));
            }
        }
    }
    found
}

/// Returns the part of the repository that a file belongs to: a crate, a folder of documents, or the file itself.
fn part(path: &str) -> String {
    let mut folders = path.split('/');
    match (folders.next(), folders.next(), folders.next()) {
        (Some(first @ ("crates" | "apiserver" | "docs" | "tests")), Some(second), Some(_)) => {
            format!("{first}/{second}")
        }
        (Some(first), Some(_), _) => first.to_owned(),
        _ => path.to_owned(),
    }
}

/// Returns a line for each phrase in a file.
fn phrases(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let line = line.to_lowercase();
        for (phrase, instead) in PHRASES {
            found.extend(line.match_indices(phrase).filter_map(|(at, _)| {
                let is_apart = |next: Option<char>| {
                    next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
                };
                let before = line[..at].chars().next_back();
                let after = line[at + phrase.len()..].chars().next();
                (is_apart(before) && is_apart(after)).then(|| {
                    let number = number + 1;
                    format!("{}:{number}: \"{phrase}\"; write {instead}", file.path)
                })
            }));
        }
    }
    found
}

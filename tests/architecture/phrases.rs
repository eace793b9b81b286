//! Phrases that replace a field term or the subject of a sentence: no file of the repository contains one.

use std::collections::BTreeMap;

use crate::tree::{File, files};

const PERSON: &str = "the client, the caller, the user, the operator";

/// The phrases, and what to write instead.
const PHRASES: [(&str, &str); 14] = [
    ("whoever", PERSON),
    ("somebody", PERSON),
    ("everybody", "every client, every caller, every user"),
    ("nobody", "no client, no caller, no user"),
    ("stands in", "is in, is part of"),
    ("stands here", "is here, follows"),
    ("stands there", "is there, exists"),
    ("is told", "receives, is notified"),
    ("unless said", "unless set, by default"),
    ("at hand", "in progress, available"),
    ("what is wanted", "the wanted object, the request"),
    ("as it is to be", "up to date, as specified"),
    ("befalls", "happens to"),
    ("texts", "strings, messages"),
];

/// Files that may contain phrases, with the reason.
const ALLOWED: [(&str, &str); 1] = [("tests/architecture/phrases.rs", "it lists the phrases")];

#[test]
fn no_file_of_the_repository_has_a_phrase_where_the_field_has_a_word() {
    let found: Vec<String> = found().into_values().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
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
    assert_eq!(
        phrases(&file("It has the server be asked.")),
        ["docs/guide/planted.md:1: \"has … be\"; write makes, sets, asks for"]
    );
    for plain in [
        "The phrase stands inside of a word: whatsoever.",
        "The server has to be asked.",
        "It has a name, and may be empty.",
        "let nobody_answers = 1;",
    ] {
        assert!(phrases(&file(plain)).is_empty(), "{plain}");
    }
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
        let mut report = |phrase: &str, instead: &str| {
            let number = number + 1;
            found.push(format!(
                "{}:{number}: \"{phrase}\"; write {instead}",
                file.path
            ));
        };
        for (phrase, instead) in PHRASES {
            let matches = line.match_indices(phrase);
            for (at, _) in matches.filter(|(at, _)| is_apart(&line, *at, phrase.len())) {
                report(&line[at..at + phrase.len()], instead);
            }
        }
        if has_it_be(&line) {
            report("has … be", "makes, sets, asks for");
        }
    }
    found
}

/// Whether a phrase is a phrase of its own, and not part of a word or an identifier.
fn is_apart(line: &str, at: usize, length: usize) -> bool {
    let is_border =
        |next: Option<char>| next.is_none_or(|next| !next.is_alphanumeric() && next != '_');
    is_border(line[..at].chars().next_back()) && is_border(line[at + length..].chars().next())
}

/// Whether a line has an object be in a state, such as "has the server be asked". An obligation ("has to be") is none.
fn has_it_be(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let starts = words.iter().enumerate().filter(|(_, word)| **word == "has");
    starts.into_iter().any(|(at, _)| {
        let following = words[at + 1..].iter().take(5);
        let before = following.take_while(|word| {
            word.chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '`' | '\'' | '-'))
                && **word != "be"
        });
        let count = before.count();
        count > 0 && words[at + 1] != "to" && words.get(at + 1 + count) == Some(&"be")
    })
}

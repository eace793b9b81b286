//! The changelog: what changed between two versions, and what of that concerns a project.

use std::collections::BTreeSet;

use super::requirements::is_older;

/// The changelog of this version.
pub(super) const CHANGELOG: &str = include_str!("../../CHANGELOG.md");

/// What changed between two versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The entries that name something that the project uses, each as one line.
    pub(crate) concern: Vec<String>,
    /// The number of the others.
    pub(crate) others: usize,
}

/// Returns what changed after one version and up to another, for a project that uses these words.
///
/// What is not released yet counts as version `current`, unless that has a section of its own.
pub(super) fn changes(
    changelog: &str,
    current: &str,
    (after, until): (&str, &str),
    words: &BTreeSet<&str>,
) -> Changes {
    let sections = sections(changelog);
    let is_released = sections
        .iter()
        .any(|(title, _)| version(title) == Some(current));
    let mut changes = Changes::default();
    for (title, text) in sections {
        let version = match version(title) {
            Some(version) => version,
            None if title == "Unreleased" && !is_released => current,
            None => continue,
        };
        if !is_older(after, version) || is_older(until, version) {
            continue;
        }
        for entry in entries(text) {
            if names(&entry).any(|name| words.contains(name)) {
                changes.concern.push(entry);
            } else {
                changes.others += 1;
            }
        }
    }
    changes
}

/// The words of a text that can be names in Rust.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The sections with their titles, newest first.
fn sections(changelog: &str) -> Vec<(&str, &str)> {
    let sections = changelog.split("\n## ").skip(1);
    let sections = sections.map(|section| section.split_once('\n').unwrap_or((section, "")));
    sections.map(|(title, text)| (title.trim(), text)).collect()
}

/// The version of a section: `0.2.0` of `0.2.0 (2026-12-01)`.
fn version(title: &str) -> Option<&str> {
    let first = title.split([' ', ',']).next()?;
    let first = first.trim_matches(['[', ']', 'v']);
    first
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(first)
}

fn entries(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(first) = line.strip_prefix("* ") {
            entries.push(first.to_owned());
        } else if let (Some(more), Some(entry)) = (line.strip_prefix("  "), entries.last_mut()) {
            entry.push(' ');
            entry.push_str(more.trim());
        }
    }
    entries
}

/// What an entry is about: the last name of each path between backticks, such as `task` of `App::task`. Commands are no names:
/// every user runs them.
fn names(entry: &str) -> impl Iterator<Item = &str> {
    let spans = entry.split('`').skip(1).step_by(2);
    let paths = spans.filter_map(|span| {
        let path = span
            .split(['(', '<', '{', '='])
            .next()?
            .trim_start_matches('.');
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':' || c == '.';
        (!path.is_empty() && path.chars().all(is_path)).then_some(path)
    });
    paths.filter_map(|path| path.rsplit([':', '.']).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Changelog

## Unreleased

* `Trigger::fire` is new.

## 0.3.0 (2027-01-01)

A sentence.

* `Controller::filter` takes a predicate of its kind,
  and `.related()` returns it.
* `kubewright dev` is faster.

## 0.2.0

* `App::task` runs tasks.

## The first version

* `Controller`.
";

    fn between(after: &str, until: &str, current: &str, words: &[&str]) -> (Vec<String>, usize) {
        let words = words.iter().copied().collect();
        let changes = changes(TEXT, current, (after, until), &words);
        (changes.concern, changes.others)
    }

    #[test]
    fn entries_between_two_versions_concern_those_who_use_their_names() {
        let filter =
            "`Controller::filter` takes a predicate of its kind, and `.related()` returns it.";
        assert_eq!(
            between("0.1.0", "0.3.0", "0.3.0", &["related", "dev"]),
            (vec![filter.to_owned()], 2)
        );
        assert_eq!(
            between("0.2.0", "0.3.0", "0.3.0", &["App", "Controller"]),
            (Vec::new(), 2),
            "a method concerns those who call it"
        );
        assert_eq!(
            between("0.3.0", "0.3.0", "0.3.0", &["filter"]),
            (Vec::new(), 0)
        );
    }

    #[test]
    fn what_is_not_released_is_the_version_that_comes() {
        let fire = vec!["`Trigger::fire` is new.".to_owned()];
        assert_eq!(between("0.3.0", "0.4.0", "0.4.0", &["fire"]), (fire, 0));
        assert_eq!(
            between("0.3.0", "0.3.1", "0.4.0", &["fire"]),
            (Vec::new(), 0)
        );
    }

    #[test]
    fn the_changelog_of_this_version_is_read() {
        let current = env!("CARGO_PKG_VERSION");
        let words = BTreeSet::from(["set_condition"]);
        let changes = changes(CHANGELOG, current, ("0.0.1", current), &words);
        assert!(changes.others > 20, "{changes:?}");
    }
}

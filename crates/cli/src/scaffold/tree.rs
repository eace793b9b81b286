//! The files of a project: as they were found, and as they are to be.

use std::collections::{BTreeMap, BTreeSet};

use super::Refused;
use super::sums::{self, RECORD};

/// Puts the text of a Rust file into the standard form; `None` if that cannot be done.
pub(crate) type Format = Box<dyn Fn(&str) -> Option<String>>;

/// The text files of a project by their paths, and what is left to do by hand.
pub(crate) struct Tree {
    found: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
    by_hand: Vec<ByHand>,
    existing: Existing,
    created: BTreeSet<String>,
    overwritten: BTreeSet<String>,
    format: Format,
}

/// What happens to a file that a command creates and that exists with other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The command is refused, and has no flag for it.
    Refused,
    /// The command is refused, and names `--force`.
    RefusedWithoutForce,
    Overwritten,
}

impl Existing {
    /// What the flag `--force` of a command decides.
    pub(crate) fn by_force(force: bool) -> Self {
        if force {
            Self::Overwritten
        } else {
            Self::RefusedWithoutForce
        }
    }
}

/// A change that the scaffolder does not dare to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByHand {
    pub(crate) path: String,
    /// What to do, such as: add `mod api;`.
    pub(crate) what: String,
    /// Why it is left to a person.
    pub(crate) why: String,
}

/// What has become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    Created(&'a str),
    Changed(&'a str),
    Removed,
}

impl Tree {
    /// The files as they are found.
    pub(crate) fn new(found: BTreeMap<String, String>, format: Format) -> Self {
        Self {
            files: found.clone(),
            found,
            by_hand: Vec::new(),
            existing: Existing::Refused,
            created: BTreeSet::new(),
            overwritten: BTreeSet::new(),
            format,
        }
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// The text of every file.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &str> {
        self.files.values().map(String::as_str)
    }

    /// What is different from what was found, by path.
    pub(crate) fn changes(&self) -> Vec<(&str, Change<'_>)> {
        let mut changes: Vec<(&str, Change<'_>)> = Vec::new();
        for (path, text) in &self.files {
            match self.found.get(path) {
                None => changes.push((path, Change::Created(text))),
                Some(found) if found != text => changes.push((path, Change::Changed(text))),
                Some(_) => {}
            }
        }
        let removed = self
            .found
            .keys()
            .filter(|path| !self.files.contains_key(*path));
        changes.extend(removed.map(|path| (path.as_str(), Change::Removed)));
        changes.sort_by_key(|(path, _)| *path);
        changes
    }

    /// What is left to do by hand.
    pub(crate) fn by_hand(&self) -> &[ByHand] {
        &self.by_hand
    }

    /// Files that existed with other text and that [`Existing::Overwritten`] has replaced.
    pub(crate) fn overwritten(&self) -> impl Iterator<Item = &str> {
        self.overwritten.iter().map(String::as_str)
    }

    /// Files that [`create`](Self::create) has added or replaced, and those that were the same.
    pub(super) fn created(&self) -> impl Iterator<Item = &str> {
        self.created.iter().map(String::as_str)
    }

    /// The text of a file before the command.
    pub(super) fn found(&self, path: &str) -> Option<&str> {
        self.found.get(path).map(String::as_str)
    }

    pub(super) fn on_existing(&mut self, existing: Existing) {
        self.existing = existing;
    }

    /// Adds a file that must not be there yet, unless existing ones are overwritten.
    pub(super) fn create(&mut self, path: &str, text: &str) -> Result<(), Refused> {
        let new = self.formatted(path, text);
        self.created.insert(path.to_owned());
        if let Some(known) = self.text(path) {
            let is_same = known == new;
            let hint = match self.existing {
                Existing::Overwritten if is_same => return Ok(()),
                Existing::Overwritten => None,
                Existing::RefusedWithoutForce => {
                    Some("pass --force to overwrite it, or move it away")
                }
                Existing::Refused => Some("move it away; the scaffolder replaces nothing"),
            };
            if let Some(hint) = hint {
                return Err(Refused::new(format!("{path} exists already")).hint(hint));
            }
            self.overwritten.insert(path.to_owned());
        }
        self.put(path, new);
        Ok(())
    }

    /// Writes a file that belongs to the scaffolder alone.
    pub(super) fn put(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), text);
    }

    /// Changes a file, or takes down that a person has to. `what` says what the change comes to.
    pub(super) fn edit(
        &mut self,
        path: &str,
        what: impl Into<String>,
        edit: impl FnOnce(&str) -> Result<String, String>,
    ) {
        let edited = match self.text(path) {
            None => Err("there is no such file".to_owned()),
            Some(text) => edit(text).map(|new| {
                // Who does not format their files does not want them formatted.
                if self.formatted(path, text) == text {
                    self.formatted(path, &new)
                } else {
                    new
                }
            }),
        };
        match edited {
            Ok(text) => self.put(path, text),
            Err(why) => self.by_hand.push(ByHand {
                path: path.to_owned(),
                what: what.into(),
                why,
            }),
        }
    }

    /// Removes a file that is unchanged since it was made; a user has to review a changed one.
    pub(super) fn remove(&mut self, path: &str, made: &str, force: bool) -> Result<(), Refused> {
        let Some(text) = self.text(path) else {
            return Ok(());
        };
        let record = self.text(RECORD).unwrap_or_default();
        let is_made =
            || text == self.formatted(path, made) || sums::is_recorded(record, path, text);
        if !force && !is_made() {
            return Err(
                Refused::new(format!("{path} has been changed since it was made"))
                    .hint("pass --force to delete it with what you have written"),
            );
        }
        self.files.remove(path);
        Ok(())
    }

    /// Returns a text as it is written: Rust in the standard form.
    pub(super) fn formatted(&self, path: &str, text: &str) -> String {
        let is_rust = path.rsplit('.').next() == Some("rs");
        let formatted = is_rust.then(|| (self.format)(text)).flatten();
        formatted.unwrap_or_else(|| text.to_owned())
    }
}

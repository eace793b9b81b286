//! The fields that stand twice in a body, in the words of Go's strict decoder.

use std::fmt::Write as _;

use crate::go_text::quoted;

/// Go's decoder stops collecting duplicates at this number.
const MAX_DUPLICATES: usize = 100;

/// What was found twice.
#[derive(Debug, Default)]
pub(super) struct Duplicates(pub(super) Vec<String>);

/// A path as a chain through the stack, so that a correct body costs no allocation.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    pub(super) const ROOT: Self = Self {
        parent: None,
        step: Step::Root,
    };

    pub(super) fn step(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
        }
    }

    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
        }
    }
}

impl Duplicates {
    /// Notes that the object at `path` has this member twice.
    pub(super) fn add(&mut self, path: &Path<'_>, key: &str) {
        if self.0.len() < MAX_DUPLICATES {
            let mut text = String::new();
            path.step(Step::Key(key)).write(&mut text);
            self.add_field(&text);
        }
    }

    /// Notes that the field with this path stands twice.
    pub(super) fn add_field(&mut self, path: &str) {
        if self.0.len() >= MAX_DUPLICATES {
            return;
        }
        let text = format!("duplicate field {}", quoted(path));
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }
}

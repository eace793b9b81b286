//! What admission leaves behind for the client (warnings) and for the audit log (annotations).

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use kubewright_apimachinery::names;
use parking_lot::Mutex;

use super::level::Level;

/// The warnings and audit annotations of one request.
///
/// Shared by all steps of the request, and by webhooks that are called at the same time.
#[derive(Debug)]
pub struct Notes {
    /// How much the audit log keeps; nothing where there is none.
    kept: Option<Level>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    warnings: Warnings,
    annotations: BTreeMap<String, String>,
}

impl Notes {
    /// No notes yet; all annotations will be kept.
    pub fn new() -> Self {
        Self::kept_at(Some(Level::RequestResponse))
    }

    /// No notes yet; annotations are kept for an audit log of this level, if there is one.
    pub fn kept_at(kept: Option<Level>) -> Self {
        Self {
            kept,
            inner: Mutex::default(),
        }
    }

    /// Whether an annotation of this level is kept at all: making some takes time.
    pub fn keeps(&self, level: Level) -> bool {
        self.kept.is_some_and(|kept| kept >= level)
    }

    /// Adds a warning for the client.
    ///
    /// Ignores warnings that are empty, repeated, or contain control characters. All warnings together may have 4096
    /// characters; beyond that, each is truncated to 256 characters. Once the truncated warnings reach the limit, too,
    /// further warnings are ignored.
    pub fn warn(&self, text: &str) {
        self.inner.lock().warnings.add(text);
    }

    /// The warnings to send, in the order in which they were added.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.lock().warnings.sent.clone()
    }

    /// The values of the `Warning` response headers.
    pub fn warning_headers(&self) -> Vec<String> {
        let inner = self.inner.lock();
        inner
            .warnings
            .sent
            .iter()
            .map(|text| header(text))
            .collect()
    }

    /// Adds an audit annotation. A key that is no qualified name with a prefix is left out, and so is a second value
    /// for a key.
    pub fn annotate(&self, key: &str, value: impl Into<String>) {
        if !self.keeps(Level::Metadata) {
            return;
        }
        if is_annotation_key(key) {
            let mut inner = self.inner.lock();
            inner
                .annotations
                .entry(key.to_owned())
                .or_insert_with(|| value.into());
        } else {
            tracing::warn!(
                key,
                "an audit annotation was left out: its key is not a qualified name"
            );
        }
    }

    /// The audit annotations.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.inner.lock().annotations.clone()
    }
}

impl Default for Notes {
    fn default() -> Self {
        Self::new()
    }
}

/// The recorder of k8s.io/apiserver `pkg/endpoints/filters/warning.go`.
#[derive(Debug)]
struct Warnings {
    total: usize,
    each: usize,
    seen: HashSet<String>,
    ordered: Vec<String>,
    sent: Vec<String>,
    written: usize,
    truncating: bool,
}

impl Default for Warnings {
    fn default() -> Self {
        Self::with_limits(4096, 256)
    }
}

impl Warnings {
    fn with_limits(total: usize, each: usize) -> Self {
        Self {
            total,
            each,
            seen: HashSet::new(),
            ordered: Vec::new(),
            sent: Vec::new(),
            written: 0,
            truncating: false,
        }
    }

    fn add(&mut self, text: &str) {
        if text.is_empty() || (self.truncating && self.written >= self.total) {
            return;
        }
        if !self.seen.insert(text.to_owned()) || text.chars().any(char::is_control) {
            return;
        }
        self.ordered.push(text.to_owned());
        if self.truncating {
            self.send(cut(text, self.each));
        } else if self.written + text.chars().count() <= self.total {
            self.send(text.to_owned());
        } else {
            self.truncating = true;
            self.written = 0;
            self.sent.clear();
            for index in 0..self.ordered.len() {
                self.send(cut(&self.ordered[index], self.each));
            }
        }
    }

    fn send(&mut self, text: String) {
        self.written += text.chars().count();
        self.sent.push(text);
    }
}

fn cut(text: &str, limit: usize) -> String {
    text.chars().take(limit).collect()
}

fn header(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let _ = write!(out, "299 - \"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// A qualified name with a prefix: `<webhook name>/<key>`.
fn is_annotation_key(key: &str) -> bool {
    key.contains('/') && names::qualified_name(key).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(limits: (usize, usize), added: &[&str]) -> Vec<String> {
        let mut warnings = Warnings::with_limits(limits.0, limits.1);
        for warning in added {
            warnings.add(warning);
        }
        warnings.sent
    }

    #[test]
    fn a14_empty_repeated_and_unprintable_warnings_are_left_out() {
        let added = ["", "one", "one", "line\nbreak", "tab\t", "two \"q\" \\"];
        assert_eq!(sent((4096, 256), &added), ["one", "two \"q\" \\"]);
    }

    #[test]
    fn a14_over_the_budget_every_warning_is_cut_and_late_ones_are_dropped() {
        assert_eq!(
            sent((25, 5), &["1234567890", "abcdefghij"]),
            ["1234567890", "abcdefghij"]
        );
        assert_eq!(
            sent((25, 5), &["1234567890", "abcdefghij", "ABCDEFGHIJ"]),
            ["12345", "abcde", "ABCDE"]
        );
        assert_eq!(
            sent(
                (25, 5),
                &[
                    "1234567890",
                    "abcdefghij",
                    "ABCDEFGHIJ",
                    "xxxxxxx",
                    "yyyyyyy",
                    "zzzzzzz"
                ]
            ),
            ["12345", "abcde", "ABCDE", "xxxxx", "yyyyy"]
        );
    }

    #[test]
    fn a14_the_budget_counts_characters_not_bytes() {
        let wide = "é".repeat(25);
        assert_eq!(sent((25, 5), &[&wide]).concat(), wide);
        assert_eq!(
            sent((25, 5), &[&wide, "x"]),
            ["é".repeat(5), "x".to_owned()]
        );
    }

    #[test]
    fn a14_a_warning_header_is_quoted() {
        let notes = Notes::new();
        notes.warn("say \"hi\" \\ bye");
        assert_eq!(notes.warning_headers(), [r#"299 - "say \"hi\" \\ bye""#]);
    }

    #[test]
    fn a14_an_annotation_needs_a_qualified_key_and_keeps_its_first_value() {
        let notes = Notes::new();
        for key in [
            "hook.example.com/key",
            "plain",
            "a/b/c",
            "Upper.example/key",
            "x.example/-k",
            "x.example/",
        ] {
            notes.annotate(key, "first");
            notes.annotate(key, "second");
        }
        let kept: Vec<_> = notes.annotations().into_iter().collect();
        assert_eq!(
            kept,
            [("hook.example.com/key".to_owned(), "first".to_owned())]
        );
    }
}

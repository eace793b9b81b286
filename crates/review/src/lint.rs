//! The last look at an answer before it is sent: what the API server would refuse, ignore or cut is found here first.

use std::collections::HashSet;

use crate::{AdmissionReview, ApplyError, Response};

/// What the API server gives all warnings of a request together, in characters, before it cuts them
/// (kube-apiserver: `endpoints/filters/warning.go`).
const ALL_WARNINGS: usize = 4096;

/// What it leaves of each warning then.
const CUT_WARNING: usize = 256;

/// The reason why the API server would reject an answer.
///
/// ```
#[doc = include_str!("request.md")]
/// use kubewright_review::{LintError, MayChange, Response, Version};
///
/// let review = review("CREATE", r#""object":{"size":1}"#);
/// let answer = Response::new(Version::V1, "another uid");
/// assert_eq!(answer.lint(&review, MayChange::No), Err(LintError::Uid));
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LintError {
    /// The answer is to another request.
    #[error("the answer has another uid than the request")]
    Uid,
    /// The answer is of another version of the protocol.
    #[error("the answer has another version than the request")]
    Version,
    /// A validator answered a patch.
    #[error("a validator answered a patch")]
    PatchOfValidator,
    /// The patch cannot be applied to the object.
    #[error("the patch does not fit the object")]
    Patch(#[source] ApplyError),
}

/// Whether an answer may change the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer may or it may not")]
pub enum MayChange {
    /// The answer of a mutator.
    Yes,
    /// The answer of a validator.
    No,
}

impl Response<'_> {
    /// Checks the answer against the request: that it is the answer to this request, that only a mutator changes the object,
    /// and that the patch applies to the object as it was sent. A patch that was made of this very object is not applied
    /// once more to see it.
    ///
    /// ```
    #[doc = include_str!("request.md")]
    /// use kubewright_review::{Image, LintError, MayChange, Response};
    ///
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let patch = review.graft(&before, &before.then(&serde_json::json!({"size": 2}))?)?;
    /// let answer = Response::new(review.version(), review.uid()).patch(&patch);
    /// assert_eq!(answer.lint(&review, MayChange::Yes), Ok(()));
    /// assert_eq!(answer.lint(&review, MayChange::No), Err(LintError::PatchOfValidator));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the API server would reject the answer.
    pub fn lint(&self, request: &AdmissionReview, may_change: MayChange) -> Result<(), LintError> {
        if self.uid != request.uid() {
            return Err(LintError::Uid);
        }
        if self.version != request.version() {
            return Err(LintError::Version);
        }
        match (self.patch, may_change) {
            (Some(_), MayChange::No) => Err(LintError::PatchOfValidator),
            (Some(patch), MayChange::Yes) => request.fits(patch).map_err(LintError::Patch),
            (None, _) => Ok(()),
        }
    }
}

/// Removes control characters, repetitions and empty warnings, and cuts warnings to the API server's limits.
///
/// The API server silently drops a warning with a control character and every warning beyond its limits: 4096 characters for all
/// warnings of a request, and 256 for each once they exceed that.
///
/// ```
/// use kubewright_review::mend_warnings;
///
/// let mut warnings = ["two\nlines", "", "two lines"].map(str::to_owned).to_vec();
/// mend_warnings(&mut warnings);
/// assert_eq!(warnings, ["two lines"]);
/// ```
pub fn mend_warnings(warnings: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for warning in warnings.iter_mut() {
        if warning.contains(char::is_control) {
            *warning = warning.replace(char::is_control, " ");
        }
        let trimmed = warning.trim();
        if trimmed.len() < warning.len() {
            *warning = trimmed.to_owned();
        }
    }
    warnings.retain(|warning| !warning.is_empty() && seen.insert(warning.clone()));
    let all: usize = warnings.iter().map(|warning| warning.chars().count()).sum();
    if all <= ALL_WARNINGS {
        return;
    }
    let mut left = ALL_WARNINGS;
    for warning in warnings.iter_mut() {
        if let Some((end, _)) = warning.char_indices().nth(CUT_WARNING) {
            warning.truncate(end);
        }
        let length = warning.chars().count();
        if length > left {
            warning.clear();
        }
        left -= length.min(left);
    }
    warnings.retain(|warning| !warning.is_empty());
}

/// Returns whether the API server accepts the key of an audit annotation: it has to be the second half of a qualified name, whose
/// first half is the webhook's name.
///
/// ```
/// use kubewright_review::is_annotation_key;
///
/// assert!(is_annotation_key("unpinned-images"));
/// assert!(!is_annotation_key("example.com/unpinned-images"));
/// ```
pub fn is_annotation_key(key: &str) -> bool {
    let bytes = key.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    (1..=63).contains(&bytes.len())
        && ends
            .iter()
            .flatten()
            .all(|byte| byte.is_ascii_alphanumeric())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(warnings: &[&str]) -> Vec<String> {
        let mut warnings = warnings.iter().map(ToString::to_string).collect();
        mend_warnings(&mut warnings);
        warnings
    }

    #[test]
    fn control_characters_become_blanks() {
        assert_eq!(mended(&["two\nlines\t", "\u{7f}", ""]), ["two lines"]);
    }

    #[test]
    fn a_repeated_warning_is_sent_once() {
        assert_eq!(mended(&["a", "b", "a"]), ["a", "b"]);
    }

    #[test]
    fn warnings_within_the_budget_are_not_cut() {
        let long = "ä".repeat(4096);
        assert_eq!(mended(&[&long]), [long]);
    }

    #[test]
    fn beyond_the_budget_every_warning_is_cut_and_the_last_ones_go() {
        let long: Vec<_> = (0..20)
            .map(|n| format!("{n:02}{}", "ä".repeat(400)))
            .collect();
        let long: Vec<_> = long.iter().map(String::as_str).collect();
        let mended = mended(&long);
        assert_eq!(mended.len(), 16);
        assert!(mended.iter().all(|warning| warning.chars().count() == 256));
    }

    #[test]
    fn keys_are_the_second_half_of_a_qualified_name() {
        for good in ["a", "team", "a.b_c-D9", &"x".repeat(63)] {
            assert!(is_annotation_key(good), "{good}");
        }
        for bad in ["", "a/b", "-a", "a-", "a b", "ä", &"x".repeat(64)] {
            assert!(!is_annotation_key(bad), "{bad}");
        }
    }
}

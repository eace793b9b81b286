//! Shadow mode: a decision goes to the log and to the audit log, and the client gets an answer that allows.

use kubewright_review::{AdmissionReview, Response};
use tracing::Level;

use crate::hook::Hook;
use crate::observer::Decision;
use crate::review::Review;
use crate::span::short;

/// The key of the annotation of the audit event, after the full name of the hook.
const KEY: &str = "shadow";

/// The longest detail of a decision, in bytes: messages may be as long as their handlers like.
const LONGEST_DETAIL: usize = 1024;

/// Whether the caller asks for the decision itself, to compare it: `?mode=enforce`.
///
/// An API server cannot: it accepts no URL of a webhook with a query, and adds the timeout alone.
pub(crate) fn is_revealed(query: &str) -> bool {
    query.split('&').any(|pair| pair == "mode=enforce")
}

/// Says what a denial, a patch or a failure was about, in a bounded length.
pub(crate) fn detail(mut text: String) -> String {
    if text.len() > LONGEST_DETAIL {
        text.truncate(text.floor_char_boundary(LONGEST_DETAIL));
        text.push('…');
    }
    text
}

/// Adds the annotation with the decision, in place of one that a handler gave the same key.
pub(crate) fn annotate(
    annotations: &mut Vec<(String, String)>,
    decision: Decision,
    detail: Option<&str>,
) {
    let decided = match detail {
        Some(detail) => format!("{}: {detail}", decision.as_str()),
        None => decision.as_str().to_owned(),
    };
    annotations.retain(|(key, _)| key != KEY);
    annotations.push((KEY.to_owned(), decided));
}

/// The answer that allows the request as it is, with the annotations of the audit event alone.
pub(crate) fn withheld(request: &AdmissionReview, annotations: &[(String, String)]) -> Vec<u8> {
    Response::new(request.version(), request.uid())
        .audit_annotations(annotations)
        .to_json()
}

/// Logs the decision, at a level that programs log by default.
pub(crate) fn log(hook: &Hook, review: &Review, decision: Decision, detail: Option<&str>) {
    if !tracing::enabled!(Level::INFO) {
        return;
    }
    tracing::info!(
        hook = hook.name,
        uid = short(review.uid()),
        operation = review.operation().as_str(),
        kind = short(review.kind().kind),
        namespace = review.namespace().map(short),
        name = review.name().map(short),
        dry_run = review.dry_run(),
        decision = decision.as_str(),
        detail,
        "decided in shadow mode"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_revealed_to_those_who_ask_for_it_alone() {
        assert!(is_revealed("timeout=10s&mode=enforce"));
        for query in [
            "",
            "timeout=10s",
            "mode=shadow",
            "mode=enforced",
            "a=mode=enforce",
        ] {
            assert!(!is_revealed(query), "{query}");
        }
    }

    #[test]
    fn a_long_detail_is_cut_between_characters() {
        assert_eq!(detail("short".to_owned()), "short");
        let cut = detail("ä".repeat(600));
        assert_eq!(cut, format!("{}…", "ä".repeat(512)));
    }

    #[test]
    fn the_decision_replaces_an_annotation_of_the_same_key() {
        let mut annotations = vec![
            ("shadow".to_owned(), "mine".to_owned()),
            ("team".to_owned(), "blue".to_owned()),
        ];
        annotate(&mut annotations, Decision::Denied, Some("no"));
        let expected = [("team", "blue"), ("shadow", "denied: no")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(annotations, expected);
    }
}

//! Recordings of reviews with their responses, without sensitive values.

mod redact;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use redact::Redaction;

/// A review with its response, as `run --record DIRECTORY` writes it: one JSON file each.
///
/// Sensitive values are redacted: those of Secrets, ConfigMaps and tokens, of environment variables and annotations, the
/// commands and arguments of containers, the paths and headers of probes, and everything about the user except name and
/// groups. Each becomes `redacted-1`, `redacted-2` and so on. Within one recording the same value has the same number, so that
/// changed values can still be distinguished from unchanged ones.
///
/// # Example: what another build answers
///
/// ```
/// use kubewright_review::Recording;
///
/// let review = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
///     "object":{"apiVersion":"v1","kind":"Secret","data":{"password":"c2VjcmV0"}}}}"#;
/// let answer = br#"{"response":{"uid":"u","allowed":true}}"#;
/// let recording = Recording::of("/secrets", "secrets", review, Some(answer))?;
/// assert_eq!(recording.review()["request"]["object"]["data"]["password"], "cmVkYWN0ZWQtMQ==");
///
/// // The other build is asked `recording.review()`.
/// let other = br#"{"response":{"uid":"u","allowed":false,"status":{"message":"too short"}}}"#;
/// let other = recording.answered(Some(other))?;
/// assert_eq!(other.answer().unwrap()["status"]["message"], "too short");
/// assert_ne!(other, recording);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    path: String,
    hook: String,
    review: Value,
    /// None if the hook gave none: it has failed.
    answer: Option<Value>,
}

impl Recording {
    /// Records a review that came to a hook at a path, and the answer to it, if there was one.
    ///
    /// ```
    /// use kubewright_review::Recording;
    ///
    /// let review = r#"{"request":{"uid":"7","object":{"kind":"Secret","data":{"password":"c2VjcmV0"}}}}"#;
    /// let recording = Recording::of("/secrets", "secrets", review, None)?;
    /// assert_eq!((recording.path(), recording.hook()), ("/secrets", "secrets"));
    /// assert!(!recording.review().to_string().contains("c2VjcmV0"));
    /// assert!(recording.answer().is_none());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When either is not JSON.
    pub fn of(
        path: &str,
        hook: &str,
        review: &str,
        answer: Option<&[u8]>,
    ) -> Result<Self, serde_json::Error> {
        let mut review: Value = serde_json::from_str(review)?;
        let mut redaction = Redaction::default();
        let kind = redaction.review(&mut review);
        let answer = answer.map(|answer| read(answer, kind, &mut redaction));
        Ok(Self {
            path: path.to_owned(),
            hook: hook.to_owned(),
            review,
            answer: answer.transpose()?,
        })
    }

    /// Records another answer to the same review.
    ///
    /// ```
    /// use kubewright_review::Recording;
    ///
    /// let review = r#"{"request":{"uid":"7","object":{"kind":"Pod"}}}"#;
    /// let recording = Recording::of("/pods", "pods", review, Some(br#"{"response":{"allowed":true}}"#))?;
    /// let other = recording.answered(Some(br#"{"response":{"allowed":false}}"#))?;
    /// assert_eq!(other.review(), recording.review());
    /// assert_ne!(other, recording, "the two builds answer differently");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the answer is not JSON.
    pub fn answered(&self, answer: Option<&[u8]>) -> Result<Self, serde_json::Error> {
        let review = self.review.to_string();
        Self::of(&self.path, &self.hook, &review, answer)
    }

    /// Returns whether the answers are the same. It does not matter whether they took effect: the annotation `shadow`, which hooks
    /// in shadow mode add, is not compared.
    ///
    /// ```
    /// use kubewright_review::Recording;
    ///
    /// let review = r#"{"request":{"uid":"7","object":{"kind":"Pod"}}}"#;
    /// let enforced = Recording::of("/pods", "pods", review, Some(br#"{"response":{"allowed":true}}"#))?;
    /// let shadowed = br#"{"response":{"allowed":true,"auditAnnotations":{"shadow":"allowed"}}}"#;
    /// assert!(enforced.is_answered_as(&enforced.answered(Some(shadowed))?));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn is_answered_as(&self, other: &Self) -> bool {
        let [own, other] = [self, other].map(|recording| {
            let mut answer = recording.answer.clone();
            if let Some(answer) = &mut answer {
                forget_mode(answer);
            }
            answer
        });
        own == other
    }

    /// Returns the path at which the hook was called.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the short name of the hook.
    pub fn hook(&self) -> &str {
        &self.hook
    }

    /// Returns the AdmissionReview.
    pub fn review(&self) -> &Value {
        &self.review
    }

    /// Returns the `response` of the answer, with its patch as JSON, or `None` if the hook failed.
    ///
    /// ```
    /// use kubewright_review::Recording;
    ///
    /// let review = r#"{"request":{"uid":"7","object":{"kind":"Pod"}}}"#;
    /// let answer = br#"{"response":{"uid":"7","allowed":true,"patchType":"JSONPatch","patch":"W10="}}"#;
    /// let recording = Recording::of("/pods", "pods", review, Some(answer))?;
    /// assert_eq!(recording.answer(), Some(&serde_json::json!({"allowed": true, "patch": []})));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn answer(&self) -> Option<&Value> {
        self.answer.as_ref()
    }
}

/// Removes the annotation of shadow mode.
fn forget_mode(answer: &mut Value) {
    let Some(members) = answer.as_object_mut() else {
        return;
    };
    let mut is_empty = false;
    if let Some(annotations) = members
        .get_mut("auditAnnotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove("shadow");
        is_empty = annotations.is_empty();
    }
    if is_empty {
        members.remove("auditAnnotations");
    }
}

/// The `response`, without what is the same in all of them, and with its patch as people read it.
fn read(
    answer: &[u8],
    kind: redact::Kind,
    redaction: &mut Redaction,
) -> Result<Value, serde_json::Error> {
    let mut answer: Value = serde_json::from_slice(answer)?;
    let mut response = answer["response"].take();
    if let Some(members) = response.as_object_mut() {
        members.remove("uid");
        members.remove("patchType");
        if let Some(Value::String(patch)) = members.get("patch") {
            // What is no base64 is no patch, and the linter of answers lets none out.
            let patch = STANDARD.decode(patch).unwrap_or_default();
            let mut patch: Value = serde_json::from_slice(&patch)?;
            redaction.patch(&mut patch, kind);
            members.insert("patch".to_owned(), patch);
        }
    }
    Ok(match response {
        Value::Null => json!({}),
        response => response,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(value: &str) -> String {
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "object": {
                "apiVersion": "v1", "kind": "Pod",
                "spec": {"containers": [{"name": "web", "env": [{"name": "TOKEN", "value": value}]}]},
            }},
        })
        .to_string()
    }

    fn patched(patch: &Value) -> Vec<u8> {
        let patch = STANDARD.encode(patch.to_string());
        json!({"response": {"uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": patch}})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn the_patch_is_kept_as_people_read_it_and_without_values() {
        let patch = json!([
            {"op": "add", "path": "/spec/containers/0/env/1", "value": {"name": "COPY", "value": "hunter2"}},
            {"op": "replace", "path": "/spec/containers/0/env/0/value", "value": "other"},
            {"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}},
        ]);
        let recording = Recording::of("/a", "a", &pod("hunter2"), Some(&patched(&patch))).unwrap();
        assert_eq!(
            recording.answer().unwrap(),
            &json!({"allowed": true, "patch": [
                {"op": "add", "path": "/spec/containers/0/env/1", "value": {"name": "COPY", "value": "redacted-1"}},
                {"op": "replace", "path": "/spec/containers/0/env/0/value", "value": "redacted-2"},
                {"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}},
            ]})
        );
        assert!(
            !serde_json::to_string(&recording)
                .unwrap()
                .contains("hunter2")
        );
    }

    #[test]
    fn the_same_answer_to_what_was_kept_is_no_difference() {
        let patch = |value: &str| {
            patched(
                &json!([{"op": "replace", "path": "/spec/containers/0/env/0/value", "value": value}]),
            )
        };
        let kept = Recording::of("/a", "a", &pod("hunter2"), Some(&patch("constant"))).unwrap();
        assert_eq!(kept.answered(Some(&patch("constant"))).unwrap(), kept);
        // What the program copies it copies from what was kept.
        let kept = Recording::of("/a", "a", &pod("hunter2"), Some(&patch("hunter2"))).unwrap();
        assert_eq!(kept.answered(Some(&patch("redacted-1"))).unwrap(), kept);
        assert_ne!(kept.answered(Some(&patch("constant"))).unwrap(), kept);
        assert_ne!(kept.answered(None).unwrap(), kept);
    }

    #[test]
    fn a_recording_comes_back_as_it_was_written() {
        let recording = Recording::of("/a", "a", &pod("x"), None).unwrap();
        let text = serde_json::to_string(&recording).unwrap();
        assert_eq!(serde_json::from_str::<Recording>(&text).unwrap(), recording);
    }
}

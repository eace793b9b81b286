//! The webhook's AdmissionReview: decoded as Go's clients decode, and held against the rules of its version (A.11).

use std::collections::BTreeMap;

use kubewright_apimachinery::go_base64;
use kubewright_apimachinery::go_text::quoted;
use kubewright_webhook_client::{ADMISSION, Envelope, Opened, Reply, ReviewVersion};
use serde_json::{Map, Value};

/// The reviews of admission.
const ENVELOPE: Envelope = Envelope {
    group: "admission.k8s.io",
    kind: "AdmissionReview",
    others: &[],
    shape: &ADMISSION,
};

/// Which plugin asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Mutating,
    Validating,
}

/// A decoded answer, not yet checked.
#[derive(Debug)]
pub(super) struct Review {
    version: ReviewVersion,
    api_version: String,
    kind: String,
    response: Option<Response>,
}

#[derive(Debug)]
struct Response {
    uid: String,
    answer: Answer,
}

/// A checked answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) result: Option<Map<String, Value>>,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: Option<String>,
    pub(super) audit_annotations: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

/// Decodes the body as the review that was sent: JSON if it begins with `{`, else YAML. Content-Type plays no part.
pub(super) fn decode(reply: &Reply, version: ReviewVersion) -> Result<Review, String> {
    let Opened {
        api_version,
        kind,
        mut document,
    } = ENVELOPE.open(reply.body(), version)?;
    let response = match document.get_mut("response").map(Value::take) {
        Some(Value::Object(response)) => Some(Response::from_object(response)?),
        _ => None,
    };
    Ok(Review {
        version,
        api_version,
        kind,
        response,
    })
}

impl Review {
    /// Checks what the version demands: for `v1` the uid, the kind, and that patch and patchType fit together.
    pub(super) fn verify(self, sort: Sort, uid: &str) -> Result<Answer, String> {
        let Some(Response {
            uid: answered,
            mut answer,
        }) = self.response
        else {
            return Err("webhook response was absent".to_owned());
        };
        if self.version == ReviewVersion::V1beta1 {
            answer.patch_type = None;
            if sort == Sort::Validating {
                answer.patch.clear();
            }
            return Ok(answer);
        }
        if answered != uid {
            let (expected, got) = (quoted(uid), quoted(&answered));
            return Err(format!("expected response.uid={expected}, got {got}"));
        }
        if self.api_version != "admission.k8s.io/v1" || self.kind != "AdmissionReview" {
            return Err(ENVELOPE.unexpected(&self.api_version, &self.kind));
        }
        answer.check_patch(sort)?;
        Ok(answer)
    }
}

impl Answer {
    fn check_patch(&self, sort: Sort) -> Result<(), String> {
        let wrong = match (sort, self.patch.is_empty(), &self.patch_type) {
            (Sort::Mutating, false, None) => {
                "webhook returned response.patch but not response.patchType"
            }
            (Sort::Mutating, true, Some(_)) => {
                "webhook returned response.patchType but not response.patch"
            }
            (Sort::Mutating, _, Some(word)) if word.is_empty() => {
                "webhook returned invalid response.patchType of \"\""
            }
            (Sort::Validating, false, _) => "validating webhook may not return response.patch",
            (Sort::Validating, true, Some(_)) => {
                "validating webhook may not return response.patchType"
            }
            _ => return Ok(()),
        };
        Err(wrong.to_owned())
    }
}

impl Response {
    fn from_object(mut response: Map<String, Value>) -> Result<Self, String> {
        let mut take = |field: &str| response.remove(field).unwrap_or_default();
        let patch = match text(take("patch")) {
            Some(patch) => go_base64::decode(&patch)?,
            None => Vec::new(),
        };
        let result = match take("status") {
            Value::Object(status) => Some(status),
            _ => None,
        };
        let audit_annotations = match take("auditAnnotations") {
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, value)| (key, text(value).unwrap_or_default()))
                .collect(),
            _ => BTreeMap::new(),
        };
        let warnings = match take("warnings") {
            Value::Array(items) => {
                let items = items.into_iter();
                items.map(|value| text(value).unwrap_or_default()).collect()
            }
            _ => Vec::new(),
        };
        let answer = Answer {
            allowed: take("allowed") == true,
            result,
            patch,
            patch_type: text(take("patchType")),
            audit_annotations,
            warnings,
        };
        let uid = text(take("uid")).unwrap_or_default();
        Ok(Self { uid, answer })
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

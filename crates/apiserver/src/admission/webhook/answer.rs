//! The webhook's AdmissionReview: decoded as Go's clients decode, and held against the rules of its version (A.11).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::client::Reply;
use super::configuration::ReviewVersion;
use super::shape::{self, go_word, mismatch};
use crate::field::quoted;
use crate::schema;

/// The call site that the real server's decoder of reviews names itself after.
const SCHEME: &str = "pkg/util/webhook/client.go:71";

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

impl Reply {
    /// Decodes the body as the review that was sent: JSON if it begins with `{`, else YAML. Content-Type plays no part.
    pub(super) fn decode(&self, version: ReviewVersion) -> Result<Review, String> {
        let mut document = document(self.body())?;
        let api_version = type_meta(&document, "apiVersion")?;
        let kind = type_meta(&document, "kind")?;
        check_kind(&api_version, &kind, version)?;
        let response = match document.get_mut("response").map(Value::take) {
            None | Some(Value::Null) => None,
            Some(Value::Object(response)) => Some(Response::from_object(response)?),
            Some(other) => {
                return Err(mismatch(
                    &other,
                    "AdmissionReview",
                    "response",
                    "v1.AdmissionResponse",
                ));
            }
        };
        Ok(Review {
            version,
            api_version,
            kind,
            response,
        })
    }
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
            let expected = "admission.k8s.io/v1, Kind=AdmissionReview";
            let got = shown_kind(&self.api_version, &self.kind);
            return Err(format!(
                "expected webhook response of {expected}, got {got}"
            ));
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
        shape::keep_known(&mut response)?;
        let mut take = |field: &str| response.remove(field).unwrap_or_default();
        let patch = match text(take("patch")) {
            Some(patch) => decode_base64(&patch)?,
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
            Value::Array(texts) => {
                let texts = texts.into_iter();
                texts.map(|value| text(value).unwrap_or_default()).collect()
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

/// Reads the body as one JSON value.
fn document(body: &[u8]) -> Result<Value, String> {
    let is_json = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_json {
        return read_json(body)
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"));
    }
    let value = schema::yaml::parse(body)
        .map_err(|error| error.to_string())?
        .value;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Map::new())),
        other => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type \
             struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            go_word(&other)
        )),
    }
}

/// Reads JSON the fast way; only what is none is read again, for Go's words.
pub(super) fn read_json(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).or_else(|_| {
        let parsed = schema::json::parse(bytes).map_err(|error| error.to_string())?;
        Ok(parsed.value)
    })
}

fn type_meta(document: &Value, field: &str) -> Result<String, String> {
    match document.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go struct field .{field} of type string",
            go_word(other)
        )),
    }
}

/// The decoder knows both reviews and the unversioned kinds; anything else it refuses by name.
fn check_kind(api_version: &str, kind: &str, wanted: ReviewVersion) -> Result<(), String> {
    let api_version = if api_version.is_empty() {
        wanted.api_version()
    } else {
        api_version
    };
    let kind = if kind.is_empty() {
        "AdmissionReview"
    } else {
        kind
    };
    let into = match wanted {
        ReviewVersion::V1 => "v1.AdmissionReview",
        ReviewVersion::V1beta1 => "v1beta1.AdmissionReview",
    };
    if kind == "AdmissionReview" && api_version == wanted.api_version() {
        return Ok(());
    }
    if api_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {api_version}"));
    }
    let known = match (api_version, kind) {
        ("admission.k8s.io/v1", "AdmissionReview") => "v1.AdmissionReview",
        ("admission.k8s.io/v1beta1", "AdmissionReview") => "v1beta1.AdmissionReview",
        ("v1", "Status") => "v1.Status",
        _ => {
            let (kind, version) = (quoted(kind), quoted(api_version));
            return Err(format!(
                "no kind {kind} is registered for version {version} in scheme \"{SCHEME}\""
            ));
        }
    };
    Err(format!(
        "converting ({known}) to ({into}): unknown conversion"
    ))
}

/// `GroupVersionKind.String()`: `<group>/<version>, Kind=<kind>`.
fn shown_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    let bytes: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    STANDARD.decode(&bytes).map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            _ => bytes.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })
}

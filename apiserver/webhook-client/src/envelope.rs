//! What the reviews of both protocols have in common: a document that says its version and kind, decoded as Go's clients do.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::{json, yaml};
use serde_json::{Map, Value};

use super::shape::{Struct, go_word, keep_known};
use super::version::ReviewVersion;

/// The call site that the real server's decoder of reviews names itself after.
const SCHEME: &str = "pkg/util/webhook/client.go:74";

/// One kind of review.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "constants of the crates that know the reviews"
)]
pub struct Envelope {
    /// The API group.
    pub group: &'static str,
    /// The kind, such as `AdmissionReview`.
    pub kind: &'static str,
    /// The other kinds of the group that the decoder knows.
    pub others: &'static [&'static str],
    /// What a review looks like.
    pub shape: &'static Struct,
}

/// A document that is a review of the version that was asked for.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "what every review says, and the rest"
)]
pub struct Opened {
    /// The `apiVersion` of the document; may be empty.
    pub api_version: String,
    /// The `kind` of the document; may be empty.
    pub kind: String,
    /// The whole document, without members that are unknown or null.
    pub document: Value,
}

/// What a document says that it is.
struct Said<'s> {
    /// A review of this version, or another kind that the decoder knows.
    is_review: bool,
    version: &'s str,
    /// Why it cannot be what was asked for.
    cannot_be: Option<String>,
}

impl Envelope {
    /// Decodes a body as the review that was sent: JSON if it begins with `{`, else YAML. Content-Type plays no part.
    /// Unknown members, and what is null, are dropped.
    ///
    /// # Errors
    /// The words of Go's decoder for a document that is not the review of this version.
    pub fn open(&self, body: &[u8], version: ReviewVersion) -> Result<Opened, String> {
        let mut document = document(body)?;
        let api_version = type_meta(&document, "apiVersion")?;
        let kind = type_meta(&document, "kind")?;
        let said = self.said(&api_version, &kind, version)?;
        // An answer is read as what it says that it is, and only then made what was asked for.
        if said.is_review
            && let Value::Object(review) = &mut document
        {
            keep_known(self.shape, review, said.version, body)?;
        }
        if let Some(why) = said.cannot_be {
            return Err(why);
        }
        Ok(Opened {
            api_version,
            kind,
            document,
        })
    }

    /// `admission.k8s.io/v1`.
    pub fn api_version(&self, version: ReviewVersion) -> String {
        format!("{}/{}", self.group, version.name())
    }

    /// What is said of a review of `v1` that does not say what it is.
    pub fn unexpected(&self, api_version: &str, kind: &str) -> String {
        let expected = format!("{}/v1, Kind={}", self.group, self.kind);
        let got = shown_kind(api_version, kind);
        format!("expected webhook response of {expected}, got {got}")
    }

    /// The decoder knows both reviews and the unversioned kinds; anything else it refuses by name.
    fn said<'s>(
        &self,
        api_version: &'s str,
        kind: &str,
        wanted: ReviewVersion,
    ) -> Result<Said<'s>, String> {
        let own = self.api_version(wanted);
        let is_own = api_version.is_empty() || api_version == own;
        let kind = if kind.is_empty() { self.kind } else { kind };
        if kind == self.kind && is_own {
            return Ok(Said {
                is_review: true,
                version: wanted.name(),
                cannot_be: None,
            });
        }
        let version = api_version
            .split_once('/')
            .map_or("", |(_, version)| version);
        let api_version = if api_version.is_empty() {
            &own
        } else {
            api_version
        };
        if api_version.matches('/').count() > 1 {
            return Err(format!("unexpected GroupVersion string: {api_version}"));
        }
        let known = match api_version.split_once('/') {
            Some((group, version @ ("v1" | "v1beta1"))) if group == self.group => {
                let known = kind == self.kind || self.others.contains(&kind);
                known.then(|| format!("{version}.{kind}"))
            }
            None if (api_version, kind) == ("v1", "Status") => Some("v1.Status".to_owned()),
            _ => None,
        };
        let Some(known) = known else {
            let (kind, version) = (quoted(kind), quoted(api_version));
            return Err(format!(
                "no kind {kind} is registered for version {version} in scheme \"{SCHEME}\""
            ));
        };
        let into = format!("{}.{}", wanted.name(), self.kind);
        let why = format!("converting ({known}) to ({into}): unknown conversion");
        Ok(Said {
            is_review: kind == self.kind,
            version,
            cannot_be: Some(why),
        })
    }
}

/// Reads the body as one JSON value.
fn document(body: &[u8]) -> Result<Value, String> {
    let is_json = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_json {
        return read_json(body)
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"));
    }
    let value = yaml::parse(body).map_err(|error| error.to_string())?.value;
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

/// Reads JSON; what is not JSON is read again, for Go's words.
///
/// # Errors
/// The words of Go's decoder.
pub fn read_json(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).or_else(|_| {
        let parsed = json::parse(bytes).map_err(|error| error.to_string())?;
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

/// `GroupVersionKind.String()`: `<group>/<version>, Kind=<kind>`.
fn shown_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

//! What the reviews of both protocols have in common: a document that says its version and kind, decoded as Go's clients do.

use serde_json::{Map, Value};

use super::configuration::ReviewVersion;
use super::shape::go_word;
use crate::field::quoted;
use crate::schema;

/// The call site that the real server's decoder of reviews names itself after.
const SCHEME: &str = "pkg/util/webhook/client.go:71";

/// One kind of review.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// The other kinds of the group that the decoder knows.
    pub(crate) others: &'static [&'static str],
}

/// A document that is a review of the version that was asked for.
#[derive(Debug)]
pub(crate) struct Opened {
    /// As they were said, or empty.
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) document: Value,
}

impl Envelope {
    /// Decodes a body as the review that was sent: JSON if it begins with `{`, else YAML. Content-Type plays no part.
    pub(crate) fn open(&self, body: &[u8], version: ReviewVersion) -> Result<Opened, String> {
        let document = document(body)?;
        let api_version = type_meta(&document, "apiVersion")?;
        let kind = type_meta(&document, "kind")?;
        self.check_kind(&api_version, &kind, version)?;
        Ok(Opened {
            api_version,
            kind,
            document,
        })
    }

    /// `admission.k8s.io/v1`.
    pub(crate) fn api_version(&self, version: ReviewVersion) -> String {
        format!("{}/{}", self.group, version.name())
    }

    /// What is said of a review of `v1` that does not say what it is.
    pub(crate) fn unexpected(&self, api_version: &str, kind: &str) -> String {
        let expected = format!("{}/v1, Kind={}", self.group, self.kind);
        let got = shown_kind(api_version, kind);
        format!("expected webhook response of {expected}, got {got}")
    }

    /// The decoder knows both reviews and the unversioned kinds; anything else it refuses by name.
    fn check_kind(
        &self,
        api_version: &str,
        kind: &str,
        wanted: ReviewVersion,
    ) -> Result<(), String> {
        let own = self.api_version(wanted);
        let api_version = if api_version.is_empty() {
            &own
        } else {
            api_version
        };
        let kind = if kind.is_empty() { self.kind } else { kind };
        if kind == self.kind && api_version == own {
            return Ok(());
        }
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
        Err(format!(
            "converting ({known}) to ({into}): unknown conversion"
        ))
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
pub(crate) fn read_json(bytes: &[u8]) -> Result<Value, String> {
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

/// `GroupVersionKind.String()`: `<group>/<version>, Kind=<kind>`.
fn shown_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

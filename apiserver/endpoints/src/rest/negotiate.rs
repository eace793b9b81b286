//! What the client sends and what it wants back: content types and Accept lists (spec sections C.1.3 and C.15).

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kubewright_apimachinery::status::{Result, Status};
use serde_json::Map;

use super::query::Query;

/// How a request body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Json,
    Yaml,
    Protobuf,
}

/// How an answer shall be written, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) form: Form,
    pub(crate) encoding: Encoding,
}

/// What the answer shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object or list itself.
    Object,
    /// A `Table` of this version of `meta.k8s.io`.
    Table(&'static str),
    /// `PartialObjectMetadata` of this version of `meta.k8s.io`.
    Metadata(&'static str),
    /// `PartialObjectMetadataList` of this version of `meta.k8s.io`.
    MetadataList(&'static str),
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    PrettyJson,
    Yaml,
    Protobuf,
}

/// What an answer cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// There are no tables of it.
    pub(crate) no_tables: bool,
    /// It has no message: only its metadata can be protobuf.
    pub(crate) no_messages: bool,
}

/// One entry of an Accept list.
#[derive(Debug)]
pub(crate) struct MediaRange<'a> {
    pub(crate) kind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Input {
    /// Reads the Content-Type of a request whose body is an object.
    ///
    /// # Errors
    /// 415 for a type that no decoder reads.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self> {
        match content_type(headers) {
            "" | JSON => Ok(Self::Json),
            YAML => Ok(Self::Yaml),
            PROTOBUF => Ok(Self::Protobuf),
            _ => Err(Status::unsupported_media_type(&[JSON, YAML, PROTOBUF])),
        }
    }
}

impl Output {
    /// Chooses the first entry of the Accept list that can be served.
    ///
    /// # Errors
    /// 406 if there is none.
    pub(crate) fn of(headers: &HeaderMap, query: &Query) -> Result<Self> {
        Self::within(Limits::default(), headers, query)
    }

    /// The same for what not everything can be made of.
    ///
    /// # Errors
    /// 406 if the list has nothing else.
    pub(crate) fn within(limits: Limits, headers: &HeaderMap, query: &Query) -> Result<Self> {
        let accept = accepted(headers);
        let mut chosen = None;
        let mut routed = accept.is_empty();
        if accept.is_empty() {
            chosen = Some((Form::Object, Encoding::Json));
        }
        for range in &accept {
            routed |= matches!(range.kind, JSON | "*/*" | YAML | PROTOBUF);
            let encoding = match range.kind {
                JSON | "*/*" => Encoding::Json,
                YAML => Encoding::Yaml,
                PROTOBUF => Encoding::Protobuf,
                _ => continue,
            };
            let Some(form) = range.form() else { continue };
            let has_message = match form {
                Form::Table(_) => false,
                Form::Object => !limits.no_messages,
                Form::Metadata(_) | Form::MetadataList(_) => true,
            };
            if matches!(form, Form::Table(_)) && limits.no_tables
                || encoding == Encoding::Protobuf && !has_message
            {
                continue;
            }
            let encoding = match (encoding, range.parameter("pretty")) {
                (Encoding::Json, Some("1")) => Encoding::PrettyJson,
                (encoding, _) => encoding,
            };
            chosen = Some((form, encoding));
            break;
        }
        let Some((form, mut encoding)) = chosen else {
            return Err(if routed {
                Self::not_acceptable()
            } else {
                unroutable()
            });
        };
        if encoding == Encoding::Json && wants_pretty(headers, query) {
            encoding = Encoding::PrettyJson;
        }
        Ok(Self { form, encoding })
    }

    /// Whether the answer cannot be this.
    pub(crate) fn exceeds(&self, limits: Limits) -> bool {
        match self.form {
            Form::Table(_) => limits.no_tables,
            Form::Object => limits.no_messages && self.encoding == Encoding::Protobuf,
            Form::Metadata(_) | Form::MetadataList(_) => false,
        }
    }

    /// 406 of a handler.
    pub(crate) fn not_acceptable() -> Status {
        Status::not_acceptable(&[JSON, YAML, PROTOBUF])
    }

    /// Compact JSON of the object itself.
    pub(crate) fn json() -> Self {
        Self {
            form: Form::Object,
            encoding: Encoding::Json,
        }
    }

    /// The same encoding, for a value that is not of the resource's kind.
    pub(crate) fn of_the_object(&self) -> Self {
        Self {
            form: Form::Object,
            encoding: self.encoding,
        }
    }

    /// The Content-Type of the answer.
    pub(crate) fn content_type(&self) -> &'static str {
        match self.encoding {
            Encoding::Yaml => YAML,
            Encoding::Protobuf => PROTOBUF,
            Encoding::Json | Encoding::PrettyJson => JSON,
        }
    }
}

impl MediaRange<'_> {
    /// The value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// How much the client likes it.
    fn quality(&self) -> f64 {
        self.parameter("q")
            .and_then(|quality| quality.parse().ok())
            .unwrap_or(1.0)
    }

    /// What the entry asks for; none if it asks for a form that does not exist.
    fn form(&self) -> Option<Form> {
        let Some(form) = self.parameter("as") else {
            return Some(Form::Object);
        };
        if self.parameter("g") != Some("meta.k8s.io") {
            return None;
        }
        let version = match self.parameter("v") {
            Some("v1") => "v1",
            Some("v1beta1") => "v1beta1",
            _ => return None,
        };
        match form {
            "Table" => Some(Form::Table(version)),
            "PartialObjectMetadata" => Some(Form::Metadata(version)),
            "PartialObjectMetadataList" => Some(Form::MetadataList(version)),
            _ => None,
        }
    }
}

/// The content type of a server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// The Content-Type without its parameters; empty if there is none.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    value
        .and_then(|value| value.split(';').next())
        .map_or("", str::trim)
}

/// The entries of the Accept list: by quality, then as exact as they are, then in their order.
pub(crate) fn accepted(headers: &HeaderMap) -> Vec<MediaRange<'_>> {
    let mut ranges: Vec<MediaRange<'_>> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let parameters = parts.filter_map(|part| part.split_once('=')).collect();
            MediaRange { kind, parameters }
        })
        .collect();
    // A stable order of descending quality; few clients say any. What names a type comes before what takes any.
    let takes_any =
        |range: &MediaRange<'_>| (range.kind.starts_with("*/"), range.kind.ends_with("/*"));
    ranges.sort_by(|a, b| {
        let by_quality = b.quality().total_cmp(&a.quality());
        by_quality.then_with(|| takes_any(a).cmp(&takes_any(b)))
    });
    ranges
}

/// Whether the client takes an object as it is, and not as a table or its metadata alone.
pub(crate) fn takes_objects(headers: &HeaderMap) -> bool {
    let accept = accepted(headers);
    let written = |range: &MediaRange<'_>| matches!(range.kind, JSON | "*/*" | YAML | PROTOBUF);
    accept.is_empty()
        || accept
            .iter()
            .any(|range| written(range) && range.form() == Some(Form::Object))
}

/// Whether the answer is read by a person: the parameter says so, or a browser or curl asks.
pub(crate) fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    let asked = query.text("pretty");
    if !asked.is_empty() {
        return matches!(asked, "1" | "t" | "T" | "TRUE" | "true" | "True");
    }
    let agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok());
    agent.is_some_and(|agent| {
        ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|reader| agent.starts_with(reader))
    })
}

/// What names no type that the router knows is refused before the handler looks at it (measured on v1.36).
fn unroutable() -> Status {
    let message =
        format!("406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}, {PROTOBUF}");
    Status::new(406, "NotAcceptable", message).with_details(Map::new())
}

/// The same for a path that can be watched, too.
pub(crate) fn with_streams(status: Status) -> Status {
    if status.message().starts_with("406: ") {
        return status
            .with_message_behind(&format!(", {JSON};stream=watch, {PROTOBUF};stream=watch"));
    }
    status
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn output(accept: &'static str) -> Result<Output> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        Output::of(&headers, &Query::default())
    }

    #[test]
    fn the_first_servable_entry_wins() {
        let table = Output {
            form: Form::Table("v1"),
            encoding: Encoding::Json,
        };
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(output(kubectl).unwrap(), table);
        let go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(output(go).unwrap().encoding, Encoding::Protobuf);
        let other = "application/vnd.kubernetes.protobuf;q=0.5,application/json;q=0.6";
        assert_eq!(output(other).unwrap(), Output::json());
        assert_eq!(output("*/*").unwrap(), Output::json());
        assert_eq!(
            output("application/yaml, */*").unwrap().encoding,
            Encoding::Yaml
        );
        let pretty = output("application/json;pretty=1").unwrap();
        assert_eq!(pretty.encoding, Encoding::PrettyJson);
        assert_eq!(output("text/html").unwrap_err().code(), 406);
        assert_eq!(
            output("application/json;as=Unknown;v=v1;g=meta.k8s.io")
                .unwrap_err()
                .code(),
            406
        );
    }

    #[test]
    fn what_has_no_message_is_answered_in_json_and_its_metadata_in_either() {
        let limits = Limits {
            no_messages: true,
            ..Limits::default()
        };
        let output = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            Output::within(limits, &headers, &Query::default())
        };
        let go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(output(go).unwrap(), Output::json());
        let alone = "application/vnd.kubernetes.protobuf";
        assert_eq!(output(alone).unwrap_err().code(), 406);
        let metadata =
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(output(metadata).unwrap().encoding, Encoding::Protobuf);
        let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
        assert_eq!(output(table).unwrap_err().code(), 406);
    }

    #[test]
    fn bodies_without_a_type_are_json() {
        let mut headers = HeaderMap::new();
        assert_eq!(Input::of(&headers).unwrap(), Input::Json);
        for (kind, input) in [
            ("application/json; charset=utf-8", Input::Json),
            ("application/yaml", Input::Yaml),
            ("application/vnd.kubernetes.protobuf", Input::Protobuf),
        ] {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            assert_eq!(Input::of(&headers).unwrap(), input);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        let status = Input::of(&headers).unwrap_err();
        assert_eq!(status.code(), 415);
        assert_eq!(
            status.message(),
            "the body of the request was in an unknown format - accepted media types include: \
             application/json, application/yaml, application/vnd.kubernetes.protobuf",
        );
    }
}

//! Answers: objects and lists in the form and encoding that the client asked for.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WARNING, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use jiff::Timestamp;
use kubewright_admission::Notes;
use kubewright_apimachinery::accessor::metadata;
use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::json::{self, ordered, parse_own};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::{protobuf, yaml};
use kubewright_registry::Resource;
use kubewright_storage::Object;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::negotiate::{Encoding, Form, Output};
use super::{decode, table};
use crate::body::Body;
use crate::list::{Items, List};

/// An object as the store holds it: its text in the stored form, with a newline behind it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    text: Bytes,
    /// When it was written; none if it was not.
    revision: Option<u64>,
    /// Whether it is answered as it is stored, whatever readers see of it.
    bare: bool,
}

/// What a list answers besides its items.
#[derive(Debug, Default)]
pub(crate) struct ListMeta {
    /// None for what is stored nowhere.
    pub(crate) revision: Option<u64>,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl From<&Object> for Shown {
    fn from(object: &Object) -> Self {
        Self {
            text: object.body(),
            revision: Some(object.revision),
            bare: false,
        }
    }
}

impl Shown {
    /// What would be stored, if it were.
    pub(crate) fn unwritten(text: Bytes) -> Self {
        Self {
            text,
            revision: None,
            bare: false,
        }
    }

    /// The same, as it is stored.
    pub(crate) fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// The object in the request's version.
    pub(crate) async fn value(&self, call: &Call) -> Result<Value> {
        let mut value = parse_own(&self.text)
            .ok_or_else(|| Status::internal("an object that is stored cannot be read"))?;
        if !self.bare {
            call.decorate(&mut value);
        }
        call.convert_from_storage(value).await
    }

    /// Whether it is in the request's version already.
    fn is_as_stored(&self, call: &Call) -> bool {
        call.shows_text_as_stored(&self.text, self.revision)
    }
}

/// Answers one object of the request's resource.
pub(crate) async fn object(call: &Call, code: StatusCode, shown: &Shown) -> Result<Response<Body>> {
    let output = &call.output;
    if *output == Output::json() && shown.is_as_stored(call) {
        return Ok(whole(code, output, shown.text.clone()));
    }
    let object = shown.value(call).await?;
    value_of_resource(call, code, object)
}

/// Answers one object of the request's resource that is already in the request's version.
pub(crate) fn value_of_resource(
    call: &Call,
    code: StatusCode,
    object: Value,
) -> Result<Response<Body>> {
    let output = &call.output;
    let shown = match output.form {
        Form::Object => object,
        Form::Table(version) => {
            let include = table::Include::read(&call.query)?;
            let mut table = table::empty(&call.resource, version);
            let metadata = metadata(&object);
            if let Some(revision) = metadata.get("resourceVersion") {
                table["metadata"]["resourceVersion"] = revision.clone();
            }
            table["rows"] = Value::Array(vec![table::row(
                &call.resource,
                object,
                version,
                include,
                Timestamp::now(),
            )]);
            table
        }
        Form::Metadata(version) => table::partial(object, version),
        Form::MetadataList(_) => {
            return Err(wrong_form(
                "PartialObjectMetadataList",
                "is not a list",
                call,
                "",
            ));
        }
    };
    Ok(value(code, output, &shown))
}

/// Answers a list of the request's resource.
pub(crate) async fn list(
    call: &Call,
    objects: Vec<Arc<Object>>,
    meta: &ListMeta,
) -> Result<Response<Body>> {
    let output = &call.output;
    let resource = &call.resource;
    if *output == Output::json() && objects.iter().all(|object| call.shows_as_stored(object)) {
        return Ok(whole(
            StatusCode::OK,
            output,
            Body::list(list_as_stored(call, objects, meta)),
        ));
    }
    let mut list_meta = meta.to_value();
    let objects = call.values(&objects).await?;
    let shown = match output.form {
        Form::Object => {
            list_meta = meta.of_objects(resource);
            let mut items = objects;
            // Custom objects say in lists, too, what they are.
            if !resource.strategy.is_unstructured() {
                for item in items.iter_mut().filter_map(Value::as_object_mut) {
                    item.remove("apiVersion");
                    item.remove("kind");
                }
            }
            serde_json::json!({
                "kind": &resource.list_kind,
                "apiVersion": resource.api_version(),
                "metadata": list_meta,
                "items": items,
            })
        }
        Form::Table(version) => {
            let include = table::Include::read(&call.query)?;
            let now = Timestamp::now();
            let mut table = table::empty(resource, version);
            let rows = objects
                .into_iter()
                .map(|object| table::row(resource, object, version, include, now))
                .collect();
            table["metadata"] = list_meta;
            table["rows"] = table::rows(resource, rows);
            table
        }
        Form::MetadataList(version) => {
            let items: Vec<Value> = objects
                .into_iter()
                .map(|object| table::partial(object, version))
                .collect();
            serde_json::json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": list_meta,
                // Go has no list where nothing was appended to one.
                "items": (!items.is_empty()).then_some(items),
            })
        }
        Form::Metadata(_) => {
            return Err(wrong_form(
                "PartialObjectMetadata",
                "is a list",
                call,
                "List",
            ));
        }
    };
    Ok(value(StatusCode::OK, output, &shown))
}

/// Answers any value as it is.
pub(crate) fn value(code: StatusCode, output: &Output, value: &Value) -> Response<Body> {
    whole(code, output, encoded(output.encoding, value))
}

/// Answers a failure. Failures are never tables.
pub(crate) fn failure(status: &Status, encoding: Encoding) -> Response<Body> {
    let code = StatusCode::from_u16(status.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let output = Output {
        form: Form::Object,
        encoding,
    };
    let shown = status.to_value();
    let mut response = value(code, &output, &shown);
    let seconds = shown["details"]["retryAfterSeconds"].as_u64();
    if let Some(seconds) = seconds {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    if status.refuses_access() {
        response
            .headers_mut()
            .insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    }
    response
}

/// Answers a plain text.
pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(text.into()));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    headers.insert(CACHE_CONTROL, NOT_CACHED);
    response
}

/// Answers nothing but a code.
pub(crate) fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::new()));
    *response.status_mut() = code;
    response.headers_mut().insert(CACHE_CONTROL, NOT_CACHED);
    response
}

/// Answers a body of the output's content type.
pub(crate) fn whole(code: StatusCode, output: &Output, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(output.content_type()),
    );
    headers.insert(CACHE_CONTROL, NOT_CACHED);
    response
}

/// Adds the warnings of a request to its answer.
pub(crate) fn add_warnings(response: &mut Response<Body>, notes: &Notes) {
    for text in notes.warning_headers() {
        if let Ok(value) = HeaderValue::from_bytes(text.as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// A value as text, with a newline behind it.
pub(crate) fn encoded(encoding: Encoding, value: &Value) -> Bytes {
    let mut text = match encoding {
        Encoding::Json => ordered::text(value),
        // A program that parses it sees no difference: people read what the real server escapes.
        Encoding::PrettyJson => {
            let text = json::indented(&ordered::text(value));
            return html_escaped(String::from_utf8_lossy(&text).into_owned()).into();
        }
        Encoding::Yaml => return yaml::to_string(value).into(),
        Encoding::Protobuf => return protobuf::encode(value).into(),
    };
    if encoding == Encoding::Json {
        text.push(b'\n');
    }
    Bytes::from(text)
}

impl ListMeta {
    /// The metadata of a list of objects; lists of custom resources have an empty `continue` at the end, too.
    fn of_objects(&self, resource: &Resource) -> Value {
        let mut meta = self.to_value();
        if resource.strategy.is_unstructured() && self.next.is_none() {
            meta["continue"] = "".into();
        }
        meta
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut meta = Map::new();
        if let Some(revision) = self.revision {
            meta.insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        if let Some(next) = &self.next {
            meta.insert("continue".to_owned(), next.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            meta.insert("remainingItemCount".to_owned(), remaining.into());
        }
        Value::Object(meta)
    }
}

/// A list whose items say what is stored.
fn list_as_stored(call: &Call, objects: Vec<Arc<Object>>, meta: &ListMeta) -> List {
    let resource = &call.resource;
    let (kind, version) = (&resource.list_kind, resource.api_version());
    let meta = meta.of_objects(resource);
    // The members of custom resources are sorted by name, those of their lists, too.
    if resource.strategy.is_unstructured() {
        let head = format!("{{\"apiVersion\":\"{version}\",\"items\":[");
        let tail = format!("],\"kind\":\"{kind}\",\"metadata\":{meta}}}\n");
        return List::new(head, objects, Items::Whole, tail);
    }
    let member = |name| meta.get(name).map(|value| format!("\"{name}\":{value}"));
    let meta: Vec<_> = LIST_META.into_iter().filter_map(member).collect();
    let meta = meta.join(",");
    let head = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{{{meta}}},\"items\":["
    );
    List::new(head, objects, Items::WithoutKind, "]}\n".to_owned())
}

/// 406 in the words of the real server, which shows its internal type.
fn wrong_form(form: &str, but: &str, call: &Call, suffix: &str) -> Status {
    let (package, kind) = (decode::package(&call.resource.group), &call.resource.kind);
    let message =
        format!("you requested {form}, but the requested object {but} (*{package}.{kind}{suffix})");
    Status::new(406, "NotAcceptable", message)
}

/// The members of a list's metadata in the order in which Go writes them.
const LIST_META: [&str; 3] = ["resourceVersion", "continue", "remainingItemCount"];
const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const NOT_CACHED: HeaderValue = HeaderValue::from_static("no-cache, private");

/// 201 for an action that leaves no object of its own.
pub(crate) fn done(call: &Call) -> Response<Body> {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    });
    value(StatusCode::CREATED, &call.output.of_the_object(), &status)
}

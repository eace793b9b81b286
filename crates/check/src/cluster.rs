//! The embedded API server, asked as kubectl asks.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_apimachinery::{json, types};
use kubewright_apiserver::admission::ExpressionCoverage;
use kubewright_apiserver::{ApiServer, ApiService, Snapshot};
use serde_json::{Map, Value};
use tower::ServiceExt as _;

use crate::manifest::Manifest;
use crate::sentence::is_of_quota;
use crate::{quota, three_way};

/// The field manager of `kubectl apply`.
const FIELD_MANAGER: &str = "kubectl-client-side-apply";

const JSON: &str = "application/json";

const MERGE_PATCH: &str = "application/merge-patch+json";

/// The annotation that `kubectl apply` keeps what it has applied in.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An API server without a socket.
pub(crate) struct Cluster {
    service: ApiService,
    /// Keeps the server, of which the service is a part.
    server: ApiServer,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// What is served, by API version.
    kinds: HashMap<String, Vec<Kind>>,
}

/// One kind that is served.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    name: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
}

/// What the API server answers.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

/// Whether a write changes the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// It does, for others that depend on it.
    Kept,
    /// It does not.
    DryRun,
    /// It does not, and unknown fields are dropped.
    LenientDryRun,
}

/// A request that is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Creates the object, and keeps it.
    Keep,
    /// As if the object were created.
    Create,
    /// As if the object were put in place of the one that there is.
    Update,
    /// As if the object were deleted.
    Delete,
}

impl Cluster {
    pub(crate) fn new(server: ApiServer, headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self {
            service: server.service(),
            server,
            headers,
            kinds: HashMap::new(),
        }
    }

    /// Forgets what is served, since a definition came.
    pub(crate) fn rediscover(&mut self) {
        self.kinds.clear();
    }

    /// How the kind of a manifest is served.
    pub(crate) async fn kind(&mut self, manifest: &Manifest) -> Option<Kind> {
        let api_version = manifest.api_version();
        if !self.kinds.contains_key(api_version) {
            let kinds = self.discover(api_version).await;
            self.kinds.insert(api_version.to_owned(), kinds);
        }
        let mut kinds = self.kinds.get(api_version)?.iter();
        kinds.find(|kind| kind.name == manifest.kind()).cloned()
    }

    async fn discover(&self, api_version: &str) -> Vec<Kind> {
        let path = group_path(api_version);
        let answer = self.send(Method::GET, &path, None).await;
        let resources = answer.body.list("resources").iter();
        let main = resources.filter(|resource| !resource.text("name").contains('/'));
        main.map(|resource| Kind {
            name: resource.text("kind").to_owned(),
            plural: resource.text("name").to_owned(),
            namespaced: resource.flag("namespaced"),
        })
        .collect()
    }

    /// Creates the object of a manifest, or updates it, as `kubectl apply` does.
    pub(crate) async fn apply(&self, manifest: &Manifest, kind: &Kind, write: Write) -> Answer {
        let collection = collection_path(manifest, kind);
        let write = match write {
            Write::Kept => "fieldValidation=Strict",
            Write::DryRun => "fieldValidation=Strict&dryRun=All",
            Write::LenientDryRun => "fieldValidation=Ignore&dryRun=All",
        };
        let options = format!("fieldManager={FIELD_MANAGER}&{write}");
        let wanted = with_last_applied(&manifest.object);
        let current = match manifest.name() {
            "" => None,
            name => {
                let path = format!("{collection}/{}", encoded(name));
                let current = self.send(Method::GET, &path, None).await;
                match current.status {
                    StatusCode::NOT_FOUND => None,
                    status if status.is_success() => Some((path, current)),
                    _ => return current,
                }
            }
        };
        let Some((path, current)) = current else {
            let mut created = wanted;
            drop_nulls(&mut created);
            let body = self::body(&created);
            let path = format!("{collection}?{options}");
            return self.send(Method::POST, &path, Some((JSON, body))).await;
        };
        let of = types::named(manifest.api_version(), manifest.kind());
        let original = last_applied(&current.body);
        let original = original.as_ref().and_then(Value::as_object);
        let (Some(wanted), Some(has)) = (wanted.as_object(), current.body.as_object()) else {
            return current;
        };
        let none = Map::new();
        let patch = three_way::patch(original.unwrap_or(&none), wanted, has, of);
        if patch.is_empty() {
            return current;
        }
        let content_type = match of {
            Some(_) => "application/strategic-merge-patch+json",
            None => MERGE_PATCH,
        };
        let body = self::body(&Value::Object(patch));
        let path = format!("{path}?{options}");
        self.send(Method::PATCH, &path, Some((content_type, body)))
            .await
    }

    /// Sends a request about an object.
    pub(crate) async fn request(
        &self,
        request: Request,
        manifest: &Manifest,
        kind: &Kind,
        subresource: &str,
    ) -> Answer {
        let collection = collection_path(manifest, kind);
        let name = encoded(manifest.name());
        let below = match subresource {
            "" => String::new(),
            subresource => format!("/{}", encoded(subresource)),
        };
        let object = Some((JSON, self::body(&manifest.object)));
        let strict = "fieldValidation=Strict";
        let (method, path, body) = match request {
            Request::Keep => (Method::POST, format!("{collection}?{strict}"), object),
            Request::Create if below.is_empty() => {
                let path = format!("{collection}?{strict}&dryRun=All");
                (Method::POST, path, object)
            }
            Request::Create => {
                let path = format!("{collection}/{name}{below}?{strict}&dryRun=All");
                (Method::POST, path, object)
            }
            Request::Update => {
                let path = format!("{collection}/{name}{below}?{strict}&dryRun=All");
                (Method::PUT, path, object)
            }
            Request::Delete => {
                let path = format!("{collection}/{name}{below}?dryRun=All");
                (Method::DELETE, path, None)
            }
        };
        self.send(method, &path, body).await
    }

    /// Sees that a namespace is there and has these labels.
    pub(crate) async fn namespace(&self, name: &str, labels: &BTreeMap<String, String>) {
        let metadata = serde_json::json!({ "name": name, "labels": labels });
        let object =
            serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
        self.create("/api/v1/namespaces", &object).await;
        if !labels.is_empty() {
            let path = format!("/api/v1/namespaces/{}", encoded(name));
            let body = (MERGE_PATCH, self::body(&object));
            self.send(Method::PATCH, &path, Some(body)).await;
        }
    }

    /// Sees that a namespace has the ServiceAccount of pods that name none.
    pub(crate) async fn default_account(&self, namespace: &str) {
        let path = format!("/api/v1/namespaces/{}/serviceaccounts", encoded(namespace));
        let metadata = serde_json::json!({ "name": "default" });
        let account = serde_json::json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
        self.create(&path, &account).await;
    }

    /// Sends all further requests as this user.
    ///
    /// # Errors
    /// A header cannot have the name.
    pub(crate) fn impersonate(&mut self, user: &str, groups: &[String]) -> Result<(), String> {
        self.headers = impersonation(user, groups)?;
        Ok(())
    }

    /// Which values the conditions of policies have had.
    pub(crate) fn policy_coverage(&self) -> Vec<ExpressionCoverage> {
        self.server.policy_coverage()
    }

    /// All objects.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.server.snapshot()
    }

    /// Creates an object that no manifest has.
    pub(crate) async fn create(&self, collection: &str, object: &Value) -> Answer {
        let body = self::body(object);
        self.send(Method::POST, collection, Some((JSON, body)))
            .await
    }

    /// Enforces a new ResourceQuota.
    pub(crate) async fn enforce(&self, quota: &Value) {
        let (namespace, name) = (meta_text(quota, "namespace"), meta_text(quota, "name"));
        let (namespace, name) = (encoded(namespace), encoded(name));
        let path = format!("/api/v1/namespaces/{namespace}/resourcequotas/{name}/status");
        let body = (MERGE_PATCH, self::body(&quota::unused(quota)));
        self.send(Method::PATCH, &path, Some(body)).await;
    }

    /// Makes the pods of a workload; returns the answer that refuses one for a ResourceQuota.
    pub(crate) async fn run(&self, manifest: &Manifest, workload: &Value) -> Option<Answer> {
        let path = format!("/api/v1/namespaces/{}/pods", encoded(manifest.namespace()));
        for pod in quota::pods(manifest, workload) {
            let answer = self.create(&path, &pod).await;
            if is_of_quota(&answer.body) {
                return Some(answer);
            }
        }
        None
    }

    /// Sends a request as the user of the check.
    async fn send(&self, method: Method, path: &str, body: Option<(&str, Bytes)>) -> Answer {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let (content_type, body) = body.unwrap_or(("", Bytes::new()));
        if !content_type.is_empty() {
            request = request.header(http::header::CONTENT_TYPE, content_type);
        }
        let request = match request.body(Full::new(body)) {
            Ok(request) => request,
            Err(error) => return Answer::unsent(&error),
        };
        let answer = match self.service.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let (head, body) = answer.into_parts();
        let body = match body.collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return Answer::unsent(&error),
        };
        let body = serde_json::from_slice(&body);
        Answer {
            status: head.status,
            body: body.unwrap_or(Value::Null),
            warnings: head
                .headers
                .get_all(http::header::WARNING)
                .iter()
                .filter_map(|warning| warning_text(warning.to_str().ok()?))
                .collect(),
        }
    }

    /// Ends what runs beside the server.
    pub(crate) fn stop(&self) {
        self.server.stop();
    }
}

impl Answer {
    /// The answer when there is none: the name of an object that no path can have, for example.
    fn unsent(error: &dyn std::error::Error) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            body: serde_json::json!({ "reason": "BadRequest", "message": error.to_string() }),
            warnings: Vec::new(),
        }
    }
}

/// The headers of requests that a user and groups are taken to send.
///
/// # Errors
/// A header cannot have a name.
pub(crate) fn impersonation(
    user: &str,
    groups: &[String],
) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let header = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("{value:?} cannot be the name of a user or group"))?;
        Ok((HeaderName::from_static(name), value))
    };
    let user = std::iter::once(header("impersonate-user", user));
    let groups = groups
        .iter()
        .map(|group| header("impersonate-group", group));
    user.chain(groups).collect()
}

/// Takes all null fields out of an object: kubectl creates it as a later apply would leave it.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The JSON text of an object, with numbers as kubectl writes them.
fn body(object: &Value) -> Bytes {
    let mut text = Vec::new();
    json::write(&mut text, object);
    Bytes::from(text)
}

/// The object as kubectl sends it: with itself in an annotation.
fn with_last_applied(object: &Value) -> Value {
    let mut sent = object.clone();
    if let Some(annotations) = sent
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
    {
        annotations.drop_field(LAST_APPLIED);
    }
    let mut text = Vec::new();
    json::write(&mut text, &sent);
    text.push(b'\n');
    let text = html_escaped(String::from_utf8_lossy(&text).into_owned());
    if let Some(annotations) = sent
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
    {
        annotations.put(LAST_APPLIED, text);
    }
    sent
}

fn last_applied(object: &Value) -> Option<Value> {
    let text = object.at("metadata").at("annotations").text(LAST_APPLIED);
    serde_json::from_str(text).ok()
}

fn group_path(api_version: &str) -> String {
    let segments: Vec<String> = api_version.split('/').map(encoded).collect();
    let root = if segments.len() > 1 { "apis" } else { "api" };
    format!("/{root}/{}", segments.join("/"))
}

fn collection_path(manifest: &Manifest, kind: &Kind) -> String {
    let group = group_path(manifest.api_version());
    let plural = &kind.plural;
    if kind.namespaced {
        let namespace = encoded(manifest.namespace());
        format!("{group}/namespaces/{namespace}/{plural}")
    } else {
        format!("{group}/{plural}")
    }
}

/// A segment of a path.
fn encoded(segment: &str) -> String {
    let mut path = String::with_capacity(segment.len());
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            other => {
                // Writing to a String cannot fail.
                _ = write!(path, "%{other:02X}");
            }
        }
    }
    path
}

/// The text of a header `299 - "text"`.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.splitn(3, ' ').nth(2)?;
    let inner = quoted.strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    Some(text)
}

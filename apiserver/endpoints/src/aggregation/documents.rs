//! What an aggregated API server says of itself: the resources of a version, and the address of its OpenAPI document.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use kubewright_apimachinery::user::{AUTHENTICATED, MASTERS, User};
use kubewright_apimachinery::view::View as _;
use kubewright_webhook_client::{Located, Reach, ServiceTls};
use serde_json::{Map, Value, json};

use super::exchange::send;
use super::identity::identify;
use super::registration::Registration;

/// The documents of one version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    /// The resources in the form of aggregated discovery.
    pub(crate) resources: Vec<Value>,
    /// The entry of the version in the index of OpenAPI v3.
    pub(crate) openapi: Option<Value>,
    /// Whether they were read when the server was last asked.
    pub(crate) are_current: bool,
}

/// Where the documents of a server are read.
#[derive(Debug)]
pub(super) struct Server<'a> {
    pub(super) reach: Reach<'a>,
    pub(super) located: &'a Located,
    pub(super) tls: &'a ServiceTls,
}

/// The most that is read of a document.
const MOST: usize = 8 << 20;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const JSON: &str = "application/json";

impl Server<'_> {
    /// Asks for a path as the aggregator itself.
    pub(super) async fn get(&self, path: &str, accept: &str) -> Result<Response<Incoming>, String> {
        let user = User {
            username: "system:kube-aggregator".to_owned(),
            groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
            ..User::default()
        };
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = path.parse().map_err(|_| format!("invalid path {path}"))?;
        let headers = request.headers_mut();
        identify(headers, &user)?;
        for (name, text) in [(HOST, &*self.located.authority()), (ACCEPT, accept)] {
            let value = HeaderValue::from_str(text).map_err(|error| error.to_string())?;
            headers.insert(name, value);
        }
        send(self.reach, self.located, self.tls, request).await
    }

    /// Reads the documents of a version.
    ///
    /// # Errors
    /// The server does not say which resources it has.
    pub(super) async fn documents(&self, version: &Registration) -> Result<Documents, String> {
        Ok(Documents {
            resources: self.resources(version).await?,
            openapi: self.openapi(version).await,
            are_current: true,
        })
    }

    async fn resources(&self, version: &Registration) -> Result<Vec<Value>, String> {
        let accept = format!("{AGGREGATED},{JSON}");
        let answer = self.get("/apis", &accept).await?;
        let form = answer.headers().get(CONTENT_TYPE).cloned();
        let form = form.as_ref().and_then(|form| form.to_str().ok());
        let is_aggregated = form.is_some_and(|form| form.contains("as=APIGroupDiscoveryList"));
        if answer.status() == StatusCode::OK && is_aggregated {
            return Ok(of_list(&read(answer).await?, version));
        }
        let path = version.path();
        let answer = self.get(&path, JSON).await?;
        if answer.status() != StatusCode::OK {
            let status = answer.status().as_u16();
            return Err(format!("failed to download discovery for {path}: {status}"));
        }
        Ok(from_plain(&read(answer).await?))
    }

    async fn openapi(&self, version: &Registration) -> Option<Value> {
        let answer = self.get("/openapi/v3", JSON).await.ok()?;
        let index = read(answer).await.ok()?;
        let entry = index
            .at("paths")
            .get(version.path().trim_start_matches('/'))?;
        entry
            .at("serverRelativeURL")
            .is_string()
            .then(|| entry.clone())
    }
}

async fn read(answer: Response<Incoming>) -> Result<Value, String> {
    let body = Limited::new(answer.into_body(), MOST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    serde_json::from_slice(&body).map_err(|error| error.to_string())
}

/// The resources of a version in an aggregated document.
fn of_list(list: &Value, version: &Registration) -> Vec<Value> {
    let mut groups = list.list("items").iter();
    let group = groups.find(|group| group.at("metadata").text("name") == version.group);
    let mut versions = group.into_iter().flat_map(|group| group.list("versions"));
    let found = versions.find(|found| found.text("version") == version.version);
    found
        .map(|found| found.list("resources").to_vec())
        .unwrap_or_default()
}

/// The resources of a document of one version, in the form of aggregated discovery.
fn from_plain(list: &Value) -> Vec<Value> {
    let mut resources: Vec<Map<String, Value>> = Vec::new();
    for entry in list.list("resources") {
        let name = entry.text("name");
        let kind = json!({
            "group": entry.text("group"),
            "version": entry.text("version"),
            "kind": entry.text("kind"),
        });
        let (resource, part) = match name.split_once('/') {
            Some((resource, part)) => (resource, Some(part)),
            None => (name, None),
        };
        let scope = if entry.flag("namespaced") {
            "Namespaced"
        } else {
            "Cluster"
        };
        let of_resource = |found: &Map<String, Value>| found["resource"] == resource;
        let at = resources.iter().position(of_resource).unwrap_or_else(|| {
            let new = json!({"resource": resource, "scope": scope});
            resources.push(new.as_object().cloned().unwrap_or_default());
            resources.len() - 1
        });
        let found = &mut resources[at];
        let verbs = entry.at("verbs").clone();
        if let Some(part) = part {
            let parts = found
                .entry("subresources")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(parts) = parts {
                parts.push(json!({"subresource": part, "responseKind": kind, "verbs": verbs}));
            }
            continue;
        }
        found.insert("responseKind".to_owned(), kind);
        found.insert(
            "singularResource".to_owned(),
            entry.text("singularName").into(),
        );
        found.insert("verbs".to_owned(), verbs);
        for field in ["shortNames", "categories"] {
            if !entry.list(field).is_empty() {
                found.insert(field.to_owned(), entry.at(field).clone());
            }
        }
    }
    resources.into_iter().map(Value::Object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_plain_discovery_have_their_subresources_below_them() {
        let plain = json!({"resources": [
            {"name": "cats", "singularName": "cat", "namespaced": true, "kind": "Cat", "verbs": ["get"], "shortNames": ["c"]},
            {"name": "cats/status", "singularName": "", "namespaced": true, "kind": "Cat", "verbs": ["get", "update"]},
        ]});
        let kind = json!({"group": "", "version": "", "kind": "Cat"});
        let expected = json!({
            "resource": "cats", "singularResource": "cat", "scope": "Namespaced", "responseKind": kind,
            "verbs": ["get"], "shortNames": ["c"],
            "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get", "update"]}],
        });
        assert_eq!(from_plain(&plain), [expected]);
    }
}

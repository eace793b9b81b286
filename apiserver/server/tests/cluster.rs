//! A server in this process, and a short way to ask it.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kubewright_apiserver::{ApiServer, ApiService, Body};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// A server of its own for one test.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    service: ApiService,
}

/// What came back.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: Bytes,
}

impl Cluster {
    pub(crate) fn start() -> Self {
        Self::of(ApiServer::start())
    }

    pub(crate) fn of(server: ApiServer) -> Self {
        let service = server.service();
        Self { server, service }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], "").await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.send(Method::GET, path, &[("accept", accept)], "")
            .await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::POST, path, &[], object.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::PUT, path, &[], object.to_string()).await
    }

    pub(crate) async fn patch(&self, kind: &str, path: &str, patch: &Value) -> Answer {
        let kind = match kind {
            "strategic" => "strategic-merge-patch",
            "merge" => "merge-patch",
            "json" => "json-patch",
            other => panic!("no such patch: {other}"),
        };
        let kind = format!("application/{kind}+json");
        let headers = [("content-type", kind.as_str())];
        self.send(Method::PATCH, path, &headers, patch.to_string())
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], "").await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.send(Method::DELETE, path, &[], options.to_string())
            .await
    }

    /// Waits until a path answers 404: a deleted definition goes a moment after the answer.
    pub(crate) async fn gone(&self, path: &str) {
        while self.get(path).await.code != StatusCode::NOT_FOUND {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// Sends a request.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let (parts, body) = self.open(method, path, headers, body).await;
        let text = body.collect().await.unwrap().to_bytes();
        Answer {
            code: parts.status,
            headers: parts.headers,
            text,
        }
    }

    /// Sends a request and leaves the body to be read.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (http::response::Parts, Body) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        let response = self.service.clone().oneshot(request).await.unwrap();
        response.into_parts()
    }

    /// Starts a watch.
    pub(crate) async fn watch(&self, path: &str) -> Watch {
        self.watch_as(path, "application/json").await
    }

    pub(crate) async fn watch_as(&self, path: &str, accept: &str) -> Watch {
        let headers = [("accept", accept)];
        let (parts, body) = self.open(Method::GET, path, &headers, "").await;
        assert_eq!(parts.status, StatusCode::OK);
        Watch { body }
    }
}

/// A running watch.
pub(crate) struct Watch {
    body: Body,
}

impl Watch {
    /// The next event; `None` at the clean end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = self.line().await?;
        Some(serde_json::from_slice(&line).unwrap())
    }

    /// The next line as it was sent.
    pub(crate) async fn line(&mut self) -> Option<Bytes> {
        let frame = self.body.frame().await?.unwrap();
        Some(frame.into_data().unwrap())
    }

    /// The next event's type and the name of its object.
    pub(crate) async fn next_named(&mut self) -> (String, String) {
        let event = self.next().await.expect("an event");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&event["type"]),
            text(&event["object"]["metadata"]["name"]),
        )
    }
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.text)
            .unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    /// The object, after the code was checked.
    #[track_caller]
    pub(crate) fn expect(self, code: u16) -> Value {
        assert_eq!(
            self.code.as_u16(),
            code,
            "{}",
            String::from_utf8_lossy(&self.text)
        );
        self.json()
    }

    /// The message of a failure, after the code and the reason were checked.
    #[track_caller]
    pub(crate) fn refused(self, code: u16, reason: &str) -> String {
        let status = self.expect(code);
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["reason"].as_str().unwrap_or_default(), reason);
        assert_eq!(status["code"], code);
        status["message"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

/// A ConfigMap.
pub(crate) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

/// A pod of one container.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    })
}

/// A deployment of one container.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
        },
    })
}

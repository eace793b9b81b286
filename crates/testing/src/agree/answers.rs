//! What two API servers answer to a request, without what differs between any two.

use std::fmt;

use kube::Resource;
use kube::client::Body;
use kube::core::{ClusterResourceScope, NamespaceResourceScope};
use kubewright_webhook::Object;
use serde_json::{Value, json};
use std::any::TypeId;

use super::agreed::Agreed;
use crate::{TestCluster, fail};

/// The resource that objects are of.
pub(super) struct Asked {
    path: String,
    api_version: String,
    kind: String,
    namespace: Option<String>,
}

/// A request.
#[derive(Clone, Debug)]
pub(super) enum Ask {
    Create,
    /// Creates the object by this name, and not in a dry run.
    Store(String),
    Update(String),
    Delete(String),
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Allowed {
        object: Value,
        warnings: Vec<String>,
    },
    Denied {
        code: u16,
        message: String,
        warnings: Vec<String>,
        /// Whether a policy or a webhook denied.
        by_policy: bool,
    },
}

impl Asked {
    pub(super) fn of<K: Object>(cluster: &TestCluster) -> Self
    where
        K::DynamicType: Default,
    {
        let of = K::DynamicType::default();
        let scope = TypeId::of::<<K as Resource>::Scope>();
        let is_namespaced = scope == TypeId::of::<NamespaceResourceScope>()
            || (scope != TypeId::of::<ClusterResourceScope>() && K::group(&of).is_empty());
        let namespace = is_namespaced.then(|| cluster.namespace().to_owned());
        Self {
            path: K::url_path(&of, namespace.as_deref()),
            api_version: K::api_version(&of).into_owned(),
            kind: K::kind(&of).into_owned(),
            namespace,
        }
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) async fn ask(&self, cluster: &TestCluster, ask: &Ask, object: &Value) -> Answer {
        let mut object = object.clone();
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        if let Some(namespace) = &self.namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let (method, path) = match ask {
            Ask::Create => ("POST", format!("{}?dryRun=All", self.path)),
            Ask::Store(name) => {
                object["metadata"]["name"] = json!(name);
                ("POST", self.path.clone())
            }
            Ask::Update(name) => {
                object["metadata"]["name"] = json!(name);
                ("PUT", format!("{}/{name}?dryRun=All", self.path))
            }
            Ask::Delete(name) => ("DELETE", format!("{}/{name}?dryRun=All", self.path)),
        };
        let body = match ask {
            Ask::Delete(_) => Vec::new(),
            _ => object.to_string().into_bytes(),
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .body(Body::from(body));
        let request = match request {
            Ok(request) => request,
            Err(error) => fail(format_args!("cannot make a request: {error}")),
        };
        match answered(cluster, request).await {
            Ok(answer) => answer,
            Err(error) => fail(format_args!("the API server does not answer: {error}")),
        }
    }
}

async fn answered(
    cluster: &TestCluster,
    request: http::Request<Body>,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let response = cluster.client().send(request).await?;
    let code = response.status();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings
        .filter_map(|warning| Some(own_words(&text_of(warning.to_str().ok()?))))
        .collect();
    let body = response.into_body().collect_bytes().await?;
    let body: Value = serde_json::from_slice(&body)?;
    if code.is_success() {
        return Ok(Answer::Allowed {
            object: without_times(body),
            warnings,
        });
    }
    let message = body["message"].as_str().unwrap_or_default();
    let own = own_words(message);
    Ok(Answer::Denied {
        code: code.as_u16(),
        by_policy: own != message,
        message: own,
        warnings,
    })
}

/// The text of a header such as `299 - "the text"`.
fn text_of(header: &str) -> String {
    let quoted = header.split_once('"').map_or(header, |(_, text)| text);
    let text = quoted.strip_suffix('"').unwrap_or(quoted);
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// A message without what the API server says in front of it, which differs between policies and webhooks.
fn own_words(message: &str) -> String {
    let marks = [
        " denied request: ",
        " denied the request: ",
        // The first quote ends the name of the policy, the second that of the binding.
        "Validation failed for ValidatingAdmissionPolicy '",
    ];
    if let Some((_, own)) = message.split_once(marks[0]) {
        return own.to_owned();
    }
    if let Some((_, own)) = message.split_once(marks[1]) {
        return own.to_owned();
    }
    if let Some(rest) = message.strip_prefix(marks[2])
        && let Some((_, own)) = rest.split_once("': ")
    {
        return own.to_owned();
    }
    message.to_owned()
}

/// An object without what no two requests have in common.
fn without_times(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "uid",
            "creationTimestamp",
            "managedFields",
            "resourceVersion",
            "generation",
        ] {
            metadata.remove(field);
        }
    }
    if let Some(details) = object["details"].as_object_mut() {
        details.remove("uid");
    }
    object
}

impl Answer {
    pub(super) fn is_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Allowed { object, warnings },
                Self::Allowed {
                    object: other,
                    warnings: others,
                },
            ) => object == other && warnings == others,
            (
                Self::Denied {
                    code,
                    message,
                    warnings,
                    by_policy: _,
                },
                Self::Denied {
                    code: other,
                    message: others,
                    warnings: other_warnings,
                    by_policy: _,
                },
            ) => code == other && message == others && warnings == other_warnings,
            _ => false,
        }
    }

    pub(super) fn count(&self, agreed: &mut Agreed) {
        match self {
            Self::Allowed { .. } => agreed.allowed += 1,
            Self::Denied {
                by_policy: true, ..
            } => agreed.denied += 1,
            Self::Denied { .. } => agreed.refused += 1,
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create => f.write_str("the creation of an object"),
            Self::Store(name) => write!(f, "the creation of {name}"),
            Self::Update(name) => write!(f, "an update of {name}"),
            Self::Delete(name) => write!(f, "the deletion of {name}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warnings = match self {
            Self::Allowed { object, warnings } => {
                write!(f, "allows {object}")?;
                warnings
            }
            Self::Denied {
                code,
                message,
                warnings,
                ..
            } => {
                write!(f, "denies with code {code}: {message}")?;
                warnings
            }
        };
        for warning in warnings {
            write!(f, "\n    and warns: {warning}")?;
        }
        Ok(())
    }
}

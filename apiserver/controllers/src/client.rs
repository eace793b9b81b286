//! Requests of controllers: through authorization and admission like anybody's, each under its own name.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Response};
use kubewright_apimachinery::json::parse_own;
use kubewright_apimachinery::user::{AUTHENTICATED, User};
use kubewright_registry::Resource;
use serde_json::{Value, json};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt as _};

use super::object::text;

/// Sends the requests of all controllers.
#[derive(Clone, Debug)]
pub(super) struct Client {
    service: Service,
}

/// The API server as the controllers reach it: it answers a request as the [`User`] in its extensions.
pub type Service = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, BoxError>;

/// Who sends a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who<'a> {
    /// A controller of the controller manager, by its service account.
    Controller(&'a str),
    Scheduler,
    /// The kubelet of a node.
    Node(&'a str),
}

/// A resource in the version that a controller speaks.
#[derive(Clone, Debug)]
pub(super) struct Api {
    /// `/api/v1` or `/apis/apps/v1`.
    root: Cow<'static, str>,
    plural: Cow<'static, str>,
    namespaced: bool,
}

/// Why a request had no effect.
#[derive(Debug)]
pub(super) struct Failure {
    code: u16,
    reason: String,
    message: String,
    namespace_terminating: bool,
}

/// What came of a request.
pub(super) type Answer = Result<Value, Failure>;

pub(super) const PODS: Api = Api::core("pods");
pub(super) const EVENTS: Api = Api::core("events");
pub(super) const REPLICA_SETS: Api = Api::new("/apis/apps/v1", "replicasets");
pub(super) const REPLICATION_CONTROLLERS: Api = Api::core("replicationcontrollers");
pub(super) const DEPLOYMENTS: Api = Api::new("/apis/apps/v1", "deployments");
pub(super) const STATEFUL_SETS: Api = Api::new("/apis/apps/v1", "statefulsets");
pub(super) const DAEMON_SETS: Api = Api::new("/apis/apps/v1", "daemonsets");
pub(super) const CONTROLLER_REVISIONS: Api = Api::new("/apis/apps/v1", "controllerrevisions");
pub(super) const JOBS: Api = Api::new("/apis/batch/v1", "jobs");
pub(super) const ENDPOINTS: Api = Api::core("endpoints");
pub(super) const ENDPOINT_SLICES: Api = Api::new("/apis/discovery.k8s.io/v1", "endpointslices");
pub(super) const CRON_JOBS: Api = Api::new("/apis/batch/v1", "cronjobs");
pub(super) const BUDGETS: Api = Api::new("/apis/policy/v1", "poddisruptionbudgets");
pub(super) const AUTOSCALERS: Api = Api::new("/apis/autoscaling/v2", "horizontalpodautoscalers");
pub(super) const CLAIMS: Api = Api::core("persistentvolumeclaims");
pub(super) const NODES: Api = Api::of_cluster("nodes");

impl Api {
    const fn new(root: &'static str, plural: &'static str) -> Self {
        Self {
            root: Cow::Borrowed(root),
            plural: Cow::Borrowed(plural),
            namespaced: true,
        }
    }

    /// A resource of the core group.
    pub(super) const fn core(plural: &'static str) -> Self {
        Self::new("/api/v1", plural)
    }

    /// A resource of the core group whose objects have no namespace.
    pub(super) const fn of_cluster(plural: &'static str) -> Self {
        Self::of_cluster_in("/api/v1", plural)
    }

    /// A resource whose objects have no namespace.
    pub(super) const fn of_cluster_in(root: &'static str, plural: &'static str) -> Self {
        Self {
            root: Cow::Borrowed(root),
            plural: Cow::Borrowed(plural),
            namespaced: false,
        }
    }

    /// The API of a resource that was looked up.
    pub(super) fn of(resource: &Resource) -> Self {
        let root = if resource.group.is_empty() {
            format!("/api/{}", resource.version)
        } else {
            format!("/apis/{}/{}", resource.group, resource.version)
        };
        Self {
            root: root.into(),
            plural: resource.plural.clone().into(),
            namespaced: resource.namespaced,
        }
    }

    /// The path of an object or, with an empty name, of a collection.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.root.to_string();
        if self.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            push_segment(&mut path, namespace);
        }
        path.push('/');
        path.push_str(&self.plural);
        if !name.is_empty() {
            path.push('/');
            push_segment(&mut path, name);
        }
        path
    }

    fn path_of(&self, object: &Value) -> String {
        let [namespace, name] =
            ["/metadata/namespace", "/metadata/name"].map(|at| text(object, at));
        self.path(namespace, name)
    }
}

impl Who<'_> {
    fn user(self) -> User {
        let mut user = match self {
            Self::Controller(name) => User::service_account("kube-system", name),
            Self::Scheduler => User {
                username: "system:kube-scheduler".to_owned(),
                ..User::default()
            },
            Self::Node(name) => User {
                username: format!("system:node:{name}"),
                groups: vec!["system:nodes".to_owned()],
                ..User::default()
            },
        };
        user.groups.push(AUTHENTICATED.to_owned());
        user
    }

    /// The program, which is also the name of a field manager.
    fn program(self) -> &'static str {
        match self {
            Self::Controller(_) => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Node(_) => "kubelet",
        }
    }
}

impl Client {
    pub(super) fn new(service: Service) -> Self {
        Self { service }
    }

    pub(super) async fn create(
        &self,
        who: Who<'_>,
        api: &Api,
        namespace: &str,
        object: &Value,
    ) -> Answer {
        let path = api.path(namespace, "");
        self.send(who, Method::POST, &path, JSON, Some(object))
            .await
    }

    pub(super) async fn get(&self, who: Who<'_>, path: &str) -> Answer {
        self.send(who, Method::GET, path, JSON, None).await
    }

    pub(super) async fn update(&self, who: Who<'_>, api: &Api, object: &Value) -> Answer {
        let path = api.path_of(object);
        self.send(who, Method::PUT, &path, JSON, Some(object)).await
    }

    pub(super) async fn update_status(&self, who: Who<'_>, api: &Api, object: &Value) -> Answer {
        let path = format!("{}/status", api.path_of(object));
        self.send(who, Method::PUT, &path, JSON, Some(object)).await
    }

    /// Changes an object by a JSON merge patch.
    pub(super) async fn merge(&self, who: Who<'_>, path: &str, patch: &Value) -> Answer {
        const MERGE: &str = "application/merge-patch+json";
        self.send(who, Method::PATCH, path, MERGE, Some(patch))
            .await
    }

    /// Applies an object as a field manager, which takes fields over from others.
    pub(super) async fn apply(
        &self,
        who: Who<'_>,
        path: &str,
        manager: &str,
        object: &Value,
    ) -> Answer {
        const APPLY: &str = "application/apply-patch+yaml";
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.send(who, Method::PATCH, &path, APPLY, Some(object))
            .await
    }

    /// Creates something below an object, such as a binding.
    pub(super) async fn post(&self, who: Who<'_>, path: &str, object: &Value) -> Answer {
        self.send(who, Method::POST, path, JSON, Some(object)).await
    }

    /// Replaces a part of an object, such as the finalizers of a namespace.
    pub(super) async fn put(&self, who: Who<'_>, path: &str, object: &Value) -> Answer {
        self.send(who, Method::PUT, path, JSON, Some(object)).await
    }

    /// Deletes an object or a collection; what is gone already is no failure.
    pub(super) async fn delete(
        &self,
        who: Who<'_>,
        path: &str,
        options: &Value,
    ) -> Result<(), Failure> {
        let mut options = options.clone();
        options["kind"] = "DeleteOptions".into();
        options["apiVersion"] = "v1".into();
        match self
            .send(who, Method::DELETE, path, JSON, Some(&options))
            .await
        {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }

    async fn send(
        &self,
        who: Who<'_>,
        method: Method,
        path: &str,
        content: &str,
        body: Option<&Value>,
    ) -> Answer {
        let body = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(USER_AGENT, who.program())
            .header(CONTENT_TYPE, content)
            .extension(who.user())
            .body(body)
            .map_err(|error| Failure::own(format!("cannot ask for {path}: {error}")))?;
        let answer = self.service.clone().oneshot(request).await;
        let answer = answer.map_err(|error| Failure::own(error.to_string()))?;
        let (head, bytes) = answer.into_parts();
        let value = parse_own(&bytes)
            .unwrap_or_else(|| json!({"message": String::from_utf8_lossy(&bytes)}));
        if head.status.is_success() {
            return Ok(value);
        }
        let causes = value["details"]["causes"].as_array();
        Err(Failure {
            code: head.status.as_u16(),
            reason: text(&value, "/reason").to_owned(),
            message: text(&value, "/message").to_owned(),
            namespace_terminating: causes.is_some_and(|causes| {
                causes
                    .iter()
                    .any(|cause| cause["reason"] == "NamespaceTerminating")
            }),
        })
    }
}

impl Failure {
    /// A failure that no server has told.
    pub(super) fn own(message: String) -> Self {
        Self {
            code: 0,
            reason: String::new(),
            message,
            namespace_terminating: false,
        }
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// Whether the object was changed since it was read.
    pub(super) fn is_conflict(&self) -> bool {
        self.reason == "Conflict"
    }

    pub(super) fn already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether there can be nothing new in a namespace that is being deleted.
    pub(super) fn is_for_terminating_namespace(&self) -> bool {
        self.namespace_terminating
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Writes a name into a path, with everything escaped that means something there.
fn push_segment(path: &mut String, name: &str) {
    use fmt::Write as _;
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            other => {
                // A string takes every write.
                let _ = write!(path, "%{other:02X}");
            }
        }
    }
}

const JSON: &str = "application/json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_signs_in_them_have_a_path() {
        let roles = Api {
            root: "/apis/rbac.authorization.k8s.io/v1".into(),
            plural: "roles".into(),
            namespaced: true,
        };
        assert_eq!(
            roles.path("kube-system", "system:a b"),
            "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/system%3Aa%20b",
        );
        assert_eq!(NODES.path("", "n"), "/api/v1/nodes/n");
    }
}

//! Which requests a test means.

use kube::core::Resource;
use kubewright_apiserver::RequestInfo;

/// Some of the requests that programs under test send: all of them until they are narrowed.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::Requests;
///
/// let updates = Requests::of::<ConfigMap>().verb("update").in_namespace("blue").named("web");
/// # let _ = updates;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Requests {
    verbs: Option<Vec<String>>,
    resource: Option<(String, String)>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    streamed_lists: bool,
}

impl Requests {
    /// All requests.
    pub fn all() -> Self {
        Self::default()
    }

    /// Returns the requests for objects of a kind, with those for its sub-resources.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_testing::Requests;
    ///
    /// let deployments = Requests::all().resource("apps", "deployments");
    /// assert_eq!(Requests::of::<Deployment>(), deployments);
    /// ```
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self::all().resource(&K::group(&()), &K::plural(&()))
    }

    /// Only about this resource, such as `deployments` of the group `apps`.
    pub fn resource(mut self, group: &str, plural: &str) -> Self {
        self.resource = Some((group.to_owned(), plural.to_owned()));
        self
    }

    /// Keeps the requests for this sub-resource, such as `status`. An empty name keeps those for the objects themselves.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let pods: Api<Pod> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let _ = pods.get_status("web").await;
    /// let _ = pods.get("web").await;
    /// assert_eq!(cluster.sent(&Requests::of::<Pod>()).len(), 2);
    /// assert_eq!(cluster.sent(&Requests::of::<Pod>().subresource("status")).len(), 1);
    /// # });
    /// ```
    pub fn subresource(mut self, name: &str) -> Self {
        self.subresource = Some(name.to_owned());
        self
    }

    /// Keeps the requests with this verb of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or
    /// `deletecollection`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// maps.list(&Default::default()).await.unwrap();
    /// maps.get_opt("web").await.unwrap();
    /// assert_eq!(cluster.sent(&Requests::all().verb("list")).len(), 1);
    /// # });
    /// ```
    pub fn verb(self, verb: &str) -> Self {
        self.verbs(&[verb])
    }

    /// Keeps the requests that write: `create`, `update`, `patch`, `delete` and `deletecollection`.
    pub fn writes(self) -> Self {
        self.verbs(WRITES)
    }

    /// Only those that change what is there: `update` and `patch`.
    pub fn changes(self) -> Self {
        self.verbs(&["update", "patch"])
    }

    /// Keeps the watches.
    pub fn watches(self) -> Self {
        self.verb("watch")
    }

    /// Only watches that ask for a list as their first events (`sendInitialEvents`).
    pub fn streamed_lists(mut self) -> Self {
        self.streamed_lists = true;
        self.watches()
    }

    /// Only in this namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Keeps the requests for the object of this name, and lists and watches of this name alone. A `create` does not count: its
    /// name is in the body.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// maps.get_opt("web").await.unwrap();
    /// maps.get_opt("db").await.unwrap();
    /// assert_eq!(cluster.sent(&Requests::all().named("web")).len(), 1);
    /// # });
    /// ```
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    fn verbs(mut self, verbs: &[&str]) -> Self {
        self.verbs = Some(verbs.iter().map(|&verb| verb.to_owned()).collect());
        self
    }

    pub(crate) fn include(&self, asked: &Asked) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let Asked { info, is_streamed } = asked;
        let verbs = self.verbs.as_ref();
        verbs.is_none_or(|verbs| verbs.contains(&info.verb))
            && self.resource.as_ref().is_none_or(|(group, plural)| {
                info.path.is_empty() && *group == info.group && *plural == info.resource
            })
            && is(&self.subresource, &info.subresource)
            && is(&self.namespace, &info.namespace)
            && is(&self.name, &info.name)
            && (*is_streamed || !self.streamed_lists)
    }
}

/// What is known of a request from its first line.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) info: RequestInfo,
    /// Whether it asks for a list in a watch.
    pub(crate) is_streamed: bool,
}

impl Asked {
    pub(crate) fn by<B>(request: &http::Request<B>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        Self {
            info: RequestInfo::of(request.method(), request.uri()),
            is_streamed: query
                .split('&')
                .any(|pair| pair == "sendInitialEvents=true"),
        }
    }
}

pub(crate) const WRITES: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];

#[cfg(test)]
mod tests {
    use http::Request;
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn asked(method: &str, uri: &str) -> Asked {
        Asked::by(&Request::builder().method(method).uri(uri).body(()).unwrap())
    }

    #[test]
    fn each_narrowing_leaves_out_what_it_says() {
        let maps = "/api/v1/namespaces/blue/configmaps";
        let update = asked("PUT", &format!("{maps}/a"));
        let status = asked(
            "PATCH",
            "/apis/apps/v1/namespaces/blue/deployments/a/status",
        );
        let watch = asked(
            "GET",
            &format!("{maps}?watch=true&fieldSelector=metadata.name%3Da"),
        );
        let stream = asked("GET", &format!("{maps}?watch=true&sendInitialEvents=true"));
        let version = asked("GET", "/version");
        for (requests, included) in [
            (Requests::all(), [true; 5]),
            (
                Requests::of::<ConfigMap>(),
                [true, false, true, true, false],
            ),
            (
                Requests::of::<Deployment>(),
                [false, true, false, false, false],
            ),
            (
                Requests::all().subresource("status"),
                [false, true, false, false, false],
            ),
            (
                Requests::all().verb("update"),
                [true, false, false, false, false],
            ),
            (Requests::all().writes(), [true, true, false, false, false]),
            (Requests::all().changes(), [true, true, false, false, false]),
            (Requests::all().watches(), [false, false, true, true, false]),
            (
                Requests::all().streamed_lists(),
                [false, false, false, true, false],
            ),
            (
                Requests::all().in_namespace("blue"),
                [true, true, true, true, false],
            ),
            (Requests::all().in_namespace("red"), [false; 5]),
            (Requests::all().named("a"), [true, true, true, false, false]),
        ] {
            let found =
                [&update, &status, &watch, &stream, &version].map(|asked| requests.include(asked));
            assert_eq!(found, included, "{requests:?}");
        }
    }
}

//! What programs under test have sent.

use std::fmt;

use kubewright_apiserver::RequestInfo;

use super::requests::{Asked, WRITES};
use crate::permissions::shown;

/// A request that a program under test has sent, and the status code of the response. Bodies are not kept, so that a failed
/// test prints no values of Secrets.
///
/// ```
/// use kubewright_testing::{Requests, TestCluster};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// cluster.client_under_test().apiserver_version().await.unwrap();
/// let sent = &cluster.sent(&Requests::all())[0];
/// assert_eq!(sent.to_string(), "get the path `/version`: 200");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Sent {
    pub(crate) asked: Asked,
    pub(crate) status: Option<u16>,
}

impl Sent {
    /// Returns the verb, resource, namespace and name that the request was for.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), "default");
    /// maps.get_opt("web").await.unwrap();
    /// let sent = &cluster.sent(&Requests::all())[0];
    /// let request = sent.request();
    /// assert_eq!((&*request.verb, &*request.resource, &*request.name), ("get", "configmaps", "web"));
    /// # });
    /// ```
    pub fn request(&self) -> &RequestInfo {
        &self.asked.info
    }

    /// Reports whether the request writes: `create`, `update`, `patch`, `delete` or `deletecollection`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::PostParams;
    /// use kubewright_testing::{Requests, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// maps.create(&PostParams::default(), &yaml("metadata: {name: web}")).await.unwrap();
    /// maps.get("web").await.unwrap();
    /// let writes: Vec<bool> = cluster.sent(&Requests::all()).iter().map(|sent| sent.is_write()).collect();
    /// assert_eq!(writes, [true, false]);
    /// # });
    /// ```
    pub fn is_write(&self) -> bool {
        WRITES.contains(&self.asked.info.verb.as_str())
    }

    /// The status code of the answer; none if there was no answer, or none yet.
    pub fn status(&self) -> Option<u16> {
        self.status
    }
}

/// Such as: `patch configmaps `web` in the namespace `blue`: 409`.
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.asked.info))?;
        match self.status {
            Some(status) => write!(f, ": {status}"),
            None => f.write_str(": no answer"),
        }
    }
}

//! Applying an object whose kind is only known when it is read.

use kube::api::{Patch, PatchParams, PostParams, Request};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Resource as _, TypeMeta};
use kube::discovery::{Scope, pinned_kind};
use kube::{Client, Error, Result};
use serde_json::Value;

/// Creates the object, or changes the one that has its name by a merge patch; returns what is stored.
///
/// Objects of namespaced kinds that name no namespace go to `namespace`.
///
/// ```
/// use kubewright_testing::{TestCluster, apply};
/// use serde_json::json;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let map = |mode| json!({
///     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"mode": mode},
/// });
/// let (client, namespace) = (cluster.client(), cluster.namespace());
/// let created = apply(&client, namespace, &map("fast")).await.unwrap();
/// let changed = apply(&client, namespace, &map("slow")).await.unwrap();
/// assert_eq!(created["metadata"]["uid"], changed["metadata"]["uid"]);
/// assert_eq!(changed["data"]["mode"], "slow");
/// # });
/// ```
///
/// # Errors
/// The API server does not know the kind, or refuses the object.
///
/// # Cancel safety
/// The object may have been created or changed when the future is dropped.
pub async fn apply(client: &Client, namespace: &str, object: &Value) -> Result<Value> {
    let types: TypeMeta = serde_json::from_value(object.clone()).map_err(Error::SerdeError)?;
    let kind =
        GroupVersionKind::try_from(&types).map_err(|error| Error::Service(Box::new(error)))?;
    let (resource, capabilities) = pinned_kind(client, &kind).await?;
    let text = |field: &str| object["metadata"][field].as_str();
    let namespace = match capabilities.scope {
        Scope::Cluster => None,
        Scope::Namespaced => Some(text("namespace").unwrap_or(namespace)),
    };
    let request = requests(&resource, namespace);
    let body = serde_json::to_vec(object).map_err(Error::SerdeError)?;
    let create = request
        .create(&PostParams::default(), body)
        .map_err(Error::BuildRequest)?;
    match (client.request(create).await, text("name")) {
        (Err(Error::Api(status)), Some(name)) if status.is_already_exists() => {
            let patch = Patch::Merge(object);
            let patch = request.patch(name, &PatchParams::default(), &patch);
            client.request(patch.map_err(Error::BuildRequest)?).await
        }
        (answer, _) => answer,
    }
}

fn requests(resource: &ApiResource, namespace: Option<&str>) -> Request {
    Request::new(DynamicObject::url_path(resource, namespace))
}

//! The reviews that webhooks would be sent for a request that was recorded elsewhere.

use std::time::Duration;

use bytes::Bytes;
use kubewright_admission::{Attributes, DetachedWebhooks, Operation, User};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_endpoints::Shared;
use serde_json::Value;

/// A request as admission sees it.
///
/// ```
/// use kubewright_apiserver::ApiServer;
/// use kubewright_apiserver::admission::{AdmissionRequest, DetachedWebhooks, Operation};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let webhooks = DetachedWebhooks::new(&json!({"webhooks": [{
///     "name": "pods.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
///     "clientConfig": {"url": "https://127.0.0.1/pods"},
///     "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
/// }]}));
/// let request = AdmissionRequest {
///     resource: ("".to_owned(), "v1".to_owned(), "pods".to_owned()),
///     object: json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}),
///     ..AdmissionRequest::new(Operation::Create)
/// };
/// let reviews = ApiServer::start().webhook_reviews(&webhooks, &request).await?;
/// assert_eq!(reviews[0].webhook, "pods.example.com");
/// let review: serde_json::Value = serde_json::from_slice(reviews[0].review.as_ref().unwrap())?;
/// assert_eq!(review["request"]["object"]["metadata"]["name"], "web");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "callers build it with what they know of a request"
)]
pub struct AdmissionRequest {
    /// The operation.
    pub operation: Operation,
    /// The group, which is empty for core, the version and the plural name of the resource.
    pub resource: (String, String, String),
    /// The sub-resource; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for cluster-scoped resources, the object's own name for namespaces.
    pub namespace: String,
    /// The name; empty where the request has none.
    pub name: String,
    /// The user who sent the request.
    pub user: User,
    /// Whether the request is a dry run.
    pub dry_run: bool,
    /// The options of the request; null for none.
    pub options: Value,
    /// The object to store; null for DELETE.
    pub object: Value,
    /// The object as it is stored; null for CREATE and CONNECT.
    pub old_object: Value,
}

/// The review that a webhook would be sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebhookReview {
    /// The name of the webhook.
    pub webhook: String,
    /// The AdmissionReview; or the message that the client would get because the review cannot be made.
    pub review: Result<Bytes, String>,
}

/// The server does not have the resource of a request.
#[derive(Debug, thiserror::Error)]
#[error("the API server has no resource {plural} in {api_version}")]
pub struct UnknownResource {
    api_version: String,
    plural: String,
}

impl AdmissionRequest {
    /// Starts a request of an operation, without a user, a resource or an object.
    pub fn new(operation: Operation) -> Self {
        Self {
            operation,
            resource: <(String, String, String)>::default(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
            user: User::default(),
            dry_run: false,
            options: Value::Null,
            object: Value::Null,
            old_object: Value::Null,
        }
    }

    /// The kind that the objects say.
    fn kind(&self) -> Option<GroupVersionKind> {
        let mut objects = [&self.object, &self.old_object].into_iter();
        objects.find_map(|object| {
            let kind = object["kind"].as_str()?;
            let api_version = object["apiVersion"].as_str()?;
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            Some(GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            })
        })
    }
}

/// The reviews that webhooks would be sent for a request.
pub(crate) async fn of(
    shared: &Shared,
    webhooks: &DetachedWebhooks,
    request: &AdmissionRequest,
) -> Result<Vec<WebhookReview>, UnknownResource> {
    let (group, version, plural) = &request.resource;
    let resource = shared.served.now().find(group, version, plural);
    let resource = resource.ok_or_else(|| UnknownResource {
        api_version: match &**group {
            "" => version.clone(),
            group => format!("{group}/{version}"),
        },
        plural: plural.clone(),
    })?;
    let own = || GroupVersionKind {
        group: group.clone(),
        version: version.clone(),
        kind: resource.kind.clone(),
    };
    let attributes = Attributes {
        operation: request.operation,
        kind: request.kind().unwrap_or_else(own),
        resource,
        subresource: request.subresource.clone(),
        namespace: request.namespace.clone(),
        name: request.name.clone(),
        user: request.user.clone(),
        dry_run: request.dry_run,
        options: request.options.clone(),
        object: request.object.clone(),
        empties: false,
        patched: false,
        timed: false,
        unset_lists: Vec::new(),
        unpatched_managed_fields: None,
        new_managed_fields: None,
        old_object: request.old_object.clone(),
        deadline: tokio::time::Instant::now() + CONVERSION_TIMEOUT,
    };
    let (chain, cluster) = (&shared.chain, &shared.cluster);
    let reviews = chain.reviews(webhooks, cluster, &attributes).await;
    let reviews = reviews.into_iter().map(|(webhook, review)| WebhookReview {
        webhook,
        review: review.map_err(|status| status.message().to_owned()),
    });
    Ok(reviews.collect())
}

/// How long conversion webhooks may take together: the timeout of a request.
const CONVERSION_TIMEOUT: Duration = Duration::from_mins(1);

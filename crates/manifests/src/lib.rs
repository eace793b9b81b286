//! Kubernetes manifests from the declarations that run.

mod admission;
mod endpoint;
mod manifests;
mod names;
mod rbac;
mod webhooks;

pub use admission::ApiServerAccess;
pub use endpoint::{Endpoint, EndpointError};
pub use manifests::Manifests;
pub use rbac::{Permissions, PolicyRule};
pub use webhooks::{ManifestError, WebhookConfigurations};

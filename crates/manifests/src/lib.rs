//! Kubernetes manifests from the declarations that run.

mod endpoint;
mod manifests;
mod names;
mod rbac;
mod webhooks;

pub use endpoint::{Endpoint, EndpointError};
pub use manifests::Manifests;
pub use rbac::{Permissions, PolicyRule};
pub use webhooks::{ManifestError, WebhookConfigurations};

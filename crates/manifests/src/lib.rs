#![doc = include_str!("../README.md")]

mod admission;
mod compatibility;
mod conditions;
mod endpoint;
mod install;
mod installer;
mod manifests;
mod monitoring;
mod names;
mod own_metric;
mod parts;
mod policies;
mod rbac;
mod tree;
mod webhooks;

pub use admission::ApiServerAccess;
pub use compatibility::{Break, breaks};
pub use conditions::conditions;
pub use endpoint::{Endpoint, EndpointError};
pub use install::Install;
pub use installer::{Installer, self_lock};
pub use manifests::Manifests;
pub use own_metric::{MetricKind, OwnMetric};
pub use parts::{Controllers, Parts};
pub use policies::policies;
pub use rbac::{Permissions, PolicyRule};
pub use tree::{Drift, Tree, WriteError};
pub use webhooks::{ManifestError, WebhookConfigurations};

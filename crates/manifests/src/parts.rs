//! What the code of a program says about its installation.

use kubewright_webhook::Webhooks;
use serde_json::Value;

use crate::{OwnMetric, Permissions};

/// The part of a program's deployment that its code determines.
///
/// ```
/// use kubewright_manifests::{Install, Installer, Parts, PolicyRule};
///
/// let mut parts = Parts::new("cleaner");
/// parts.permissions.grant(None, PolicyRule::new("", "pods", ["delete"]));
/// let objects = Installer::new(&parts, &Install::default())?.program();
/// assert!(objects.objects().iter().any(|object| object["kind"] == "ClusterRoleBinding"));
/// # Ok::<(), kubewright_manifests::ManifestError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parts {
    /// The name of the program, which its objects have, too.
    pub name: String,
    /// The version of the program.
    pub version: Option<String>,
    /// The name of the webhook configurations.
    pub configuration: String,
    /// The webhooks.
    pub webhooks: Webhooks,
    /// The definitions of custom resources that it works with.
    pub crds: Vec<Value>,
    /// What it may do.
    pub permissions: Permissions,
    /// The Service for which it signs certificates itself, if it does.
    pub own_service: Option<String>,
    /// The Secret in which it keeps the authority for that, if it does.
    pub own_secret: Option<String>,
    /// How many of its replicas run its controllers, and its tasks of the leader.
    pub controllers: Controllers,
    /// Whether it has tasks, of the leader or of each replica.
    pub has_tasks: bool,
    /// The ConfigMap that its log follows.
    pub log_levels: Option<String>,
    /// Whether it serves its metrics over HTTPS, to those who may read them.
    pub secures_metrics: bool,
    /// The metrics that its own code registers.
    pub metrics: Vec<OwnMetric>,
    /// Whether it follows files or ConfigMaps.
    pub follows_configuration: bool,
}

/// Number of replicas that run the controllers of a program, and its tasks of the leader.
///
/// ```
/// use kubewright_manifests::{Controllers, Install, Installer, ManifestError, Parts};
///
/// let mut parts = Parts::new("gardens");
/// parts.controllers = Controllers::EveryReplica;
/// let error = Installer::new(&parts, &Install::default().replicas(2)).unwrap_err();
/// assert_eq!(error, ManifestError::NoLeader(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no other number")]
pub enum Controllers {
    /// It has none.
    None,
    /// One at a time, which is elected.
    OneReplica,
    /// All of them, each for its share of the objects.
    Sharded,
    /// All of them, and each for all objects.
    EveryReplica,
}

impl Parts {
    /// Starts with a program that does nothing.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            version: None,
            configuration: name.clone(),
            webhooks: Webhooks::new(&name),
            name,
            crds: Vec::new(),
            permissions: Permissions::default(),
            own_service: None,
            own_secret: None,
            controllers: Controllers::None,
            has_tasks: false,
            log_levels: None,
            secures_metrics: false,
            metrics: Vec::new(),
            follows_configuration: false,
        }
    }

    pub(crate) fn is_called(&self) -> bool {
        !self.webhooks.declarations().is_empty() || !self.webhooks.conversions().is_empty()
    }

    /// Whether there is something to run: of a program with nothing but policies, API servers do everything.
    pub(crate) fn runs(&self) -> bool {
        self.webhooks.policies().is_empty()
            || self.is_called()
            || self.controllers != Controllers::None
            || self.has_tasks
            || !self.permissions.is_empty()
    }
}

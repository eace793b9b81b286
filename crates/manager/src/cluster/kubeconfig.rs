//! Where the kubeconfig of another cluster is.

/// The place of another cluster's kubeconfig: a Secret in the namespace of the program, and one of its keys.
///
/// A kubeconfig has all that it takes in itself: it is refused if it names a command, a plugin or a file, which a Secret would have
/// the program run or read, if it does not verify who the API server is, and if its server is not reached by `https`. Another
/// content of the Secret takes effect at once, without a restart.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_controller::Cached;
/// use kubewright_manager::{App, Kubeconfig, Program};
///
/// let program = Program::new(|needs| {
///     let east = Kubeconfig::in_secret("east-kubeconfig").key("admin.conf").of_cluster("east");
///     let pods: Cached<Pod> = needs.cluster(east).cached();
///     App::new("census")
/// });
/// let here = program.permissions();
/// assert_eq!(here.objects()[0]["rules"][0]["resourceNames"][0], "east-kubeconfig");
/// assert!(program.cluster_permissions("east").is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Kubeconfig {
    cluster: Option<String>,
    secret: String,
    key: Option<String>,
}

impl Kubeconfig {
    /// Names the Secret. Its key is `value`, as Cluster API writes it, or else `kubeconfig`.
    pub fn in_secret(name: impl Into<String>) -> Self {
        Self {
            cluster: None,
            secret: name.into(),
            key: None,
        }
    }

    /// Sets the key of the Secret that has the kubeconfig.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Names the cluster. Default: the name of the Secret, or of the object that a [fleet](crate::Members::of) has it from.
    pub fn of_cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// The name of the cluster, if it is not that of the Secret.
    pub(super) fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    pub(crate) fn cluster_or_secret(&self) -> &str {
        self.cluster().unwrap_or(&self.secret)
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(super) fn keys(&self) -> Vec<&str> {
        match &self.key {
            Some(key) => vec![key],
            None => vec!["value", "kubeconfig"],
        }
    }
}

impl From<&str> for Kubeconfig {
    fn from(secret: &str) -> Self {
        Self::in_secret(secret)
    }
}

impl From<String> for Kubeconfig {
    fn from(secret: String) -> Self {
        Self::in_secret(secret)
    }
}

//! What the code of a program cannot know about where it is installed.

use std::collections::BTreeSet;
use std::time::Duration;

/// How a program is installed: everything about its deployment that its code cannot know.
///
/// What is not said has a default that holds for most programs; see each method.
///
/// # Example: three replicas in a namespace of a fixed name
///
/// ```
/// use kubewright_manifests::Install;
///
/// let install = Install::in_namespace("injector")
///     .image("ghcr.io/example/env-injector")
///     .replicas(3)
///     .service_port(10443);
/// assert_ne!(install, Install::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[must_use]
pub struct Install {
    pub(crate) namespace: Option<String>,
    pub(crate) finds_namespace: bool,
    pub(crate) image: Option<String>,
    pub(crate) replicas: Option<u16>,
    pub(crate) service_port: Option<u16>,
    pub(crate) certificates: Option<Mounted>,
    pub(crate) arguments: Vec<String>,
    pub(crate) files: Option<ConfigurationFiles>,
    pub(crate) grace: Option<Duration>,
    pub(crate) memory: Option<Memory>,
    extras: BTreeSet<Extra>,
}

/// What is not part of every installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extra {
    NetworkPolicy,
    PodMonitor,
    AggregatedRoles,
}

/// The Secret with the certificate that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mounted {
    Secret(String),
    CertManager(Option<Issuer>),
}

/// Who issues certificates in cert-manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issuer {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// The files of a ConfigMap, and where they are mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigurationFiles {
    pub(crate) directory: String,
    pub(crate) files: Vec<(String, String)>,
}

/// What a container asks for, and what it may not exceed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) request: String,
    pub(crate) limit: String,
}

impl Install {
    /// Installs the program into a namespace that is made for it; `<name of the program>-system` unless said.
    pub fn in_namespace(name: impl Into<String>) -> Self {
        Self::default().namespace(name)
    }

    /// Installs the program into a namespace that is there already, such as `kube-system`: no manifest makes it.
    pub fn in_existing_namespace(name: impl Into<String>) -> Self {
        let mut install = Self::in_namespace(name);
        install.finds_namespace = true;
        install
    }

    /// Sets the namespace, and leaves everything else as it is.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespace = Some(name.into());
        self
    }

    /// Sets the image. One without a tag and a digest gets the version of the program as its tag, or `latest` if that has
    /// none. Unless said, the image has the name of the program.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets how many replicas there are. Unless said, two, and a single one for a program with controllers and no
    /// leader election, whose replicas would all do the same.
    pub fn replicas(mut self, replicas: u16) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Sets the port of the Service through which API servers call webhooks; 443 unless said.
    pub fn service_port(mut self, port: u16) -> Self {
        self.service_port = Some(port);
        self
    }

    /// Serves the certificate in this Secret (`tls.crt`, `tls.key`, `ca.crt`), which somebody makes beforehand.
    ///
    /// No manifest says then what API servers have to trust: either the program writes it into the `caBundle` itself
    /// (`App::publishes_ca`), or the webhook configurations are applied with what `manifests --service … --ca-file …` prints.
    pub fn certificates_in_secret(mut self, name: impl Into<String>) -> Self {
        self.certificates = Some(Mounted::Secret(name.into()));
        self
    }

    /// Has cert-manager issue the certificate by an issuer of its own, which is installed with the program, and write what
    /// API servers have to trust.
    pub fn cert_manager(mut self) -> Self {
        self.certificates = Some(Mounted::CertManager(None));
        self
    }

    /// As [`cert_manager`](Self::cert_manager), by an Issuer that is in the namespace already.
    pub fn cert_manager_issuer(mut self, name: impl Into<String>) -> Self {
        let issuer = Issuer {
            kind: "Issuer",
            name: name.into(),
        };
        self.certificates = Some(Mounted::CertManager(Some(issuer)));
        self
    }

    /// As [`cert_manager`](Self::cert_manager), by a ClusterIssuer of the cluster.
    pub fn cert_manager_cluster_issuer(mut self, name: impl Into<String>) -> Self {
        let issuer = Issuer {
            kind: "ClusterIssuer",
            name: name.into(),
        };
        self.certificates = Some(Mounted::CertManager(Some(issuer)));
        self
    }

    /// Adds arguments of the sub-command `run`, such as the program's own options.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Mounts files, by name and content, in a directory. They stand in a ConfigMap that has the name of the program, so that
    /// whoever runs the program changes them there.
    pub fn files(
        mut self,
        directory: impl Into<String>,
        files: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let files = files.into_iter();
        self.files = Some(ConfigurationFiles {
            directory: directory.into(),
            files: files
                .map(|(name, text)| (name.into(), text.into()))
                .collect(),
        });
        self
    }

    /// Sets how long a replica may take to end, calls at hand included: 30 s unless said. The kubelet gives it five more, so
    /// that it never cuts one off that is still in time.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Sets the memory that a replica asks for, and what it may not exceed, as quantities; `32Mi` and `128Mi` unless said.
    /// A program with caches needs more, as many objects as there are.
    pub fn memory(mut self, request: impl Into<String>, limit: impl Into<String>) -> Self {
        self.memory = Some(Memory {
            request: request.into(),
            limit: limit.into(),
        });
        self
    }

    /// Adds a NetworkPolicy: the port of webhooks is open to all, that of probes and metrics to namespaces with the label
    /// `metrics: enabled`, and no other port.
    ///
    /// Webhooks are open to every address: API servers call them from outside of the network of pods, so that no selector
    /// finds them. Probes need no rule: Kubernetes lets the node of a pod connect to it whatever policies say. What the
    /// program itself connects to is left open.
    pub fn network_policy(mut self) -> Self {
        self.extras.insert(Extra::NetworkPolicy);
        self
    }

    /// Has the operator of Prometheus read the metrics of every replica, by a PodMonitor. The cluster has to know its kind.
    pub fn monitored(mut self) -> Self {
        self.extras.insert(Extra::PodMonitor);
        self
    }

    /// Has the roles for each custom resource become part of the roles `view`, `edit` and `admin` that clusters have. Unless
    /// said they stand alone: who may edit a namespace should not always be able to edit the rules that it is held to.
    pub fn aggregated_roles(mut self) -> Self {
        self.extras.insert(Extra::AggregatedRoles);
        self
    }

    pub(crate) fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }
}

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
    Monitor,
    AlertRules,
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
    /// Installs the program into a namespace that the manifests create. The default is `<name of the program>-system`.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let installer = Installer::new(&Parts::new("policy"), &Install::in_namespace("security"))?;
    /// let objects = installer.manifests();
    /// let first = &objects.objects()[0];
    /// assert_eq!(first["kind"], "Namespace");
    /// assert_eq!(first["metadata"]["name"], "security");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn in_namespace(name: impl Into<String>) -> Self {
        Self::default().namespace(name)
    }

    /// Installs the program into a namespace that exists already, such as `kube-system`: no manifest creates it.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let installer = Installer::new(&Parts::new("policy"), &Install::in_existing_namespace("kube-system"))?;
    /// let objects = installer.manifests();
    /// assert!(objects.objects().iter().all(|object| object["kind"] != "Namespace"));
    /// assert_eq!(objects.objects()[0]["metadata"]["namespace"], "kube-system");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
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

    /// Sets the image. An image without a tag and digest gets the version of the program as its tag, or `latest` if the program
    /// has none. The default image has the name of the program.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let mut parts = Parts::new("policy");
    /// parts.version = Some("1.2.0".to_owned());
    /// let objects = Installer::new(&parts, &Install::default().image("ghcr.io/example/policy"))?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    /// assert_eq!(container["image"], "ghcr.io/example/policy:1.2.0");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets the number of replicas. The default is two, and one for a program with controllers and no leader election, whose
    /// replicas would all do the same.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().replicas(3);
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// assert_eq!(deployment["spec"]["replicas"], 3);
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn replicas(mut self, replicas: u16) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Sets the port of the Service through which API servers call webhooks. The default is 443.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let mut parts = Parts::new("policy");
    /// parts.webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let install = Install::default().cert_manager().service_port(8443);
    /// let configuration = Installer::new(&parts, &install)?.webhooks().objects()[0].clone();
    /// assert_eq!(configuration["webhooks"][0]["clientConfig"]["service"]["port"], 8443);
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn service_port(mut self, port: u16) -> Self {
        self.service_port = Some(port);
        self
    }

    /// Serves the certificate in this Secret (`tls.crt`, `tls.key`, `ca.crt`), which has to exist before.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().certificates_in_secret("policy-tls");
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// let volume = &deployment["spec"]["template"]["spec"]["volumes"][0];
    /// assert_eq!(volume["secret"]["secretName"], "policy-tls");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    ///
    /// No manifest holds the `caBundle` then: either the program writes it itself (`App::publish_ca`), or the webhook
    /// configurations are applied as `manifests --service … --ca-file …` prints them.
    pub fn certificates_in_secret(mut self, name: impl Into<String>) -> Self {
        self.certificates = Some(Mounted::Secret(name.into()));
        self
    }

    /// Lets cert-manager issue the certificate, by an issuer that is installed with the program, and write the `caBundle`.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let objects = Installer::new(&Parts::new("policy"), &Install::default().cert_manager())?.program();
    /// let kinds: Vec<_> = objects.objects().iter().map(|object| &object["kind"]).collect();
    /// assert!(kinds.contains(&&"Issuer".into()) && kinds.contains(&&"Certificate".into()));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn cert_manager(mut self) -> Self {
        self.certificates = Some(Mounted::CertManager(None));
        self
    }

    /// As [`cert_manager`](Self::cert_manager), by an Issuer that exists in the namespace.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().cert_manager_issuer("internal");
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let certificate = objects.objects().iter().find(|object| object["kind"] == "Certificate").unwrap();
    /// assert_eq!(certificate["spec"]["issuerRef"]["kind"], "Issuer");
    /// assert_eq!(certificate["spec"]["issuerRef"]["name"], "internal");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn cert_manager_issuer(mut self, name: impl Into<String>) -> Self {
        let issuer = Issuer {
            kind: "Issuer",
            name: name.into(),
        };
        self.certificates = Some(Mounted::CertManager(Some(issuer)));
        self
    }

    /// As [`cert_manager`](Self::cert_manager), by a ClusterIssuer that exists in the cluster.
    pub fn cert_manager_cluster_issuer(mut self, name: impl Into<String>) -> Self {
        let issuer = Issuer {
            kind: "ClusterIssuer",
            name: name.into(),
        };
        self.certificates = Some(Mounted::CertManager(Some(issuer)));
        self
    }

    /// Adds arguments of the sub-command `run`, such as the program's own options.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().arguments(["--registry=ghcr.io"]);
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// let arguments = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    /// assert!(arguments.as_array().unwrap().contains(&"--registry=ghcr.io".into()));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Mounts files, by name and content, in a directory. They are in a ConfigMap with the name of the program, where an operator
    /// can change them.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().files("/etc/policy", [("registries.txt", "ghcr.io\n")]);
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let map = objects.objects().iter().find(|object| object["kind"] == "ConfigMap").unwrap();
    /// assert_eq!(map["data"]["registries.txt"], "ghcr.io\n");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
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

    /// Sets the graceful shutdown timeout of a replica, including in-flight requests, in whole seconds. The default is 30 s. The
    /// kubelet gives it five seconds more, so that it never kills a replica that is still in time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().grace(Duration::from_secs(10));
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// assert_eq!(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 15);
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    /// Sets the memory request and limit of a replica, as quantities. The defaults are `32Mi` and `128Mi`. A program with caches
    /// needs more: memory grows with the number of cached objects.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().memory("64Mi", "512Mi");
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let deployment = objects.objects().iter().find(|object| object["kind"] == "Deployment").unwrap();
    /// let resources = &deployment["spec"]["template"]["spec"]["containers"][0]["resources"];
    /// assert_eq!(resources["requests"]["memory"], "64Mi");
    /// assert_eq!(resources["limits"]["memory"], "512Mi");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
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
    /// Webhooks are open to every address: API servers call them from outside of the network of pods, so that no selector finds
    /// them. Probes need no rule: Kubernetes lets the node of a pod connect to it whatever policies say. Connections that the
    /// program opens are not restricted.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let install = Install::default().network_policy();
    /// let objects = Installer::new(&Parts::new("policy"), &install)?.program();
    /// let policy = objects.objects().iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
    /// assert_eq!(policy["spec"]["policyTypes"], serde_json::json!(["Ingress"]));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn network_policy(mut self) -> Self {
        self.extras.insert(Extra::NetworkPolicy);
        self
    }

    /// Adds a PodMonitor, by which the Prometheus operator scrapes the metrics of every replica, or a ServiceMonitor if the program
    /// secures its metrics. The cluster has to have its CustomResourceDefinition.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let objects = Installer::new(&Parts::new("policy"), &Install::default().monitored())?.program();
    /// let monitor = objects.objects().iter().find(|object| object["kind"] == "PodMonitor").unwrap();
    /// assert_eq!(monitor["spec"]["podMetricsEndpoints"][0]["path"], "/metrics");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn monitored(mut self) -> Self {
        self.extras.insert(Extra::Monitor);
        self
    }

    /// Adds a PrometheusRule with [alert rules](crate::Installer::alerts) for what the program is made of. The cluster has to have the
    /// CustomResourceDefinition of the Prometheus operator.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let objects = Installer::new(&Parts::new("policy"), &Install::default().alert_rules())?.program();
    /// assert!(objects.objects().iter().any(|object| object["kind"] == "PrometheusRule"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn alert_rules(mut self) -> Self {
        self.extras.insert(Extra::AlertRules);
        self
    }

    /// Aggregates the roles for each custom resource into the roles `view`, `edit` and `admin` that clusters have. By default
    /// they are not: a user who may edit a namespace should not always be able to edit the rules that it is held to.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let mut parts = Parts::new("gardens");
    /// parts.crds.push(serde_json::json!({
    ///     "kind": "CustomResourceDefinition",
    ///     "metadata": {"name": "gardens.example.com"},
    ///     "spec": {"group": "example.com", "names": {"plural": "gardens"}},
    /// }));
    /// let objects = Installer::new(&parts, &Install::default().aggregated_roles())?.program();
    /// let mut roles = objects.objects().iter().filter(|object| object["kind"] == "ClusterRole");
    /// let label = "rbac.authorization.k8s.io/aggregate-to-view";
    /// assert!(roles.any(|role| role["metadata"]["labels"][label] == "true"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn aggregated_roles(mut self) -> Self {
        self.extras.insert(Extra::AggregatedRoles);
        self
    }

    pub(crate) fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }
}

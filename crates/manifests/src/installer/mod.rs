//! Everything that installs a program, from its code and from what an installation says.

mod chart;
mod lock;
mod names;
mod objects;
mod pods;
mod roles;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::install::Mounted;
use crate::{
    Break, Controllers, Endpoint, Install, ManifestError, Manifests, Parts, Tree,
    WebhookConfigurations, breaks, monitoring, policies,
};

/// Checks that no webhook of a configuration that fails closed is called for what its own program takes to start, as
/// [`Installer::new`] does: `namespace` are the labels of the program's namespace, and `own` those of its objects.
///
/// A webhook with match conditions is not judged: they may say anything.
///
/// ```
/// use std::collections::BTreeMap;
/// use kubewright_manifests::{ManifestError, self_lock};
/// use serde_json::json;
///
/// let configuration = |policy: &str| json!({"webhooks": [{
///     "name": "images.policy.example.com",
///     "failurePolicy": policy,
///     "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}],
/// }]});
/// let labels = BTreeMap::new();
/// assert_eq!(self_lock(&configuration("Ignore"), &labels, &labels), Ok(()));
/// let error = self_lock(&configuration("Fail"), &labels, &labels).unwrap_err();
/// assert!(matches!(error, ManifestError::SelfLock { hook, .. } if hook == "images.policy.example.com"));
/// ```
///
/// # Errors
///
/// When one is called for that: [`ManifestError::SelfLock`].
pub fn self_lock(
    configuration: &Value,
    namespace: &BTreeMap<String, String>,
    own: &BTreeMap<String, String>,
) -> Result<(), ManifestError> {
    lock::check(configuration, namespace, own)
}

/// Everything that installs a program: its objects, in the order in which they should be applied, as one stream or as files.
///
/// ```
/// use kubewright_manifests::{Install, Installer, Parts};
///
/// let installer = Installer::new(&Parts::new("gardens"), &Install::default())?;
/// assert_eq!(installer.manifests().objects()[0]["metadata"]["name"], "gardens-system");
/// assert!(installer.tree().text("kustomization.yaml").is_some());
/// # Ok::<(), kubewright_manifests::ManifestError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Installer {
    name: String,
    crds: Vec<Value>,
    program: Vec<Value>,
    webhooks: Vec<Value>,
    policies: Vec<Value>,
    alerts: Value,
    dashboard: Value,
}

impl Installer {
    /// Generates the objects. The same parts and the same installation always generate the same objects.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, ManifestError, Parts};
    #[doc = include_str!("../images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let mut parts = Parts::new("policy");
    /// parts.webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// assert_eq!(Installer::new(&parts, &Install::default()), Err(ManifestError::NoIdentity));
    /// assert!(Installer::new(&parts, &Install::default().cert_manager()).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// When an API server would not accept an object, two objects have one name, or the program would not work as it is
    /// installed: each variant of [`ManifestError`] says why.
    pub fn new(parts: &Parts, install: &Install) -> Result<Self, ManifestError> {
        let settled = Settled::new(parts, install)?;
        let mut crds = parts.crds.clone();
        let mut webhooks = Vec::new();
        if parts.is_called() {
            let endpoint = Endpoint::service(&format!(
                "{}/{}:{}",
                settled.namespace, settled.service, settled.port
            ))
            .map_err(|_| ManifestError::no_name("the Service", &settled.service))?;
            let configurations =
                WebhookConfigurations::new(&parts.configuration, &parts.webhooks, endpoint);
            for object in configurations.build()? {
                if object["kind"] != CRD {
                    webhooks.push(object);
                    continue;
                }
                // A definition with a conversion takes the place of the same one without.
                let name = &object["metadata"]["name"];
                match crds.iter_mut().find(|crd| crd["metadata"]["name"] == *name) {
                    Some(crd) => *crd = object,
                    None => crds.push(object),
                }
            }
        }
        let prefix = (parts.configuration != parts.name).then_some(&*parts.configuration);
        let mut installer = Self {
            name: parts.name.clone(),
            program: if parts.runs() {
                settled.program(&crds)
            } else {
                Vec::new()
            },
            crds,
            webhooks,
            alerts: monitoring::rules(parts, &settled.namespace),
            dashboard: monitoring::dashboard(parts),
            policies: policies(&parts.webhooks, prefix)?.into_iter().collect(),
        };
        installer.finish(&settled)?;
        Ok(installer)
    }

    /// Returns all objects, in the order in which to apply them.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let installer = Installer::new(&Parts::new("policy"), &Install::default())?;
    /// let objects = installer.manifests();
    /// let kinds: Vec<_> = objects.objects().iter().map(|object| &object["kind"]).collect();
    /// assert_eq!(kinds[..2], ["Namespace", "ServiceAccount"]);
    /// assert!(kinds.contains(&&"Deployment".into()));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    #[must_use]
    pub fn manifests(&self) -> Manifests {
        let parts = [&self.program[..self.namespaces()], &self.crds];
        let rest = [
            &self.program[self.namespaces()..],
            &self.webhooks,
            &self.policies,
        ];
        parts.into_iter().chain(rest).flatten().cloned().collect()
    }

    /// Returns the CustomResourceDefinitions.
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
    /// let crds = Installer::new(&parts, &Install::default())?.crds();
    /// assert_eq!(crds.objects()[0]["metadata"]["labels"]["app.kubernetes.io/name"], "gardens");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    #[must_use]
    pub fn crds(&self) -> Manifests {
        self.crds.iter().cloned().collect()
    }

    /// Returns the objects of the program itself, such as its ServiceAccount, roles, Service and Deployment.
    #[must_use]
    pub fn program(&self) -> Manifests {
        self.program.iter().cloned().collect()
    }

    /// Returns the webhook configurations.
    #[must_use]
    pub fn webhooks(&self) -> Manifests {
        self.webhooks.iter().cloned().collect()
    }

    /// Returns the policies that API servers evaluate, and their bindings.
    #[must_use]
    pub fn policies(&self) -> Manifests {
        self.policies.iter().cloned().collect()
    }

    /// Finds what would break if the program's CustomResourceDefinitions replaced these, of a cluster or of a release.
    /// Definitions that the program does not have are skipped.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    /// use serde_json::json;
    ///
    /// let definition = |version: &str| json!({
    ///     "kind": "CustomResourceDefinition",
    ///     "metadata": {"name": "gardens.example.com"},
    ///     "spec": {"group": "example.com", "names": {"plural": "gardens"}, "versions": [
    ///         {"name": version, "served": true, "storage": true},
    ///     ]},
    /// });
    /// let mut parts = Parts::new("gardens");
    /// parts.crds.push(definition("v2"));
    /// let installer = Installer::new(&parts, &Install::default())?;
    /// let found = installer.breaks(&[definition("v1")]);
    /// assert_eq!(found[0].to_string(), "gardens.example.com: v1 is gone, and objects are stored in it");
    /// assert!(installer.breaks(&[definition("v2")]).is_empty());
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    #[must_use]
    pub fn breaks(&self, old: &[Value]) -> Vec<Break> {
        let replaced = old.iter().flat_map(|old| {
            let name = &old["metadata"]["name"];
            let new = self
                .crds
                .iter()
                .filter(move |new| new["metadata"]["name"] == *name);
            new.flat_map(|new| breaks(old, new))
        });
        replaced.collect()
    }

    /// Returns a PrometheusRule with alert rules for what the program is made of, in its namespace. [`Install::alert_rules`] makes it
    /// part of the objects.
    ///
    /// ```
    /// use kubewright_manifests::{Controllers, Install, Installer, Parts};
    ///
    /// let mut parts = Parts::new("gardens");
    /// parts.controllers = Controllers::OneReplica;
    /// let installer = Installer::new(&parts, &Install::default())?;
    /// let rules = installer.alerts()["spec"]["groups"][0]["rules"].as_array().unwrap();
    /// assert!(rules.iter().any(|rule| rule["alert"] == "NoLeader"));
    /// assert!(rules.iter().all(|rule| rule["alert"] != "WebhookFails"), "it has no webhooks");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    #[must_use]
    pub fn alerts(&self) -> &Value {
        &self.alerts
    }

    /// Returns a dashboard for Grafana with the metrics that the program has, those of its own code included.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let installer = Installer::new(&Parts::new("gardens"), &Install::default())?;
    /// assert_eq!(installer.dashboard()["title"], "gardens");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    #[must_use]
    pub fn dashboard(&self) -> &Value {
        &self.dashboard
    }

    /// Returns the files of a Kustomize tree: `kubectl apply -k` applies all of it, and each file by itself is a step.
    ///
    /// ```
    /// use kubewright_manifests::{Install, Installer, Parts};
    ///
    /// let tree = Installer::new(&Parts::new("policy"), &Install::default())?.tree();
    /// assert!(tree.text("kustomization.yaml").unwrap().contains("- program.yaml\n"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn tree(&self) -> Tree {
        let files = [
            ("crds.yaml", self.crds()),
            ("program.yaml", self.program()),
            ("webhooks.yaml", self.webhooks()),
            ("policies.yaml", self.policies()),
        ];
        let files = files.into_iter();
        let files: Vec<_> = files
            .filter(|(_, manifests)| !manifests.objects().is_empty())
            .collect();
        let listed: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let kustomization = json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": listed,
        });
        let kustomization = Manifests::new(vec![kustomization]);
        let tree = Tree::made_by(&self.name).with("kustomization.yaml", kustomization.to_yaml());
        let files = files.into_iter();
        files.fold(tree, |tree, (path, manifests)| {
            tree.with(path, manifests.to_yaml())
        })
    }

    fn namespaces(&self) -> usize {
        let objects = self.program.iter();
        objects
            .take_while(|object| object["kind"] == "Namespace")
            .count()
    }

    /// Says of every object whose it is, and checks that no two are the same.
    fn finish(&mut self, settled: &Settled<'_>) -> Result<(), ManifestError> {
        if let Some(Mounted::CertManager(_)) = settled.install.certificates {
            let certificate = format!("{}/{}", settled.namespace, settled.parts.name);
            let converts = |crd: &&mut Value| crd["spec"]["conversion"]["webhook"].is_object();
            let leading = self.crds.iter_mut().filter(converts);
            for object in leading.chain(&mut self.webhooks) {
                object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] =
                    json!(certificate);
            }
        }
        let objects = self.crds.iter_mut().chain(&mut self.program);
        let objects = objects.chain(&mut self.webhooks);
        for object in objects.chain(&mut self.policies) {
            object["metadata"]["labels"][NAME] = json!(settled.parts.name);
        }
        for configuration in &self.webhooks {
            let own = lock::Labels::from([(NAME.to_owned(), settled.parts.name.clone())]);
            lock::check(configuration, &self.namespace_labels(settled), &own)?;
        }
        names::check_unique(self.manifests().objects())
    }

    /// The labels that the namespace has, as far as they are known.
    fn namespace_labels(&self, settled: &Settled<'_>) -> lock::Labels {
        let namespaces = self.program[..self.namespaces()].iter();
        let labels = namespaces.filter_map(|object| object["metadata"]["labels"].as_object());
        let labels = labels.flatten().filter_map(|(key, value)| {
            let value = value.as_str()?;
            Some((key.clone(), value.to_owned()))
        });
        let name = ("kubernetes.io/metadata.name", &settled.namespace);
        labels
            .chain([(name.0.to_owned(), name.1.clone())])
            .collect()
    }
}

/// What an installation comes to, with its defaults.
pub(crate) struct Settled<'a> {
    parts: &'a Parts,
    install: &'a Install,
    namespace: String,
    service: String,
    port: u16,
    image: String,
    replicas: u16,
}

impl<'a> Settled<'a> {
    fn new(parts: &'a Parts, install: &'a Install) -> Result<Self, ManifestError> {
        let name = &parts.name;
        names::check_label("the program", name)?;
        let namespace = install.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| format!("{name}-system"));
        names::check_label("the namespace", &namespace)?;
        if parts.is_called() {
            check_certificates(parts, install)?;
        }
        let alone = parts.controllers == Controllers::EveryReplica;
        let replicas = install.replicas.unwrap_or(if alone { 1 } else { 2 });
        if alone && replicas > 1 {
            return Err(ManifestError::NoLeader(replicas));
        }
        Ok(Self {
            parts,
            install,
            namespace,
            service: parts.own_service.clone().unwrap_or_else(|| name.clone()),
            port: install.service_port.unwrap_or(443),
            image: image(parts, install),
            replicas,
        })
    }

    /// Whether only one replica may run at a time.
    fn is_alone(&self) -> bool {
        self.parts.controllers == Controllers::EveryReplica
    }

    /// The Secret whose `ca.crt` has the CA certificate by which clients know the program.
    fn certificate_secret(&self) -> Option<String> {
        let own = self.parts.own_secret.clone();
        own.or_else(|| self.mounted_secret())
    }

    /// The Secret with the certificate that is mounted.
    fn mounted_secret(&self) -> Option<String> {
        Some(match self.install.certificates.as_ref()? {
            Mounted::Secret(name) => name.clone(),
            Mounted::CertManager(_) => format!("{}-certificates", self.parts.name),
        })
    }
}

/// Checks that what serves webhooks has one certificate.
fn check_certificates(parts: &Parts, install: &Install) -> Result<(), ManifestError> {
    let by_argument = ["--certificates", "--self-signed"];
    let mut arguments = install.arguments.iter();
    let argued =
        arguments.any(|argument| by_argument.iter().any(|flag| argument.starts_with(flag)));
    match (&parts.own_service, &install.certificates) {
        (Some(_), Some(_)) => Err(ManifestError::TwoIdentities),
        (None, None) if !argued => Err(ManifestError::NoIdentity),
        _ => Ok(()),
    }
}

/// The image, with a tag.
fn image(parts: &Parts, install: &Install) -> String {
    let image = install.image.as_ref().unwrap_or(&parts.name);
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains([':', '@']) {
        return image.clone();
    }
    let version = parts.version.as_deref().unwrap_or("latest");
    // A tag has no `+`, by which versions name their build.
    format!("{image}:{}", version.replace('+', "-"))
}

/// The label by which the objects of a program are found.
const NAME: &str = "app.kubernetes.io/name";
pub(crate) const CRD: &str = "CustomResourceDefinition";

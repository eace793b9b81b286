//! Puts a case's admission policies in place and waits until the server enforces them.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::case::{Case, Policy};
use crate::client::Client;
use crate::hooks::PROBE;
use crate::run::Runner;
use crate::run::install::{NAMESPACE_OF_PROBES, PROBES, ask};
use crate::vars::Vars;

/// Longest wait for new policies. A real server reads the policies from its caches once a second, and its REST mapper
/// learns of new kinds of parameters every 30 seconds.
const TIMEOUT: Duration = Duration::from_secs(50);

/// Pause between two probes: far shorter than a real server's refresh, and no load for it.
const PAUSE: Duration = Duration::from_millis(100);

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// The namespace label by which policies select their namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The policies, bindings and markers of a case, for [`Runner::remove_policies`].
#[derive(Debug, Default)]
pub(crate) struct InstalledPolicies {
    /// Paths of the policies and bindings, in the order of their creation.
    paths: Vec<String>,
    markers: Vec<Marker>,
}

/// A policy that denies one probe. It is created after the policies of the case, so that a server that enforces it
/// enforces them, too. Each kind of policy has a source and a marker of its own, and so has each kind of parameters.
#[derive(Debug)]
struct Marker {
    name: String,
    has_params: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Mutating,
    Validating,
}

impl Kind {
    fn of(policy: &Policy) -> Result<(Self, &str)> {
        match (&policy.mutating, &policy.validating) {
            (Some(name), None) => Ok((Self::Mutating, name)),
            (None, Some(name)) => Ok((Self::Validating, name)),
            _ => bail!("a policy is either `mutating` or `validating`"),
        }
    }

    /// `ValidatingAdmissionPolicy`, and the beginning of its binding's kind.
    fn kind(self) -> &'static str {
        match self {
            Self::Mutating => "MutatingAdmissionPolicy",
            Self::Validating => "ValidatingAdmissionPolicy",
        }
    }

    fn policies(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingadmissionpolicies",
            Self::Validating => "validatingadmissionpolicies",
        }
    }

    fn bindings(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingadmissionpolicybindings",
            Self::Validating => "validatingadmissionpolicybindings",
        }
    }

    /// The spec of a policy that denies what it matches.
    fn denial(self) -> Value {
        match self {
            Self::Mutating => json!({
                "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                    "expression": r#"[JSONPatch{op: "remove", path: "/spec/missing"}]"#,
                }}],
            }),
            Self::Validating => json!({"validations": [{"expression": "false"}]}),
        }
    }

    /// Fills in what a case leaves out of a policy's spec.
    fn complete(self, spec: &Value, namespace: &str) -> Result<Value> {
        let mut spec = spec.clone();
        let fields = spec.as_object_mut().context("`spec` is an object")?;
        if self == Self::Mutating {
            fields
                .entry("reinvocationPolicy")
                .or_insert_with(|| "Never".into());
        }
        let constraints = fields
            .entry("matchConstraints")
            .or_insert_with(|| Map::new().into());
        if let Value::Object(constraints) = constraints {
            constraints.entry("resourceRules").or_insert_with(|| {
                json!([{
                    "operations": ["CREATE", "UPDATE"],
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["configmaps"],
                }])
            });
            constraints
                .entry("namespaceSelector")
                .or_insert_with(|| json!({"matchLabels": {NAMESPACE_NAME: namespace}}));
            constraints.retain(|_, value| !value.is_null());
        }
        fields.retain(|_, value| !value.is_null());
        Ok(spec)
    }

    fn complete_binding(self, binding: &Value, policy: &str) -> Result<Value> {
        let mut spec = binding.clone();
        let fields = spec.as_object_mut().context("`binding` is an object")?;
        fields
            .entry("policyName")
            .or_insert_with(|| policy.to_owned().into());
        if self == Self::Validating {
            fields
                .entry("validationActions")
                .or_insert_with(|| json!(["Deny"]));
        }
        fields.retain(|_, value| !value.is_null());
        Ok(spec)
    }
}

impl Runner {
    /// Creates the policies and their bindings, and waits until the server enforces them.
    pub(crate) async fn install_policies(
        &self,
        client: &Client,
        case: &Case,
        vars: &Vars,
        installed: &mut InstalledPolicies,
    ) -> Result<()> {
        if case.policies.is_empty() {
            return Ok(());
        }
        self.make_namespace_of_probes(client).await?;
        let mut awaited: Vec<(Kind, Option<Value>)> = Vec::new();
        for policy in &case.policies {
            let policy = vars.fill_policy(policy);
            let (kind, name) = Kind::of(&policy)?;
            let name = format!("{}-{name}", case.namespace);
            let param_kind = self.known_param_kind(client, case, &policy).await;
            if let Some(param_kind) = &param_kind {
                self.keep_informer(client, case, kind, param_kind).await?;
            }
            if !awaited.contains(&(kind, param_kind.clone())) {
                awaited.push((kind, param_kind));
            }
            let spec = kind.complete(&policy.spec, &case.namespace)?;
            let bindings = match policy.bindings {
                Some(bindings) => {
                    serde_json::from_value(bindings).context("`bindings` is a list")?
                }
                None if policy.binding.is_null() => Vec::new(),
                None => vec![policy.binding],
            };
            create_policy(client, kind, &name, &spec, &bindings, &mut installed.paths).await?;
        }
        for (index, (kind, param_kind)) in awaited.into_iter().enumerate() {
            let marker = Marker {
                name: format!("{}-marker-{index}", case.namespace),
                has_params: param_kind.is_some(),
            };
            let (spec, binding) = marker.specs(kind, param_kind);
            let paths = &mut installed.paths;
            create_policy(client, kind, &marker.name, &spec, &[binding], paths).await?;
            installed.markers.push(marker);
        }
        for marker in &installed.markers {
            marker.wait(client, true).await?;
        }
        Ok(())
    }

    /// Removes the policies, each after its bindings. A case that runs alone leaves no policy that is still enforced.
    pub(crate) async fn remove_policies(
        &self,
        client: &Client,
        case: &Case,
        installed: InstalledPolicies,
    ) -> Result<()> {
        // A policy is created before its bindings, and markers after all others.
        for path in installed.paths.iter().rev() {
            client.send(ask("DELETE", path, None)).await?;
        }
        if case.alone {
            for marker in &installed.markers {
                marker.wait(client, false).await?;
            }
        }
        Ok(())
    }

    /// The kind of a policy's parameters, if the server has it.
    async fn known_param_kind(
        &self,
        client: &Client,
        case: &Case,
        policy: &Policy,
    ) -> Option<Value> {
        let param_kind = policy
            .spec
            .get("paramKind")
            .filter(|kind| !kind.is_null())?;
        let collection = self
            .discovery
            .collection(client, param_kind, &case.namespace)
            .await;
        collection.is_ok().then(|| param_kind.clone())
    }

    /// Creates a policy that keeps the informer of a built-in kind of parameters for all later cases. A real server stops
    /// the informer with the last policy of that kind, and never starts it again: later policies would find no parameters.
    async fn keep_informer(
        &self,
        client: &Client,
        case: &Case,
        kind: Kind,
        param_kind: &Value,
    ) -> Result<()> {
        let text = |name: &str| param_kind[name].as_str().unwrap_or_default().to_lowercase();
        let version = text("apiVersion");
        if version.contains(&case.namespace) {
            return Ok(());
        }
        let name = format!(
            "conformance-keeps-{}-{}",
            text("kind"),
            version.replace('/', "-")
        );
        let mut spec = kind.denial();
        spec["paramKind"] = param_kind.clone();
        spec["matchConstraints"] = json!({"resourceRules": [{
            "operations": ["CREATE"],
            "apiGroups": ["conformance.kubewright.dev"],
            "apiVersions": ["v1"],
            "resources": ["nothing"],
        }]});
        let spec = kind.complete(&spec, NAMESPACE_OF_PROBES)?;
        let binding = json!({"paramRef": {"name": "missing", "parameterNotFoundAction": "Allow"}});
        create(client, kind.kind(), kind.policies(), &name, &spec, true).await?;
        let binding = kind.complete_binding(&binding, &name)?;
        let binding_kind = format!("{}Binding", kind.kind());
        create(
            client,
            &binding_kind,
            kind.bindings(),
            &name,
            &binding,
            true,
        )
        .await?;
        Ok(())
    }
}

impl Marker {
    /// The specs of the marker's policy and binding.
    fn specs(&self, kind: Kind, param_kind: Option<Value>) -> (Value, Value) {
        let mut spec = kind.denial();
        spec["matchConstraints"] = json!({
            "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: NAMESPACE_OF_PROBES}},
            "objectSelector": {"matchLabels": {PROBE: self.name}},
            "resourceRules": [{
                "operations": ["CREATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": [PROBES],
            }],
        });
        let mut binding = json!({});
        if let Some(param_kind) = param_kind {
            spec["paramKind"] = param_kind;
            binding["paramRef"] = json!({"name": "missing", "parameterNotFoundAction": "Deny"});
        }
        (spec, binding)
    }

    /// Sends probes, as dry runs, until the marker denies them, or denies them no more.
    async fn wait(&self, client: &Client, wanted: bool) -> Result<()> {
        let path = format!("/api/v1/namespaces/{NAMESPACE_OF_PROBES}/{PROBES}?dryRun=All");
        let object = json!({"metadata": {"name": "probe", "labels": {PROBE: self.name}}});
        let late = Instant::now() + TIMEOUT;
        loop {
            let answer = client.send(ask("POST", &path, Some(&object))).await?;
            let message = answer.body["message"].as_str().unwrap_or_default();
            // A server that has just learned of a kind of parameters denies for other reasons.
            let denied = message.contains(&self.name)
                && (!self.has_params || !wanted || message.contains("no params found"));
            if denied == wanted {
                return Ok(());
            }
            ensure!(
                Instant::now() < late,
                "the server does not see the change of {} within {TIMEOUT:?}: {}",
                self.name,
                answer.body
            );
            sleep(PAUSE).await;
        }
    }
}

/// Creates a policy and its bindings: the first has the name of the policy, the others a number behind it.
async fn create_policy(
    client: &Client,
    kind: Kind,
    name: &str,
    spec: &Value,
    bindings: &[Value],
    paths: &mut Vec<String>,
) -> Result<()> {
    paths.push(create(client, kind.kind(), kind.policies(), name, spec, false).await?);
    for (index, binding) in bindings.iter().enumerate() {
        let binding = kind.complete_binding(binding, name)?;
        let binding_kind = format!("{}Binding", kind.kind());
        let name = match index {
            0 => name.to_owned(),
            index => format!("{name}-{index}"),
        };
        let path = create(
            client,
            &binding_kind,
            kind.bindings(),
            &name,
            &binding,
            false,
        )
        .await?;
        paths.push(path);
    }
    Ok(())
}

/// Creates an object of the group, and returns its path.
async fn create(
    client: &Client,
    kind: &str,
    resource: &str,
    name: &str,
    spec: &Value,
    may_exist: bool,
) -> Result<String> {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    });
    let collection = format!("{GROUP}/{resource}");
    let answer = client.send(ask("POST", &collection, Some(&object))).await?;
    let exists = answer.succeeded() || may_exist && answer.status == 409;
    ensure!(exists, "create the {kind} {name}: {}", answer.body);
    Ok(format!("{collection}/{name}"))
}

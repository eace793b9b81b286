//! Puts a case's webhooks in place and waits until the server really calls them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::case::{Case, Hook};
use crate::client::{Ask, Client};
use crate::hooks::PROBE;
use crate::run::Runner;
use crate::vars::Vars;

/// How long a server may take to see a new configuration.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// What probes are: a kind that no case is about.
pub(super) const PROBES: &str = "resourcequotas";

/// Where probes are sent: the webhooks of cases see their own namespaces, and would refuse probes for what is wrong with
/// them.
pub(super) const NAMESPACE_OF_PROBES: &str = "conformance-probes";

impl Runner {
    /// Installs the configurations; their names come back for [`Runner::remove`].
    pub(crate) async fn install(
        &self,
        client: &Client,
        case: &Case,
        vars: &Vars,
    ) -> Result<Vec<String>> {
        let mut configurations: BTreeMap<(&str, String), Vec<Value>> = BTreeMap::new();
        for hook in &case.hooks {
            let hook = vars.fill_hook(hook);
            let (resource, name) = kind_and_name(&hook)?;
            self.hooks.script(&case.namespace, name, &hook)?;
            let configuration = hook.configuration.as_deref().unwrap_or(name);
            let configuration = format!("{}-{configuration}", case.namespace);
            let webhook = self.webhook(&case.namespace, name, &hook);
            configurations
                .entry((resource, configuration))
                .or_default()
                .push(webhook);
        }
        if !configurations.is_empty() {
            self.make_namespace_of_probes(client).await?;
        }
        let mut installed = Vec::new();
        for ((resource, name), mut webhooks) in configurations {
            webhooks.push(probe(&case.namespace, &name));
            let kind = if resource.starts_with("mutating") {
                "Mutating"
            } else {
                "Validating"
            };
            let object = json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": format!("{kind}WebhookConfiguration"),
                "metadata": {"name": name},
                "webhooks": webhooks,
            });
            let path = format!("/apis/admissionregistration.k8s.io/v1/{resource}");
            let answer = client.send(ask("POST", &path, Some(&object))).await?;
            ensure!(answer.succeeded(), "install {name}: {}", answer.body);
            installed.push(format!("{path}/{name}"));
            self.called(client, &case.namespace, &name, true).await?;
        }
        Ok(installed)
    }

    /// Removes the configurations. A case that runs alone leaves none that is still called.
    pub(crate) async fn remove(
        &self,
        client: &Client,
        case: &Case,
        installed: Vec<String>,
    ) -> Result<()> {
        for path in installed {
            client.send(ask("DELETE", &path, None)).await?;
            if case.alone {
                let name = path.rsplit('/').next().unwrap_or_default();
                self.called(client, &case.namespace, name, false).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn make_namespace_of_probes(&self, client: &Client) -> Result<()> {
        let make = async || {
            let namespace = json!({"metadata": {"name": NAMESPACE_OF_PROBES}});
            let create = ask("POST", "/api/v1/namespaces", Some(&namespace));
            let answer = client.send(create).await?;
            // A server that is asked a second time has it.
            let is_there = answer.succeeded() || answer.status == 409;
            ensure!(is_there, "create {NAMESPACE_OF_PROBES}: {}", answer.body);
            Ok(())
        };
        self.can_probe.get_or_try_init(make).await.copied()
    }

    fn webhook(&self, namespace: &str, name: &str, hook: &Hook) -> Value {
        let mut webhook = json!({
            "name": format!("{name}.{namespace}.example.com"),
            "rules": hook.rules,
            "clientConfig": {"url": format!("{}/{namespace}/{name}", self.hooks.url())},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
        });
        let fields = webhook
            .as_object_mut()
            .expect("an object was written above");
        fields.extend(hook.fields.clone());
        fields.retain(|_, value| !value.is_null());
        if let Some(client) = fields
            .get_mut("clientConfig")
            .and_then(Value::as_object_mut)
        {
            client
                .entry("caBundle")
                .or_insert_with(|| self.hooks.ca_bundle().into());
        }
        webhook
    }

    /// Sends probes, as dry runs, until the configuration is called, or is called no more.
    async fn called(
        &self,
        client: &Client,
        namespace: &str,
        configuration: &str,
        wanted: bool,
    ) -> Result<()> {
        let path = format!("/api/v1/namespaces/{NAMESPACE_OF_PROBES}/{PROBES}?dryRun=All");
        let object = json!({"metadata": {"name": "probe", "labels": {PROBE: configuration}}});
        let failed = format!("failed calling webhook \"{}\"", probe_name(namespace));
        let late = Instant::now() + TIMEOUT;
        while Instant::now() < late {
            let answer = client.send(ask("POST", &path, Some(&object))).await?;
            let message = answer.body.pointer("/message").and_then(Value::as_str);
            if message.is_some_and(|message| message.contains(&failed)) == wanted {
                return Ok(());
            }
            sleep(Duration::from_millis(5)).await;
        }
        bail!("the server does not see the change of {configuration} within {TIMEOUT:?}")
    }
}

/// A webhook of the same configuration that matches only probe objects: servers load configurations as a whole. No server
/// listens at its URL, so that the answer to a probe tells whether the API server has called it.
fn probe(namespace: &str, configuration: &str) -> Value {
    json!({
        "name": probe_name(namespace),
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": [PROBES]}],
        "clientConfig": {"url": "https://127.0.0.1:1/probe"},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE_OF_PROBES}},
        "objectSelector": {"matchLabels": {PROBE: configuration}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    })
}

fn probe_name(namespace: &str) -> String {
    format!("probe.{namespace}.example.com")
}

pub(crate) fn kind_and_name(hook: &Hook) -> Result<(&'static str, &str)> {
    match (&hook.mutating, &hook.validating) {
        (Some(name), None) => Ok(("mutatingwebhookconfigurations", name)),
        (None, Some(name)) => Ok(("validatingwebhookconfigurations", name)),
        _ => bail!("a hook is either `mutating` or `validating`"),
    }
}

pub(super) fn ask(method: &str, path: &str, body: Option<&Value>) -> Ask {
    Ask {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.map(Value::to_string).unwrap_or_default().into_bytes(),
    }
}

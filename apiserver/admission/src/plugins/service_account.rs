//! ServiceAccount: every pod runs as a service account, whose token is mounted into its containers.

use std::sync::Arc;
use std::time::Duration;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_registry::pod_secrets;
use serde_json::{Value, json};

use kubewright_apimachinery::names::generate;

use super::subject::{creates, forbidden};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

const DEFAULT: &str = "default";
const ENFORCE_MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";
const MIRROR: &str = "kubernetes.io/config.mirror";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";

/// Gives a new pod its account, the token of that account, and its secrets for pulling images.
pub(super) async fn admit(cluster: &dyn Cluster, attributes: &mut Attributes) -> Result<()> {
    if !creates(attributes, "", "pods") {
        return Ok(());
    }
    // A kubelet compares the mirror pod with the pod it runs: it must stay as it is.
    if is_mirror(attributes) {
        return mirror(attributes);
    }
    if let Some(spec) = attributes.object.part("spec")
        && spec.text("serviceAccountName").is_empty()
    {
        spec.put("serviceAccountName", DEFAULT);
        spec.put("serviceAccount", DEFAULT);
    }
    wait_for_default(cluster, attributes).await;
    let account = account(cluster, attributes)?;
    if let Some(spec) = attributes.object.part("spec") {
        if automounts(spec, &account) {
            mount_token(spec);
        }
        let secrets = account.list("imagePullSecrets");
        if spec.list("imagePullSecrets").is_empty() && !secrets.is_empty() {
            let names = secrets.iter().map(|secret| match secret.text("name") {
                "" => json!({}),
                name => json!({ "name": name }),
            });
            let names: Vec<Value> = names.collect();
            spec.put("imagePullSecrets", names);
        }
    }
    mountable(attributes, &account)
}

/// Rejects a pod without an account, and one that uses secrets that its account does not list.
pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    if creates(attributes, "", "pods") {
        if is_mirror(attributes) {
            return mirror(attributes);
        }
        return mountable(attributes, &*account(cluster, attributes)?);
    }
    let is_pod = attributes.resource.group.is_empty() && attributes.resource.plural == "pods";
    let adds_containers = attributes.subresource == "ephemeralcontainers";
    if is_pod && adds_containers && attributes.operation == Operation::Update {
        let account = account(cluster, attributes)?;
        if enforces_secrets(&account) {
            let spec = attributes.object.at("spec");
            let refused = environment(spec, &account, "ephemeralContainers", "ephemeral container");
            // The real plugin does not say that this is forbidden.
            return refused.map_or(Ok(()), |why| Err(Status::plain(why)));
        }
    }
    Ok(())
}

/// The controller that makes the account `default` of a new namespace may be a moment behind; the real plugin asks ten
/// times within about a second.
async fn wait_for_default(cluster: &dyn Cluster, attributes: &Attributes) {
    const ATTEMPTS: usize = 100;
    if attributes.object.at("spec").text("serviceAccountName") != DEFAULT {
        return;
    }
    for _ in 0..ATTEMPTS {
        let found = cluster.get("", "serviceaccounts", &attributes.namespace, DEFAULT);
        if found.is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn account(cluster: &dyn Cluster, attributes: &Attributes) -> Result<Arc<Value>> {
    let namespace = &attributes.namespace;
    let name = attributes.object.at("spec").text("serviceAccountName");
    if name.is_empty() {
        let pod = attributes.object.at("metadata").text("name");
        let why = format!("no service account specified for pod {namespace}/{pod}");
        return Err(forbidden(attributes, &why));
    }
    let found = cluster.get("", "serviceaccounts", namespace, name);
    found.ok_or_else(|| {
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
        );
        forbidden(attributes, &why)
    })
}

fn is_mirror(attributes: &Attributes) -> bool {
    let annotations = attributes.object.at("metadata").at("annotations");
    annotations.has(MIRROR)
}

fn mirror(attributes: &Attributes) -> Result<()> {
    let spec = attributes.object.at("spec");
    let mut sources = spec
        .list("volumes")
        .iter()
        .flat_map(|volume| volume.at("projected").list("sources"));
    let why = if !spec.text("serviceAccountName").is_empty() {
        "a mirror pod may not reference service accounts"
    } else if !pod_secrets::names(spec).is_empty() {
        "a mirror pod may not reference secrets"
    } else if sources.any(|source| source.has("serviceAccountToken")) {
        "a mirror pod may not use ServiceAccountToken volume projections"
    } else {
        return Ok(());
    };
    Err(forbidden(attributes, why))
}

/// The pod decides first, then its account.
fn automounts(spec: &Value, account: &Value) -> bool {
    const FIELD: &str = "automountServiceAccountToken";
    let said = spec.at(FIELD).as_bool();
    said.or_else(|| account.at(FIELD).as_bool()).unwrap_or(true)
}

/// Mounts the token into every container that has nothing else at that path.
fn mount_token(spec: &mut Value) {
    let mut volumes = spec.list("volumes").iter();
    let found = volumes.find(|volume| volume.text("name").starts_with(VOLUME));
    let found = found.map(|volume| volume.text("name").to_owned());
    let is_new = found.is_none();
    let name = found.unwrap_or_else(|| generate(VOLUME));
    let mut is_mounted = false;
    for list in ["initContainers", "containers"] {
        for container in spec.each(list) {
            let mut mounts = container.list("volumeMounts").to_vec();
            if mounts
                .iter()
                .any(|mount| mount.text("mountPath") == MOUNT_PATH)
            {
                continue;
            }
            mounts.push(json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH}));
            container.put("volumeMounts", mounts);
            is_mounted = true;
        }
    }
    if is_new && is_mounted {
        let mut volumes = spec.list("volumes").to_vec();
        volumes.push(token_volume(&name));
        spec.put("volumes", volumes);
    }
}

/// The token, the certificate of its issuer, and the namespace. The token lives an hour and seven seconds, by which the
/// real server tells one that a plugin asked for.
fn token_volume(name: &str) -> Value {
    json!({
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
            "defaultMode": 420,
        },
    })
}

fn enforces_secrets(account: &Value) -> bool {
    let annotations = account.at("metadata").at("annotations");
    matches!(
        annotations.text(ENFORCE_MOUNTABLE_SECRETS),
        "1" | "t" | "T" | "true" | "TRUE" | "True"
    )
}

/// Rejects secrets that the account does not list, where it asks for that.
fn mountable(attributes: &Attributes, account: &Value) -> Result<()> {
    if !enforces_secrets(account) {
        return Ok(());
    }
    let spec = attributes.object.at("spec");
    let rejected = volume(spec, account)
        .or_else(|| environment(spec, account, "initContainers", "init container"))
        .or_else(|| environment(spec, account, "containers", "container"))
        .or_else(|| image_pull_secret(spec, account));
    rejected.map_or(Ok(()), |why| Err(forbidden(attributes, &why)))
}

fn lists(account: &Value, list: &str, name: &str) -> bool {
    let mut listed = account.list(list).iter();
    listed.any(|secret| secret.text("name") == name)
}

fn not_referenced(what: &str, account: &Value) -> String {
    let name = account.at("metadata").text("name");
    format!("{what} is not allowed because service account {name} does not reference that")
}

fn volume(spec: &Value, account: &Value) -> Option<String> {
    let secrets = spec
        .list("volumes")
        .iter()
        .map(|volume| volume.at("secret"));
    let mut secrets = secrets.filter(|secret| !secret.is_null());
    let refused = secrets.find(|secret| !lists(account, "secrets", secret.text("secretName")))?;
    let what = format!(
        "volume with secret.secretName=\"{}\"",
        refused.text("secretName")
    );
    Some(not_referenced(&what, account) + " secret")
}

fn environment(spec: &Value, account: &Value, list: &str, word: &str) -> Option<String> {
    let of_container = |container: &Value| {
        let refused =
            |from: &Value| !from.is_null() && !lists(account, "secrets", from.text("name"));
        let told = |place: &str, from: &Value| {
            let (name, secret) = (container.text("name"), from.text("name"));
            let what =
                format!("{word} {name} with {place} referencing secret.secretName=\"{secret}\"");
            not_referenced(&what, account) + " secret"
        };
        let variable = container.list("env").iter().find_map(|variable| {
            let from = variable.at("valueFrom").at("secretKeyRef");
            refused(from).then(|| told(&format!("envVar {}", variable.text("name")), from))
        });
        variable.or_else(|| {
            container.list("envFrom").iter().find_map(|source| {
                let from = source.at("secretRef");
                refused(from).then(|| told("envFrom", from))
            })
        })
    };
    spec.list(list).iter().find_map(of_container)
}

fn image_pull_secret(spec: &Value, account: &Value) -> Option<String> {
    let mut secrets = spec.list("imagePullSecrets").iter().enumerate();
    let (at, refused) =
        secrets.find(|(_, secret)| !lists(account, "imagePullSecrets", secret.text("name")))?;
    let what = format!("imagePullSecrets[{at}].name=\"{}\"", refused.text("name"));
    Some(not_referenced(&what, account) + " imagePullSecret")
}

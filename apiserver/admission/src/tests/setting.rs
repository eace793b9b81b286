//! A cluster in a map, and requests to send through a chain.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::Status;
use kubewright_apimachinery::user::User;
use kubewright_registry::Snapshot;
use kubewright_webhook_client::Services;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Attributes, Chain, ChainBuilder, Cluster, Notes, Operation};

/// Objects by group, resource, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct Objects(Mutex<(u64, ByKey)>);

type ByKey = BTreeMap<[String; 4], Arc<Value>>;

impl Objects {
    /// A cluster with the namespace `blue`, labelled `team=blue`.
    pub(crate) fn new() -> Self {
        let objects = Self::default();
        objects.put(
            "",
            "namespaces",
            namespace("blue", &json!({"team": "blue"})),
        );
        objects
    }

    pub(crate) fn put(&self, group: &str, resource: &str, object: Value) {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let key = [
            group.to_owned(),
            resource.to_owned(),
            text("namespace"),
            text("name"),
        ];
        let mut inner = self.0.lock();
        inner.0 += 1;
        inner.1.insert(key, Arc::new(object));
    }
}

impl Services for Objects {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get("", "services", namespace, name)
    }

    fn endpoints(&self, _: &Value, _: u16) -> Vec<SocketAddr> {
        Vec::new()
    }
}

impl Cluster for Objects {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = [group, resource, namespace, name].map(str::to_owned);
        self.0.lock().1.get(&key).cloned()
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let inner = self.0.lock();
        let wanted = inner.1.iter().filter(|(key, _)| {
            key[0] == group && key[1] == resource && (namespace.is_empty() || key[2] == namespace)
        });
        wanted.map(|(_, object)| Arc::clone(object)).collect()
    }

    fn change_number(&self, _: &str, _: &str) -> u64 {
        self.0.lock().0
    }

    fn replace_status(
        &self,
        group: &str,
        resource: &str,
        read: &Value,
        written: Value,
    ) -> Result<bool, String> {
        let metadata = &read["metadata"];
        let [namespace, name] = ["namespace", "name"].map(|field| metadata[field].as_str());
        let stored = self.get(
            group,
            resource,
            namespace.unwrap_or_default(),
            name.unwrap_or_default(),
        );
        let is_unchanged = stored.as_deref() == Some(read);
        if is_unchanged {
            self.put(group, resource, written);
        }
        Ok(is_unchanged)
    }

    fn registry(&self) -> Snapshot {
        Snapshot::Builtin(kubewright_apiextensions::builtin::registry_when_asked(
            kubewright_apimachinery::version::KubernetesVersion::default(),
        ))
    }
}

/// A chain and the cluster it reads.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) chain: Chain,
    pub(crate) objects: Objects,
    pub(crate) notes: Notes,
}

impl Setting {
    pub(crate) fn new() -> Self {
        Self::with(Chain::builder())
    }

    pub(crate) fn with(builder: ChainBuilder) -> Self {
        Self {
            chain: builder.build(),
            objects: Objects::new(),
            notes: Notes::new(),
        }
    }

    /// Adds a mutating configuration.
    pub(crate) fn mutating(self, name: &str, webhooks: impl IntoIterator<Item = Value>) -> Self {
        self.configure("mutatingwebhookconfigurations", name, webhooks);
        self
    }

    /// Adds a validating configuration.
    pub(crate) fn validating(self, name: &str, webhooks: impl IntoIterator<Item = Value>) -> Self {
        self.configure("validatingwebhookconfigurations", name, webhooks);
        self
    }

    pub(crate) fn configure(
        &self,
        resource: &str,
        name: &str,
        webhooks: impl IntoIterator<Item = Value>,
    ) {
        let webhooks: Vec<Value> = webhooks.into_iter().collect();
        let object = json!({"metadata": {"name": name}, "webhooks": webhooks});
        self.objects
            .put("admissionregistration.k8s.io", resource, object);
    }

    /// Sends the request through the mutating half.
    pub(crate) async fn mutate(&self, attributes: &mut Attributes) -> Result<(), Status> {
        self.chain
            .mutate(&self.objects, attributes, &self.notes)
            .await
    }

    /// Sends the request through the validating half.
    pub(crate) async fn validate(&self, attributes: &Attributes) -> Result<(), Status> {
        self.chain
            .validate(&self.objects, attributes, &self.notes)
            .await
    }

    /// Creates a config map through the mutating half; the error's message if it is refused.
    pub(crate) async fn create(&self) -> Result<Value, String> {
        let mut attributes = create(config_map());
        let outcome = self.mutate(&mut attributes).await;
        outcome
            .map(|()| attributes.object)
            .map_err(|status| status.message().to_owned())
    }
}

/// `data: {start: here}` in namespace `blue`.
pub(crate) fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "blue"},
        "data": {"start": "here"},
    })
}

pub(crate) fn namespace(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
        "status": {"phase": "Active"},
    })
}

/// A request about an object, as the handlers make it.
pub(crate) fn request(operation: Operation, object: Value, old_object: Value) -> Attributes {
    let shown = if object.is_null() {
        &old_object
    } else {
        &object
    };
    let api_version = shown["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: shown["kind"].as_str().unwrap().to_owned(),
    };
    let resource = kubewright_apiextensions::builtin::with_all_versions()
        .by_kind(&kind)
        .unwrap();
    let text = |field: &str| {
        shown["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let is_namespace = kind.kind == "Namespace";
    let options = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        _ => "DeleteOptions",
    };
    Attributes {
        operation,
        resource,
        subresource: String::new(),
        kind,
        namespace: if is_namespace {
            text("name")
        } else {
            text("namespace")
        },
        name: text("name"),
        user: User {
            username: "kubernetes-admin".to_owned(),
            groups: vec![
                "system:masters".to_owned(),
                "system:authenticated".to_owned(),
            ],
            ..User::default()
        },
        dry_run: false,
        options: json!({"kind": options, "apiVersion": "meta.k8s.io/v1"}),
        object,
        empties: false,
        patched: false,
        timed: true,
        unset_lists: Vec::new(),
        unpatched_managed_fields: None,
        new_managed_fields: None,
        old_object,
        deadline: Instant::now() + Duration::from_secs(34),
    }
}

pub(crate) fn create(object: Value) -> Attributes {
    request(Operation::Create, object, Value::Null)
}

pub(crate) fn delete(object: Value) -> Attributes {
    request(Operation::Delete, Value::Null, object)
}

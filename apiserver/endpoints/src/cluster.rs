//! What admission reads of the cluster: the store, with the objects that it reads again and again kept parsed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use kubewright_admission::Cluster;
use kubewright_apimachinery::status::qualified;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::view::View as _;
use kubewright_auth::Authorizer;
use kubewright_cel::{AccessCheck, Decision};
use kubewright_fieldmanagement::update_status;
use kubewright_kubelet::Pods;
use kubewright_registry::{Served, Snapshot};
use kubewright_storage::{At, CommitError, Draft, Object, Store};
use kubewright_webhook_client::Services;
use parking_lot::Mutex;
use serde_json::Value;

use crate::service_endpoints;

/// Table and path.
type Place = (String, String);

/// The store as admission sees it.
#[derive(Debug)]
pub struct StoredCluster {
    store: Arc<Store>,
    served: Arc<Served>,
    authorizer: Arc<dyn Authorizer>,
    pods: Pods,
    /// Parsed objects by table and path, each valid for one revision.
    parsed: Mutex<HashMap<Place, (u64, Arc<Value>)>>,
}

impl StoredCluster {
    /// Reads a store; `authorizer` answers the access checks of match conditions, and `pods` are those that run.
    pub fn new(
        store: Arc<Store>,
        served: Arc<Served>,
        authorizer: Arc<dyn Authorizer>,
        pods: Pods,
    ) -> Self {
        Self {
            store,
            served,
            authorizer,
            pods,
            parsed: Mutex::default(),
        }
    }

    /// Parses an object, or finds it parsed. Few objects are asked for (namespaces above all), so a full memory is
    /// simply emptied.
    fn value(&self, table: &str, object: &Object) -> Arc<Value> {
        const MOST: usize = 256;
        let key = (table.to_owned(), object.path.clone());
        let mut parsed = self.parsed.lock();
        if let Some((revision, value)) = parsed.get(&key)
            && *revision == object.revision
        {
            return value.clone();
        }
        let value = Arc::new(object.value());
        if parsed.len() >= MOST {
            parsed.clear();
        }
        parsed.insert(key, (object.revision, value.clone()));
        value
    }
}

impl Services for StoredCluster {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.get("", "services", namespace, name)
    }

    fn endpoints(&self, service: &Value, port: u16) -> Vec<SocketAddr> {
        let named = service_endpoints::port_name(service, port);
        let ready = named.map(|name| service_endpoints::ready(self, service, name));
        let dial = |(address, port)| {
            self.pods
                .dial(address, port)
                .unwrap_or((address, port).into())
        };
        ready.into_iter().flatten().map(dial).collect()
    }
}

impl Cluster for StoredCluster {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let table = qualified(resource, group);
        let path = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        };
        let object = self.store.get(&table, &path)?;
        Some(self.value(&table, &object))
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>> {
        let table = qualified(resource, group);
        let listed = self
            .store
            .list(&table, namespace, "", usize::MAX, At::Now)
            .map(|listed| listed.objects)
            .unwrap_or_default();
        listed
            .iter()
            .map(|object| Arc::new(object.value()))
            .collect()
    }

    fn change_number(&self, group: &str, resource: &str) -> u64 {
        self.store.changed(&qualified(resource, group))
    }

    fn replace_status(
        &self,
        group: &str,
        resource: &str,
        read: &Value,
        mut written: Value,
    ) -> Result<bool, String> {
        let metadata = read.at("metadata");
        let path = match metadata.text("namespace") {
            "" => metadata.text("name").to_owned(),
            namespace => format!("{namespace}/{}", metadata.text("name")),
        };
        let Ok(revision) = metadata.text("resourceVersion").parse() else {
            return Ok(false);
        };
        update_status(&self.registry(), read, &mut written);
        let table = qualified(resource, group);
        let draft = Draft::new(&written);
        match self.store.replace(&table, &path, revision, draft) {
            Ok(_) => Ok(true),
            Err(CommitError::Raced(_)) => Ok(false),
            Err(CommitError::Backend(why)) => Err(why.to_string()),
        }
    }

    fn registry(&self) -> Snapshot {
        self.served.now()
    }

    fn authorize(&self, requester: &User, check: &AccessCheck<'_>) -> Decision {
        kubewright_auth::answer_expression(&*self.authorizer, requester, check)
    }
}

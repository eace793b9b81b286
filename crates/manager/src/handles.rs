//! Handles on the cluster: what a program may do is what it requests here.

use kubewright_controller::{
    Applier, Cached, Connection, CreateOrUpdate, Deleter, Finalizer, Kind, Object, Reader,
    Recorder, StatusWriter, Writer,
};
use kubewright_manifests::PolicyRule;
use serde::de::DeserializeOwned;

use crate::{ClusterNeeds, ScopedNeeds};

impl ClusterNeeds {
    /// Requests a cache of all objects of a kind: get, list and watch.
    ///
    /// All handles and controllers of the same kind and scope share one cache. The program is ready once all caches have synced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::Cached;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let namespaces: Cached<Namespace> = needs.cached();
    ///     App::new("census")
    /// });
    /// let roles = program.permissions();
    /// let rule = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// ```
    pub fn cached<K: Object>(&mut self) -> Cached<K> {
        self.everything().cached()
    }

    /// Requests a cache of all objects of a kind that holds only the fields that a type `T` reads: get, list and watch.
    ///
    /// Whatever is read is the same as from a cache of whole objects. Handles and controllers of the same kind and scope share one
    /// cache in any case, which holds what they read together: if a controller reads whole objects, nothing is saved.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::{Cached, Index};
    /// use kubewright_manager::{App, Program};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct OnNode {
    ///     spec: Spec,
    /// }
    /// #[derive(serde::Deserialize)]
    /// #[serde(rename_all = "camelCase")]
    /// struct Spec {
    ///     node_name: Option<String>,
    /// }
    ///
    /// let program = Program::new(|needs| {
    ///     let pods: Cached<Pod, OnNode> = needs.cached_as();
    ///     let by_node: Index<Pod, String, OnNode> = pods.index_by(|pod| pod.spec.node_name.clone());
    ///     App::new("census")
    /// });
    /// assert_eq!(program.permissions().objects()[0]["rules"][0]["resources"][0], "pods");
    /// ```
    pub fn cached_as<K, T>(&mut self) -> Cached<K, T>
    where
        K: Object,
        T: DeserializeOwned + 'static,
    {
        self.everything().cached_as()
    }

    /// Requests reads of a kind from the API server: get and list. For reads that must not be stale, and kinds that are too large
    /// for a cache.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Event;
    /// use kubewright_controller::Reader;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let events: Reader<Event> = needs.reader();
    ///     App::new("historian")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], json!(["get", "list"]));
    /// ```
    pub fn reader<K: Object>(&mut self) -> Reader<K> {
        self.everything().reader()
    }

    /// Requests writes of a kind: create, update, patch and delete.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Writer;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let maps: Writer<ConfigMap> = needs.writer();
    ///     App::new("tuner")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], json!(["create", "delete", "patch", "update"]));
    /// ```
    pub fn writer<K: Object>(&mut self) -> Writer<K> {
        self.everything().writer()
    }

    /// Requests deletions of a kind: delete, and no other write.
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kubewright_controller::Deleter;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let finished: Deleter<Job> = needs.deleter();
    ///     App::new("janitor")
    /// });
    /// let roles = program.permissions();
    /// let rule = json!({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["delete"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// ```
    pub fn deleter<K: Object>(&mut self) -> Deleter<K> {
        self.everything().deleter()
    }

    /// Requests server-side apply of a kind: create and patch.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_controller::Applier;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let deployments: Applier<Deployment> = needs.applier();
    ///     App::new("gardener")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], json!(["create", "patch"]));
    /// ```
    pub fn applier<K: Object>(&mut self) -> Applier<K> {
        self.everything().applier()
    }

    /// Requests a handle that creates missing objects of a kind and updates those that differ: get, list, watch, create and update.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Service;
    /// use kubewright_controller::CreateOrUpdate;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let services: CreateOrUpdate<Service> = needs.create_or_update();
    ///     App::new("gardener")
    /// });
    /// let roles = program.permissions();
    /// let verbs = json!(["create", "get", "list", "update", "watch"]);
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], verbs);
    /// ```
    pub fn create_or_update<K: Object>(&mut self) -> CreateOrUpdate<K> {
        self.everything().create_or_update()
    }

    /// Requests writes of the status of a kind: patch, of the subresource `status` alone.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_controller::StatusWriter;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let status: StatusWriter<Deployment> = needs.status_writer();
    ///     App::new("gardener")
    /// });
    /// let roles = program.permissions();
    /// let rule = json!({"apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["patch"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// ```
    pub fn status_writer<K: Object>(&mut self) -> StatusWriter<K> {
        self.everything().status_writer()
    }

    /// Requests a finalizer of this name on objects of a kind: patch. The API server keeps a deleted object until the program has
    /// cleaned up and removed the finalizer.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::Finalizer;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let account: Finalizer<Namespace> = needs.finalizer("example.com/account");
    ///     App::new("billing")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], json!(["patch"]));
    /// ```
    pub fn finalizer<K: Object>(&mut self, name: &str) -> Finalizer<K> {
        self.everything().finalizer(name)
    }

    /// Requests a recorder of Events about objects: create and patch, of Events.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let events = needs.recorder();
    ///     App::new("billing")
    /// });
    /// let roles = program.permissions();
    /// let rule = json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]});
    /// assert_eq!(roles.objects()[0]["rules"], json!([rule]));
    /// ```
    pub fn recorder(&mut self) -> Recorder {
        self.everything().recorder()
    }

    /// Requests a kube client, for calls that no handle makes. The roles grant these rules. The client does not enforce them: the API
    /// server does.
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    /// use kubewright_manifests::PolicyRule;
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let client = needs.client([PolicyRule::new("", "pods/eviction", ["create"])]);
    ///     App::new("drainer")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["resources"], json!(["pods/eviction"]));
    /// ```
    pub fn client(&mut self, rules: impl IntoIterator<Item = PolicyRule>) -> Connection {
        self.everything().client(rules)
    }
}

impl ScopedNeeds<'_> {
    /// Requests a cache: get, list and watch.
    pub fn cached<K: Object>(self) -> Cached<K> {
        self.cached_as()
    }

    /// Requests a cache that holds only the fields that a type `T` reads: see [`ClusterNeeds::cached_as`](crate::ClusterNeeds::cached_as).
    pub fn cached_as<K, T>(self) -> Cached<K, T>
    where
        K: Object,
        T: DeserializeOwned + 'static,
    {
        self.needs.watches(&Kind::of::<K>(), &self.scope);
        Cached::new(&self.informers, self.scope)
    }

    /// Requests reads from the API server: get and list.
    pub fn reader<K: Object>(mut self) -> Reader<K> {
        self.grant::<K>(&["get", "list"]);
        Reader::new(&self.needs.connection, self.scope)
    }

    /// Requests writes: create, update, patch and delete; of metadata alone, patch and delete.
    pub fn writer<K: Object>(mut self) -> Writer<K> {
        // An object whose metadata alone is known cannot be created, nor replaced.
        let verbs = if K::metadata_api() {
            &WRITES[2..]
        } else {
            &WRITES
        };
        self.grant::<K>(verbs);
        Writer::new(&self.needs.connection, self.scope)
    }

    /// Requests deletions: delete.
    pub fn deleter<K: Object>(mut self) -> Deleter<K> {
        self.grant::<K>(&["delete"]);
        Deleter::new(&self.needs.connection, self.scope)
    }

    /// Requests server-side apply: create and patch.
    pub fn applier<K: Object>(mut self) -> Applier<K> {
        self.grant::<K>(&["create", "patch"]);
        Applier::new(&self.needs.connection, self.scope)
    }

    /// Requests a handle that creates missing objects and updates those that differ: get, list, watch, create and update.
    pub fn create_or_update<K: Object>(mut self) -> CreateOrUpdate<K> {
        self.needs.watches(&Kind::of::<K>(), &self.scope);
        self.grant::<K>(&["create", "update"]);
        CreateOrUpdate::new(&self.informers, &self.needs.connection, self.scope)
    }

    /// Requests writes of the status: patch, of the subresource `status` alone.
    pub fn status_writer<K: Object>(self) -> StatusWriter<K> {
        let kind = Kind::of::<K>();
        let resource = format!("{}/status", kind.plural());
        self.needs.grant(&kind, &self.scope, &resource, &["patch"]);
        StatusWriter::new(&self.needs.connection, self.scope)
    }

    /// Requests a finalizer of this name: patch.
    pub fn finalizer<K: Object>(mut self, name: &str) -> Finalizer<K> {
        self.grant::<K>(&["patch"]);
        Finalizer::new(&self.needs.connection, name)
    }

    /// Requests a recorder of Events about these objects: create and patch, of Events in their namespace.
    pub fn recorder(self) -> Recorder {
        let rule = PolicyRule::new("events.k8s.io", "events", ["create", "patch"]);
        self.needs.permissions.grant(self.scope.namespace(), rule);
        Recorder::new(&self.needs.connection, self.scope)
    }

    /// Requests a kube client, for calls that no handle makes. The roles grant these rules in the namespace, and for the name if the
    /// scope has one. The client does not enforce them: the API server does.
    ///
    /// RBAC cannot limit the verb create to a name, since a request to create an object has no name in its path: request that verb
    /// without a name.
    pub fn client(self, rules: impl IntoIterator<Item = PolicyRule>) -> Connection {
        for rule in rules {
            let rule = match self.scope.name() {
                Some(name) => rule.named(name),
                None => rule,
            };
            self.needs.permissions.grant(self.scope.namespace(), rule);
        }
        self.needs.connection.clone()
    }

    fn grant<K: Object>(&mut self, verbs: &[&str]) {
        let kind = Kind::of::<K>();
        self.needs.grant(&kind, &self.scope, kind.plural(), verbs);
    }
}

pub(crate) const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

//! The handles and configuration that a program requests before it starts.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_controller::{
    Applier, Cached, Connection, CreateOrUpdate, Deleter, Finalizer, Informers, Kind,
    LeaderElection, Object, Reader, Recorder, Scope, StatusWriter, Writer,
};
use kubewright_manifests::{Permissions, PolicyRule};
use serde::de::DeserializeOwned;

use crate::config_map::{Key, Place};
use crate::configuration::{Followed, Otherwise, Source};
use crate::file::File;
use crate::logging::Levels;
use crate::{App, Live};

/// Hands out the handles that a program works with.
///
/// A request is a declaration: the program loads what it has requested before it serves its first
/// call, and follows it until it ends. To print manifests, it loads nothing.
///
/// Handles on the cluster are the program's permissions: its roles grant the verbs of its handles
/// and no others. Narrow the scope first where a program needs less than a whole kind:
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
/// use kubewright_controller::{Cached, Deleter};
/// use kubewright_manager::{App, Needs, Program};
///
/// fn app(needs: &mut Needs) -> App {
///     let namespaces: Cached<Namespace> = needs.cached();
///     let stale: Deleter<ConfigMap> = needs.in_namespace("blue").deleter();
///     let tls: Cached<Secret> = needs.in_namespace("blue").named("tls").cached();
///     # let _ = (namespaces, stale, tls);
///     App::new("janitor")
/// }
///
/// let roles = Program::new(app).permissions();
/// assert_eq!(roles.objects()[0]["rules"][0]["verbs"], serde_json::json!(["get", "list", "watch"]));
/// assert_eq!(roles.objects()[1]["metadata"]["namespace"], "blue");
/// ```
///
/// A handle rejects objects outside its scope, in tests as in a cluster. A program that uses a
/// verb that its handle does not have does not compile:
///
/// ```compile_fail,E0599
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::Cached;
/// use kubewright_manager::Needs;
///
/// async fn tidy(needs: &mut Needs, stale: ConfigMap) {
///     let maps: Cached<ConfigMap> = needs.cached();
///     maps.delete(&stale).await;
/// }
/// ```
#[derive(Default)]
pub struct Needs {
    pub(crate) configuration: Vec<Box<dyn Followed>>,
    pub(crate) log_levels: Option<Live<Option<Levels>>>,
    pub(crate) informers: Informers,
    pub(crate) connection: Connection,
    pub(crate) permissions: Permissions,
    /// What the program needs from time to time, such as a lost Lease to be created again.
    pub(crate) upkeep: Permissions,
}

/// Hands out handles on some of the objects of a kind: those in a namespace, of a name or with labels.
///
/// [`Needs::in_namespace`], [`Needs::named`] and [`Needs::labelled`] return it, and its methods of the same names narrow it further:
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::Cached;
/// use kubewright_manager::{App, Program};
///
/// let program = Program::new(|needs| {
///     let settings: Cached<ConfigMap> = needs.in_namespace("blue").named("settings").cached();
///     App::new("tuner")
/// });
/// let roles = program.permissions();
/// let role = &roles.objects()[0];
/// assert_eq!(role["metadata"]["namespace"], "blue");
/// assert_eq!(role["rules"][0]["resourceNames"][0], "settings");
/// ```
#[derive(Debug)]
pub struct ScopedNeeds<'a> {
    needs: &'a mut Needs,
    scope: Scope,
}

impl Needs {
    /// Requests a configuration file. The program reads it before it serves, and follows it while it runs.
    ///
    /// The file is read as Kubernetes reads YAML, so the types of `k8s-openapi` decode with all
    /// their camelCase fields. It may be a key of a mounted ConfigMap: a change takes effect
    /// without a restart, as soon as the kubelet has swapped the volume.
    ///
    /// * No file at the start: `default` holds until the file appears.
    /// * An invalid file at the start: the program does not start, so that a rollout
    ///   stops before it does harm.
    /// * A file that later becomes invalid or disappears: the last valid value holds, and a
    ///   warning names the cause. Rules of your own are checked the same way when they are
    ///   part of decoding (`#[serde(try_from = "…")]`).
    /// * Unknown fields have no effect, and a warning names them.
    ///
    /// ```
    /// use kubewright_manager::{App, Live, Program};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let path = directory.path().join("words.yaml");
    /// std::fs::write(&path, "[hello, goodbye]")?;
    ///
    /// let mut words: Option<Live<Vec<String>>> = None;
    /// let program = Program::new(|needs| {
    ///     words = Some(needs.file(&path, Vec::new()));
    ///     App::new("poet")
    /// });
    /// let started = program.start().await?;
    /// assert_eq!(*words.unwrap().current(), ["hello", "goodbye"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn file<T>(&mut self, path: impl Into<PathBuf>, default: T) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let (file, live) = File::new(path.into(), default);
        self.configuration.push(Box::new(file));
        live
    }

    /// Requests a key of a ConfigMap as configuration, read through the API and followed while the program runs: get, list
    /// and watch, of this one ConfigMap in the program's own namespace, or in [another](Self::in_namespace).
    ///
    /// The rules for missing and invalid values and unknown fields are those of [a file](Self::file). A change takes effect as
    /// soon as it is stored, where the kubelet takes up to two minutes to update a mounted file; a file needs no permission.
    ///
    /// ```
    /// use kubewright_manager::{App, Live, Needs, Program};
    ///
    /// fn app(needs: &mut Needs) -> App {
    ///     let words: Live<Vec<String>> = needs.config_map("words", "words.yaml", Vec::new());
    ///     # let _ = words;
    ///     App::new("poet")
    /// }
    ///
    /// let permissions = Program::new(app).permissions();
    /// let role = &permissions.objects()[0];
    /// assert_eq!(role["kind"], "Role");
    /// assert_eq!(role["rules"][0]["resourceNames"], serde_json::json!(["words"]));
    /// ```
    pub fn config_map<T>(
        &mut self,
        name: impl Into<String>,
        key: impl Into<String>,
        default: T,
    ) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let place = Place {
            namespace: None,
            name: name.into(),
            key: key.into(),
        };
        self.yaml_of(place, default)
    }

    /// Narrows the next handle to one namespace. Its permissions become a Role of that namespace instead of a ClusterRole.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::Reader;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let secrets: Reader<Secret> = needs.in_namespace("blue").reader();
    ///     App::new("vault")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["kind"], "Role");
    /// assert_eq!(roles.objects()[0]["metadata"]["namespace"], "blue");
    /// ```
    pub fn in_namespace(&mut self, namespace: impl Into<String>) -> ScopedNeeds<'_> {
        self.everything().in_namespace(namespace)
    }

    /// Narrows the next handle to the objects of one name.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Writer;
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let settings: Writer<ConfigMap> = needs.named("settings").writer();
    ///     App::new("tuner")
    /// });
    /// let roles = program.permissions();
    /// let rules = &roles.objects()[0]["rules"];
    /// assert_eq!(rules[1]["resourceNames"], json!(["settings"]));
    /// assert_eq!(rules[1]["verbs"], json!(["delete", "patch", "update"]));
    /// // An API server cannot limit the verb create to a name.
    /// assert_eq!(rules[0]["verbs"], json!(["create"]));
    /// ```
    pub fn named(&mut self, name: impl Into<String>) -> ScopedNeeds<'_> {
        self.everything().named(name)
    }

    /// Narrows the next cache to objects that match a label selector, such as `app=web,tier!=cache`. RBAC has no label selectors:
    /// the permissions are those of the whole kind.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::Cached;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let web: Cached<Pod> = needs.labelled("app=web").cached();
    ///     App::new("census")
    /// });
    /// let roles = program.permissions();
    /// assert!(roles.objects()[0]["rules"][0].get("resourceNames").is_none());
    /// ```
    pub fn labelled(&mut self, selector: impl Display) -> ScopedNeeds<'_> {
        self.everything().labelled(selector)
    }

    /// Narrows the next handle to a [`Scope`] that other code chose, such as the scope of a controller.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Scope};
    /// use kubewright_manager::{App, Program};
    ///
    /// let scope = Scope::all().in_namespace("blue").named("settings");
    /// let program = Program::new(|needs| {
    ///     let settings: Cached<ConfigMap> = needs.within(scope).cached();
    ///     App::new("tuner")
    /// });
    /// let roles = program.permissions();
    /// let role = &roles.objects()[0];
    /// assert_eq!(role["metadata"]["namespace"], "blue");
    /// assert_eq!(role["rules"][0]["resourceNames"][0], "settings");
    /// ```
    pub fn within(&mut self, scope: Scope) -> ScopedNeeds<'_> {
        ScopedNeeds { needs: self, scope }
    }

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

    fn everything(&mut self) -> ScopedNeeds<'_> {
        self.within(Scope::all())
    }

    /// Asks for what an election takes: the Lease, to create it when it is not there, and to tell of it by Events.
    pub(crate) fn elects(&mut self, election: &LeaderElection) {
        let rule =
            |verbs: &[&str]| PolicyRule::new("coordination.k8s.io", "leases", verbs.to_vec());
        let held = rule(&["get", "list", "watch", "update"]).named(election.lease());
        let told = PolicyRule::new("events.k8s.io", "events", ["create"]);
        for rule in [held, rule(&["create"]), told] {
            match election.namespace() {
                Some(namespace) => self.upkeep.grant(Some(namespace), rule),
                None => self.upkeep.grant_in_own_namespace(rule),
            }
        }
    }

    /// Asks for what it takes to follow the level of the log.
    pub(crate) fn log_levels(&mut self, app: &App) {
        let Some(name) = app.log_levels() else {
            return;
        };
        let place = Place {
            namespace: None,
            name: name.to_owned(),
            key: format!("loglevel.{}", app.name()),
        };
        // No level of the ConfigMap: that of the command line.
        let first = Arc::new(None);
        let otherwise = Otherwise::Initial(Arc::clone(&first));
        let (source, live) = Source::new(place.to_string(), first, Levels::decode, otherwise);
        self.log_levels = Some(live);
        self.follow(place, source);
    }

    fn yaml_of<T>(&mut self, place: Place, default: T) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let (source, live) = Source::yaml(place.to_string(), default);
        self.follow(place, source);
        live
    }

    fn follow<T: Send + Sync + 'static>(&mut self, place: Place, source: Source<T>) {
        let rule = PolicyRule::new("", "configmaps", ["get", "list", "watch"]).named(&place.name);
        match &place.namespace {
            Some(namespace) => self.permissions.grant(Some(namespace), rule),
            None => self.permissions.grant_in_own_namespace(rule),
        }
        self.configuration.push(Box::new(Key::new(place, source)));
    }

    pub(crate) fn watches(&mut self, kind: &Kind, scope: &Scope) {
        self.grant(kind, scope, kind.plural(), &["get", "list", "watch"]);
    }

    fn grant(&mut self, kind: &Kind, scope: &Scope, resource: &str, verbs: &[&str]) {
        let namespace = scope.namespace().filter(|_| kind.is_namespaced());
        // No API server knows the name of what is to be created.
        let (create, others): (Vec<&str>, Vec<&str>) =
            verbs.iter().partition(|verb| **verb == "create");
        let rule = |verbs: Vec<&str>| PolicyRule::new(kind.group(), resource, verbs);
        match scope.name() {
            Some(name) => {
                self.permissions.grant(namespace, rule(others).named(name));
                if !create.is_empty() {
                    self.permissions.grant(namespace, rule(create));
                }
            }
            None => self.permissions.grant(namespace, rule(verbs.to_vec())),
        }
    }
}

impl ScopedNeeds<'_> {
    /// Narrows the scope to one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = self.scope.in_namespace(namespace);
        self
    }

    /// Narrows the scope to the objects of one name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.scope = self.scope.named(name);
        self
    }

    /// Narrows a cache to objects that match a label selector. RBAC has no label selectors.
    #[must_use]
    pub fn labelled(mut self, selector: impl Display) -> Self {
        self.scope = self.scope.labelled(selector);
        self
    }

    /// Requests a key of the ConfigMap of this name as configuration: see [`Needs::config_map`].
    pub fn config_map<T>(
        self,
        name: impl Into<String>,
        key: impl Into<String>,
        default: T,
    ) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let place = Place {
            namespace: self.scope.namespace().map(str::to_owned),
            name: name.into(),
            key: key.into(),
        };
        self.needs.yaml_of(place, default)
    }

    /// Requests a cache: get, list and watch.
    pub fn cached<K: Object>(self) -> Cached<K> {
        self.needs.watches(&Kind::of::<K>(), &self.scope);
        Cached::new(&self.needs.informers, self.scope)
    }

    /// Requests reads from the API server: get and list.
    pub fn reader<K: Object>(mut self) -> Reader<K> {
        self.grant::<K>(&["get", "list"]);
        Reader::new(&self.needs.connection, self.scope)
    }

    /// Requests writes: create, update, patch and delete.
    pub fn writer<K: Object>(mut self) -> Writer<K> {
        self.grant::<K>(&["create", "update", "patch", "delete"]);
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
        CreateOrUpdate::new(&self.needs.informers, &self.needs.connection, self.scope)
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

impl fmt::Debug for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Needs")
            .field("configuration", &self.configuration.len())
            .field("permissions", &self.permissions)
            .finish_non_exhaustive()
    }
}

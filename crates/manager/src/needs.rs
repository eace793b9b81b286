//! What a program asks for before it starts.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_controller::{
    Applier, Cached, Connection, Deleter, Election, Finalizer, Informers, Keeper, Kind, Object,
    Reader, Recorder, Scope, StatusWriter, Writer,
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
/// Asking is declaring: what was asked for is loaded before the program serves its first call and
/// followed until it ends. While only manifests are written, nothing is loaded.
///
/// Handles on the cluster are its permissions: what a program has asked a handle for is what its
/// roles grant, and what it has no handle for it cannot do. Where less is enough than a whole
/// kind, the scope is said first:
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
/// A handle refuses objects outside its scope, in tests as in a cluster. A program that uses a
/// handle that it did not ask for does not compile:
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

/// Hands out handles on a part of the objects of a kind: those of a namespace, of a name or with
/// labels.
#[derive(Debug)]
pub struct Narrowed<'a> {
    needs: &'a mut Needs,
    scope: Scope,
}

impl Needs {
    /// Asks for a configuration file that is followed while the program runs.
    ///
    /// The file is read as Kubernetes reads YAML, so the types of `k8s-openapi` decode with all
    /// their camelCase fields. It may be a key of a mounted ConfigMap: a change takes effect
    /// without a restart, as soon as the kubelet has swapped the volume.
    ///
    /// * No file at the start: `default` holds until it comes.
    /// * A file that cannot be used at the start: the program does not start, so that a rollout
    ///   stops before it does harm.
    /// * A file that cannot be used later, or that vanishes: the last good value holds, and a
    ///   warning says what is wrong. Rules of your own are checked the same way when they are
    ///   part of decoding (`#[serde(try_from = "…")]`).
    /// * Fields that the type does not know have no effect, and a warning names them.
    pub fn file<T>(&mut self, path: impl Into<PathBuf>, default: T) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let (file, live) = File::new(path.into(), default);
        self.configuration.push(Box::new(file));
        live
    }

    /// Asks for a key of a ConfigMap as configuration, read through the API and followed while the program runs: get, list
    /// and watch, of this one ConfigMap in the program's own namespace, or in [another](Self::in_namespace).
    ///
    /// It is read as [a file](Self::file) is, with the same rules for what is missing, bad or not known. A change takes effect
    /// as soon as it is stored, where the kubelet takes up to a minute or two for a mounted file; a file needs no permission.
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

    /// Narrows what is asked for next to one namespace.
    pub fn in_namespace(&mut self, namespace: impl Into<String>) -> Narrowed<'_> {
        self.everything().in_namespace(namespace)
    }

    /// Narrows what is asked for next to the objects of one name.
    pub fn named(&mut self, name: impl Into<String>) -> Narrowed<'_> {
        self.everything().named(name)
    }

    /// Narrows the cache that is asked for next to objects with labels, such as
    /// `app=web,tier!=cache`. Permissions know no labels: they are those of the whole kind.
    pub fn labelled(&mut self, selector: impl Display) -> Narrowed<'_> {
        self.everything().labelled(selector)
    }

    /// Narrows what is asked for next to a scope that was decided on elsewhere, such as that of a controller.
    pub fn within(&mut self, scope: Scope) -> Narrowed<'_> {
        Narrowed { needs: self, scope }
    }

    /// Asks for a cache of all objects of a kind: get, list and watch.
    ///
    /// Whoever asks for the same kind and scope shares one cache, controllers included. The
    /// program is ready when all caches are complete.
    pub fn cached<K: Object>(&mut self) -> Cached<K> {
        self.everything().cached()
    }

    /// Asks to read objects of a kind from the API server itself: get and list.
    pub fn reader<K: Object>(&mut self) -> Reader<K> {
        self.everything().reader()
    }

    /// Asks to create, update, patch and delete objects of a kind.
    pub fn writer<K: Object>(&mut self) -> Writer<K> {
        self.everything().writer()
    }

    /// Asks to delete objects of a kind.
    pub fn deleter<K: Object>(&mut self) -> Deleter<K> {
        self.everything().deleter()
    }

    /// Asks to apply objects of a kind on the server's side: create and patch.
    pub fn applier<K: Object>(&mut self) -> Applier<K> {
        self.everything().applier()
    }

    /// Asks to keep objects of a kind as they are wanted: get, list, watch, create and update.
    pub fn keeper<K: Object>(&mut self) -> Keeper<K> {
        self.everything().keeper()
    }

    /// Asks to write the status of objects of a kind: patch, of the sub-resource alone.
    pub fn status_writer<K: Object>(&mut self) -> StatusWriter<K> {
        self.everything().status_writer()
    }

    /// Asks to hold objects of a kind back until they are cleaned up after, by a finalizer of this
    /// name: patch.
    pub fn finalizer<K: Object>(&mut self, name: &str) -> Finalizer<K> {
        self.everything().finalizer(name)
    }

    /// Asks to tell of objects by Events: create and patch, of Events.
    pub fn recorder(&mut self) -> Recorder {
        self.everything().recorder()
    }

    /// Asks for a kube client, for what no handle does. The program is granted these rules; that
    /// the client keeps to them is the program's business.
    pub fn client(&mut self, rules: impl IntoIterator<Item = PolicyRule>) -> Connection {
        self.everything().client(rules)
    }

    fn everything(&mut self) -> Narrowed<'_> {
        self.within(Scope::all())
    }

    /// Asks for what an election takes: the Lease, to create it when it is not there, and to tell of it by Events.
    pub(crate) fn elects(&mut self, election: &Election) {
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

impl Narrowed<'_> {
    /// Narrows to one namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = self.scope.in_namespace(namespace);
        self
    }

    /// Narrows to the objects of one name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.scope = self.scope.named(name);
        self
    }

    /// Narrows a cache to objects with labels. Permissions know no labels.
    #[must_use]
    pub fn labelled(mut self, selector: impl Display) -> Self {
        self.scope = self.scope.labelled(selector);
        self
    }

    /// Asks for a key of a ConfigMap of this name as configuration: see [`Needs::config_map`].
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

    /// Asks for a cache: get, list and watch.
    pub fn cached<K: Object>(self) -> Cached<K> {
        self.needs.watches(&Kind::of::<K>(), &self.scope);
        Cached::new(&self.needs.informers, self.scope)
    }

    /// Asks to read from the API server itself: get and list.
    pub fn reader<K: Object>(mut self) -> Reader<K> {
        self.grant::<K>(&["get", "list"]);
        Reader::new(&self.needs.connection, self.scope)
    }

    /// Asks to create, update, patch and delete.
    pub fn writer<K: Object>(mut self) -> Writer<K> {
        self.grant::<K>(&["create", "update", "patch", "delete"]);
        Writer::new(&self.needs.connection, self.scope)
    }

    /// Asks to delete.
    pub fn deleter<K: Object>(mut self) -> Deleter<K> {
        self.grant::<K>(&["delete"]);
        Deleter::new(&self.needs.connection, self.scope)
    }

    /// Asks to apply on the server's side: create and patch.
    pub fn applier<K: Object>(mut self) -> Applier<K> {
        self.grant::<K>(&["create", "patch"]);
        Applier::new(&self.needs.connection, self.scope)
    }

    /// Asks to keep objects as they are wanted: get, list, watch, create and update.
    pub fn keeper<K: Object>(mut self) -> Keeper<K> {
        self.needs.watches(&Kind::of::<K>(), &self.scope);
        self.grant::<K>(&["create", "update"]);
        Keeper::new(&self.needs.informers, &self.needs.connection, self.scope)
    }

    /// Asks to write the status: patch, of the sub-resource alone.
    pub fn status_writer<K: Object>(self) -> StatusWriter<K> {
        let kind = Kind::of::<K>();
        let resource = format!("{}/status", kind.plural());
        self.needs.grant(&kind, &self.scope, &resource, &["patch"]);
        StatusWriter::new(&self.needs.connection, self.scope)
    }

    /// Asks to hold objects back until they are cleaned up after: patch.
    pub fn finalizer<K: Object>(mut self, name: &str) -> Finalizer<K> {
        self.grant::<K>(&["patch"]);
        Finalizer::new(&self.needs.connection, name)
    }

    /// Asks to tell of these objects by Events: create and patch, of Events in their namespace.
    pub fn recorder(self) -> Recorder {
        let rule = PolicyRule::new("events.k8s.io", "events", ["create", "patch"]);
        self.needs.permissions.grant(self.scope.namespace(), rule);
        Recorder::new(&self.needs.connection, self.scope)
    }

    /// Asks for a kube client, for what no handle does: the program is granted these rules in the namespace, and for the
    /// name if there is one. That the client keeps to them is the program's business.
    ///
    /// To create an object of a name cannot be granted, since no API server knows the name of what is to be created: ask for
    /// that without a name.
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

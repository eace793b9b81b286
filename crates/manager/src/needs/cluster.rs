//! What a program requests in one cluster.

use std::fmt::{self, Display};
use std::sync::Arc;

use kubewright_controller::{AnyController, Connection, Informers, Kind, Scope};
use kubewright_manifests::{Permissions, PolicyRule};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::config_map::{Key, Place};
use crate::configuration::{Followed, Source};
use crate::{ClusterState, Live};

/// Hands out the handles that a program works with in one cluster: its own, where [`Needs`](crate::Needs) has all of this, or another
/// one.
///
/// A function of a `&mut ClusterNeeds` serves for each of them:
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_controller::{Applier, Cached};
/// use kubewright_manager::{App, ClusterNeeds, Program};
/// use serde_json::json;
///
/// struct Handles {
///     secrets: Cached<Secret>,
///     maps: Applier<ConfigMap>,
/// }
///
/// fn handles(cluster: &mut ClusterNeeds) -> Handles {
///     Handles { secrets: cached_secrets(cluster), maps: cluster.applier() }
/// }
///
/// fn cached_secrets(cluster: &mut ClusterNeeds) -> Cached<Secret> {
///     cluster.in_namespace("blue").cached()
/// }
///
/// let program = Program::new(|needs| {
///     let here = cached_secrets(needs);
///     let there = handles(needs.cluster("east"));
///     App::new("courier")
/// });
/// // In its own cluster, the program may read the Secret with the kubeconfig besides.
/// assert_eq!(program.permissions().objects()[0]["rules"][0]["resourceNames"], json!(["east"]));
/// let east = program.cluster_permissions("east").unwrap();
/// assert_eq!(east.objects()[0]["rules"][0]["resources"], json!(["configmaps"]));
/// assert_eq!(east.objects()[1]["metadata"]["namespace"], "blue");
/// ```
pub struct ClusterNeeds {
    pub(crate) name: Arc<str>,
    pub(crate) configuration: Vec<Box<dyn Followed>>,
    pub(crate) informers: Informers,
    pub(crate) connection: Connection,
    pub(crate) permissions: Permissions,
    pub(crate) controllers: Vec<AnyController>,
    pub(crate) states: (watch::Sender<Arc<ClusterState>>, Live<ClusterState>),
}

/// Hands out handles on some of the objects of a kind: those in a namespace, of a name or with labels.
///
/// [`ClusterNeeds::in_namespace`], [`ClusterNeeds::named`] and [`ClusterNeeds::labelled`] return it, and its methods of the same names
/// narrow it further:
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
    pub(crate) needs: &'a mut ClusterNeeds,
    /// Those of the cluster, of which the next cache may be optional.
    pub(crate) informers: Informers,
    pub(crate) scope: Scope,
}

impl ClusterNeeds {
    pub(crate) fn of(name: Arc<str>) -> Self {
        let informers = Informers::new();
        Self {
            name,
            configuration: Vec::new(),
            // Caches show what the handles write.
            connection: Connection::with_informers(&informers),
            informers,
            permissions: Permissions::default(),
            controllers: Vec::new(),
            states: Live::channel(Arc::new(ClusterState::Connecting)),
        }
    }

    /// Returns the name of the cluster. That of the program's own cluster is empty. When a [fleet](crate::Needs::fleet) is declared,
    /// its function is called once for no cluster in particular, with the name of the fleet.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns how it stands with the cluster, and follows it. It stays `Connecting` until the program runs. The program's own cluster
    /// is ready once its caches are complete, and stays so.
    ///
    /// ```
    /// use kubewright_manager::{App, ClusterState, Live, Program};
    ///
    /// let mut east: Option<Live<ClusterState>> = None;
    /// let program = Program::new(|needs| {
    ///     east = Some(needs.cluster("east").state());
    ///     App::new("census")
    /// });
    /// assert_eq!(*east.unwrap().current(), ClusterState::Connecting);
    /// ```
    #[must_use]
    pub fn state(&self) -> Live<ClusterState> {
        self.states.1.clone()
    }

    /// Adds a controller that works in this cluster, as [`App::controller`](crate::App::controller) does in the program's own: the
    /// program may get, list and watch there what the controller watches.
    ///
    /// With leader election, which is that of the program's own cluster, the leader alone runs it, and its writes end with the
    /// leadership.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::{Action, Context, Controller, Error};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// async fn reconcile(_: Arc<Namespace>, _: Context) -> Result<Action, Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let program = Program::new(|needs| {
    ///     needs.cluster("east").controller(Controller::new("namespaces", reconcile));
    ///     App::new("greeter")
    /// });
    /// let east = program.cluster_permissions("east").unwrap();
    /// assert_eq!(east.objects()[0]["rules"][0]["resources"], json!(["namespaces"]));
    /// ```
    pub fn controller(&mut self, controller: impl Into<AnyController>) {
        let controller = controller.into();
        self.controls(&controller);
        self.controllers.push(controller);
    }

    /// Requests a key of a ConfigMap as configuration, read through the API and followed while the program runs: get, list
    /// and watch, of this one ConfigMap in the program's own namespace, or in [another](Self::in_namespace).
    ///
    /// The rules for missing and invalid values and unknown fields are those of [a file](crate::Needs::file); in another cluster, the
    /// program does not wait for it: the default holds until it is read. A change takes effect as
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
        ScopedNeeds {
            informers: self.informers.clone(),
            needs: self,
            scope,
        }
    }

    pub(crate) fn everything(&mut self) -> ScopedNeeds<'_> {
        self.within(Scope::all())
    }

    pub(crate) fn watches(&mut self, kind: &Kind, scope: &Scope) {
        self.grant(kind, scope, kind.plural(), &["get", "list", "watch"]);
    }

    pub(crate) fn grant(&mut self, kind: &Kind, scope: &Scope, resource: &str, verbs: &[&str]) {
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

    fn yaml_of<T>(&mut self, place: Place, default: T) -> Live<T>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let (source, live) = Source::yaml(place.to_string(), default);
        self.follow(place, source);
        live
    }

    pub(super) fn follow<T: Send + Sync + 'static>(&mut self, place: Place, source: Source<T>) {
        let rule = PolicyRule::new("", "configmaps", ["get", "list", "watch"]).named(&place.name);
        match &place.namespace {
            Some(namespace) => self.permissions.grant(Some(namespace), rule),
            None => self.permissions.grant_in_own_namespace(rule),
        }
        self.configuration.push(Box::new(Key::new(place, source)));
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

    /// Requests a key of the ConfigMap of this name as configuration: see [`ClusterNeeds::config_map`].
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
}

impl fmt::Debug for ClusterNeeds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClusterNeeds")
            .field("name", &self.name)
            .field("configuration", &self.configuration.len())
            .field("permissions", &self.permissions)
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}

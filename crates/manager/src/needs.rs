//! The handles and configuration that a program requests before it starts.

mod cluster;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_controller::LeaderElection;
use kubewright_manifests::{Permissions, PolicyRule};
use serde::de::DeserializeOwned;

pub use self::cluster::{ClusterNeeds, ScopedNeeds};
use crate::cluster::{Declared, Fleet, Kubeconfig, Members, declare};
use crate::config_map::Place;
use crate::configuration::{Otherwise, Source};
use crate::file::File;
use crate::logging::Levels;
use crate::metrics::MetricsRegistry;
use crate::{App, Live};

/// Hands out the handles that a program works with.
///
/// A request is a declaration: the program loads what it has requested before it serves its first
/// call, and follows it until it ends. To print manifests, it loads nothing.
///
/// Handles on its own cluster are the methods of [`ClusterNeeds`], which this dereferences to; [`Needs::cluster`] and [`Needs::fleet`] have
/// the same methods for others.
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
pub struct Needs {
    /// What the program requests in its own cluster.
    pub(crate) own: ClusterNeeds,
    pub(crate) log_levels: Option<Live<Option<Levels>>>,
    /// What the program needs from time to time, such as a lost Lease to be created again.
    pub(crate) upkeep: Permissions,
    pub(crate) metrics: Box<MetricsRegistry>,
    pub(crate) others: Declared,
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

    /// Requests metrics of the program's own, which `/metrics` shows beside [those that every program has](crate::metrics).
    ///
    /// ```
    /// use kubewright_manager::metrics::Counter;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let backups: Counter = needs.metrics().register("backups", "Number of backups", Counter::default());
    ///     App::new("keeper")
    /// });
    /// assert!(program.permissions().objects().is_empty(), "metrics need no permission");
    /// ```
    pub fn metrics(&mut self) -> &mut MetricsRegistry {
        &mut self.metrics
    }

    /// Requests handles on another cluster, whose kubeconfig is in a Secret in the namespace of the program: in its own cluster, the
    /// program may get, list and watch this Secret, and in the other one what is requested from what this returns. The cluster has the
    /// name of the Secret, unless the [`Kubeconfig`] says another. Asked for twice, it is the same cluster.
    ///
    /// The program is ready without it, and does not wait for it: reads of its caches wait until they are complete, and requests
    /// until there is a kubeconfig. [`ClusterNeeds::state`] says how it stands. Another kubeconfig in the Secret takes effect at once:
    /// the caches are listed again with it, and what they have meanwhile stays. While the Secret is missing, requests fail.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_controller::{Applier, Cached};
    /// use kubewright_manager::{App, Program};
    /// use serde_json::json;
    ///
    /// let program = Program::new(|needs| {
    ///     let here: Cached<Deployment> = needs.cached();
    ///     let east: Applier<Deployment> = needs.cluster("east").applier();
    ///     App::new("mirror")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[1]["kind"], "Role");
    /// assert_eq!(roles.objects()[1]["rules"][0]["resourceNames"], json!(["east"]));
    /// let east = program.cluster_permissions("east").unwrap();
    /// assert_eq!(east.objects()[0]["rules"][0]["verbs"], json!(["create", "patch"]));
    /// ```
    pub fn cluster(&mut self, kubeconfig: impl Into<Kubeconfig>) -> &mut ClusterNeeds {
        let (needs, rule) = self.others.cluster(kubeconfig.into());
        if let Some(rule) = rule {
            self.own.permissions.grant_in_own_namespace(rule);
        }
        needs
    }

    /// Requests handles on each cluster of a fleet, whose members come and go. The function is called for each one that comes, and adds
    /// the controllers that work in it; what it returns is in the [`Fleet`] as long as the cluster is a member. Each cluster has caches,
    /// queues, workers and limits of its own, so that one that is down holds up no other, and the program is ready without them.
    ///
    /// The function is called once before, for the permissions that the program takes in each cluster
    /// ([`Program::cluster_permissions`](crate::Program::cluster_permissions)): it requests the same each time, and a cluster for which it does not cannot
    /// join.
    ///
    /// When a cluster leaves, its controllers have 10 s to finish what they have begun, and everything of it ends.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_controller::{Action, Applier, Context, Controller, Error};
    /// use kubewright_manager::{App, Members, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let fleet = needs.fleet("west", Members::from_secrets("example.com/fleet=west"), |cluster| {
    ///         let (name, maps) = (cluster.name().to_owned(), cluster.applier::<ConfigMap>());
    ///         let reconcile = {
    ///             let maps = maps.clone();
    ///             move |namespace: Arc<Namespace>, context: Context| {
    ///                 let (name, maps) = (name.clone(), maps.clone());
    ///                 async move {
    ///                     let mut map = ConfigMap::default();
    ///                     map.metadata.name = Some("cluster".to_owned());
    ///                     map.metadata.namespace = namespace.metadata.name.clone();
    ///                     map.data = Some([("name".to_owned(), name)].into());
    ///                     context.apply(&maps, map).await?;
    ///                     Ok::<_, Error>(Action::await_change())
    ///                 }
    ///             }
    ///         };
    ///         cluster.controller(Controller::new("namespaces", reconcile));
    ///         maps
    ///     });
    ///     assert!(fleet.names().is_empty(), "members come while the program runs");
    ///     App::new("courier").leader_election("courier")
    /// });
    /// let in_each = program.cluster_permissions("west").unwrap();
    /// assert_eq!(in_each.objects()[0]["rules"][0]["resources"][0], "configmaps");
    /// ```
    pub fn fleet<H: Send + Sync + 'static>(
        &mut self,
        name: impl Into<Arc<str>>,
        members: Members,
        function: impl Fn(&mut ClusterNeeds) -> H + Send + Sync + 'static,
    ) -> Fleet<H> {
        let (fleet, declared) = declare(name.into(), members, function);
        declared.ask(&mut self.own.permissions);
        self.others.fleet(declared);
        fleet
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
}

/// A program requests from `Needs` what it takes in its own cluster.
impl Deref for Needs {
    type Target = ClusterNeeds;

    fn deref(&self) -> &ClusterNeeds {
        &self.own
    }
}

impl DerefMut for Needs {
    fn deref_mut(&mut self) -> &mut ClusterNeeds {
        &mut self.own
    }
}

impl Default for Needs {
    fn default() -> Self {
        Self {
            own: ClusterNeeds::of("".into()),
            log_levels: None,
            upkeep: Permissions::default(),
            metrics: Box::default(),
            others: Declared::default(),
        }
    }
}

impl fmt::Debug for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Needs")
            .field("own", &self.own)
            .field("others", &self.others.names())
            .finish_non_exhaustive()
    }
}

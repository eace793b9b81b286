//! Which clusters are members of a fleet.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use futures::stream::{Stream, StreamExt as _, unfold};
use k8s_openapi::api::core::v1::Secret;
use kube::core::{DynamicObject, PartialObjectMeta};
use kubewright_controller::{AnyObject, Cached, Informers, Kind, Object, ReadError, Scope};
use kubewright_manifests::{Permissions, PolicyRule};

use super::Kubeconfig;

/// Which clusters are members of a [fleet](crate::Needs::fleet): those of whose kubeconfigs there are Secrets with a label, or those that
/// objects of a kind stand for.
///
/// The objects and the Secrets are in one namespace: that of the program, or [another](Self::in_namespace). A user who may write Secrets there
/// chooses which servers the program connects to.
///
/// # Example: the clusters of Cluster API
///
/// ```
/// use kube::core::DynamicObject;
/// use kubewright_controller::Kind;
/// use kubewright_manager::{Kubeconfig, Members};
///
/// let kind = Kind::namespaced("cluster.x-k8s.io/v1beta1", "Cluster", "clusters")?;
/// let members = Members::of_kind(&kind, |cluster: &DynamicObject| {
///     let name = cluster.metadata.name.as_ref()?;
///     let is_there = cluster.data["status"]["controlPlaneReady"] == true;
///     is_there.then(|| Kubeconfig::in_secret(format!("{name}-kubeconfig")))
/// });
/// # let _ = members;
/// # Ok::<(), kubewright_controller::InvalidKind>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Members {
    kind: Kind,
    scope: Scope,
    follow: Arc<Follow>,
}

type Follow = dyn Fn(&Informers, Scope) -> Listing + Send + Sync;

/// The members by their names, and again after each change.
pub(super) type Listing = Pin<Box<dyn Stream<Item = Result<Named, ReadError>> + Send>>;
pub(super) type Named = BTreeMap<Arc<str>, Kubeconfig>;

impl Members {
    /// Those of whose kubeconfigs there are Secrets with these labels, such as `example.com/fleet=west`. A member has the name of its
    /// Secret.
    ///
    /// ```
    /// use kubewright_manager::{App, Members, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let fleet = needs.fleet("west", Members::from_secrets("example.com/fleet=west"), |_| ());
    ///     App::new("census")
    /// });
    /// let roles = program.permissions();
    /// assert_eq!(roles.objects()[0]["rules"][0]["resources"], serde_json::json!(["secrets"]));
    /// ```
    pub fn from_secrets(selector: impl Display) -> Self {
        let of = |secret: &PartialObjectMeta<Secret>| {
            secret.metadata.name.clone().map(Kubeconfig::in_secret)
        };
        let open = |informers: &Informers, scope| Cached::new(informers, scope);
        let kind = Kind::of::<PartialObjectMeta<Secret>>();
        Self::by(kind, open, of).labelled(selector)
    }

    /// Those that objects of a kind stand for. The function says where the kubeconfig of a cluster is; `None`: it is no member, or
    /// not yet. A member has the name of its object, unless the [kubeconfig says another](Kubeconfig::of_cluster).
    ///
    /// The function is called for every object after each change.
    pub fn of<K: Object>(
        kubeconfig: impl Fn(&K) -> Option<Kubeconfig> + Send + Sync + 'static,
    ) -> Self {
        let open = |informers: &Informers, scope| Cached::new(informers, scope);
        Self::by(Kind::of::<K>(), open, kubeconfig)
    }

    /// Those that objects of a kind stand for that is known only when the program starts: see [`Self::of`].
    pub fn of_kind(
        kind: &Kind,
        kubeconfig: impl Fn(&DynamicObject) -> Option<Kubeconfig> + Send + Sync + 'static,
    ) -> Self {
        let known = kind.clone();
        let open = move |informers: &Informers, scope| {
            Cached::dynamic(&informers.optional(), &known, scope)
        };
        Self::by(kind.clone(), open, kubeconfig)
    }

    /// Has the objects and the Secrets in another namespace than that of the program.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.scope = self.scope.in_namespace(namespace);
        self
    }

    /// Narrows the objects to those with these labels.
    pub fn labelled(mut self, selector: impl Display) -> Self {
        self.scope = self.scope.labelled(selector);
        self
    }

    fn by<K: AnyObject>(
        kind: Kind,
        open: impl Fn(&Informers, Scope) -> Cached<K> + Send + Sync + 'static,
        of: impl Fn(&K) -> Option<Kubeconfig> + Send + Sync + 'static,
    ) -> Self {
        let of = Arc::new(of);
        let follow = move |informers: &Informers, scope: Scope| {
            let of = Arc::clone(&of);
            let objects = open(informers, scope).follow_all();
            let listed = unfold(objects, move |mut objects| {
                let of = Arc::clone(&of);
                async move {
                    let listed = objects.next().await;
                    Some((listed.map(|objects| named(&objects, &*of)), objects))
                }
            });
            listed.boxed()
        };
        Self {
            kind,
            scope: Scope::all(),
            follow: Arc::new(follow),
        }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        self.scope.namespace()
    }

    /// Asks for what it takes to follow the members, and their kubeconfigs, the names of which are not known yet.
    pub(super) fn ask(&self, permissions: &mut Permissions) {
        let verbs = ["get", "list", "watch"];
        let secrets = PolicyRule::new("", "secrets", verbs);
        let objects = PolicyRule::new(self.kind.group(), self.kind.plural(), verbs);
        match self.namespace() {
            Some(namespace) => permissions.grant(Some(namespace), secrets),
            None => permissions.grant_in_own_namespace(secrets),
        }
        match self.namespace() {
            _ if !self.kind.is_namespaced() => permissions.grant(None, objects),
            Some(namespace) => permissions.grant(Some(namespace), objects),
            None => permissions.grant_in_own_namespace(objects),
        }
    }

    pub(super) fn follow(&self, informers: &Informers, namespace: &str) -> Listing {
        let scope = self.scope.clone();
        let scope = if self.kind.is_namespaced() {
            scope.in_namespace(namespace)
        } else {
            scope
        };
        (self.follow)(informers, scope)
    }
}

fn named<K: AnyObject>(objects: &[K], of: &dyn Fn(&K) -> Option<Kubeconfig>) -> Named {
    let mut named = Named::new();
    for object in objects {
        let object_name = object.meta().name.as_deref().unwrap_or_default();
        // The function is the program's own: its panic must not take the other members with it.
        let kubeconfig = catch_unwind(AssertUnwindSafe(|| of(object))).unwrap_or_else(|_| {
            tracing::error!(
                object = object_name,
                "the function that says where the kubeconfig of a cluster is has panicked: the cluster is no member"
            );
            None
        });
        let Some(kubeconfig) = kubeconfig else {
            continue;
        };
        let name: Arc<str> = kubeconfig.cluster().unwrap_or(object_name).into();
        if named.contains_key(&name) {
            tracing::warn!(
                cluster = &*name,
                object = object_name,
                "the object stands for a cluster that another one stands for: it has no effect"
            );
            continue;
        }
        named.insert(name, kubeconfig);
    }
    named
}

impl fmt::Debug for Members {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Members")
            .field("kind", &self.kind)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

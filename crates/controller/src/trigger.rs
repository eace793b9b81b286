//! Reconciles that something outside of the cluster asks for: a webhook, a task, a message.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::{Mutex, locked};
use crate::{AnyObject, Key, ObjectRef};

/// Has controllers reconcile objects because of something that no watch tells of: a call of a webhook, a message from a queue, a
/// timer. Clones are the same trigger.
///
/// A trigger belongs to the controllers that [name it](crate::Controller::triggered_by), one or several, and to one kind: the
/// reference to a Pod does not reach a controller of Deployments. A call neither waits nor fails, so that synchronous code can make it.
///
/// * A triggered object is reconciled as if it had just changed. Triggers of an object that waits already come to one reconcile, so
///   that triggers take no memory beside the queue.
/// * An object that is not in the controller's cache is not reconciled: it is deleted, out of the controller's scope, or not known
///   yet, and its creation then causes the reconcile. Neither is one that the controller's [`Predicate`](crate::Predicate) would
///   leave alone if it were new.
/// * While the controller does not run here, because it has not begun or another replica leads, the call has no effect. No later run
///   needs it: a controller that begins reconciles every object that a trigger could have named.
/// * A trigger works inside of its process: on a replica that does not lead, such as in a webhook there, it does not reach the leader.
///   What every replica has to hear of is a change of an object.
///
/// # Example: a message from outside
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Scope, Trigger};
/// use kubewright_testing::{TestCluster, yaml};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = TestCluster::start().await;
/// cluster.create::<ConfigMap>(&yaml("metadata: {name: settings}")).await.expect_allowed();
/// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
/// let reconcile = move |map: Arc<ConfigMap>, _: Context| {
///     drop(sender.send(map.metadata.name.clone()));
///     async { Ok(Action::await_change()) }
/// };
///
/// let refresh = Trigger::new();
/// let controller = Controller::new("settings", reconcile)
///     .within(Scope::all().named("settings"))
///     .triggered_by(&refresh);
/// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
/// assert_eq!(reconciled.recv().await.flatten().as_deref(), Some("settings"));
///
/// refresh.reconcile(("default", "settings")); // nothing has changed in the cluster
/// assert_eq!(reconciled.recv().await.flatten().as_deref(), Some("settings"));
/// # Ok(())
/// # }
/// ```
///
/// # Example: another kind does not compile
///
/// ```compile_fail,E0308
/// # use std::sync::Arc;
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
/// # use kubewright_controller::{Action, Context, Controller, Error, Trigger};
/// # async fn reconcile(_: Arc<Deployment>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
/// let pods: Trigger<Pod> = Trigger::new();
/// let controller = Controller::new("deployments", reconcile).triggered_by(&pods);
/// ```
pub struct Trigger<K> {
    listeners: Arc<Mutex<Listeners>>,
    calls: Calls,
    kind: PhantomData<fn() -> K>,
}

/// How often a trigger was called. Clones share the count.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<AtomicU64>);

impl Calls {
    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
struct Listeners {
    next: u64,
    all: Vec<(u64, Listener)>,
}

type Listener = Arc<dyn Fn(Wanted<'_>) + Send + Sync>;

/// What a trigger wants reconciled.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'a> {
    One(&'a Key),
    All,
}

/// A controller that hears a trigger until this is dropped.
pub(crate) struct Listening<K> {
    trigger: Trigger<K>,
    number: u64,
}

impl<K: AnyObject> Trigger<K> {
    /// Creates a trigger, which reaches no controller yet.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kubewright_controller::Trigger;
    ///
    /// let nodes: Trigger<Node> = Trigger::new();
    /// nodes.reconcile("worker-1"); // nothing runs: no effect
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self {
            listeners: Arc::default(),
            calls: Calls::default(),
            kind: PhantomData,
        }
    }

    /// Has an object reconciled, before objects of the first list and those that come back by time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, Pod};
    /// use kubewright_controller::Trigger;
    ///
    /// // As in `related`: a namespaced object by namespace and name, another one by its name.
    /// Trigger::<Pod>::new().reconcile(("blue", "web"));
    /// Trigger::<Namespace>::new().reconcile("blue");
    /// ```
    pub fn reconcile(&self, object: impl Into<ObjectRef<K>>) {
        self.tell(Wanted::One(&object.into().into_key()));
    }

    /// Has every object of the controllers reconciled, after those that have changed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::{Action, Context, Controller, Trigger};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
    /// let reconcile = move |namespace: Arc<Namespace>, _: Context| {
    ///     drop(sender.send(namespace.metadata.name.clone()));
    ///     async { Ok(Action::await_change()) }
    /// };
    /// let prices_changed = Trigger::new();
    /// let controller = Controller::new("namespaces", reconcile).triggered_by(&prices_changed);
    /// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    /// let first = reconciled.recv().await.unwrap();
    /// prices_changed.reconcile_all();
    /// while reconciled.recv().await.unwrap() != first {}
    /// # }
    /// ```
    pub fn reconcile_all(&self) {
        self.tell(Wanted::All);
    }

    /// Has a function hear what is triggered from now on, until what this returns is dropped.
    pub(crate) fn listen(
        &self,
        listener: impl Fn(Wanted<'_>) + Send + Sync + 'static,
    ) -> Listening<K> {
        let mut listeners = locked(self.listeners.lock());
        let number = listeners.next;
        listeners.next += 1;
        listeners.all.push((number, Arc::new(listener)));
        Listening {
            trigger: self.clone(),
            number,
        }
    }

    pub(crate) fn calls(&self) -> Calls {
        self.calls.clone()
    }

    fn tell(&self, wanted: Wanted<'_>) {
        self.calls.0.fetch_add(1, Ordering::Relaxed);
        // A listener wakes workers, which may trigger in turn.
        let listeners = locked(self.listeners.lock()).all.clone();
        for (_, listener) in listeners {
            listener(wanted);
        }
    }
}

impl<K> Drop for Listening<K> {
    fn drop(&mut self) {
        let mut listeners = locked(self.trigger.listeners.lock());
        listeners.all.retain(|(number, _)| *number != self.number);
    }
}

impl<K: AnyObject> Default for Trigger<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Clone for Trigger<K> {
    fn clone(&self) -> Self {
        Self {
            listeners: Arc::clone(&self.listeners),
            calls: self.calls.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Trigger<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Trigger")
            .field("controllers", &locked(self.listeners.lock()).all.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    #[test]
    fn a_trigger_is_heard_by_every_listener_until_it_is_dropped() {
        let trigger: Trigger<Pod> = Trigger::new();
        let heard: Arc<AtomicUsize> = Arc::default();
        let listen = || {
            let heard = Arc::clone(&heard);
            trigger.listen(move |wanted| {
                let weight = match wanted {
                    Wanted::One(key) => key.name().len(),
                    Wanted::All => 100,
                };
                heard.fetch_add(weight, Ordering::Relaxed);
            })
        };
        trigger.reconcile(("blue", "web"));
        let (first, second) = (listen(), listen());
        trigger.clone().reconcile(("blue", "web"));
        assert_eq!(heard.swap(0, Ordering::Relaxed), 6);
        drop(first);
        trigger.reconcile_all();
        assert_eq!(heard.swap(0, Ordering::Relaxed), 100);
        drop(second);
        trigger.reconcile_all();
        assert_eq!(heard.load(Ordering::Relaxed), 0);
    }
}

//! The one task in which all controllers run: it follows the store, and looks at what has changed.

use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::sync::Arc;

use futures::future::{self, BoxFuture};
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use kubewright_kubelet::Pods;
use kubewright_registry::Served;
use kubewright_storage::{Change as Written, Follower, Store};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::client::{Client, Failure, Service};
use super::clock::Clock;
use super::graph::{Change, Graph};
use super::object::Item;
use super::queue::{Next, Queue};
use super::recorder::{Event, Kind, Recorder};

/// One controller.
pub(super) trait Controller: Debug + Send + Sync {
    /// Adds what a change concerns.
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>);

    /// Makes what it needs before it looks at anything.
    fn prepare<'a>(&'a self, _: &'a Context) -> BoxFuture<'a, ()> {
        future::ready(()).boxed()
    }

    /// Brings the object of a key nearer to what it shall be.
    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome>;
}

/// What is to be looked at, and by which controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    controller: usize,
    pub(super) table: Arc<str>,
    pub(super) path: String,
}

/// What came of looking at something.
pub(super) type Outcome = Result<Next, Failure>;

/// Takes the keys of one controller.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    controller: usize,
    queue: &'a mut Queue<Key>,
}

/// What controllers need of the API server beside them. They write through its service alone; reads that real controllers
/// make in their caches are made in the store.
#[expect(clippy::exhaustive_structs, reason = "the composition root makes it")]
pub struct Server {
    /// The API server; each request has its `User` in its extensions.
    pub service: Service,
    /// Where the objects are.
    pub store: Arc<Store>,
    /// The resources that are served.
    pub served: Arc<Served>,
    /// The pods whose containers run.
    pub pods: Pods,
    /// The certificate authority.
    pub authority: Box<dyn Authority>,
}

/// What controllers ask of the certificate authority of the API server. Failures are sentences.
pub trait Authority: Send + Sync {
    /// The PEM of its certificate, which pods trust.
    ///
    /// # Errors
    /// There is no authority, and none can be made.
    fn root_ca(&self) -> Result<String, String>;

    /// Reads what a certificate signing request in PEM asks for.
    ///
    /// # Errors
    /// The request is not valid.
    fn read(&self, request: &str) -> Result<Requested, String>;

    /// Signs a request in PEM: a certificate in PEM with these usages, valid between two times in seconds since 1970.
    ///
    /// # Errors
    /// The request is not valid, or cannot be signed so.
    fn sign(&self, request: &str, usages: &[&str], valid: (i64, i64)) -> Result<String, String>;
}

/// What a certificate signing request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the composition root makes it")]
pub struct Requested {
    /// The common name of the subject.
    pub common_name: String,
    /// The organizations of the subject.
    pub organizations: Vec<String>,
    /// How many DNS names, addresses, email addresses and URIs it has.
    pub alternative_names: [usize; 4],
}

/// What controllers work with.
pub(super) struct Context {
    pub(super) client: Client,
    pub(super) clock: Clock,
    pub(super) store: Arc<Store>,
    pub(super) served: Arc<Served>,
    pub(super) pods: Pods,
    pub(super) authority: Box<dyn Authority>,
    pub(super) recorder: Recorder,
    controllers: Vec<Box<dyn Controller>>,
    state: Mutex<State>,
    waker: mpsc::UnboundedSender<Key>,
}

#[derive(Debug)]
struct State {
    follower: Follower,
    graph: Graph,
    queue: Queue<Key>,
}

impl Keys<'_> {
    pub(super) fn add(&mut self, item: &Item) {
        self.add_path(&item.table, item.object.path.clone());
    }

    pub(super) fn add_path(&mut self, table: &Arc<str>, path: String) {
        self.queue.add(Key {
            controller: self.controller,
            table: table.clone(),
            path,
        });
    }

    /// Adds the object that manages another one, if it is in this table.
    pub(super) fn add_controller_of(&mut self, item: &Item, graph: &Graph, table: &str) {
        let owner = item.controller().and_then(|owner| graph.by_uid(&owner.uid));
        if let Some(owner) = owner.filter(|owner| &*owner.table == table) {
            self.add(&owner);
        }
    }
}

impl Context {
    /// Makes a context, and the queue of what is looked at for another reason than a change.
    pub(super) fn new(
        server: Server,
        controllers: Vec<Box<dyn Controller>>,
    ) -> (Self, mpsc::UnboundedReceiver<Key>) {
        let Server {
            service,
            store,
            served,
            pods,
            authority,
        } = server;
        let (waker, woken) = mpsc::unbounded_channel();
        let follower = store.follow();
        let cx = Self {
            client: Client::new(service),
            clock: Clock::start(),
            store,
            served,
            pods,
            authority,
            recorder: Recorder::default(),
            controllers,
            state: Mutex::new(State {
                follower,
                graph: Graph::default(),
                queue: Queue::new(),
            }),
            waker,
        };
        (cx, woken)
    }

    /// Returns a function that adds the key to the queue again.
    pub(super) fn waker(&self, key: &Key) -> impl Fn() + Send + Sync + 'static {
        let (waker, key) = (self.waker.clone(), key.clone());
        move || {
            // The controllers may have ended before what wakes them.
            let _ = waker.send(key.clone());
        }
    }

    /// The PEM of the authority that pods trust.
    pub(super) fn root_ca(&self) -> Result<String, Failure> {
        self.authority.root_ca().map_err(Failure::own)
    }

    /// Looks at all objects as they are now: whatever was written before is seen.
    pub(super) fn look<T>(&self, at: impl FnOnce(&Graph) -> T) -> T {
        let mut state = self.state.lock();
        self.catch_up(&mut state);
        at(&state.graph)
    }

    /// The object of a key as it is now.
    pub(super) fn item(&self, key: &Key) -> Option<Arc<Item>> {
        self.look(|graph| graph.get(&key.table, &key.path))
    }

    /// Tells an event about an object, as a controller by its account.
    pub(super) async fn tell(
        &self,
        controller: &str,
        object: &Value,
        kind: Kind,
        reason: &str,
        message: &str,
    ) {
        let event = Event {
            controller,
            object,
            kind,
            reason,
            message,
        };
        let now = self.clock.text();
        self.recorder.tell(&self.client, &now, event).await;
    }

    /// Takes over everything there is, and has all of it looked at.
    fn start_over(&self, state: &mut State) {
        let mut gone: HashSet<_> = state.graph.places().into_iter().collect();
        for (table, objects) in state.follower.snapshot() {
            for object in objects {
                gone.remove(&(Arc::from(table.as_str()), object.path.clone()));
                let change = state.graph.put(&table, object);
                self.route(state, &change);
            }
        }
        for (table, path) in gone {
            let change = state.graph.remove(&table, &path);
            self.route(state, &change);
        }
    }

    fn catch_up(&self, state: &mut State) {
        let Ok(events) = state.follower.read() else {
            // So much was written that the log has forgotten what was not read yet.
            return self.start_over(state);
        };
        for (table, event) in events {
            let change = if event.change == Written::Deleted {
                state.graph.remove(&table, &event.object.path)
            } else {
                state.graph.put(&table, event.object.clone())
            };
            self.route(state, &change);
        }
    }

    fn route(&self, state: &mut State, change: &Change) {
        for (controller, concerned) in self.controllers.iter().enumerate() {
            let queue = &mut state.queue;
            let mut keys = Keys { controller, queue };
            concerned.concerns(change, &state.graph, &mut keys);
        }
    }

    /// The next key that is to be looked at.
    fn next(&self) -> Option<Key> {
        let mut state = self.state.lock();
        self.catch_up(&mut state);
        state.queue.next()
    }

    async fn work_on(&self, key: Key) -> (Key, Next) {
        let controller = &self.controllers[key.controller];
        let next = controller.reconcile(self, &key).await;
        let next = next.unwrap_or_else(|failure| {
            tracing::debug!(table = %key.table, path = key.path, %failure, "tried again later");
            Next::Failed
        });
        (key, next)
    }
}

impl Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}

impl Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// Runs controllers until the server is stopped or gone.
pub(super) async fn run(
    cx: Context,
    mut woken: mpsc::UnboundedReceiver<Key>,
    mut stopped: watch::Receiver<bool>,
) {
    tokio::select! {
        biased;
        _ = stopped.wait_for(|stopped| *stopped) => {}
        () = work(&cx, &mut woken) => {}
    }
}

async fn work(cx: &Context, woken: &mut mpsc::UnboundedReceiver<Key>) {
    /// How many objects are looked at at the same time: a slow webhook holds up few others.
    const MOST: usize = 64;
    for controller in &cx.controllers {
        controller.prepare(cx).await;
    }
    // The namespaces that are there from the start are read when they are first asked for.
    cx.store.changed("namespaces");
    let mut written = cx.store.written();
    cx.start_over(&mut cx.state.lock());
    let mut running = FuturesUnordered::new();
    loop {
        // Controllers that always have something to do would not let the tasks run that their writes wake.
        tokio::task::consume_budget().await;
        written.mark_unchanged();
        while running.len() < MOST
            && let Some(key) = cx.next()
        {
            running.push(cx.work_on(key));
        }
        let due = cx.state.lock().queue.next_due();
        tokio::select! {
            Some((key, next)) = running.next(), if !running.is_empty() => {
                cx.state.lock().queue.done(key, next);
            }
            // The store outlives this task, and its sender with it.
            _ = written.changed() => {}
            // The context keeps a sender.
            Some(key) = woken.recv() => cx.state.lock().queue.add(key),
            () = tokio::time::sleep_until(due.unwrap_or_else(tokio::time::Instant::now)),
                if due.is_some() && running.len() < MOST => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;
    use http::Response;
    use kubewright_registry::Registry;
    use kubewright_storage::Limits;
    use tokio::time::Duration;
    use tower::{service_fn, util::BoxCloneSyncService};

    use super::*;

    static NO_KINDS: LazyLock<Registry> = LazyLock::new(Registry::default);

    /// A controller that has something to do whenever it is asked.
    #[derive(Debug, Default)]
    struct Busy(AtomicUsize);

    impl Controller for Busy {
        fn concerns(&self, _: &Change, _: &Graph, _: &mut Keys<'_>) {}

        fn reconcile<'a>(&'a self, _: &'a Context, _: &'a Key) -> BoxFuture<'a, Outcome> {
            const TURNS: usize = 100_000;
            let turns = self.0.fetch_add(1, Ordering::Relaxed);
            assert!(turns < TURNS, "no other task ran meanwhile");
            future::ready(Ok(Next::After(Duration::ZERO))).boxed()
        }
    }

    struct NoAuthority;

    impl Authority for NoAuthority {
        fn root_ca(&self) -> Result<String, String> {
            Err("there is none".to_owned())
        }

        fn read(&self, _: &str) -> Result<Requested, String> {
            Err("there is none".to_owned())
        }

        fn sign(&self, _: &str, _: &[&str], _: (i64, i64)) -> Result<String, String> {
            Err("there is none".to_owned())
        }
    }

    #[tokio::test]
    async fn other_tasks_run_beside_controllers_that_always_have_work() {
        let server = Server {
            service: BoxCloneSyncService::new(service_fn(async |_| {
                Ok(Response::new(Bytes::new()))
            })),
            store: Arc::new(Store::new(Limits::default())),
            served: Arc::new(Served::new(&NO_KINDS)),
            pods: Pods::default(),
            authority: Box::new(NoAuthority),
        };
        let (cx, woken) = Context::new(server, vec![Box::new(Busy::default())]);
        let key = Key {
            controller: 0,
            table: "pods".into(),
            path: "default/a".to_owned(),
        };
        cx.waker(&key)();
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(run(cx, woken, stopped));
        // There is one thread: this goes on only when that task lets it.
        tokio::task::yield_now().await;
        stop.send_replace(true);
        running.await.expect("it let others run");
    }
}

//! One other cluster at work: its caches, its controllers and its credentials.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{join_all, pending};
use kube::Client;
use kubewright_controller::{AnyController, Connection, Informers, Meter, Reconciled, Running};
use tokio::sync::{Mutex, watch};
use tokio::time::sleep;
use tracing::Instrument as _;

use super::health::Health;
use super::lead::{Lead, Term};
use super::secret::{self, Seen};
use super::way::Way;
use super::{Kubeconfig, access};
use crate::configuration::Followed;
use crate::{ClusterNeeds, ClusterState, Live};

/// Another cluster that the program works in.
pub(crate) struct Member {
    name: Arc<str>,
    informers: Informers,
    connection: Connection,
    controllers: Vec<Running>,
    // Taken when the member starts.
    configuration: Mutex<Vec<Box<dyn Followed>>>,
    health: Health,
    way: Way,
    has_left: watch::Sender<bool>,
}

/// Called for every reconcile.
pub(crate) type Observe = Arc<dyn Fn(&Reconciled<'_>) + Send + Sync>;

/// What a member has of the program that it belongs to.
#[derive(Clone)]
pub(super) struct Home {
    pub(super) client: Client,
    pub(super) program: Arc<str>,
    pub(super) lead: watch::Receiver<Lead>,
}

impl Member {
    /// Sets up what has been requested in a cluster.
    pub(super) fn new(needs: ClusterNeeds, observe: &Observe) -> Self {
        let attach = |controller: &AnyController| {
            let mut running = controller.attach(&needs.informers);
            running.works_in(Arc::clone(&needs.name));
            let observe = Arc::clone(observe);
            running.observe(move |reconciled| observe(reconciled));
            running
        };
        let controllers = needs.controllers.iter().map(attach).collect();
        Self {
            controllers,
            health: Health::new(Arc::clone(&needs.name), needs.states),
            name: needs.name,
            informers: needs.informers,
            connection: needs.connection,
            configuration: Mutex::new(needs.configuration),
            way: Way::new(),
            has_left: watch::Sender::new(false),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn state(&self) -> Live<ClusterState> {
        self.health.state()
    }

    pub(crate) fn informers(&self) -> &Informers {
        &self.informers
    }

    pub(crate) fn meters(&self) -> impl Iterator<Item = Meter> {
        self.controllers.iter().map(Running::meter)
    }

    /// Has the member end, as soon as its controllers have finished what they have begun.
    pub(super) fn leave(&self) {
        self.has_left.send_replace(true);
    }

    /// Works in the cluster until it leaves.
    ///
    /// Dropping the future ends all at once.
    pub(super) async fn live(
        self: Arc<Self>,
        kubeconfig: Kubeconfig,
        namespace: Option<Arc<str>>,
        home: Home,
    ) {
        let span = tracing::info_span!("cluster", cluster = &*self.name);
        let lived = async {
            let (seen, kubeconfigs) = watch::channel(Seen::NotYet);
            let secret = secret::follow(kubeconfig, namespace, home.client.clone(), &seen);
            tokio::select! {
                () = secret => {}
                () = self.follow(kubeconfigs, &home.program) => {}
                () = self.follow_configuration() => {}
                () = self.work(home.lead.clone()) => {}
            }
        };
        lived.instrument(span).await;
    }

    async fn follow(&self, mut kubeconfigs: watch::Receiver<Seen>, program: &Arc<str>) {
        let mut client: Option<Client> = None;
        loop {
            let followed = async {
                match &client {
                    Some(client) => self.watch(client).await,
                    None => pending().await,
                }
            };
            // Dropping what follows the cluster ends the watches of the old credentials. Caches keep what they have.
            client = tokio::select! {
                never = followed => match never {},
                next = self.next(&mut kubeconfigs, client.is_some()) => next,
            };
            self.way.lead(client.clone());
            if let Some(client) = &client {
                let lasting = self.way.client(&self.name, client.default_namespace());
                self.connection.open(lasting, Arc::clone(program));
            }
        }
    }

    async fn watch(&self, client: &Client) -> Infallible {
        loop {
            tokio::select! {
                () = self.informers.run(client.clone()) => {}
                () = self.health.watch_over(client, &self.informers) => {}
            }
        }
    }

    /// Waits for another client; none: the credentials have been withdrawn.
    async fn next(&self, kubeconfigs: &mut watch::Receiver<Seen>, has_one: bool) -> Option<Client> {
        loop {
            if kubeconfigs.changed().await.is_err() {
                return pending().await;
            }
            let seen = kubeconfigs.borrow_and_update().clone();
            let cluster = &*self.name;
            match seen {
                Seen::NotYet => {}
                Seen::Missing(why) => {
                    self.health.is(ClusterState::Unreachable(why.to_string()));
                    if has_one {
                        return None;
                    }
                }
                Seen::Content(kubeconfig) => match access::client(&kubeconfig).await {
                    Ok(client) => {
                        if has_one {
                            tracing::info!(cluster, "the kubeconfig of the cluster was replaced");
                        }
                        return Some(client);
                    }
                    Err(error) if has_one => tracing::warn!(
                        cluster, %error,
                        "the new kubeconfig of the cluster is refused: the last one holds"
                    ),
                    Err(error) => {
                        let why = format!("the kubeconfig is refused: {error}");
                        self.health.is(ClusterState::Unreachable(why));
                    }
                },
            }
        }
    }

    async fn follow_configuration(&self) {
        let sources = std::mem::take(&mut *self.configuration.lock().await);
        if !sources.is_empty() {
            let client = self.connection.client().await;
            let followed = sources
                .into_iter()
                .map(|source| source.follow(Some(client.clone())));
            join_all(followed).await;
        }
        pending::<()>().await;
    }

    /// Has the controllers at work whenever this replica may, and ends when the member leaves.
    async fn work(&self, lead: watch::Receiver<Lead>) {
        loop {
            let term = tokio::select! {
                () = self.leaves() => return,
                term = term(lead.clone()) => term,
            };
            self.work_for(term, &lead).await;
        }
    }

    async fn leaves(&self) {
        let mut has_left = self.has_left.subscribe();
        // This holds the sender, so the channel cannot close.
        drop(has_left.wait_for(|has_left| *has_left).await);
    }

    async fn work_for(&self, term: Term, lead: &watch::Receiver<Lead>) {
        let leaves = self.leaves().shared();
        let over = until(lead, |lead| !term.lasts(lead)).shared();
        let cut = until(lead, |lead| !term.lasts(lead) && !matches!(lead, Lead::No));
        let stopping = || async {
            tokio::select! {
                () = leaves.clone() => {}
                () = over.clone() => {}
            }
        };
        let controllers = self.controllers.iter().map(|controller| {
            let stop = stopping();
            let guard = term.guard.clone();
            async move {
                match guard {
                    Some(guard) => controller.run_for(guard, stop).await,
                    None => controller.run(stop).await,
                }
            }
        });
        let work = async {
            join_all(controllers).await;
            // One without controllers is at work until the end as well.
            stopping().await;
        };
        let overdue = async {
            leaves.clone().await;
            sleep(GRACE).await;
            let cluster = &*self.name;
            tracing::warn!(
                cluster, grace = ?GRACE,
                "the cluster is gone, and its reconciles in progress are cut off"
            );
        };
        tokio::select! {
            () = work => {}
            () = overdue => {}
            () = cut => {}
        }
    }
}

async fn until(lead: &watch::Receiver<Lead>, holds: impl FnMut(&Lead) -> bool) {
    // Without a sender the program ends, and this with it.
    drop(lead.clone().wait_for(holds).await);
}

async fn term(mut lead: watch::Receiver<Lead>) -> Term {
    loop {
        if let Lead::Yes(term) = &*lead.borrow_and_update() {
            return term.clone();
        }
        if lead.changed().await.is_err() {
            return pending().await;
        }
    }
}

/// So long the controllers of a cluster that is gone have for what they have begun.
const GRACE: Duration = Duration::from_secs(10);

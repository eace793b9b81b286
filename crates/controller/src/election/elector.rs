//! The leader elector of one replica: what the rules say, done with an API server.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, sleep_until};

use super::LeaderElection;
use super::events::EventRecorder;
use super::guard::{LeaderGuard, Leadership};
use super::lease::{Failure, Place, Updates};
use super::observed::ObservedLease;
use super::record::Record;
use super::rules::{Holder, Moment, Next, Rules, Seen};
use crate::clock::Clock;
use crate::informer::Informers;
use crate::versions::is_newer;

/// Runs the leader election of one replica, as client-go's `LeaderElector` does.
///
/// ```
/// use kubewright_controller::{LeaderElection, LeaderElector};
/// use kubewright_testing::TestCluster;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let cluster = TestCluster::start().await;
/// let elector = LeaderElector::new(&LeaderElection::by_lease("gardens"), cluster.client());
/// let leadership = elector.guard();
/// let run = elector.run(std::future::pending(), async |guard| {
///     // This replica leads until leadership is lost.
///     assert!(guard.is_leader());
/// });
/// run.await; // the closure has returned, so the Lease is released
/// assert!(!leadership.is_leader());
/// # }
/// ```
pub struct LeaderElector {
    candidate: Candidate,
    informers: Informers,
    updates: Updates,
}

struct Candidate {
    lease: Place,
    identity: Arc<str>,
    lease_duration: Duration,
    retry: Duration,
    /// How long an answer may take.
    patience: Duration,
    clock: Clock,
    start: Instant,
    rules: Rules<String>,
    /// The Lease as this one has last seen it.
    record: Record,
    /// Whether the Lease may name this one without its knowing.
    may_hold: bool,
    failures: u32,
    leadership: Leadership,
    recorder: Option<EventRecorder>,
}

impl LeaderElector {
    /// Creates the elector of a replica, with a client that reaches the Lease.
    pub fn new(election: &LeaderElection, client: Client) -> Self {
        let lease = election.place(client);
        let informers = Informers::new();
        let updates = lease.updates(&informers);
        Self {
            candidate: Candidate {
                record: lease.absent(),
                lease,
                identity: election.name(),
                lease_duration: election.timing.lease,
                retry: election.timing.retry,
                patience: election.timing.renew_deadline / 2,
                clock: Clock::new(),
                start: Instant::now(),
                rules: Rules::new(election.timing),
                may_hold: false,
                failures: 0,
                leadership: Leadership::new(),
                recorder: None,
            },
            informers,
            updates,
        }
    }

    /// Records Events about the Lease in the name of a program: `became leader` and `stopped leading`, as Kubernetes' own
    /// controllers do. Requires the permission to create Events in the namespace of the Lease; without it the Events are lost.
    #[must_use]
    pub fn record_events(mut self, program: impl Into<String>) -> Self {
        self.candidate.recorder = Some(EventRecorder::new(program.into(), "LeaderElection"));
        self
    }

    /// Returns the identity of this replica, which the Lease has as `holderIdentity` while it leads.
    pub fn identity(&self) -> &str {
        &self.candidate.identity
    }

    /// Returns the Lease as this replica sees it while it [runs](Self::run).
    pub fn observed(&self) -> ObservedLease {
        ObservedLease::new(self.updates.latest.clone())
    }

    /// Returns a guard that says whether this replica leads.
    pub fn guard(&self) -> LeaderGuard {
        self.candidate.leadership.guard()
    }

    /// Stands for election until `shutdown` resolves, and leads whenever it wins.
    ///
    /// Calls `lead` each time this replica becomes the leader. `lead` has to return when leadership is
    /// [lost](LeaderGuard::lost); only then does this replica stand again. When `lead` returns earlier, the Lease is released
    /// and the election ends. `shutdown` ends the election of a replica that does not lead; `lead` ends that of a leader.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends leadership at once, and the other replicas wait for the rest of the lease duration.
    pub async fn run<L: Future<Output = ()>>(
        self,
        shutdown: impl Future<Output = ()>,
        mut lead: impl FnMut(LeaderGuard) -> L,
    ) {
        let Self {
            mut candidate,
            informers,
            mut updates,
        } = self;
        let client = candidate.lease.client.clone();
        let election = async {
            let mut shutdown = pin!(shutdown);
            loop {
                tokio::select! {
                    biased;
                    () = &mut shutdown => break,
                    () = candidate.win(&mut updates) => {}
                }
                let mut leading = pin!(lead(candidate.leadership.guard()));
                let is_done = tokio::select! {
                    biased;
                    () = candidate.hold(&mut updates) => false,
                    () = &mut leading => true,
                };
                if is_done {
                    candidate.record_event("stopped leading");
                    break;
                }
                leading.await;
            }
            candidate.release().await;
            if let Some(recorder) = &mut candidate.recorder {
                recorder.finish().await;
            }
        };
        tokio::select! {
            () = informers.run(client) => {}
            () = election => {}
        }
    }
}

impl Candidate {
    /// Waits until this one leads.
    ///
    /// # Cancel safety
    ///
    /// A claim may be stored without this one's knowing; [`release`](Self::release) takes it back.
    async fn win(&mut self, updates: &mut Updates) {
        while self.rules.leads_until(self.now()).is_none() {
            self.step(updates).await;
        }
        tracing::info!(lease = %self.lease, identity = %self.identity, "leading");
        self.record_event("became leader");
        self.prolong();
    }

    /// Leads, until leadership is lost.
    ///
    /// # Cancel safety
    ///
    /// As for [`win`](Self::win).
    async fn hold(&mut self, updates: &mut Updates) {
        while self.rules.leads_until(self.now()).is_some() {
            self.step(updates).await;
            self.prolong();
        }
        self.rules.steps_down();
        self.prolong();
        self.record_event("stopped leading");
        tracing::warn!(
            lease = %self.lease, identity = %self.identity, holder = self.record.holder(),
            "lost leadership: another replica took the Lease, or it could not be renewed in time"
        );
    }

    /// Takes the next step of the rules, or takes in the next update of the watch.
    async fn step(&mut self, updates: &mut Updates) {
        let now = self.now();
        match self.rules.next(now) {
            Next::Look => self.look().await,
            Next::Claim(version) => self.claim(version.is_some()).await,
            Next::Wait(until) => {
                let until = self
                    .rules
                    .leads_until(now)
                    .map_or(until, |end| until.min(end));
                tokio::select! {
                    () = sleep_until(self.start + until) => {}
                    Ok(()) = updates.latest.changed() => {
                        let heard = updates.latest.borrow_and_update().clone();
                        self.hear(heard);
                    }
                }
            }
        }
    }

    async fn look(&mut self) {
        match self.lease.get(self.patience()).await {
            Ok(lease) => self.see(Some(lease)),
            Err(Failure::NotFound) => self.see(None),
            Err(failure) => self.note(failure),
        }
    }

    async fn claim(&mut self, is_there: bool) {
        let known = if is_there {
            self.record.clone()
        } else {
            self.lease.absent()
        };
        let wanted = known.held_by(&self.identity, self.lease_duration, self.clock.now());
        self.may_hold = true;
        let sent = self.now();
        match self.lease.store(&wanted, is_there, self.patience()).await {
            Ok(record) => {
                self.failures = 0;
                self.rules
                    .wins(record.version().to_owned(), sent, self.now());
                self.record = record;
            }
            Err(Failure::NotFound) if !is_there => {
                let error = "the namespace does not exist".to_owned();
                self.note(Failure::Other(error));
            }
            Err(failure) => self.note(failure),
        }
    }

    /// Gives the Lease back, so that another leads at once.
    async fn release(&mut self) {
        self.rules.steps_down();
        self.prolong();
        // An earlier claim may have been stored behind its back, which the second attempt finds out.
        for _ in 0..2 {
            if !self.may_hold {
                return;
            }
            if self.record.holder() == Some(&*self.identity) {
                let released = self.record.released(self.clock.now());
                match self.lease.store(&released, true, self.patience()).await {
                    Ok(_) => {
                        self.may_hold = false;
                        tracing::info!(lease = %self.lease, "released the Lease");
                        return;
                    }
                    Err(failure) => self.note(failure),
                }
            }
            self.look().await;
            self.may_hold = self.record.holder() == Some(&*self.identity);
        }
    }

    fn record_event(&mut self, what: &str) {
        if let Some(recorder) = &mut self.recorder {
            let now = self.clock.now();
            recorder.record(&self.lease.client, &self.record, &self.identity, what, now);
        }
    }

    fn see(&mut self, record: Option<Record>) {
        self.failures = 0;
        let seen = record.as_ref().map(|record| self.seen(record));
        self.rules.sees(seen, self.now());
        self.record = record.unwrap_or_else(|| self.lease.absent());
    }

    fn hear(&mut self, record: Option<Record>) {
        let heard = record.as_ref().map(|record| self.seen(record));
        let before = self.rules.clone();
        self.rules.hears(heard, self.now(), |new, old| {
            is_newer(new, old).unwrap_or(new != old)
        });
        if before != self.rules
            && let Some(record) = record
        {
            self.record = record;
        }
    }

    fn seen(&self, record: &Record) -> Seen<String> {
        Seen {
            version: record.version().to_owned(),
            holder: match record.holder() {
                None => Holder::Vacant,
                Some(holder) if *holder == *self.identity => Holder::Myself,
                Some(_) => Holder::Other,
            },
            lease: record.duration(),
        }
    }

    fn note(&mut self, failure: Failure) {
        match failure {
            Failure::NotFound | Failure::Outrun => self.rules.is_outrun(),
            Failure::Other(error) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures == 1 {
                    tracing::warn!(lease = %self.lease, error, "cannot read or write the Lease; trying again");
                }
                let is_leading = self.rules.leads_until(self.now()).is_some();
                let spread = if is_leading {
                    0.0
                } else {
                    fastrand::f64() * SPREAD
                };
                self.rules
                    .fails(self.now(), self.retry.mul_f64(1.0 + spread));
            }
        }
    }

    /// Extends the guards to the end of leadership.
    fn prolong(&mut self) {
        let end = self.rules.leads_until(self.now());
        self.leadership.set(end.map(|end| self.start + end));
    }

    /// How long an answer may take: for a leader, not longer than it leads.
    fn patience(&self) -> Duration {
        let now = self.now();
        match self.rules.leads_until(now) {
            Some(end) => self.patience.min(end.saturating_sub(now)),
            None => self.patience,
        }
    }

    fn now(&self) -> Moment {
        Instant::now().duration_since(self.start)
    }
}

impl fmt::Debug for LeaderElector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LeaderElector")
            .field("lease", &self.candidate.lease.to_string())
            .field("identity", &self.candidate.identity)
            .finish_non_exhaustive()
    }
}

/// Replicas that failed together do not come back together: client-go's jitter.
const SPREAD: f64 = 1.2;

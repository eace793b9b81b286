//! How one replica shares the objects of its controller: what the rules say, done with an API server.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use tokio::time::{Instant, sleep_until};

use super::holdings::{Holdings, Moved};
use super::roster::{self, Roster};
use super::rules::{Next, Rules, Seen};
use crate::clock::Clock;
use crate::election::{EventRecorder, Failure, Moment, Place, Record, Updates};
use crate::informer::Informers;
use crate::versions::is_newer;
use crate::{Kind, LeaderElection};

/// Shares the objects of a controller with its other replicas.
pub(crate) struct Sharer {
    controller: Arc<str>,
    lease: Place,
    identity: Arc<str>,
    retry: Duration,
    /// How long an answer may take.
    patience: Duration,
    clock: Clock,
    start: Instant,
    rules: Rules<String>,
    /// The Lease as it was last seen.
    record: Record,
    holdings: Arc<Holdings>,
    failures: u32,
    is_leaving: bool,
    is_blocked: bool,
    recorder: EventRecorder,
    informers: Informers,
    updates: Updates,
}

/// What is shared, and by which Lease.
pub(crate) struct Site<'a> {
    pub(crate) election: &'a LeaderElection,
    pub(crate) controller: &'a Arc<str>,
    pub(crate) kind: &'a Kind,
    pub(crate) holdings: &'a Arc<Holdings>,
    pub(crate) client: Client,
}

/// As [`Sharer::run`].
pub(crate) type Share = for<'a> fn(
    Site<'a>,
    BoxFuture<'a, ()>,
    &'a (dyn Fn(&Moved) + Send + Sync),
) -> BoxFuture<'a, ()>;

impl Sharer {
    pub(super) fn share<'a>(
        site: Site<'a>,
        leaving: BoxFuture<'a, ()>,
        moved: &'a (dyn Fn(&Moved) + Send + Sync),
    ) -> BoxFuture<'a, ()> {
        Box::pin(Self::new(site).run(leaving, moved))
    }

    fn new(site: Site<'_>) -> Self {
        let Site {
            election,
            controller,
            kind,
            holdings,
            client,
        } = site;
        let (clock, timing) = (Clock::new(), election.timing());
        let (lease, identity) = (election.place(client), election.name());
        let informers = Informers::new();
        let count = holdings.count();
        // No process of the same name has begun in this millisecond, nor has beaten so often since.
        let beat = clock.now().as_millisecond().unsigned_abs();
        let split = format!("{kind}/{count}");
        Self {
            controller: Arc::clone(controller),
            updates: lease.updates(&informers),
            informers,
            record: lease.absent(),
            lease,
            retry: timing.retry,
            patience: timing.renew_deadline / 2,
            clock,
            start: Instant::now(),
            rules: Rules::new(identity.to_string(), split, count, timing, beat),
            identity,
            holdings: Arc::clone(holdings),
            failures: 0,
            is_leaving: false,
            is_blocked: false,
            recorder: EventRecorder::new(controller.to_string(), "Sharding"),
        }
    }

    /// Holds its share of the shards until `leaving` resolves, and then gives them back as soon as no reconcile is at work. Calls `moved`
    /// whenever shards have come or gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends what is held at once, and the other replicas wait for the rest of the lease duration.
    async fn run(mut self, leaving: impl Future<Output = ()>, moved: impl Fn(&Moved)) {
        let (informers, client) = (self.informers.clone(), self.lease.client.clone());
        let sharing = async {
            let mut leaving = pin!(leaving);
            while self.step(leaving.as_mut(), &moved).await {}
            self.recorder.finish().await;
        };
        tokio::select! {
            () = informers.run(client) => {}
            () = sharing => {}
        }
    }

    /// Does what is next, and returns whether there is more.
    async fn step(
        &mut self,
        leaving: std::pin::Pin<&mut impl Future<Output = ()>>,
        moved: &impl Fn(&Moved),
    ) -> bool {
        let holdings = Arc::clone(&self.holdings);
        let now = self.now();
        let next = self.rules.next(now, &|shard| holdings.is_busy(shard));
        self.publish(now, moved);
        match next {
            Next::Leave => return false,
            Next::Look => self.look().await,
            Next::Write(version, roster) => self.write(version.is_some(), &roster).await,
            Next::Wait(until) => {
                let until = until.min(now.saturating_add(self.retry));
                tokio::select! {
                    () = leaving, if !self.is_leaving => {
                        self.is_leaving = true;
                        self.rules.leaves();
                    }
                    () = sleep_until(self.start + until) => {}
                    () = holdings.idle() => {}
                    Ok(()) = self.updates.latest.changed() => {
                        let heard = self.updates.latest.borrow_and_update().clone();
                        self.hear(heard);
                    }
                }
            }
        }
        // The others wait for the rest of the lease duration if the API server does not hear of it.
        !(self.is_leaving && self.failures > 1 && self.holdings.held() == 0)
    }

    /// Lets the workers know what is held.
    fn publish(&mut self, now: Moment, tell: &impl Fn(&Moved)) {
        let (rules, start) = (&self.rules, self.start);
        let until = |shard| rules.holds_until(shard, now).map(|end| start + end);
        let moved = self.holdings.set(|shard| rules.begins(shard, now), until);
        let is_blocked = rules.is_blocked();
        if is_blocked && !self.is_blocked {
            tracing::warn!(
                controller = %self.controller, lease = %self.lease,
                "waiting for replicas that share other objects, or among another number of shards, by the same Lease"
            );
        }
        self.is_blocked = is_blocked;
        if moved.is_empty() {
            return;
        }
        let count = self.holdings.count();
        let open: Vec<usize> = (0..count)
            .filter(|shard| rules.begins(*shard, now))
            .collect();
        tracing::info!(
            controller = %self.controller, lease = %self.lease, identity = %self.identity,
            gained = ?moved.opened, lost = ?moved.closed, "holding {} of {count} shards", open.len()
        );
        let (open, now) = (listed(&open), self.clock.now());
        let what = format!("holds {open} of {count} shards of {}", self.controller);
        let client = &self.lease.client;
        self.recorder
            .record(client, &self.record, &self.identity, &what, now);
        tell(&moved);
    }

    async fn look(&mut self) {
        match self.lease.get(self.patience()).await {
            Ok(record) => self.see(Some(record)),
            Err(Failure::NotFound) => self.see(None),
            Err(failure) => self.note(failure),
        }
    }

    async fn write(&mut self, is_there: bool, roster: &Roster) {
        let known = if is_there {
            self.record.clone()
        } else {
            self.lease.absent()
        };
        let record = roster::written(&known, roster, self.clock.now());
        let sent = self.now();
        match self.lease.store(&record, is_there, self.patience()).await {
            Ok(record) => {
                self.failures = 0;
                self.rules.wins(seen(&record), sent, self.now());
                self.record = record;
            }
            Err(Failure::NotFound) if !is_there => {
                self.note(Failure::Other("the namespace does not exist".to_owned()));
            }
            Err(failure) => self.note(failure),
        }
    }

    fn see(&mut self, record: Option<Record>) {
        self.failures = 0;
        self.rules.sees(record.as_ref().map(seen), self.now());
        self.record = record.unwrap_or_else(|| self.lease.absent());
    }

    fn hear(&mut self, record: Option<Record>) {
        let now = self.now();
        let is_news = self
            .rules
            .hears(record.as_ref().map(seen), now, |new, old| {
                is_newer(new, old).unwrap_or(new != old)
            });
        if let (true, Some(record)) = (is_news, record) {
            self.record = record;
        }
    }

    fn note(&mut self, failure: Failure) {
        match failure {
            Failure::NotFound | Failure::Outrun => self.rules.is_outrun(),
            Failure::Other(error) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures == 1 {
                    tracing::warn!(
                        controller = %self.controller, lease = %self.lease, error,
                        "cannot read or write the Lease of the shards; trying again"
                    );
                }
                self.rules.fails(self.now(), self.retry);
            }
        }
    }

    /// How long an answer may take: while something is held, not longer than that.
    fn patience(&self) -> Duration {
        let now = self.now();
        match self.rules.ends(now) {
            Some(end) => self.patience.min(end.saturating_sub(now)),
            None => self.patience,
        }
    }

    fn now(&self) -> Moment {
        Instant::now().duration_since(self.start)
    }
}

impl Drop for Sharer {
    fn drop(&mut self) {
        self.holdings.set(|_| false, |_| None);
    }
}

fn seen(record: &Record) -> Seen<String> {
    let roster = roster::read(record);
    Seen {
        version: record.version().to_owned(),
        era: roster.is_some().then(|| record.uid().to_owned()),
        roster: roster.unwrap_or_default(),
    }
}

fn listed(shards: &[usize]) -> String {
    let mut text: Vec<String> = shards.iter().take(LISTED).map(usize::to_string).collect();
    match shards.len() {
        0 => return "none".to_owned(),
        count if count > LISTED => text.push(format!("and {} more", count - LISTED)),
        _ => {}
    }
    text.join(", ")
}

/// An Event has room for a sentence.
const LISTED: usize = 32;

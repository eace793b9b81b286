//! Keeps what one object says about trust as it is wanted, whatever others do to it.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::DynamicObject;
use kubewright_controller::{Backoff, Cached, Changes, Informers, ReadError, Scope};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::events::EventRecorder;
use super::guard::{Guard, Weather};
use super::others;
use super::request::{self, Failure};
use super::status::{Seen, TrustStatus};
use super::target::Target;
use super::wanted::{Edit, Wanted};
use crate::sentence::sentence;

/// Keeps one object.
pub(crate) struct Publisher {
    pub(crate) client: Client,
    /// By which the API server knows who wrote what.
    pub(crate) program: Arc<str>,
    pub(crate) target: Target,
    pub(crate) status: TrustStatus,
    pub(crate) wanted: watch::Receiver<Option<Wanted>>,
    pub(crate) recorder: EventRecorder,
}

/// A publisher at work.
struct Keeping {
    publisher: Publisher,
    wanted: Option<Wanted>,
    view: View,
    /// Whether the object has matched `wanted` since `wanted` last changed.
    was_in_sync: bool,
    guard: Guard,
    failures: u32,
    not_before: Option<Instant>,
    due: Option<Instant>,
}

/// What is known of the object.
enum View {
    Unknown,
    Absent,
    Found(Value),
}

impl Publisher {
    /// Follows the object and keeps it until this is dropped.
    pub(crate) async fn run(self) {
        let informers = Informers::new();
        let (kind, scope) = (self.target.kind(), Scope::all().named(&self.target.name));
        let objects = Cached::<DynamicObject>::dynamic(&informers, &kind, scope);
        let objects = objects.decode_as::<Value>();
        let changes = objects.follow(self.target.name.as_str());
        let client = self.client.clone();
        tokio::select! {
            () = informers.run(client) => {}
            () = Keeping::new(self).run(changes) => {}
        }
    }
}

impl Keeping {
    fn new(mut publisher: Publisher) -> Self {
        let wanted = publisher.wanted.borrow_and_update().clone();
        Self {
            publisher,
            wanted,
            view: View::Unknown,
            was_in_sync: false,
            guard: Guard::default(),
            failures: 0,
            not_before: None,
            due: None,
        }
    }

    async fn run(mut self, mut changes: Changes<DynamicObject, Value>) {
        loop {
            tokio::select! {
                seen = changes.next() => self.take(seen),
                () = changed(&mut self.publisher.wanted) => {
                    self.wanted.clone_from(&self.publisher.wanted.borrow_and_update());
                    self.was_in_sync = false;
                    self.look();
                }
                () = until(self.due) => self.put_right().await,
            }
            self.due = self.next_due();
        }
    }

    fn take(&mut self, seen: Result<Option<Value>, ReadError>) {
        match seen {
            Ok(Some(object)) => self.view = View::Found(object),
            Ok(None) => self.view = View::Absent,
            // No object is no JSON: this is a cache that was asked for another.
            Err(error) => tracing::debug!(error = sentence(&error), "cannot read an object"),
        }
        self.look();
    }

    /// What has to change in the object as it is known.
    fn edits(&self) -> Vec<Edit> {
        match (&self.wanted, &self.view) {
            (Some(wanted), View::Found(object)) => wanted.edits(&self.publisher.target, object),
            _ => Vec::new(),
        }
    }

    /// Takes down how it stands.
    fn look(&mut self) {
        let (seen, is_in_sync) = match &self.view {
            View::Unknown => (Seen::Nothing, false),
            View::Absent => (Seen::Absent, false),
            View::Found(object) => {
                let bundles = self.publisher.target.bundles(object);
                let is_in_sync = self.wanted.is_some() && self.edits().is_empty();
                (Seen::Known(bundles), is_in_sync)
            }
        };
        let is_undone = self.was_in_sync && !is_in_sync;
        let target = &self.publisher.target;
        self.publisher
            .status
            .saw(target, seen, is_in_sync, is_undone);
        self.was_in_sync |= is_in_sync;
    }

    /// When the object has to be put right.
    fn next_due(&self) -> Option<Instant> {
        let View::Found(object) = &self.view else {
            return None;
        };
        if self.edits().is_empty() {
            return None;
        }
        let now = Instant::now();
        let bundles = self.publisher.target.bundles(object);
        let wish = if self.publisher.status.is_verified_by(&bundles) {
            // Calls succeed as it is, and every replica has seen the same: one of them comes first.
            let jitter = JITTER.mul_f64(fastrand::f64());
            self.due.unwrap_or(now + jitter)
        } else {
            now
        };
        let floor = self.not_before.max(self.guard.not_before());
        Some(floor.map_or(wish, |floor| wish.max(floor)))
    }

    async fn put_right(&mut self) {
        self.due = None;
        match self.try_to().await {
            Ok(()) => {
                self.failures = 0;
                self.not_before = None;
            }
            Err(failure) => {
                self.failures += 1;
                let backoff = if failure.is_conflict() { SOON } else { BACKOFF };
                self.not_before = Some(Instant::now() + backoff.pause(self.failures));
                self.tell_of(&failure);
            }
        }
        self.look();
    }

    /// Reads the object itself: others may have put it right, and the view may be an old one.
    async fn try_to(&mut self) -> Result<(), Failure> {
        let Publisher {
            client,
            program,
            target,
            status,
            recorder,
            ..
        } = &self.publisher;
        let Some(object) = request::get(client, target).await? else {
            self.view = View::Absent;
            return Ok(());
        };
        let Some(wanted) = &self.wanted else {
            return Ok(());
        };
        let edits = wanted.edits(target, &object);
        if edits.is_empty() {
            self.view = View::Found(object);
            return Ok(());
        }
        if self.was_in_sync {
            let now = Instant::now();
            let other = others::last_writer(&object, program);
            let other = other.as_deref().unwrap_or("another field manager");
            match self.guard.undone(now) {
                Weather::Calm => {
                    tracing::info!(object = %target, other, "putting the trust in this program back");
                }
                Weather::Gathering => {
                    let note = format!("{other} overwrites the trust in {target} again and again");
                    tracing::warn!(object = %target, other, "{note}; it is put back ever more slowly");
                    recorder.warn("TrustOverwritten", note);
                }
                Weather::Storm => {}
            }
            if self.guard.not_before().is_some_and(|end| end > now) {
                // It is put back when the pause is over, which is no second time.
                self.was_in_sync = false;
                self.view = View::Found(object);
                return Ok(());
            }
        }
        let written =
            request::replace(client, target, program, &Edit::apply(edits, object)).await?;
        status.wrote(target);
        self.view = View::Found(written);
        Ok(())
    }

    fn tell_of(&self, failure: &Failure) {
        let object = &self.publisher.target;
        let (cause, failures) = (sentence(failure), self.failures);
        if failure.is_conflict() {
            tracing::debug!(%object, failures, "another client was faster");
        } else if failures.is_power_of_two() {
            tracing::warn!(%object, cause, failures, "cannot publish the trust in this program; trying again");
        }
    }
}

/// Waits until something else is wanted.
async fn changed(wanted: &mut watch::Receiver<Option<Wanted>>) {
    if wanted.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// For how long a replica waits at most when nothing is urgent.
const JITTER: Duration = Duration::from_millis(250);
const SOON: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(30));

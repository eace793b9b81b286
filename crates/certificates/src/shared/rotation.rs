//! A replica at work: what its rules say, done with an API server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::clock::Clock;
use super::happening::{Happening, Status};
use super::publication::Publication;
use super::record::{Content, Record};
use super::replica::{Found, Leaf, Replica, Serve, Wish};
use super::root::{Owner, Root};
use super::secret::{FIELD_MANAGER, Failure, News, Place, jittered};
use super::state::{Ca, Due, Moment, State};
use super::timing::Timing;
use super::trust::Trust;
use crate::{CertificateError, Identity, TrustBundle};

/// The life of an authority and of one replica's certificates, for as long as it [runs](Self::run).
pub struct Rotation {
    pub(super) place: Place,
    pub(super) owner: Owner,
    pub(super) names: Vec<String>,
    pub(super) timing: Timing,
    pub(super) clock: Clock,
    pub(super) identities: watch::Sender<Option<Identity>>,
    pub(super) trust: watch::Sender<Option<Trust>>,
    pub(super) status: watch::Sender<Status>,
    pub(super) tell: Arc<dyn Fn(&Happening) + Send + Sync>,
}

/// A timer alone would sleep through a suspended machine or a clock that is set.
const LONGEST_NAP: Duration = Duration::from_mins(1);

/// A clock that was set by more than this is looked after at once.
const JUMP: Duration = Duration::from_secs(5);

/// How wrong a clock has to be for somebody to be told.
const WRONG: Duration = Duration::from_mins(1);

/// How long an answer about the objects may take.
const PATIENCE: Duration = Duration::from_secs(30);

const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// So often a Secret is written back at once; another writer that goes on is answered more slowly, up to the longest pause.
const FREE_RESTORES: u32 = 5;
const LONGEST_RESTORE_PAUSE: Duration = Duration::from_mins(5);

/// A Secret that was left alone for so long is one that nobody fights about.
const PEACE: Duration = Duration::from_mins(10);

impl Rotation {
    /// What clients must trust, as it changes; `None` until the Secret was read or made.
    pub fn trust(&self) -> watch::Receiver<Option<Trust>> {
        self.trust.subscribe()
    }

    /// Where this replica is in the life of its certificates, as it changes.
    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Also tells of what happens, as it happens. It is told in the midst of the work: it must not block.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(&Happening) + Send + Sync + 'static) -> Self {
        self.tell = Arc::new(tell);
        self
    }

    /// Follows the Secret, signs for this replica, and does its part of each rotation. It runs until it is dropped.
    ///
    /// # Cancel safety
    ///
    /// It can be dropped at any moment, as a process can end at any moment: another replica carries on, or this one with a
    /// new `Rotation`.
    pub async fn run(self, publication: impl Publication) {
        let news = News::default();
        let place = self.place.clone();
        let mut work = Work {
            replica: Replica::new(self.timing),
            rotation: self,
            news: &news,
            root: None,
            plan: None,
            failures: 0,
            misses: 0,
            restores: 0,
            restored_at: Duration::ZERO,
        };
        tokio::select! {
            () = place.follow(&news) => {}
            () = work.go_on(&publication) => {}
        }
    }
}

struct Work<'a> {
    rotation: Rotation,
    news: &'a News,
    replica: Replica<Root>,
    /// The authority that has signed what is served.
    root: Option<Root>,
    /// Which version of the Secret is to be written over, and from when on.
    plan: Option<(String, Duration)>,
    failures: u32,
    /// How often in a row something was not published yet.
    misses: u32,
    restores: u32,
    restored_at: Duration,
}

impl Work<'_> {
    async fn go_on(&mut self, publication: &impl Publication) {
        loop {
            let pause = self.turn(publication).await;
            tokio::select! {
                () = self.news.arrive() => {}
                () = self.rest(pause) => {}
            }
        }
    }

    /// Looks at the Secret and does what is due; returns for how long there is nothing more to do.
    async fn turn(&mut self, publication: &impl Publication) -> Duration {
        let sent = self.rotation.clock.moment();
        let read = match self.rotation.place.read().await {
            Ok(read) => read,
            Err(failure) => return self.fails("read", &failure),
        };
        if let Some(time) = read.server_time {
            self.rotation.clock.set(time, sent);
        }
        // Whatever is signed lives from before the Secret was read, so that a replaced authority is known to have signed
        // nothing that lives longer than it is trusted.
        let at = self.rotation.clock.again(sent);
        let Place {
            namespace, name, ..
        } = &self.rotation.place;
        let is_lost = read.record.is_none();
        let record = read
            .record
            .unwrap_or_else(|| Record::absent(namespace, name));
        let (found, why) = match record.content() {
            Content::Foreign(why) => {
                let what = format!("the Secret is somebody else's: {why}");
                self.meets_trouble(what);
                return LONGEST_NAP;
            }
            _ if is_lost => (Found::Nothing, "it was gone".to_owned()),
            Content::Broken(why) => (Found::Nothing, why),
            Content::State(state) => {
                let state = *state;
                let is_asked = record.is_asked();
                let why = format!("it was set back to revision {}", state.revision);
                (Found::State { state, is_asked }, why)
            }
        };
        self.news.knows(record.version());
        self.replica.sees(&found, &at);
        self.tell_trust();
        let pause = self.serve(&at, publication).await;
        match self.replica.wish(&found, &at) {
            Err(rest) => {
                self.plan = None;
                self.misses = 0;
                self.recovers();
                rest.min(pause)
            }
            Ok(wish) => {
                let moment = self.planned(&wish, &record, &at);
                if moment.is_zero() {
                    self.plan = None;
                    self.write(wish, &record, why, &at, publication).await
                } else {
                    moment.min(pause)
                }
            }
        }
    }

    /// In what time this replica is to write, unless another has done it.
    fn planned(&mut self, wish: &Wish<Root>, record: &Record, at: &Moment) -> Duration {
        if let Some((version, moment)) = &self.plan
            && version == record.version()
        {
            return moment.saturating_sub(at.passed);
        }
        let mut pause = self.rotation.timing.moment_within_spread();
        if matches!(wish, Wish::Restore(_)) {
            if at.passed > self.restored_at + PEACE {
                self.restores = 0;
            }
            if let Some(doublings) = self.restores.checked_sub(FREE_RESTORES) {
                let slower = Duration::from_secs(1) * 2_u32.saturating_pow(doublings.min(16));
                pause += slower.min(LONGEST_RESTORE_PAUSE);
            }
        }
        self.plan = Some((record.version().to_owned(), at.passed + pause));
        pause
    }

    async fn write(
        &mut self,
        wish: Wish<Root>,
        record: &Record,
        why: String,
        at: &Moment,
        publication: &impl Publication,
    ) -> Duration {
        let (state, happening) = match self.wanted(wish, record, why, at, publication).await {
            Ok(Some(wanted)) => wanted,
            Ok(None) => {
                self.recovers();
                self.misses = self.misses.saturating_add(1);
                let pause = self.rotation.timing.spread * 2_u32.saturating_pow(self.misses.min(8));
                return jittered(pause.min(LONGEST_PAUSE));
            }
            Err(what) => {
                self.meets_trouble(what);
                return self.backs_off();
            }
        };
        self.misses = 0;
        let takes_request = matches!(happening, Happening::Staged { .. });
        let written = record.with(&state, takes_request);
        match self.rotation.place.write(&written).await {
            Ok(record) => {
                self.news.knows(record.version());
                if matches!(happening, Happening::Restored { .. }) {
                    self.restores = self.restores.saturating_add(1);
                    self.restored_at = at.passed;
                }
                self.tell(&happening);
                Duration::ZERO
            }
            Err(Failure::Conflict) => Duration::ZERO,
            Err(failure) => self.fails("write", &failure),
        }
    }

    /// What to write, and what has happened then; `None` if something is not published yet.
    async fn wanted(
        &self,
        wish: Wish<Root>,
        record: &Record,
        why: String,
        at: &Moment,
        publication: &impl Publication,
    ) -> Result<Option<(State<Root>, Happening)>, String> {
        let make = |generation| {
            let lifetime = self.rotation.timing.authority;
            Root::make(&self.rotation.owner, generation, at.now, lifetime)
                .map_err(|error| format!("cannot make an authority: {error}"))
        };
        let due = match wish {
            Wish::Restore(state) => {
                let writer = record.other_writer(FIELD_MANAGER).map(str::to_owned);
                let now = self.rotation.clock.moment().now;
                return Ok(Some((
                    state.restored(now),
                    Happening::Restored { why, writer },
                )));
            }
            Wish::Make if self.replica.state().is_none() => {
                return Ok(Some((State::first(make(1)?), Happening::Created)));
            }
            Wish::Make => Due::Replace,
            Wish::Step(due) => due,
        };
        let Some(state) = self.replica.state() else {
            return Ok(None);
        };
        let generation = state.generation + 1;
        let wanted = match due {
            Due::Replace => {
                let new = make(generation)?;
                let happening = Happening::Replaced { generation };
                (state.replaced(at.now, || new), happening)
            }
            Due::Stage => {
                let happening = Happening::Staged { generation };
                (state.staged(make(generation)?), happening)
            }
            Due::Publish | Due::Switch => {
                let is_published = self.is_published(state.trusted(), publication).await?;
                match (due, is_published) {
                    (Due::Publish, false) => return Ok(None),
                    (Due::Publish, true) => {
                        // From now on, not from before it was asked.
                        let now = self.rotation.clock.moment().now;
                        (state.published(Some(now)), Happening::Published)
                    }
                    (_, false) => (state.published(None), Happening::Unpublished),
                    (_, true) => {
                        // It counts from when nothing can be signed any more, which is after this.
                        let now = self.rotation.clock.moment().now;
                        (state.switched(now), Happening::Switched { generation })
                    }
                }
            }
            Due::Retire => (
                state.retired(at.now, &self.rotation.timing),
                Happening::Retired,
            ),
            Due::Wait(..) => return Ok(None),
        };
        Ok(Some(wanted))
    }

    async fn is_published(
        &self,
        roots: impl Iterator<Item = &Root>,
        publication: &impl Publication,
    ) -> Result<bool, String> {
        let trust = TrustBundle::of(roots.map(|root| root.certificate().clone()).collect());
        let asking = publication.is_published(&trust);
        timeout(PATIENCE, asking)
            .await
            .map_err(|_| format!("no answer within {PATIENCE:?} as to what is published"))?
            .map_err(|error| format!("cannot find out what is published: {error}"))
    }

    /// Signs when it is time to; returns when to look again.
    async fn serve(&mut self, at: &Moment, publication: &impl Publication) -> Duration {
        match self.replica.serve(at) {
            Serve::Keep => {}
            Serve::Sign => return self.sign(at),
            Serve::SignOnceProven => {
                let (Some(state), Some(root)) = (self.replica.state(), &self.root) else {
                    return self.sign(at);
                };
                let new = self
                    .is_published([&state.current].into_iter(), publication)
                    .await;
                let served = self.is_published([root].into_iter(), publication).await;
                let is_served_in_vain = matches!((&new, served), (Ok(true), Ok(false)));
                let now = self.rotation.clock.moment();
                if self.replica.proves(new == Ok(true), &now) || is_served_in_vain {
                    return self.sign(at);
                }
                return Duration::from_secs(1).min(self.rotation.timing.settle);
            }
        }
        self.replica.leaf().map_or(LONGEST_NAP, |leaf| {
            let renew = leaf.renew_at.duration_since(at.now);
            renew.unwrap_or(LONGEST_NAP)
        })
    }

    fn sign(&mut self, at: &Moment) -> Duration {
        let Some(state) = self.replica.state() else {
            return LONGEST_NAP;
        };
        let signed = self.signed(state, at);
        match signed {
            Ok((identity, leaf)) => {
                let happening = Happening::Signed {
                    generation: state.generation,
                    expires: leaf.not_after,
                };
                let pause = leaf.renew_at.duration_since(at.now);
                self.root = Some(state.current.without_key());
                self.replica.serves(leaf);
                self.rotation.identities.send_replace(Some(identity));
                self.tell(&happening);
                pause.unwrap_or_default()
            }
            Err(error) => {
                self.meets_trouble(format!("cannot sign a certificate: {error}"));
                LONGEST_PAUSE
            }
        }
    }

    fn signed(
        &self,
        state: &State<Root>,
        at: &Moment,
    ) -> Result<(Identity, Leaf), CertificateError> {
        let authority = state.current.authority();
        let authority = authority.ok_or(CertificateError::NotAnAuthority)?;
        let lifetime = self.rotation.timing.leaf;
        let issued = authority.sign_server_at(at.now, &self.rotation.names, lifetime)?;
        let trust = Trust::of(state, &self.rotation.owner);
        let identity = issued.identity()?.trusting(trust.trusted().clone());
        let life = identity
            .expires()
            .duration_since(at.now)
            .unwrap_or_default();
        // Not all at the same moment, and none of them late.
        let part = 2.0 / 3.0 - fastrand::f64() / 15.0;
        let leaf = Leaf {
            authority: state.current.fingerprint(),
            not_before: identity.not_before(),
            not_after: identity.expires(),
            renew_at: at.now + life.mul_f64(part),
        };
        Ok((identity, leaf))
    }

    fn tell_trust(&self) {
        let Some(state) = self.replica.state() else {
            return;
        };
        let trust = Some(Trust::of(state, &self.rotation.owner));
        self.rotation.trust.send_if_modified(|known| {
            let is_new = *known != trust;
            *known = trust;
            is_new
        });
        self.tell_status(|_| ());
    }

    fn tell_status(&self, change: impl FnOnce(&mut Status)) {
        self.rotation.status.send_if_modified(|status| {
            let before = status.clone();
            if let Some(state) = self.replica.state() {
                status.phase = Some(state.phase());
                status.generation = state.generation;
                status.authority_expires = Some(state.current.expires());
            }
            status.certificate_expires = self.replica.leaf().map(|leaf| leaf.not_after);
            change(status);
            *status != before
        });
    }

    fn tell(&self, happening: &Happening) {
        let secret = &self.rotation.place;
        if happening.is_warning() {
            tracing::warn!(%secret, "{happening}");
        } else {
            tracing::info!(%secret, "{happening}");
        }
        self.tell_status(|_| ());
        (self.rotation.tell)(happening);
    }

    fn fails(&mut self, verb: &str, failure: &Failure) -> Duration {
        let what = match failure {
            Failure::Conflict => return Duration::ZERO,
            failure => format!("cannot {verb} the Secret: {failure}"),
        };
        self.meets_trouble(what);
        self.backs_off()
    }

    fn backs_off(&mut self) -> Duration {
        let pause = Duration::from_millis(500) * 2_u32.saturating_pow(self.failures.min(8));
        self.failures = self.failures.saturating_add(1);
        jittered(pause.min(LONGEST_PAUSE))
    }

    fn meets_trouble(&self, what: String) {
        let is_known = self.rotation.status.borrow().trouble.as_ref() == Some(&what);
        if is_known {
            tracing::debug!(secret = %self.rotation.place, "{what}");
            return;
        }
        self.tell_status(|status| status.trouble = Some(what.clone()));
        self.tell(&Happening::Trouble { what });
    }

    /// All is well, or as well as with a clock that is wrong.
    fn recovers(&mut self) {
        self.failures = 0;
        if let Some(by) = self.rotation.clock.error().filter(|by| *by >= WRONG) {
            // In whole minutes, so that it is not news each time.
            let minutes = by.as_secs() / 60;
            self.meets_trouble(format!(
                "the clock of this machine and that of the API server are {minutes} minutes apart"
            ));
            return;
        }
        if self.rotation.status.borrow().trouble.is_some() {
            self.tell_status(|status| status.trouble = None);
            self.tell(&Happening::Recovered);
        }
    }

    /// Rests for a time, or until the clock was set.
    async fn rest(&self, pause: Duration) {
        let start = self.rotation.clock.moment();
        loop {
            let at = self.rotation.clock.moment();
            let passed = at.passed.saturating_sub(start.passed);
            let expected = start.local + passed;
            let off = at.local.duration_since(expected);
            let is_set = off.unwrap_or_else(|before| before.duration()) > JUMP;
            if passed >= pause || is_set {
                return;
            }
            sleep(pause.saturating_sub(passed).min(LONGEST_NAP)).await;
        }
    }
}

impl fmt::Debug for Rotation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Rotation")
            .field("secret", &self.place)
            .field("names", &self.names)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

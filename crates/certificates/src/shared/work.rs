//! A replica at work: what its rules say, done with an API server.

use std::time::Duration;

use tokio::time::sleep;

use super::events::RotationEvent;
use super::publication::Publication;
use super::record::{Content, LABEL, Record, TYPE};
use super::replica::{Found, Replica, Wish};
use super::root::Root;
use super::rotation::Rotation;
use super::secret::{Place, Updates, jittered};
use super::state::Moment;
use super::timing::Timing;

/// A timer alone would sleep through a suspended machine or a clock that is set.
pub(super) const LONGEST_NAP: Duration = Duration::from_mins(1);

/// A clock that was set by more than this is looked after at once.
const JUMP: Duration = Duration::from_secs(5);

pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// So often a write is put off because looks take long. After that it is how they are.
const MOST_DELAYS: u32 = 3;

/// So many losses of a Secret in a row are mended at once; one in this time is after that, however often it is lost: replicas
/// that start without it would make another authority, so that it is never left for long.
const MENDED_AT_ONCE: u32 = 10;
const MENDED_EVERY: Duration = Duration::from_secs(10);

pub(super) struct Work<'a> {
    pub(super) rotation: Rotation,
    pub(super) updates: &'a Updates,
    pub(super) replica: Replica<Root>,
    /// The authority that has signed what is served.
    pub(super) root: Option<Root>,
    pub(super) plan: Option<Plan>,
    pub(super) failures: u32,
    /// How often in a row something was not published yet.
    pub(super) misses: u32,
    /// By when all losses so far would have been mended, if each took its time.
    pub(super) mended: Duration,
}

impl Rotation {
    /// Follows the Secret, signs for this replica, and does its part of each rotation. It runs until it is dropped.
    ///
    /// # Cancel safety
    ///
    /// It can be dropped at any moment, as a process can end at any moment: another replica carries on, or this one with a
    /// new `Rotation`.
    pub async fn run(self, publication: impl Publication) {
        let updates = Updates::default();
        let place = self.place.clone();
        let mut work = Work {
            replica: Replica::new(self.timing),
            rotation: self,
            updates: &updates,
            root: None,
            plan: None,
            failures: 0,
            misses: 0,
            mended: Duration::ZERO,
        };
        tokio::select! {
            () = place.follow(&updates) => {}
            () = work.go_on(&publication) => {}
        }
    }
}

/// Which version of the Secret is to be written over, and when.
pub(super) struct Plan {
    version: String,
    moment: Duration,
    /// Within what time the moment was chosen.
    spread: Duration,
    delays: u32,
}

impl Work<'_> {
    pub(super) async fn go_on(&mut self, publication: &impl Publication) {
        loop {
            let pause = self.turn(publication).await;
            tokio::select! {
                () = self.updates.arrive() => {}
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
        let way = self
            .rotation
            .clock
            .moment()
            .passed
            .saturating_sub(sent.passed);
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
                let what = format!("the Secret belongs to another program: {why}");
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
        self.updates.knows(record.version());
        self.replica.sees(&found, &at);
        self.update_trust();
        let served = self.serve(&at, publication).await;
        let (pause, is_well) = match served {
            Ok(pause) => (pause, true),
            Err(error) => {
                self.meets_trouble(format!("cannot sign a certificate: {error}"));
                (LONGEST_PAUSE, false)
            }
        };
        if is_lost && self.rotation.is_made_beforehand {
            let (label, value) = LABEL;
            self.meets_trouble(format!(
                "the Secret is missing, and this program may not create it: create it empty, with the type {TYPE} and the \
                 label {label}={value}"
            ));
            self.plan = None;
            return pause.min(LONGEST_PAUSE);
        }
        match self.replica.wish(&found, &at) {
            Err(rest) => {
                self.plan = None;
                self.misses = 0;
                let again = if is_well {
                    self.recovers()
                } else {
                    LONGEST_PAUSE
                };
                again.min(rest).min(pause)
            }
            Ok(wish) => {
                let moment = self.planned(&wish, &record, way);
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
    fn planned(&mut self, wish: &Wish<Root>, record: &Record, way: Duration) -> Duration {
        let now = self.rotation.clock.moment().passed;
        let spread = self.rotation.timing.spread_for(way);
        let known = self.plan.take();
        let mut known = known.filter(|plan| plan.version == record.version());
        if let Some(plan) = &mut known {
            // Where looks take long all of a sudden, it is because many others look, too.
            let is_crowded = plan.spread * 2 < spread && plan.delays < MOST_DELAYS;
            if now < plan.moment || !is_crowded {
                let left = plan.moment.saturating_sub(now);
                self.plan = known;
                return left;
            }
        }
        let mut pause = Timing::moment_within(spread);
        if matches!(wish, Wish::Restore(_)) {
            pause += self.patience_with_others(now);
        }
        self.plan = Some(Plan {
            version: record.version().to_owned(),
            moment: now + pause,
            spread,
            delays: known.map_or(0, |plan| plan.delays + 1),
        });
        pause
    }

    /// How long a Secret is left lost that is lost again and again. Every replica counts every loss, so that they mend it
    /// together no more often than one of them would.
    fn patience_with_others(&mut self, now: Duration) -> Duration {
        self.mended = self.mended.max(now) + MENDED_EVERY;
        self.mended
            .saturating_sub(now + MENDED_EVERY * MENDED_AT_ONCE)
    }

    async fn write(
        &mut self,
        wish: Wish<Root>,
        record: &Record,
        why: String,
        at: &Moment,
        publication: &impl Publication,
    ) -> Duration {
        let (state, event) = match self.wanted(wish, record, why, at, publication).await {
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
        let takes_request = matches!(event, RotationEvent::Staged { .. });
        let mut written = record.with(&state, takes_request);
        if record.version().is_empty() {
            written = written.owned_by(self.rotation.place.account().await);
        }
        if self.updates.has_any() {
            // Another replica has written the Secret while this one prepared its write.
            return Duration::ZERO;
        }
        match self.rotation.place.write(&written).await {
            Ok(record) => {
                self.updates.knows(record.version());
                self.emit(&event);
                Duration::ZERO
            }
            Err(failure) => self.fails("write", &failure),
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

//! What a program shows of its inside to those who may look: a page of JSON, read from what is there when it is asked for.
//!
//! It has names of objects, kinds, numbers, times and messages of errors, and no values of objects.

mod caches;
mod certificates;
mod controllers;
mod program;
mod reviews;
mod text;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};
use kubewright_controller::Clock;
use serde_json::{Map, Value, json};

pub(crate) use self::reviews::LastReviews;
pub(crate) use self::text::shown;
use crate::App;

/// Where the page is.
pub(crate) const PATH: &str = "/debug/program";

/// The sections of the page. Clones share them.
#[derive(Clone)]
pub(crate) struct Inspection(Arc<Shared>);

struct Shared {
    name: String,
    version: Option<String>,
    replica: Option<String>,
    started: Timestamp,
    clock: Clock,
    sections: Mutex<Vec<Section>>,
}

struct Section {
    name: &'static str,
    read: Box<dyn Fn(&Moment) -> Value + Send + Sync>,
}

/// The time at which the page is made, to which its times refer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(Timestamp);

impl Inspection {
    pub(crate) fn new(app: &App) -> Self {
        let clock = Clock::new();
        Self(Arc::new(Shared {
            name: app.name().to_owned(),
            version: app.version_number().map(ToOwned::to_owned),
            replica: host(),
            started: clock.now(),
            clock,
            sections: Mutex::default(),
        }))
    }

    /// Adds a section.
    pub(crate) fn show(
        &self,
        name: &'static str,
        read: impl Fn(&Moment) -> Value + Send + Sync + 'static,
    ) {
        let read = Box::new(read);
        let mut sections = self.sections();
        sections.push(Section { name, read });
    }

    /// The page.
    pub(crate) fn page(&self) -> String {
        let shared = &*self.0;
        let now = Moment(shared.clock.now());
        let uptime = now.0.duration_since(shared.started);
        let mut page = Map::new();
        page.insert(
            "program".to_owned(),
            json!({
                "name": shared.name,
                "version": shared.version,
                "library": env!("CARGO_PKG_VERSION"),
                "replica": shared.replica,
                "started": shared.started.to_string(),
                "uptimeSeconds": uptime.as_secs(),
                "now": now.0.to_string(),
            }),
        );
        for section in self.sections().iter() {
            page.insert(section.name.to_owned(), (section.read)(&now));
        }
        Value::Object(page).to_string()
    }

    fn sections(&self) -> MutexGuard<'_, Vec<Section>> {
        let sections = self.0.sections.lock();
        sections.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Moment {
    /// The time of day so long ago.
    pub(crate) fn ago(&self, passed: Duration) -> String {
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.0
            .checked_sub(passed)
            .unwrap_or(Timestamp::MIN)
            .to_string()
    }

    /// The time of day in so long.
    pub(crate) fn later(&self, left: Duration) -> String {
        let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX);
        self.0
            .checked_add(left)
            .unwrap_or(Timestamp::MAX)
            .to_string()
    }
}

/// The name of this machine, which in a pod is that of the pod.
fn host() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned())
}

/// A time of the system's clock.
fn time(at: SystemTime) -> Option<String> {
    Timestamp::try_from(at).ok().map(|time| time.to_string())
}

impl fmt::Debug for Inspection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inspection").finish_non_exhaustive()
    }
}

/// So many objects of each list are shown at most, beside their total.
const MOST: usize = 100;

//! What a program shows of its inside to those who may look: a page of JSON, read from what is there when it is asked for.
//!
//! It has names of objects, kinds, numbers, times and messages of errors, and no values of objects.

mod caches;
mod certificates;
mod controllers;
mod moment;
mod program;
mod reviews;
mod text;
mod webhooks;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use jiff::Timestamp;
use kubewright_controller::{Clock, Informers, LeaderGuard, Meter, ObservedLease};
use kubewright_server::{Counters, Readiness};
use kubewright_webhook::{Answered, Webhooks};
use serde_json::{Map, Value, json};

pub(crate) use self::certificates::Certificate;
use self::moment::Moment;
use self::reviews::LastReviews;
pub(crate) use self::text::shown;
use crate::configuration::State;
use crate::parts::Roll;
use crate::task::Tasks;
use crate::trust::TrustStatus;

/// Where the page is.
pub(crate) const PATH: &str = "/debug/program";

/// What makes the page. Programs whose metrics are open have none, nor its code.
pub(crate) trait Inspect: Send + Sync {
    /// Shows a part of the program from now on.
    fn show(&self, part: Shown);

    /// Keeps a review if it was not allowed.
    fn answered(&self, answered: &Answered<'_>);

    /// The page.
    fn page(&self) -> String;
}

/// A part of a program that is shown.
pub(crate) enum Shown {
    Checks {
        liveness: Readiness,
        readiness: Readiness,
    },
    Webhooks(Webhooks),
    Server {
        address: SocketAddr,
        counters: Counters,
    },
    Certificate(Certificate),
    Trust(TrustStatus),
    Leadership {
        lease: String,
        identity: String,
        guard: LeaderGuard,
        observed: ObservedLease,
    },
    Caches(Informers),
    Controllers {
        meters: Vec<Meter>,
        reconciles: Reconciles,
    },
    Tasks(Tasks),
    Configuration(Vec<Arc<State>>),
    Parts(Roll),
}

/// Returns how often the reconciles of a controller ended in which way.
pub(crate) type Reconciles = Box<dyn Fn(&str) -> Vec<(&'static str, u64)> + Send + Sync>;

/// The sections of the page.
pub(crate) struct Inspection {
    name: String,
    version: Option<String>,
    replica: Option<String>,
    started: Timestamp,
    clock: Clock,
    sections: Mutex<Vec<Section>>,
    last_reviews: LastReviews,
}

struct Section {
    name: &'static str,
    read: Box<dyn Fn(&Moment) -> Value + Send + Sync>,
}

impl Inspection {
    pub(crate) fn new(name: &str, version: Option<&str>) -> Self {
        let clock = Clock::new();
        Self {
            name: name.to_owned(),
            version: version.map(ToOwned::to_owned),
            replica: host(),
            started: clock.now(),
            clock,
            sections: Mutex::default(),
            last_reviews: LastReviews::default(),
        }
    }

    /// Adds a section.
    fn section(&self, name: &'static str, read: impl Fn(&Moment) -> Value + Send + Sync + 'static) {
        let read = Box::new(read);
        let mut sections = self.sections();
        sections.push(Section { name, read });
    }

    fn sections(&self) -> MutexGuard<'_, Vec<Section>> {
        let sections = self.sections.lock();
        sections.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inspect for Inspection {
    fn show(&self, part: Shown) {
        match part {
            Shown::Checks {
                liveness,
                readiness,
            } => self.checks(liveness, readiness),
            Shown::Webhooks(hooks) => self.webhooks(hooks),
            Shown::Server { address, counters } => self.server(address, counters),
            Shown::Certificate(certificate) => self.certificate(certificate),
            Shown::Trust(status) => self.trust(status),
            Shown::Leadership {
                lease,
                identity,
                guard,
                observed,
            } => self.leadership(lease, identity, guard, observed),
            Shown::Caches(informers) => self.caches(informers),
            Shown::Controllers { meters, reconciles } => self.controllers(meters, reconciles),
            Shown::Tasks(tasks) => self.tasks(tasks),
            Shown::Configuration(sources) => self.configuration(sources),
            Shown::Parts(roll) => self.parts(roll),
        }
    }

    fn answered(&self, answered: &Answered<'_>) {
        self.last_reviews.keep(answered);
    }

    fn page(&self) -> String {
        let now = Moment(self.clock.now());
        let uptime = now.0.duration_since(self.started);
        let mut page = Map::new();
        page.insert(
            "program".to_owned(),
            json!({
                "name": self.name,
                "version": self.version,
                "library": env!("CARGO_PKG_VERSION"),
                "replica": self.replica,
                "started": self.started.to_string(),
                "uptimeSeconds": uptime.as_secs(),
                "now": now.0.to_string(),
            }),
        );
        for section in self.sections().iter() {
            page.insert(section.name.to_owned(), (section.read)(&now));
        }
        Value::Object(page).to_string()
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

/// So many objects of each list are shown at most, beside their total.
const MOST: usize = 100;

//! What a program tells Prometheus: about itself, and what its own code counts.
//!
//! [`Needs::metrics`](crate::Needs::metrics) registers metrics of your own; this module has their types.
//!
//! Every label has a bounded number of values, whatever comes from outside: names of hooks and controllers are the program's
//! own, and kinds that callers name are counted by name only as long as they are few.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Method;
use kubewright_certificates::Status;
use kubewright_controller::{Informers, LeaderGuard, Meter, Outcome, Reconciled};
use kubewright_server::{Counters, LiveIdentity};
use kubewright_webhook::{Answered, Decision, Operation};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode_eof;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::watch;

mod certificates;
mod clusters;
mod collectors;
mod queues;
mod registry;
mod tasks;

pub use prometheus_client::metrics::counter::Counter;
pub use prometheus_client::metrics::gauge::Gauge;
pub use prometheus_client::metrics::histogram::{Histogram, exponential_buckets, linear_buckets};

pub use self::registry::{Metric, MetricFamily, MetricsError, MetricsRegistry};

use certificates::{Lives, Trusted};
pub(crate) use clusters::OtherClusters;
use collectors::{Caches, Configuration, Leads, Serves};
use queues::Queues;
pub(crate) use tasks::{TaskMetrics, TaskOutcome};

use crate::client::Asked;
use crate::configuration::State;
use crate::process;
use crate::trust::TrustStatus;

/// The metrics of a program. Clones share them.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Mutex<Registry>>,
    /// What the program's own code counts.
    own: Arc<Registry>,
    reviews: Reviews,
    reconciles: Reconciles,
    calls: Calls,
}

/// Calls to the API server.
#[derive(Clone)]
struct Calls {
    answered: Family<CallLabels, Counter>,
    latency: Family<VerbLabels, Histogram>,
}

#[derive(Clone)]
struct Reviews {
    kinds: Arc<Kinds>,
    ended: Family<ReviewLabels, Counter>,
    latency: Family<HookLabels, Histogram>,
    left: Family<HookLabels, Histogram>,
    patch: Family<HookLabels, Histogram>,
}

#[derive(Clone)]
struct Reconciles {
    ended: Family<ReconcileLabels, Counter>,
    waited: Family<QueueLabels, Histogram>,
    duration: Family<QueueLabels, Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    webhook: String,
    decision: &'static str,
    mode: &'static str,
    code: u16,
    kind: String,
    operation: &'static str,
    dry_run: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HookLabels {
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: String,
    outcome: &'static str,
}

/// Both labels that controller-runtime has for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    name: String,
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    code: String,
    method: &'static str,
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

/// The kinds that are counted by name.
#[derive(Default)]
struct Kinds(Mutex<BTreeSet<String>>);

impl Metrics {
    pub(crate) fn new(own: Arc<Registry>) -> Self {
        let mut registry = Registry::default();
        let reviews = Reviews::new(registry.sub_registry_with_prefix("kubewright"));
        let reconciles = Reconciles::new(&mut registry);
        let calls = Calls::new(&mut registry);
        registry.register_collector(Box::new(process::Usage));
        Self {
            registry: Arc::new(Mutex::new(registry)),
            own,
            reviews,
            reconciles,
            calls,
        }
    }

    /// The page that Prometheus reads.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let written = registry::write(&mut page, &registry)
            .and_then(|()| registry::write(&mut page, &self.own))
            .and_then(|()| encode_eof(&mut page));
        if let Err(error) = written {
            tracing::error!(%error, "cannot write the metrics");
        }
        page
    }

    /// Counts a review that was answered.
    pub(crate) fn answered(&self, answered: &Answered<'_>) {
        let reviews = &self.reviews;
        let hook = HookLabels {
            webhook: answered.hook.to_owned(),
        };
        let observe = |family: &Family<HookLabels, Histogram>, value| {
            family.get_or_create(&hook).observe(value);
        };
        observe(&reviews.latency, answered.latency.as_secs_f64());
        observe(&reviews.left, answered.left.as_secs_f64());
        if answered.decision == Decision::Changed {
            observe(&reviews.patch, to_f64(answered.patch));
        }
        let labels = ReviewLabels {
            webhook: hook.webhook,
            decision: answered.decision.as_str(),
            mode: answered.mode.as_str(),
            code: known_code(answered.code),
            kind: reviews.kinds.known(answered.kind),
            operation: match answered.operation {
                Operation::Create => "CREATE",
                Operation::Update => "UPDATE",
                Operation::Delete => "DELETE",
                Operation::Connect => "CONNECT",
            },
            dry_run: answered.is_dry_run,
        };
        reviews.ended.get_or_create(&labels).inc();
    }

    /// Counts a reconcile that has ended.
    pub(crate) fn reconciled(&self, reconciled: &Reconciled<'_>) {
        let Reconciled {
            controller,
            outcome,
            waited,
            duration,
            ..
        } = *reconciled;
        self.count_reconcile(controller, outcome, waited, duration);
    }

    fn count_reconcile(
        &self,
        controller: &str,
        outcome: Outcome,
        waited: Duration,
        duration: Duration,
    ) {
        let queue = QueueLabels {
            name: controller.to_owned(),
            controller: controller.to_owned(),
        };
        let reconciles = &self.reconciles;
        for (family, time) in [
            (&reconciles.waited, waited),
            (&reconciles.duration, duration),
        ] {
            family.get_or_create(&queue).observe(time.as_secs_f64());
        }
        let labels = ReconcileLabels {
            controller: queue.controller,
            outcome: outcome.as_str(),
        };
        reconciles.ended.get_or_create(&labels).inc();
    }

    /// How many reconciles of a controller have ended in each way that occurred.
    pub(crate) fn reconciles(&self, controller: &str) -> Vec<(&'static str, u64)> {
        let ended = &self.reconciles.ended;
        let count = |outcome: Outcome| {
            let labels = ReconcileLabels {
                controller: controller.to_owned(),
                outcome: outcome.as_str(),
            };
            Some((outcome.as_str(), ended.get(&labels)?.get()))
        };
        Outcome::ALL.into_iter().filter_map(count).collect()
    }

    /// Counts a call to the API server.
    pub(crate) fn asked(&self, asked: &Asked<'_>) {
        let labels = CallLabels {
            // As client-go has it.
            code: asked
                .code
                .map_or_else(|| "<error>".to_owned(), |code| code.as_str().to_owned()),
            method: known_method(asked.method),
            verb: asked.verb,
        };
        self.calls.answered.get_or_create(&labels).inc();
        let latency = self
            .calls
            .latency
            .get_or_create(&VerbLabels { verb: asked.verb });
        latency.observe(asked.latency.as_secs_f64());
    }

    /// Tells how full the queues of these controllers are, too.
    pub(crate) fn queues(&self, meters: Vec<Meter>) {
        self.collect(Queues(meters));
    }

    /// Has something else register its metrics.
    pub(crate) fn register<T>(&self, register: impl FnOnce(&mut Registry) -> T) -> T {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        register(&mut registry)
    }

    /// Tells whether the program leads, too.
    pub(crate) fn election(&self, lease: &str, guard: LeaderGuard) {
        self.collect(Leads {
            lease: lease.to_owned(),
            guard,
        });
    }

    /// Tells how many objects the caches hold, too.
    pub(crate) fn caches(&self, informers: Informers) {
        self.collect(Caches(informers));
    }

    /// Tells how it goes with the configuration, too.
    pub(crate) fn configuration(&self, sources: Vec<Arc<State>>) {
        self.collect(Configuration(sources));
    }

    /// Tells of a server and its certificate, too.
    pub(crate) fn server(
        &self,
        counters: Counters,
        identity: LiveIdentity,
        rotation: Option<watch::Receiver<Status>>,
    ) {
        self.collect(Serves(counters));
        self.collect(Lives { identity, rotation });
    }

    /// Tells how it stands with the objects that lead here, too.
    pub(crate) fn trust(&self, status: TrustStatus) {
        self.collect(Trusted(status));
    }

    fn collect(&self, collector: impl Collector) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(Box::new(collector));
    }
}

impl Reviews {
    fn new(registry: &mut Registry) -> Self {
        let reviews = Self {
            kinds: Arc::default(),
            ended: Family::default(),
            latency: Family::new_with_constructor(latency),
            left: Family::new_with_constructor(left),
            patch: Family::new_with_constructor(sizes),
        };
        registry.register(
            "webhook_reviews",
            "Number of admission reviews, by outcome",
            reviews.ended.clone(),
        );
        registry.register_with_unit(
            "webhook_latency",
            "Latency of admission reviews",
            Unit::Seconds,
            reviews.latency.clone(),
        );
        registry.register_with_unit(
            "webhook_deadline_left",
            "Time left until the caller's timeout when an admission review was answered",
            Unit::Seconds,
            reviews.left.clone(),
        );
        registry.register_with_unit(
            "webhook_patch_size",
            "Size of patches",
            Unit::Bytes,
            reviews.patch.clone(),
        );
        reviews
    }
}

impl Reconciles {
    fn new(registry: &mut Registry) -> Self {
        let reconciles = Self {
            ended: Family::default(),
            waited: Family::new_with_constructor(work),
            duration: Family::new_with_constructor(work),
        };
        registry.register(
            "kubewright_reconciles",
            "Number of reconciles, by outcome",
            reconciles.ended.clone(),
        );
        registry.register_with_unit(
            "workqueue_queue_duration",
            "Time that objects waited in the work queue",
            Unit::Seconds,
            reconciles.waited.clone(),
        );
        registry.register_with_unit(
            "workqueue_work_duration",
            "Duration of reconciles",
            Unit::Seconds,
            reconciles.duration.clone(),
        );
        reconciles
    }
}

impl Calls {
    fn new(registry: &mut Registry) -> Self {
        let calls = Self {
            answered: Family::default(),
            latency: Family::new_with_constructor(latency),
        };
        registry.register(
            "rest_client_requests",
            "Number of requests to the API server",
            calls.answered.clone(),
        );
        registry.register_with_unit(
            "rest_client_request_duration",
            "Latency of requests to the API server, until the response headers",
            Unit::Seconds,
            calls.latency.clone(),
        );
        calls
    }
}

impl Kinds {
    /// The kind itself, or `other` when it is one too many, or no name of a kind.
    fn known(&self, kind: &str) -> String {
        let is_name =
            kind.len() <= LONGEST_KIND && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_name && !kind.is_empty() {
            let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kinds.contains(kind) {
                return kind.to_owned();
            }
            if kinds.len() < MOST_KINDS {
                kinds.insert(kind.to_owned());
                return kind.to_owned();
            }
        }
        "other".to_owned()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// From half a millisecond to sixteen seconds.
fn latency() -> Histogram {
    Histogram::new(exponential_buckets(0.000_5, 2.0, 16))
}

/// From ten microseconds to forty seconds.
fn work() -> Histogram {
    Histogram::new(exponential_buckets(0.000_01, 4.0, 12))
}

/// The longest that an API server waits is thirty seconds.
fn left() -> Histogram {
    Histogram::new([
        0.0, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0,
    ])
}

fn sizes() -> Histogram {
    Histogram::new(exponential_buckets(64.0, 4.0, 8))
}

/// The code itself, or 0 if HTTP has none of that number.
fn known_code(code: u16) -> u16 {
    match code {
        200 | 400..=599 => code,
        _ => 0,
    }
}

fn known_method(method: &Method) -> &'static str {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    let known = known.into_iter().find(|known| *known == method.as_str());
    known.unwrap_or("OTHER")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a histogram does not tell sizes of petabytes apart"
)]
fn to_f64(number: usize) -> f64 {
    number as f64
}

const MOST_KINDS: usize = 64;
const LONGEST_KIND: usize = 63;

#[cfg(test)]
mod tests;

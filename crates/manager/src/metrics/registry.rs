//! Metrics that a program registers for itself, beside those that every program has.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kubewright_manifests::{MetricKind, OwnMetric};
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

/// A metric: a [`Counter`](super::Counter), a [`Gauge`](super::Gauge), a [`Histogram`](super::Histogram), or another type of
/// `prometheus-client` whose clones share the value.
pub trait Metric: EncodeMetric + TypedMetric + Clone + fmt::Debug + Send + Sync + 'static {}

impl<M> Metric for M where M: EncodeMetric + TypedMetric + Clone + fmt::Debug + Send + Sync + 'static
{}

/// The program's own metrics, which `/metrics` shows beside those that every program has. [`Needs::metrics`](crate::Needs::metrics)
/// returns it.
///
/// A name that Prometheus or its tools would misread is not registered, and the program does not start: see
/// [`MetricsError`].
///
/// ```
/// use kubewright_manager::metrics::{Counter, Histogram, exponential_buckets};
/// use kubewright_manager::{App, Needs, Program};
///
/// fn app(needs: &mut Needs) -> App {
///     let metrics = needs.metrics();
///     let taken: Counter = metrics.register("backups", "Number of backups", Counter::default());
///     let sizes = metrics.register_family("backup_size_bytes", "Size of a backup", ["database"], || {
///         Histogram::new(exponential_buckets(1024.0, 4.0, 10))
///     });
///
///     // Where a backup was taken:
///     taken.inc();
///     sizes.with_label_values(["orders"]).observe(70_000.0);
///     App::new("keeper")
/// }
/// # let _ = Program::new(app);
/// ```
#[derive(Default)]
pub struct MetricsRegistry {
    registry: Registry,
    registered: Vec<OwnMetric>,
    error: Option<MetricsError>,
}

impl MetricsRegistry {
    /// Registers a metric without labels, and returns it.
    ///
    /// The name is in snake case and ends with the base unit, such as `_seconds` or `_bytes`, if there is one. `/metrics` adds `_total`
    /// to the name of a counter.
    ///
    /// ```
    /// use kubewright_manager::metrics::Gauge;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let lag: Gauge = needs.metrics().register("replication_lag_seconds", "Lag of the slowest replica", Gauge::default());
    ///     lag.set(3);
    ///     App::new("keeper")
    /// });
    /// # let _ = program;
    /// ```
    pub fn register<M: Metric>(&mut self, name: &str, help: &str, metric: M) -> M {
        if self.accepts(name, help, &[], M::TYPE) {
            self.registry.register(name, sentence(help), metric.clone());
        }
        metric
    }

    /// Registers a metric with labels. `new` creates the metric for each set of label values.
    ///
    /// Label values should be few and chosen by the program: Prometheus stores a time series for each set of them. The first
    /// 1,000 sets are counted each by itself, or as many as [`MetricFamily::limit`] says, and all others as `other`.
    ///
    /// ```
    /// use kubewright_manager::metrics::{Counter, MetricFamily};
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let backups: MetricFamily<Counter, 2> =
    ///         needs.metrics().register_family("backups", "Number of backups", ["database", "outcome"], Counter::default);
    ///     backups.with_label_values(["orders", "succeeded"]).inc();
    ///     App::new("keeper")
    /// });
    /// # let _ = program;
    /// ```
    pub fn register_family<M: Metric, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&'static str; N],
        new: impl Fn() -> M + Send + Sync + 'static,
    ) -> MetricFamily<M, N> {
        let family = MetricFamily(Arc::new(Family {
            name: name.to_owned(),
            labels,
            new: Box::new(new),
            limit: AtomicUsize::new(LABEL_SETS),
            is_full: AtomicBool::new(false),
            sets: RwLock::default(),
        }));
        if self.accepts(name, help, &labels, M::TYPE) {
            self.registry.register(name, sentence(help), family.clone());
        }
        family
    }

    fn accepts(&mut self, name: &str, help: &str, labels: &[&str], kind: MetricType) -> bool {
        let mut registered = self.registered.iter();
        let checked = check(name, help, labels, kind).and_then(|()| {
            if registered.any(|registered| registered.name == name) {
                Err(Mistake::Twice)
            } else {
                Ok(())
            }
        });
        match checked {
            Ok(()) => {
                let kind = match kind {
                    MetricType::Counter => MetricKind::Counter,
                    MetricType::Histogram => MetricKind::Histogram,
                    _ => MetricKind::Gauge,
                };
                let labels = labels.iter().copied();
                let metric = OwnMetric::new(name, sentence(help), kind, labels);
                self.registered.push(metric);
                true
            }
            Err(mistake) => {
                let name = name.to_owned();
                // The first one is the one that is reported: others may follow from it.
                self.error.get_or_insert(MetricsError { name, mistake });
                false
            }
        }
    }

    /// What is registered.
    pub(crate) fn registered(&self) -> &[OwnMetric] {
        &self.registered
    }

    /// The metrics, unless one of them could not be registered.
    pub(crate) fn finish(self) -> Result<Arc<Registry>, MetricsError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(Arc::new(self.registry)),
        }
    }
}

/// Writes the metrics of a registry.
pub(super) fn write(page: &mut String, registry: &Registry) -> fmt::Result {
    encode_registry(page, registry)
}

/// A metric for each set of label values. Clones share the metrics.
///
/// ```
/// use kubewright_manager::metrics::{Counter, MetricFamily};
/// use kubewright_manager::{App, Program};
///
/// let program = Program::new(|needs| {
///     let restarts: MetricFamily<Counter, 1> =
///         needs.metrics().register_family("restarts", "Number of restarts", ["reason"], Counter::default);
///     restarts.with_label_values(["upgrade"]).inc();
///     assert_eq!(restarts.with_label_values(["upgrade"]).get(), 1);
///     App::new("keeper")
/// });
/// # let _ = program;
/// ```
pub struct MetricFamily<M, const N: usize>(Arc<Family<M, N>>);

struct Family<M, const N: usize> {
    name: String,
    labels: [&'static str; N],
    new: Box<dyn Fn() -> M + Send + Sync>,
    limit: AtomicUsize,
    /// Whether a set of label values was counted as `other`.
    is_full: AtomicBool,
    sets: RwLock<Sets<M, N>>,
}

/// In the order of the label values, so that one is found without a copy of them.
type Sets<M, const N: usize> = Vec<([Box<str>; N], M)>;

impl<M: Metric, const N: usize> MetricFamily<M, N> {
    /// Sets for how many sets of label values there is a metric each. Default: 1,000.
    ///
    /// ```
    /// use kubewright_manager::metrics::Counter;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let metrics = needs.metrics();
    ///     let users = metrics.register_family("logins", "Number of logins", ["user"], Counter::<u64>::default).limit(1);
    ///     users.with_label_values(["ann"]).inc();
    ///     users.with_label_values(["bob"]).inc();
    ///     assert_eq!(users.with_label_values(["other"]).get(), 1);
    ///     App::new("keeper")
    /// });
    /// # let _ = program;
    /// ```
    #[must_use]
    pub fn limit(self, label_sets: usize) -> Self {
        self.0.limit.store(label_sets, Ordering::Relaxed);
        self
    }

    /// Returns the metric for these label values, in the order in which the labels were registered.
    pub fn with_label_values(&self, values: [&str; N]) -> M {
        if let Some(metric) = self.0.get(values) {
            return metric;
        }
        let mut sets = self.0.sets.write().unwrap_or_else(PoisonError::into_inner);
        let values = if sets.len() < self.0.limit.load(Ordering::Relaxed) {
            values
        } else {
            self.0.warn_of_too_many();
            [OTHER; N]
        };
        match find(&sets, values) {
            Ok(at) => sets[at].1.clone(),
            Err(at) => {
                let metric = (self.0.new)();
                sets.insert(at, (values.map(Box::from), metric.clone()));
                metric
            }
        }
    }

    /// Removes the metric for these label values from `/metrics`, such as a gauge of an object that was deleted. Returns whether there
    /// was one.
    ///
    /// ```
    /// use kubewright_manager::metrics::Gauge;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let size = needs.metrics().register_family("size_bytes", "Size of a database", ["database"], Gauge::<i64>::default);
    ///     size.with_label_values(["orders"]).set(70_000);
    ///     assert!(size.remove_label_values(["orders"]));
    ///     assert!(!size.remove_label_values(["orders"]));
    ///     App::new("keeper")
    /// });
    /// # let _ = program;
    /// ```
    pub fn remove_label_values(&self, values: [&str; N]) -> bool {
        let mut sets = self.0.sets.write().unwrap_or_else(PoisonError::into_inner);
        let found = find(&sets, values);
        found.map(|at| sets.remove(at)).is_ok()
    }
}

impl<M: Metric, const N: usize> Family<M, N> {
    fn get(&self, values: [&str; N]) -> Option<M> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        let at = find(&sets, values).ok()?;
        sets.get(at).map(|(_, metric)| metric.clone())
    }

    fn warn_of_too_many(&self) {
        if !self.is_full.swap(true, Ordering::Relaxed) {
            let limit = self.limit.load(Ordering::Relaxed);
            tracing::warn!(
                metric = self.name,
                limit,
                "the metric has more sets of label values than its limit: the rest are counted as \"other\""
            );
        }
    }
}

/// Where a set of label values is, or where it belongs.
fn find<M, const N: usize>(sets: &Sets<M, N>, values: [&str; N]) -> Result<usize, usize> {
    sets.binary_search_by(|(known, _)| known.iter().map(|value| &**value).cmp(values))
}

impl<M: Metric, const N: usize> EncodeMetric for MetricFamily<M, N> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let sets = self.0.sets.read().unwrap_or_else(PoisonError::into_inner);
        for (values, metric) in sets.iter() {
            let mut values = values.iter();
            let labels = self.0.labels.map(|label| {
                let value = values.next().map_or("", |value| &**value);
                (label, value)
            });
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        let sets = self.0.sets.read().unwrap_or_else(PoisonError::into_inner);
        sets.is_empty()
    }
}

impl<M, const N: usize> Clone for MetricFamily<M, N> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A metric of the program that cannot be registered.
///
/// ```
/// use kubewright_manager::metrics::Counter;
/// use kubewright_manager::{App, Program};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let program = Program::new(|needs| {
///     let _: Counter = needs.metrics().register("backups_total", "Number of backups", Counter::default());
///     App::new("keeper")
/// });
/// let error = program.start().await.unwrap_err();
/// let cause = std::error::Error::source(&error).unwrap();
/// assert_eq!(cause.to_string(), "metric \"backups_total\": the page adds _total to the name of a counter: register \"backups\"");
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("metric {name:?}: {mistake}")]
pub struct MetricsError {
    name: String,
    mistake: Mistake,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Mistake {
    #[error("a name has lowercase letters, digits and underscores, and begins with a letter")]
    Name,
    #[error("names that begin with {0:?} are those that every program has")]
    Reserved(&'static str),
    #[error("the page adds _total to the name of a counter: register {0:?}")]
    CounterSuffix(String),
    #[error("{0} is a suffix that Prometheus gives to the series of a counter or histogram")]
    Suffix(&'static str),
    #[error("it has no help: say in a sentence what it measures")]
    Help,
    #[error("the help has more than one line")]
    HelpLines,
    #[error(
        "a label has lowercase letters, digits and underscores, and begins with a letter: {0:?} does not"
    )]
    Label(String),
    #[error("the label {0:?} is one that histograms and summaries have by themselves")]
    ReservedLabel(String),
    #[error("the label {0:?} is there twice")]
    LabelTwice(String),
    #[error("a metric of this name is registered already")]
    Twice,
}

fn check(name: &str, help: &str, labels: &[&str], kind: MetricType) -> Result<(), Mistake> {
    if !is_snake_case(name) {
        return Err(Mistake::Name);
    }
    if let Some(prefix) = RESERVED_PREFIXES
        .iter()
        .find(|prefix| name.starts_with(**prefix))
    {
        return Err(Mistake::Reserved(prefix));
    }
    if let Some(suffix) = RESERVED_SUFFIXES
        .iter()
        .find(|suffix| name.ends_with(**suffix))
    {
        return Err(match (kind, name.strip_suffix("_total")) {
            (MetricType::Counter, Some(name)) => Mistake::CounterSuffix(name.to_owned()),
            _ => Mistake::Suffix(suffix),
        });
    }
    if help.trim().is_empty() {
        return Err(Mistake::Help);
    }
    if help.contains(['\n', '\r']) {
        return Err(Mistake::HelpLines);
    }
    for (number, label) in labels.iter().enumerate() {
        if !is_snake_case(label) {
            return Err(Mistake::Label((*label).to_owned()));
        }
        if RESERVED_LABELS.contains(label) {
            return Err(Mistake::ReservedLabel((*label).to_owned()));
        }
        if labels.iter().take(number).any(|other| other == label) {
            return Err(Mistake::LabelTwice((*label).to_owned()));
        }
    }
    Ok(())
}

fn is_snake_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The help as it is registered: the page ends it with a full stop.
fn sentence(help: &str) -> &str {
    help.trim().trim_end_matches('.')
}

impl fmt::Debug for MetricsRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MetricsRegistry")
            .field("registered", &self.registered)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<M, const N: usize> fmt::Debug for MetricFamily<M, N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MetricFamily")
            .field("name", &self.0.name)
            .field("labels", &self.0.labels)
            .finish_non_exhaustive()
    }
}

/// For how many sets of label values there is a metric each, unless the program says otherwise.
const LABEL_SETS: usize = 1000;
/// The label value of all sets beyond that.
const OTHER: &str = "other";
const RESERVED_PREFIXES: [&str; 5] = [
    "kubewright_",
    "leader_election_",
    "process_",
    "rest_client_",
    "workqueue_",
];
const RESERVED_SUFFIXES: [&str; 5] = ["_total", "_bucket", "_count", "_sum", "_created"];
const RESERVED_LABELS: [&str; 2] = ["le", "quantile"];

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode_eof;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    fn page(metrics: MetricsRegistry) -> String {
        let mut page = String::new();
        write(&mut page, &metrics.finish().unwrap()).unwrap();
        encode_eof(&mut page).unwrap();
        page
    }

    #[test]
    fn metrics_are_written_as_prometheus_reads_them() {
        let mut metrics = MetricsRegistry::default();
        let taken: Counter = metrics.register("backups", "Number of backups.", Counter::default());
        let sizes = metrics.register_family("size_bytes", "Size", ["database", "kind"], || {
            Histogram::new([1.0])
        });
        let _never_used: MetricFamily<Gauge, 1> =
            metrics.register_family("lag_seconds", "Lag", ["database"], Gauge::default);
        taken.inc_by(3);
        sizes.with_label_values(["b\"", "full"]).observe(0.5);
        sizes.with_label_values(["a", "full"]).observe(2.0);
        let expected = "\
# HELP backups Number of backups.
# TYPE backups counter
backups_total 3
# HELP size_bytes Size.
# TYPE size_bytes histogram
size_bytes_sum{database=\"a\",kind=\"full\"} 2.0
size_bytes_count{database=\"a\",kind=\"full\"} 1
size_bytes_bucket{le=\"1.0\",database=\"a\",kind=\"full\"} 0
size_bytes_bucket{le=\"+Inf\",database=\"a\",kind=\"full\"} 1
size_bytes_sum{database=\"b\\\"\",kind=\"full\"} 0.5
size_bytes_count{database=\"b\\\"\",kind=\"full\"} 1
size_bytes_bucket{le=\"1.0\",database=\"b\\\"\",kind=\"full\"} 1
size_bytes_bucket{le=\"+Inf\",database=\"b\\\"\",kind=\"full\"} 1
# EOF
";
        assert_eq!(page(metrics), expected);
    }

    #[test]
    fn names_that_are_misread_are_refused() {
        let refused = |name: &str, help: &str, labels: &[&str]| {
            let error = check(name, help, labels, MetricType::Counter).unwrap_err();
            error.to_string()
        };
        for (name, labels, says) in [
            ("", [].as_slice(), "begins with a letter"),
            ("1st", &[], "begins with a letter"),
            ("_first", &[], "begins with a letter"),
            ("backupSize", &[], "lowercase letters"),
            ("backup-size", &[], "lowercase letters"),
            ("größe", &[], "lowercase letters"),
            ("kubewright_backups", &[], "that every program has"),
            ("workqueue_depth", &[], "that every program has"),
            ("backups_total", &[], "register \"backups\""),
            ("backups_count", &[], "_count is a suffix"),
            ("backups_created", &[], "_created is a suffix"),
            ("backups", &["le"], "the label \"le\" is one"),
            ("backups", &["__name__"], "\"__name__\" does not"),
            ("backups", &["a", "b", "a"], "\"a\" is there twice"),
        ] {
            let error = refused(name, "Help", labels);
            assert!(error.contains(says), "{name}: {error}");
        }
        assert!(refused("backups", " ", &[]).contains("no help"));
        assert!(refused("backups", "a\nb", &[]).contains("more than one line"));
        let of_a_gauge = check("backups_total", "Help", &[], MetricType::Gauge).unwrap_err();
        assert_eq!(of_a_gauge, Mistake::Suffix("_total"));
    }

    #[test]
    fn the_first_mistake_is_the_one_that_is_reported() {
        let mut metrics = MetricsRegistry::default();
        for name in ["backups", "backups", "Backups"] {
            let _: Counter = metrics.register(name, "Number of backups", Counter::default());
        }
        let error = metrics.finish().unwrap_err().to_string();
        assert_eq!(
            error,
            "metric \"backups\": a metric of this name is registered already"
        );
    }

    #[test]
    fn label_sets_beyond_the_limit_are_counted_together() {
        let mut metrics = MetricsRegistry::default();
        let logins: MetricFamily<Counter, 1> =
            metrics.register_family("logins", "Number of logins", ["user"], Counter::default);
        for user in 0..LABEL_SETS + 500 {
            logins.with_label_values([&user.to_string()]).inc();
        }
        assert_eq!(logins.with_label_values(["other"]).get(), 500);
        assert_eq!(logins.with_label_values(["7"]).get(), 1);
        let sets = page(metrics).lines().count() - 3;
        assert_eq!(sets, LABEL_SETS + 1);
        assert!(logins.remove_label_values(["7"]));
        assert!(logins.remove_label_values(["8"]));
        // There is room again, beside `other`.
        logins.with_label_values(["new"]).inc();
        assert_eq!(logins.with_label_values(["new"]).get(), 1);
        assert_eq!(logins.with_label_values(["other"]).get(), 500);
    }

    proptest! {
        /// Whatever the label values are, each set has its own count, and the page one line for it.
        #[test]
        fn each_set_of_label_values_is_counted_by_itself(
            sets in proptest::collection::vec([".{0,3}", "[ab\\PC]{0,2}"], 1..20)
        ) {
            let mut metrics = MetricsRegistry::default();
            let family: MetricFamily<Counter, 2> =
                metrics.register_family("seen", "Seen", ["a", "b"], Counter::default);
            let mut expected = std::collections::BTreeMap::new();
            for [a, b] in &sets {
                family.with_label_values([a, b]).inc();
                *expected.entry((a, b)).or_insert(0_u64) += 1;
            }
            for ((a, b), count) in &expected {
                prop_assert_eq!(family.with_label_values([a, b]).get(), *count);
            }
            let page = page(metrics);
            let lines = page.split('\n').filter(|line| line.starts_with("seen_total{")).count();
            prop_assert_eq!(lines, expected.len());
        }
    }
}

//! A metric of a program's own, as a dashboard has to know it.

/// A metric that the program's own code registers.
///
/// ```
/// use kubewright_manifests::{Install, Installer, MetricKind, OwnMetric, Parts};
///
/// let mut parts = Parts::new("gardens");
/// parts.metrics.push(OwnMetric::new("gardens_backups", "Number of backups", MetricKind::Counter, ["outcome"]));
/// let dashboard = Installer::new(&parts, &Install::default())?.dashboard().to_string();
/// assert!(dashboard.contains("gardens_backups_total"));
/// # Ok::<(), kubewright_manifests::ManifestError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnMetric {
    /// Its name, for a counter without `_total`.
    pub name: String,
    /// What it measures.
    pub help: String,
    /// How it is read.
    pub kind: MetricKind,
    /// Its labels.
    pub labels: Vec<String>,
}

/// How a metric is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// By its rate.
    Counter,
    /// By its value.
    Gauge,
    /// By its quantiles.
    Histogram,
}

impl OwnMetric {
    /// Describes a metric.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        help: impl Into<String>,
        kind: MetricKind,
        labels: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            name: name.into(),
            help: help.into(),
            kind,
            labels: labels.into_iter().map(Into::into).collect(),
        }
    }
}

//! The counters of a server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use kubewright_admission::{Measured, Meter, Operation};
use kubewright_apimachinery::user::User;
use parking_lot::Mutex;
use tokio::time::Duration;

use super::admission::{AdmissionDurations, AdmissionStep};
use super::series::{Labels, Series};
use super::webhooks::WebhookCalls;

/// The counters of one server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// By the resource, which is empty for other paths.
    series: ArcSwap<HashMap<String, Vec<Arc<Series>>>>,
    /// Held while a series is added.
    adding: Mutex<()>,
    pub(super) reading: AtomicI64,
    pub(super) mutating: AtomicI64,
    pub(super) authenticated: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) admins: AtomicU64,
    pub(super) addresses: AtomicU64,
    pub(super) others: AtomicU64,
    pub(super) admission: AdmissionDurations,
    pub(super) webhooks: WebhookCalls,
}

impl Metrics {
    /// Counts a request of this user.
    pub(crate) fn authenticated(&self, user: &User) {
        self.authenticated.fetch_add(1, Ordering::Relaxed);
        // The real server names users of a few names alone, so that the series do not grow with the users.
        let known = match user.username.as_str() {
            "admin" => &self.admins,
            name if name.contains('@') => &self.addresses,
            _ => &self.others,
        };
        known.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request with credentials of no user.
    pub(crate) fn unauthenticated(&self) {
        self.rejected.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes how long a step of admission took.
    pub(crate) fn admitted(
        &self,
        operation: Operation,
        step: AdmissionStep,
        rejected: bool,
        took: Duration,
    ) {
        self.admission.observe(operation, step, rejected, took);
    }

    pub(super) fn inflight(&self, mutates: bool) -> &AtomicI64 {
        if mutates {
            &self.mutating
        } else {
            &self.reading
        }
    }

    /// The series with these labels, if there is one.
    pub(super) fn find(&self, labels: &Labels<'_>) -> Option<Arc<Series>> {
        let known = self.series.load();
        let mut of_resource = known.get(labels.resource)?.iter();
        of_resource
            .find(|series| series.labels() == *labels)
            .map(Arc::clone)
    }

    pub(super) fn add(&self, labels: &Labels<'_>) -> Arc<Series> {
        let _adding = self.adding.lock();
        if let Some(series) = self.find(labels) {
            return series;
        }
        let series = Arc::new(Series::new(labels));
        let mut known = HashMap::clone(&self.series.load());
        let of_resource = known.entry(labels.resource.to_owned()).or_default();
        of_resource.push(Arc::clone(&series));
        self.series.store(Arc::new(known));
        series
    }

    pub(super) fn all(&self) -> Vec<Arc<Series>> {
        let known = self.series.load();
        let mut all: Vec<Arc<Series>> = known.values().flatten().map(Arc::clone).collect();
        all.sort_by(|one, other| one.labels().cmp(&other.labels()));
        all
    }
}

impl Meter for Metrics {
    fn measured(&self, call: &Measured<'_>) {
        self.webhooks.count(call);
    }
}

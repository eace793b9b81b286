//! `/metrics`: what dashboards of an API server read, under the names of the real one.
//!
//! Counting takes no lock: the series of a request is looked up in a map that is replaced when there is a new one.

mod admission;
mod histogram;
mod measure;
mod process;
mod requests;
mod series;
mod text;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use kubewright_admission::Operation;
use kubewright_apimachinery::user::User;
use kubewright_registry::{Registry, Verb};
use kubewright_storage::{At, Store};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Duration;

use admission::AdmissionDurations;
pub(crate) use admission::AdmissionStep;
use series::{Labels, Series};
use text::Text;

use crate::rest::call::table_of;

/// The counters of one server.
#[derive(Debug, Default)]
pub struct Metrics {
    /// By the resource, which is empty for other paths.
    series: ArcSwap<HashMap<String, Vec<Arc<Series>>>>,
    /// Held while a series is added.
    adding: Mutex<()>,
    reading: AtomicI64,
    mutating: AtomicI64,
    authenticated: AtomicU64,
    rejected: AtomicU64,
    admins: AtomicU64,
    addresses: AtomicU64,
    others: AtomicU64,
    admission: AdmissionDurations,
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

    /// Counts a request with credentials of nobody.
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

    /// Returns the metrics as Prometheus reads them.
    pub(crate) fn text(&self, store: &Store, registry: &Registry, version: &Value) -> String {
        let mut text = Text::default();
        self.admission.write(&mut text);
        self.write_inflight(&mut text);
        requests::write(&mut text, &self.all());
        write_objects(&mut text, store, registry);
        self.write_authentication(&mut text);
        write_build(&mut text, version);
        process::write(&mut text);
        text.into_string()
    }

    fn inflight(&self, mutates: bool) -> &AtomicI64 {
        if mutates {
            &self.mutating
        } else {
            &self.reading
        }
    }

    /// The series with these labels, if there is one.
    fn find(&self, labels: &Labels<'_>) -> Option<Arc<Series>> {
        let known = self.series.load();
        let mut of_resource = known.get(labels.resource)?.iter();
        of_resource
            .find(|series| series.labels() == *labels)
            .map(Arc::clone)
    }

    fn add(&self, labels: &Labels<'_>) -> Arc<Series> {
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

    fn all(&self) -> Vec<Arc<Series>> {
        let known = self.series.load();
        let mut all: Vec<Arc<Series>> = known.values().flatten().map(Arc::clone).collect();
        all.sort_by(|one, other| one.labels().cmp(&other.labels()));
        all
    }

    fn write_inflight(&self, text: &mut Text) {
        const NAME: &str = "apiserver_current_inflight_requests";
        text.family(
            NAME,
            "gauge",
            "[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.",
        );
        for (kind, count) in [("mutating", &self.mutating), ("readOnly", &self.reading)] {
            let count = count.load(Ordering::Relaxed).unsigned_abs();
            text.count(NAME, &[("request_kind", kind)], count);
        }
    }

    fn write_authentication(&self, text: &mut Text) {
        const USERS: &str = "authenticated_user_requests";
        const ATTEMPTS: &str = "authentication_attempts";
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        text.family(
            USERS,
            "counter",
            "[ALPHA] Counter of authenticated requests broken out by username.",
        );
        for (name, count) in [
            ("admin", &self.admins),
            ("email_id", &self.addresses),
            ("other", &self.others),
        ] {
            if of(count) > 0 {
                text.count(USERS, &[("username", name)], of(count));
            }
        }
        text.family(
            ATTEMPTS,
            "counter",
            "[ALPHA] Counter of authenticated attempts.",
        );
        for (result, count) in [("error", &self.rejected), ("success", &self.authenticated)] {
            if of(count) > 0 {
                text.count(ATTEMPTS, &[("result", result)], of(count));
            }
        }
    }
}

fn write_objects(text: &mut Text, store: &Store, registry: &Registry) {
    const NAME: &str = "apiserver_resource_objects";
    text.family(
        NAME,
        "gauge",
        "[ALPHA] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
    );
    let listed = registry
        .all()
        .filter(|resource| resource.allows(Verb::List));
    // One resource in several versions, or groups, is stored once.
    let mut tables = BTreeMap::new();
    for resource in listed {
        let labels = (resource.group.as_str(), resource.plural.as_str());
        tables.entry(table_of(resource)).or_insert(labels);
    }
    let mut tables: Vec<(String, (&str, &str))> = tables.into_iter().collect();
    tables.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (table, (group, resource)) in tables {
        let count = store
            .list(&table, "", "", 1, At::Now)
            .map(|listed| listed.objects.len() + listed.remaining);
        let count = count.unwrap_or_default() as u64;
        text.count(NAME, &[("group", group), ("resource", resource)], count);
    }
}

fn write_build(text: &mut Text, version: &Value) {
    const NAME: &str = "kubernetes_build_info";
    const LABELS: [(&str, &str); 9] = [
        ("build_date", "buildDate"),
        ("compiler", "compiler"),
        ("git_commit", "gitCommit"),
        ("git_tree_state", "gitTreeState"),
        ("git_version", "gitVersion"),
        ("go_version", "goVersion"),
        ("major", "major"),
        ("minor", "minor"),
        ("platform", "platform"),
    ];
    text.family(
        NAME,
        "gauge",
        "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    );
    let labels = LABELS.map(|(label, field)| (label, version[field].as_str().unwrap_or_default()));
    text.count(NAME, &labels, 1);
}

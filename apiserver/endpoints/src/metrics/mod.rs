//! `/metrics`: what dashboards of an API server read, under the names of the real one.
//!
//! Counting takes no lock: the series of a request is looked up in a map that is replaced when there is a new one.

mod admission;
mod counters;
mod histogram;
mod measure;
mod process;
mod requests;
mod series;
mod text;
mod webhooks;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

pub(crate) use admission::AdmissionStep;
pub use counters::Metrics;
use text::Text;

/// How many objects of a resource are stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stored {
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) count: u64,
}

impl Metrics {
    /// Returns the metrics as Prometheus reads them.
    pub(crate) fn text(&self, stored: &[Stored], version: &Value) -> String {
        let mut text = Text::default();
        self.admission.write(&mut text);
        self.webhooks.write(&mut text);
        self.write_inflight(&mut text);
        requests::write(&mut text, &self.all());
        write_objects(&mut text, stored);
        self.write_authentication(&mut text);
        write_build(&mut text, version);
        process::write(&mut text);
        text.into_string()
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

fn write_objects(text: &mut Text, stored: &[Stored]) {
    const NAME: &str = "apiserver_resource_objects";
    text.family(
        NAME,
        "gauge",
        "[ALPHA] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
    );
    for Stored {
        group,
        resource,
        count,
    } in stored
    {
        text.count(NAME, &[("group", group), ("resource", resource)], *count);
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

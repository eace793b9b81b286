//! What webhooks are asked, how they answer, and how long they take.

use std::collections::BTreeMap;

use kubewright_admission::{Ended, Measured};
use parking_lot::Mutex;

use super::histogram::Histogram;
use super::text::Text;

const SECONDS: [f64; 8] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];

/// The largest code that has a series of its own: webhooks choose their codes.
const LARGEST_CODE: u16 = 600;

/// The series of all webhooks that were called. A call waits for a network: the lock is nothing beside that.
#[derive(Debug, Default)]
pub(super) struct WebhookCalls(Mutex<Series>);

/// Counts, by what is counted: by the values of labels in the order of the names of these.
#[derive(Debug, Default)]
struct Series {
    durations: BTreeMap<[String; 4], Histogram>,
    requests: BTreeMap<[String; 5], u64>,
    rejections: BTreeMap<[String; 5], u64>,
    failed_open: BTreeMap<[String; 2], u64>,
}

impl WebhookCalls {
    pub(super) fn count(&self, call: &Measured<'_>) {
        let (code, rejected, error, failed_open) = match call.ended {
            Ended::Allowed => (200, false, "", false),
            Ended::Denied(code) => (code, true, "no_error", false),
            Ended::Failed { code, ignored } => (code, !ignored, "calling_webhook_error", ignored),
            Ended::Refused => (0, true, "apiserver_internal_error", false),
        };
        let code = code.min(LARGEST_CODE).to_string();
        let (name, operation) = (call.webhook, call.operation.as_str());
        let kind = if call.mutating { "admit" } else { "validating" };
        let was_rejected = if rejected { "true" } else { "false" };
        let mut series = self.0.lock();
        let duration = series
            .durations
            .entry([name, operation, was_rejected, kind].map(str::to_owned))
            .or_insert_with(|| Histogram::of_seconds(&SECONDS));
        duration.observe(call.duration.as_secs_f64());
        let request = [&*code, name, operation, was_rejected, kind].map(str::to_owned);
        *series.requests.entry(request).or_default() += 1;
        if rejected {
            let rejection = [error, name, operation, &*code, kind].map(str::to_owned);
            *series.rejections.entry(rejection).or_default() += 1;
        }
        if failed_open {
            let failed_open = [name, kind].map(str::to_owned);
            *series.failed_open.entry(failed_open).or_default() += 1;
        }
    }

    pub(super) fn write(&self, text: &mut Text) {
        const DURATION: &str = "apiserver_admission_webhook_admission_duration_seconds";
        let series = self.0.lock();
        if series.durations.is_empty() {
            return;
        }
        text.family(
            DURATION,
            "histogram",
            "[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).",
        );
        let names = ["name", "operation", "rejected", "type"];
        for (values, histogram) in &series.durations {
            text.histogram(DURATION, &labels(names, values), histogram);
        }
        counters(
            text,
            "apiserver_admission_webhook_fail_open_count",
            "[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).",
            ["name", "type"],
            &series.failed_open,
        );
        counters(
            text,
            "apiserver_admission_webhook_rejection_count",
            "[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
            ["error_type", "name", "operation", "rejection_code", "type"],
            &series.rejections,
        );
        counters(
            text,
            "apiserver_admission_webhook_request_total",
            "[ALPHA] Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
            ["code", "name", "operation", "rejected", "type"],
            &series.requests,
        );
    }
}

fn counters<const N: usize>(
    text: &mut Text,
    family: &str,
    help: &str,
    names: [&'static str; N],
    series: &BTreeMap<[String; N], u64>,
) {
    if series.is_empty() {
        return;
    }
    text.family(family, "counter", help);
    for (values, count) in series {
        text.count(family, &labels(names, values), *count);
    }
}

fn labels<'a, const N: usize>(
    names: [&'static str; N],
    values: &'a [String; N],
) -> [(&'static str, &'a str); N] {
    std::array::from_fn(|at| (names[at], values[at].as_str()))
}

#[cfg(test)]
mod tests {
    use kubewright_admission::Operation;
    use tokio::time::Duration;

    use super::*;

    #[test]
    fn calls_are_counted_by_how_they_ended() {
        let calls = WebhookCalls::default();
        let failed = |ignored| Ended::Failed { code: 503, ignored };
        for (ended, mutating) in [
            (Ended::Allowed, true),
            (Ended::Denied(900), false),
            (failed(true), false),
            (failed(false), true),
            (Ended::Refused, true),
        ] {
            calls.count(&Measured {
                webhook: "a.example.com",
                mutating,
                operation: Operation::Create,
                ended,
                duration: Duration::from_millis(3),
            });
        }
        let mut text = Text::default();
        calls.write(&mut text);
        let text = text.into_string();
        let counts: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("apiserver_admission_webhook_"))
            .filter(|line| !line.starts_with("admission_duration_seconds_bucket"))
            .filter(|line| !line.starts_with("admission_duration_seconds_sum"))
            .collect();
        let of = |labels: &str, kind: &str| format!("{{{labels},type=\"{kind}\"}}");
        let create = "name=\"a.example.com\",operation=\"CREATE\"";
        let timed =
            |rejected: bool, kind: &str| of(&format!("{create},rejected=\"{rejected}\""), kind);
        let asked = |code: u16, rejected: bool, kind: &str| {
            of(
                &format!("code=\"{code}\",{create},rejected=\"{rejected}\""),
                kind,
            )
        };
        let turned_down = |error: &str, code: u16, kind: &str| {
            of(
                &format!("error_type=\"{error}\",{create},rejection_code=\"{code}\""),
                kind,
            )
        };
        assert_eq!(
            counts,
            [
                format!(
                    "admission_duration_seconds_count{} 1",
                    timed(false, "admit")
                ),
                format!(
                    "admission_duration_seconds_count{} 1",
                    timed(false, "validating")
                ),
                format!("admission_duration_seconds_count{} 2", timed(true, "admit")),
                format!(
                    "admission_duration_seconds_count{} 1",
                    timed(true, "validating")
                ),
                format!(
                    "fail_open_count{} 1",
                    of("name=\"a.example.com\"", "validating")
                ),
                format!(
                    "rejection_count{} 1",
                    turned_down("apiserver_internal_error", 0, "admit")
                ),
                format!(
                    "rejection_count{} 1",
                    turned_down("calling_webhook_error", 503, "admit")
                ),
                format!(
                    "rejection_count{} 1",
                    turned_down("no_error", 600, "validating")
                ),
                format!("request_total{} 1", asked(0, true, "admit")),
                format!("request_total{} 1", asked(200, false, "admit")),
                format!("request_total{} 1", asked(503, false, "validating")),
                format!("request_total{} 1", asked(503, true, "admit")),
                format!("request_total{} 1", asked(600, true, "validating")),
            ]
        );
    }
}

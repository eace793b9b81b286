//! Alert rules: each says what is wrong, how grave it is, and what to look at.

use serde_json::{Value, json};

use super::subject::Subject;
use crate::Parts;

struct Alert {
    name: &'static str,
    /// `SERIES` stands for the labels by which the program's series are found.
    expression: &'static str,
    /// For how long it holds before it is sent.
    lasting: &'static str,
    severity: &'static str,
    summary: &'static str,
    /// What it means and where to look.
    description: &'static str,
    subject: Subject,
}

pub(super) fn rules(parts: &Parts, namespace: &str) -> Value {
    let selector = selector(namespace, &parts.name);
    let alerts = ALERTS.iter().filter(|alert| alert.subject.is_in(parts));
    let alerts: Vec<Value> = alerts
        .map(|alert| {
            json!({
                "alert": alert.name,
                "expr": alert.expression.replace("SERIES", &selector),
                "for": alert.lasting,
                "labels": {"severity": alert.severity, "program": parts.name},
                "annotations": {"summary": alert.summary, "description": alert.description},
            })
        })
        .collect();
    json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": parts.name, "namespace": namespace},
        "spec": {"groups": [{"name": parts.name, "rules": alerts}]},
    })
}

/// The labels by which the series of a program are found, as the Prometheus operator sets them: the namespace and the container.
fn selector(namespace: &str, name: &str) -> String {
    format!("namespace={},container={}", quoted(namespace), quoted(name))
}

fn quoted(text: &str) -> String {
    json!(text).to_string()
}

const ALERTS: [Alert; 16] = [
    Alert {
        name: "ProgramDown",
        expression: "absent(up{SERIES} == 1)",
        lasting: "5m",
        severity: "critical",
        summary: "No replica answers Prometheus",
        description: "No replica has been scraped for five minutes. Look at its pods and their Events. Webhooks that fail closed deny \
            every request while no replica answers.",
        subject: Subject::Process,
    },
    Alert {
        name: "ProgramRestarts",
        expression: "changes(process_start_time_seconds{SERIES}[1h]) > 3",
        lasting: "5m",
        severity: "warning",
        summary: "A replica has restarted more than three times in an hour",
        description: "Look at the last state of the container: a limit of memory, a failed liveness probe, or an error that ends the program.",
        subject: Subject::Process,
    },
    Alert {
        name: "WebhookFails",
        expression: "sum by (webhook) (rate(kubewright_webhook_reviews_total{SERIES,decision=\"failed\",mode=\"enforce\"}[5m])) > 0",
        lasting: "5m",
        severity: "warning",
        summary: "The webhook {{ $labels.webhook }} fails",
        description: "The webhook answers requests with an error instead of a decision. Its log has the causes, with the UID of each review.",
        subject: Subject::Webhooks,
    },
    Alert {
        name: "WebhookSlow",
        expression: "histogram_quantile(0.99, sum by (webhook, le) (rate(kubewright_webhook_latency_seconds_bucket{SERIES}[5m]))) > 1",
        lasting: "10m",
        severity: "warning",
        summary: "One in a hundred reviews of {{ $labels.webhook }} takes longer than a second",
        description: "Every request that the webhook reviews waits for it. Look at what the handler waits for, such as the API server, and at \
            the CPU of the pods.",
        subject: Subject::Webhooks,
    },
    Alert {
        name: "RequestsRejected",
        expression: "sum by (pod) (rate(kubewright_server_calls_refused_total{SERIES}[5m])) > 0",
        lasting: "5m",
        severity: "warning",
        summary: "{{ $labels.pod }} rejects requests, because too many are in flight",
        description: "Add replicas, or find out why requests take so long.",
        subject: Subject::Webhooks,
    },
    Alert {
        name: "HandlerPanics",
        expression: "sum by (pod) (increase(kubewright_server_panics_total{SERIES}[15m])) > 0",
        lasting: "0m",
        severity: "warning",
        summary: "A handler of {{ $labels.pod }} has panicked",
        description: "This is a bug of the program. Its log has the message and the place.",
        subject: Subject::Webhooks,
    },
    Alert {
        name: "CertificateExpires",
        expression: "min by (pod, certificate) (kubewright_certificate_not_after_seconds{SERIES}) - time() < 21600",
        lasting: "15m",
        severity: "critical",
        summary: "The {{ $labels.certificate }} certificate of {{ $labels.pod }} expires within six hours",
        description: "It should have been renewed long before. Look at the log, the Events of its Secret, and who issues it.",
        subject: Subject::Webhooks,
    },
    Alert {
        name: "TrustOutOfSync",
        expression: "min by (object) (kubewright_certificate_trust_in_sync{SERIES}) == 0",
        lasting: "10m",
        severity: "critical",
        summary: "{{ $labels.object }} does not trust the certificates of the program",
        description: "API servers cannot call the program. Another client may overwrite the caBundle: the Events of the Secret name its \
            field manager.",
        subject: Subject::Trust,
    },
    Alert {
        name: "ReconcilesFail",
        expression: "sum by (controller) (rate(kubewright_reconciles_total{SERIES,outcome=~\"failed|panicked|terminal\"}[10m])) \
            / sum by (controller) (rate(kubewright_reconciles_total{SERIES}[10m])) > 0.1",
        lasting: "15m",
        severity: "warning",
        summary: "More than a tenth of the reconciles of {{ $labels.controller }} fail",
        description: "Failed objects are retried with growing pauses; those with a terminal error wait for a change. The log names the objects.",
        subject: Subject::Controllers,
    },
    Alert {
        name: "ReconcileStuck",
        expression: "max by (controller) (workqueue_longest_running_processor_seconds{SERIES}) > 600",
        lasting: "5m",
        severity: "warning",
        summary: "A reconcile of {{ $labels.controller }} has been in progress for more than ten minutes",
        description: "A reconcile should not wait for what takes long: return, and ask to be called again.",
        subject: Subject::Controllers,
    },
    Alert {
        name: "QueueSlow",
        expression: "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{SERIES}[10m]))) > 60",
        lasting: "15m",
        severity: "warning",
        summary: "Objects of {{ $labels.controller }} wait for longer than a minute",
        description: "The controller does not keep up. Raise its concurrency, or find out what each reconcile waits for.",
        subject: Subject::Controllers,
    },
    Alert {
        name: "NoLeader",
        expression: "sum by (name) (leader_election_master_status{SERIES}) == 0",
        lasting: "5m",
        severity: "critical",
        summary: "No replica holds the Lease {{ $labels.name }}",
        description: "Nothing is reconciled. Look at the Lease, at who holds it, and whether the replicas reach the API server.",
        subject: Subject::Election,
    },
    Alert {
        name: "KindNotServed",
        expression: "max by (kind) (kubewright_cache_not_served{SERIES}) > 0",
        lasting: "15m",
        severity: "info",
        summary: "The API server does not serve {{ $labels.kind }}",
        description: "Its CustomResourceDefinition is missing, or no longer serves the version that the program reads. Controllers that require \
            the kind do not start; others wait for it, and may do so on purpose.",
        subject: Subject::Controllers,
    },
    Alert {
        name: "TaskFails",
        expression: "sum by (task) (increase(kubewright_task_runs_total{SERIES,outcome=~\"failed|panicked|terminal\"}[1h])) > 0 \
            unless sum by (task) (increase(kubewright_task_runs_total{SERIES,outcome=\"done\"}[1h])) > 0",
        lasting: "15m",
        severity: "warning",
        summary: "The task {{ $labels.task }} has failed for an hour",
        description: "It is run again, after a pause or at its next time. The log has the errors.",
        subject: Subject::Tasks,
    },
    Alert {
        name: "ConfigurationInvalid",
        expression: "min by (place) (kubewright_configuration_good{SERIES}) == 0",
        lasting: "5m",
        severity: "warning",
        summary: "The configuration {{ $labels.place }} is invalid",
        description: "The last valid one stays in use. The log says what is wrong and where.",
        subject: Subject::Configuration,
    },
    Alert {
        name: "ApiServerRequestsFail",
        expression: "sum by (pod) (rate(rest_client_requests_total{SERIES,code=~\"5..|<error>\"}[10m])) \
            / sum by (pod) (rate(rest_client_requests_total{SERIES}[10m])) > 0.1",
        lasting: "15m",
        severity: "warning",
        summary: "More than a tenth of the requests of {{ $labels.pod }} to the API server fail",
        description: "Caches keep their last state and reconciles are retried. Look at the API server and the network between.",
        subject: Subject::ApiServer,
    },
];

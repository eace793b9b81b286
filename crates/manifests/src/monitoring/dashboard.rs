//! A dashboard: a row of panels for each part that the program has, and one for its own metrics.

use serde_json::{Value, json};

use super::subject::Subject;
use crate::{MetricKind, OwnMetric, Parts};

struct Panel {
    title: &'static str,
    unit: &'static str,
    /// Expressions with the legends of their series. `SERIES` stands for the labels by which the program's series are found.
    queries: &'static [(&'static str, &'static str)],
}

pub(super) fn dashboard(parts: &Parts) -> Value {
    let name = &parts.name;
    let mut panels = Panels::default();
    for (title, subject, row) in ROWS {
        if subject.is_in(parts) {
            panels.row(title, row);
        }
    }
    if !parts.metrics.is_empty() {
        panels.heading(name);
        for metric in &parts.metrics {
            panels.own(metric);
        }
    }
    let variable = |name: &str, label: &str, query: &str| {
        json!({
            "name": name, "label": label, "type": "query",
            "datasource": {"type": "prometheus", "uid": "$datasource"},
            "query": {"query": query, "refId": name},
            "refresh": 2, "includeAll": false, "sort": 1,
        })
    };
    let namespaces =
        format!("label_values(process_start_time_seconds{{container=\"{name}\"}}, namespace)");
    json!({
        "title": name,
        "uid": format!("kubewright-{name}"),
        "tags": ["kubewright"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            variable("namespace", "Namespace", &namespaces),
        ]},
        "panels": panels.made.iter().map(|panel| located(panel, name)).collect::<Vec<_>>(),
    })
}

/// Fills in the labels by which the series of the program are found.
fn located(panel: &Value, name: &str) -> Value {
    let mut panel = panel.clone();
    for target in panel["targets"].as_array_mut().into_iter().flatten() {
        if let Some(expression) = target["expr"].as_str() {
            let series = format!("namespace=\"$namespace\",container=\"{name}\"");
            target["expr"] = json!(expression.replace("SERIES", &series));
        }
    }
    panel
}

/// Panels, each after the last one: three side by side.
#[derive(Default)]
struct Panels {
    made: Vec<Value>,
    top: u64,
    left: u64,
}

impl Panels {
    fn row(&mut self, title: &str, panels: &[Panel]) {
        self.heading(title);
        for panel in panels {
            self.panel(panel.title, "", panel.unit, panel.queries.iter().copied());
        }
    }

    fn heading(&mut self, title: &str) {
        if self.left > 0 {
            self.top += HEIGHT;
            self.left = 0;
        }
        let place = json!({"x": 0, "y": self.top, "w": WIDTH * ACROSS, "h": 1});
        let id = self.made.len() + 1;
        self.made
            .push(json!({"id": id, "type": "row", "title": title, "collapsed": false, "gridPos": place, "panels": []}));
        self.top += 1;
    }

    fn own(&mut self, metric: &OwnMetric) {
        let OwnMetric { name, labels, .. } = metric;
        let by = labels.join(", ");
        let legend: Vec<String> = labels
            .iter()
            .map(|label| format!("{{{{{label}}}}}"))
            .collect();
        let legend = legend.join(" ");
        let quantile = |quantile: &str| {
            let by = if by.is_empty() {
                "le".to_owned()
            } else {
                format!("{by}, le")
            };
            (
                format!(
                    "histogram_quantile({quantile}, sum by ({by}) (rate({name}_bucket{{SERIES}}[$__rate_interval])))"
                ),
                format!("p{} {legend}", &quantile[2..]).trim().to_owned(),
            )
        };
        let queries = match metric.kind {
            MetricKind::Counter => vec![(
                format!("sum by ({by}) (rate({name}_total{{SERIES}}[$__rate_interval]))"),
                legend.clone(),
            )],
            MetricKind::Gauge => {
                let legend = format!("{{{{pod}}}} {legend}").trim().to_owned();
                vec![(format!("{name}{{SERIES}}"), legend)]
            }
            MetricKind::Histogram => vec![quantile("0.50"), quantile("0.99")],
        };
        let unit = match metric.kind {
            MetricKind::Counter => "ops",
            _ if name.ends_with("_seconds") => "s",
            _ if name.ends_with("_bytes") => "bytes",
            _ => "short",
        };
        let queries = queries
            .iter()
            .map(|(expression, legend)| (expression.as_str(), legend.as_str()));
        self.panel(name, &metric.help, unit, queries);
    }

    fn panel<'a>(
        &mut self,
        title: &str,
        description: &str,
        unit: &str,
        queries: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let place = json!({"x": self.left * WIDTH, "y": self.top, "w": WIDTH, "h": HEIGHT});
        let datasource = json!({"type": "prometheus", "uid": "$datasource"});
        let targets: Vec<Value> = queries
            .zip('A'..)
            .map(|((expression, legend), reference)| {
                json!({
                    "datasource": datasource, "expr": expression, "legendFormat": legend,
                    "refId": reference.to_string(), "range": true,
                })
            })
            .collect();
        let id = self.made.len() + 1;
        self.made.push(json!({
            "id": id, "type": "timeseries", "title": title, "description": description,
            "datasource": datasource, "gridPos": place, "targets": targets,
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        }));
        self.left += 1;
        if self.left == ACROSS {
            self.top += HEIGHT;
            self.left = 0;
        }
    }
}

const ACROSS: u64 = 3;
/// Grafana's grid has 24 columns.
const WIDTH: u64 = 8;
const HEIGHT: u64 = 8;

const ROWS: [(&str, Subject, &[Panel]); 6] = [
    ("Process", Subject::Process, &PROCESS),
    ("Webhooks", Subject::Webhooks, &WEBHOOKS),
    ("Controllers", Subject::Controllers, &CONTROLLERS),
    ("Leader election", Subject::Election, &ELECTION),
    ("Tasks", Subject::Tasks, &TASKS),
    ("API server and caches", Subject::ApiServer, &CLUSTER),
];

const PROCESS: [Panel; 3] = [
    Panel {
        title: "CPU",
        unit: "short",
        queries: &[(
            "rate(process_cpu_seconds_total{SERIES}[$__rate_interval])",
            "{{pod}}",
        )],
    },
    Panel {
        title: "Resident memory",
        unit: "bytes",
        queries: &[("process_resident_memory_bytes{SERIES}", "{{pod}}")],
    },
    Panel {
        title: "Uptime",
        unit: "s",
        queries: &[("time() - process_start_time_seconds{SERIES}", "{{pod}}")],
    },
];

const WEBHOOKS: [Panel; 6] = [
    Panel {
        title: "Reviews, by decision",
        unit: "reqps",
        queries: &[(
            "sum by (webhook, decision, mode) (rate(kubewright_webhook_reviews_total{SERIES}[$__rate_interval]))",
            "{{webhook}} {{decision}} {{mode}}",
        )],
    },
    Panel {
        title: "Latency",
        unit: "s",
        queries: &[
            (
                "histogram_quantile(0.50, sum by (webhook, le) (rate(kubewright_webhook_latency_seconds_bucket{SERIES}[$__rate_interval])))",
                "p50 {{webhook}}",
            ),
            (
                "histogram_quantile(0.99, sum by (webhook, le) (rate(kubewright_webhook_latency_seconds_bucket{SERIES}[$__rate_interval])))",
                "p99 {{webhook}}",
            ),
        ],
    },
    Panel {
        title: "Time left until the caller's timeout, one in a hundred reviews has less",
        unit: "s",
        queries: &[(
            "histogram_quantile(0.01, sum by (webhook, le) (rate(kubewright_webhook_deadline_left_seconds_bucket{SERIES}[$__rate_interval])))",
            "{{webhook}}",
        )],
    },
    Panel {
        title: "Requests in flight",
        unit: "short",
        queries: &[("kubewright_server_calls_in_flight{SERIES}", "{{pod}}")],
    },
    Panel {
        title: "Rejected requests, failed handshakes and panics",
        unit: "ops",
        queries: &[
            (
                "rate(kubewright_server_calls_refused_total{SERIES}[$__rate_interval])",
                "rejected {{pod}}",
            ),
            (
                "rate(kubewright_server_handshakes_failed_total{SERIES}[$__rate_interval])",
                "handshakes {{pod}}",
            ),
            (
                "rate(kubewright_server_panics_total{SERIES}[$__rate_interval])",
                "panics {{pod}}",
            ),
        ],
    },
    Panel {
        title: "Time until certificates expire",
        unit: "s",
        queries: &[(
            "kubewright_certificate_not_after_seconds{SERIES} - time()",
            "{{certificate}} {{pod}}",
        )],
    },
];

const CONTROLLERS: [Panel; 7] = [
    Panel {
        title: "Reconciles, by outcome",
        unit: "ops",
        queries: &[(
            "sum by (controller, outcome) (rate(kubewright_reconciles_total{SERIES}[$__rate_interval]))",
            "{{controller}} {{outcome}}",
        )],
    },
    Panel {
        title: "Objects in the work queue",
        unit: "short",
        queries: &[(
            "sum by (controller) (workqueue_depth{SERIES})",
            "{{controller}}",
        )],
    },
    Panel {
        title: "Time in the work queue",
        unit: "s",
        queries: &[(
            "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_queue_duration_seconds_bucket{SERIES}[$__rate_interval])))",
            "p99 {{controller}}",
        )],
    },
    Panel {
        title: "Duration of reconciles",
        unit: "s",
        queries: &[(
            "histogram_quantile(0.99, sum by (controller, le) (rate(workqueue_work_duration_seconds_bucket{SERIES}[$__rate_interval])))",
            "p99 {{controller}}",
        )],
    },
    Panel {
        title: "Reconciles in progress",
        unit: "short",
        queries: &[
            (
                "sum by (controller) (kubewright_reconcile_workers_active{SERIES})",
                "{{controller}}",
            ),
            (
                "sum by (controller) (kubewright_reconcile_workers{SERIES})",
                "most {{controller}}",
            ),
        ],
    },
    Panel {
        title: "Retries",
        unit: "ops",
        queries: &[(
            "sum by (controller) (rate(workqueue_retries_total{SERIES}[$__rate_interval]))",
            "{{controller}}",
        )],
    },
    Panel {
        title: "Share of the time in which the rate limit keeps objects waiting",
        unit: "percentunit",
        queries: &[(
            "sum by (controller) (rate(kubewright_reconcile_rate_limited_seconds_total{SERIES}[$__rate_interval]))",
            "{{controller}}",
        )],
    },
];

const ELECTION: [Panel; 1] = [Panel {
    title: "Leader",
    unit: "short",
    queries: &[("leader_election_master_status{SERIES}", "{{name}} {{pod}}")],
}];

const TASKS: [Panel; 2] = [
    Panel {
        title: "Runs, by outcome",
        unit: "short",
        queries: &[(
            "sum by (task, outcome) (increase(kubewright_task_runs_total{SERIES}[$__rate_interval]))",
            "{{task}} {{outcome}}",
        )],
    },
    Panel {
        title: "Time since the last success",
        unit: "s",
        queries: &[(
            "time() - max by (task) (kubewright_task_last_success_timestamp_seconds{SERIES})",
            "{{task}}",
        )],
    },
];

const CLUSTER: [Panel; 3] = [
    Panel {
        title: "Requests to the API server",
        unit: "reqps",
        queries: &[(
            "sum by (verb, code) (rate(rest_client_requests_total{SERIES}[$__rate_interval]))",
            "{{verb}} {{code}}",
        )],
    },
    Panel {
        title: "Latency of the API server",
        unit: "s",
        queries: &[(
            "histogram_quantile(0.99, sum by (verb, le) (rate(rest_client_request_duration_seconds_bucket{SERIES}[$__rate_interval])))",
            "p99 {{verb}}",
        )],
    },
    Panel {
        title: "Objects in caches",
        unit: "short",
        queries: &[("kubewright_cached_objects{SERIES}", "{{kind}} {{pod}}")],
    },
];

//! Alert rules and dashboards: every expression is about metrics and labels that programs have.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_manifests::{
    Controllers, Install, Installer, MetricKind, OwnMetric, Parts, PolicyRule,
};
use serde_json::Value;

use crate::validator;

/// The labels that the Prometheus operator adds to every series.
const LOCATION: [&str; 3] = ["namespace", "container", "pod"];

/// A program with everything that is watched.
fn parts() -> Parts {
    let mut parts = Parts::new("gardens");
    parts.webhooks = kubewright_webhook::Webhooks::new("example.com").with(validator("beds"));
    parts.own_service = Some("gardens".to_owned());
    parts.own_secret = Some("gardens-certs".to_owned());
    parts.controllers = Controllers::OneReplica;
    parts.follows_configuration = true;
    parts.has_tasks = true;
    parts
        .permissions
        .grant(None, PolicyRule::new("", "pods", ["get"]));
    let own = |name: &str, kind, labels: &[&str]| {
        OwnMetric::new(name, "What it says", kind, labels.iter().copied())
    };
    parts.metrics = vec![
        own("backups", MetricKind::Counter, &["database", "outcome"]),
        own("backup_size_bytes", MetricKind::Histogram, &["database"]),
        own("restore_seconds", MetricKind::Histogram, &[]),
        own("databases", MetricKind::Gauge, &[]),
    ];
    parts
}

/// The metrics that the guide lists, which a test holds to those of a program, each with its labels.
fn known(parts: &Parts) -> BTreeMap<String, BTreeSet<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| `") && line.matches('|').count() == 5);
    let listed = rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split(", ").map(|label| label.trim_matches('`'));
        let labels = labels.filter(|label| !label.is_empty()).map(str::to_owned);
        let name = cells[1].trim_matches('`').to_owned();
        (name, cells[2].to_owned(), labels.collect())
    });
    let own = parts.metrics.iter().map(|metric| {
        let (suffix, kind) = match metric.kind {
            MetricKind::Counter => ("_total", "counter"),
            MetricKind::Histogram => ("", "histogram"),
            _ => ("", "gauge"),
        };
        let labels = metric.labels.iter().cloned().collect();
        (format!("{}{suffix}", metric.name), kind.to_owned(), labels)
    });
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    known.insert("up".to_owned(), BTreeSet::new());
    for (name, kind, labels) in listed.chain(own) {
        let mut labels: BTreeSet<String> = labels;
        let name = if kind == "histogram" {
            labels.insert("le".to_owned());
            format!("{name}_bucket")
        } else {
            name
        };
        known.insert(name, labels);
    }
    known
}

/// What an expression says of metrics.
#[derive(Default)]
struct Used {
    metrics: BTreeSet<String>,
    labels: BTreeSet<String>,
}

/// The words of PromQL that the expressions are made of.
const WORDS: [&str; 12] = [
    "absent",
    "by",
    "changes",
    "histogram_quantile",
    "increase",
    "max",
    "min",
    "rate",
    "sum",
    "time",
    "unless",
    "m",
];

impl Used {
    /// Reads an expression: a word before `{` is a metric, what is in the braces are its labels, and so are the words after `by`.
    fn of(expression: &str) -> Self {
        let mut used = Self::default();
        let mut depth = 0_i32;
        let mut rest = expression;
        while let Some(first) = rest.chars().next() {
            match first {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            assert!(depth >= 0, "{expression}");
            let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = rest
                .find(|letter| !is_of_word(letter))
                .unwrap_or(rest.len());
            let word = &rest[..end];
            if word.is_empty() {
                rest = &rest[first.len_utf8()..];
                continue;
            }
            rest = &rest[end..];
            if let Some(labels) = rest.strip_prefix('{') {
                let (labels, after) = labels.split_once('}').expect(expression);
                used.metrics.insert(word.to_owned());
                for matcher in labels.split(',') {
                    let (label, value) = matcher.split_once('=').expect(expression);
                    let value = value.trim_start_matches('~');
                    let is_quoted = value.starts_with('"') && value.ends_with('"');
                    assert!(is_quoted, "{expression}");
                    used.labels.insert(label.to_owned());
                }
                rest = after;
            } else if let (true, Some(labels)) = (word == "by", rest.strip_prefix(" (")) {
                let (labels, after) = labels.split_once(')').expect(expression);
                used.labels.extend(labels.split(", ").map(str::to_owned));
                rest = after;
            } else {
                let is_number = word
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || b"mh".contains(&byte));
                assert!(is_number || WORDS.contains(&word), "{word} in {expression}");
            }
        }
        assert_eq!(depth, 0, "{expression}");
        used
    }
}

/// Checks an expression, and returns the metrics that it is about.
fn check(expression: &str, known: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let expression = expression.replace("$__rate_interval", "5m");
    let used = Used::of(&expression);
    assert!(!used.metrics.is_empty(), "{expression}");
    let mut labels = BTreeSet::from(LOCATION.map(ToOwned::to_owned));
    for metric in &used.metrics {
        let of_metric = known.get(metric);
        labels.extend(
            of_metric
                .unwrap_or_else(|| panic!("{expression}: no program has {metric}"))
                .clone(),
        );
    }
    let unknown: Vec<_> = used.labels.difference(&labels).collect();
    assert!(unknown.is_empty(), "{expression}: no labels {unknown:?}");
    used.metrics
}

/// The labels in `{{ … }}`.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.split("{{").skip(1);
    starts.map(|rest| rest.split("}}").next().unwrap().trim())
}

#[test]
fn every_alert_is_about_metrics_that_the_program_has() {
    let parts = parts();
    let known = known(&parts);
    let installer = Installer::new(&parts, &Install::default().namespace("blue")).unwrap();
    let rules = installer.alerts();
    assert_eq!(rules["metadata"]["namespace"], "blue");
    let rules = rules["spec"]["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 10);
    let mut names = BTreeSet::new();
    for rule in rules {
        let name = rule["alert"].as_str().unwrap();
        assert!(names.insert(name), "{name} comes twice");
        let expression = rule["expr"].as_str().unwrap();
        check(expression, &known);
        assert!(
            expression.contains(r#"namespace="blue",container="gardens""#),
            "a neighbour's series count, too: {expression}"
        );
        // What the summary names is left in the result.
        for label in placeholders(rule["annotations"]["summary"].as_str().unwrap()) {
            let label = label.strip_prefix("$labels.").unwrap();
            let by = format!("({label})");
            let among = format!("({label}, ");
            let last = format!(", {label})");
            assert!(
                [by, among, last].iter().any(|by| expression.contains(by)),
                "{name}: {label} is not in the result"
            );
        }
    }
}

#[test]
fn a_dashboard_shows_metrics_that_the_program_has_and_all_of_its_own() {
    let parts = parts();
    let known = known(&parts);
    let installer = Installer::new(&parts, &Install::default()).unwrap();
    let dashboard = installer.dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut shown = BTreeSet::new();
    let mut places = BTreeSet::new();
    for panel in panels {
        let place = &panel["gridPos"];
        let (x, y) = (place["x"].as_u64().unwrap(), place["y"].as_u64().unwrap());
        assert!(places.insert((x, y)), "two panels at {x}, {y}");
        assert!(x + place["w"].as_u64().unwrap() <= 24, "{panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let metrics = check(target["expr"].as_str().unwrap(), &known);
            let labels: BTreeSet<_> = metrics.iter().flat_map(|metric| &known[metric]).collect();
            for label in placeholders(target["legendFormat"].as_str().unwrap()) {
                let is_known = LOCATION.contains(&label) || labels.contains(&label.to_owned());
                assert!(is_known, "{label} of {panel}");
            }
            shown.extend(metrics);
        }
    }
    for own in [
        "backups_total",
        "backup_size_bytes_bucket",
        "restore_seconds_bucket",
        "databases",
    ] {
        assert!(shown.contains(own), "{own} is not shown");
    }
}

#[test]
fn a_program_is_watched_for_what_it_has_and_nothing_else() {
    let alerts = |parts: &Parts| -> Vec<String> {
        let installer = Installer::new(parts, &Install::default()).unwrap();
        let rules = installer.alerts()["spec"]["groups"][0]["rules"].clone();
        let rules = rules.as_array().unwrap().iter();
        rules
            .map(|rule| rule["alert"].as_str().unwrap().to_owned())
            .collect()
    };
    let bare = Parts::new("gardens");
    assert_eq!(alerts(&bare), ["ProgramDown", "ProgramRestarts"]);
    let mut alone = Parts::new("gardens");
    alone.controllers = Controllers::EveryReplica;
    let of_controllers = [
        "ReconcilesFail",
        "ReconcileStuck",
        "QueueSlow",
        "KindNotServed",
    ];
    assert_eq!(alerts(&alone)[2..], of_controllers);
    let rows = |parts: &Parts| -> Vec<String> {
        let installer = Installer::new(parts, &Install::default()).unwrap();
        let panels = installer.dashboard()["panels"].clone();
        let panels = panels.as_array().unwrap().iter();
        let rows = panels.filter(|panel| panel["type"] == "row");
        rows.map(|row| row["title"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(rows(&bare), ["Process"]);
    assert_eq!(
        rows(&parts()),
        [
            "Process",
            "Webhooks",
            "Controllers",
            "Leader election",
            "Tasks",
            "API server and caches",
            "gardens"
        ]
    );
}

#[test]
fn alert_rules_are_installed_on_request_and_survive_a_chart() {
    let install = Install::default().alert_rules();
    let made = Installer::new(&parts(), &install).unwrap().manifests();
    let is_rule = |object: &&Value| object["kind"] == "PrometheusRule";
    assert_eq!(made.objects().iter().filter(is_rule).count(), 1);
    let chart = Installer::chart(&parts(), &install).unwrap();
    let program = chart.text("templates/program.yaml").unwrap();
    assert!(
        program.contains(r#"{{ "{{" }} $labels.webhook }}"#),
        "{program}"
    );
    let located =
        ["\\\"", "\""].map(|quote| format!("namespace={quote}{{{{ .Release.Namespace }}}}{quote}"));
    assert!(
        located.iter().any(|text| program.contains(text)),
        "{program}"
    );
}

//! What a page of metrics holds, read as Prometheus reads it, and what cannot make it grow.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
use tower::ServiceExt as _;

use super::*;
use crate::configuration::{Seen, Source};

/// Every series of a page, with its value. It refuses what the OpenMetrics text format does not allow.
fn series(page: &str) -> BTreeMap<String, String> {
    let mut series = BTreeMap::new();
    let mut families: Vec<(String, String)> = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "# EOF" {
            assert!(lines.peek().is_none(), "something follows the end");
            return series;
        }
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(is_name(name), "{line}");
            match what {
                "TYPE" => {
                    assert!(
                        families.iter().all(|(known, _)| known != name),
                        "{name} comes twice"
                    );
                    families.push((name.to_owned(), words.next().unwrap().to_owned()));
                }
                "UNIT" => assert!(
                    name.ends_with(&format!("_{}", words.next().unwrap())),
                    "{line}"
                ),
                "HELP" => {}
                _ => panic!("{line}"),
            }
            continue;
        }
        let (id, value) = line.rsplit_once(' ').expect(line);
        let (name, labels) = id.split_once('{').unwrap_or((id, "}"));
        let (family, kind) = families.last().expect("a type comes first");
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_count", "_sum"],
            "gauge" => &[""],
            other => panic!("{other}"),
        };
        let suffix = name.strip_prefix(family.as_str()).expect(line);
        assert!(suffixes.contains(&suffix), "{line}");
        let labels = labels.strip_suffix('}').expect(line);
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, value) = label.split_once('=').expect(line);
            assert!(
                is_name(key) && value.starts_with('"') && value.ends_with('"'),
                "{line}"
            );
        }
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(
            series.insert(id.to_owned(), value.to_owned()).is_none(),
            "{id} comes twice"
        );
    }
    panic!("the page has no end");
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

async fn no_hosts(change: Change<Pod>, _: Review) -> Validated {
    match &change.object().spec {
        Some(spec) if spec.host_network == Some(true) => deny("no"),
        _ => Ok(()),
    }
}

async fn review(webhooks: &Webhooks, kind: &str, spec: &str) {
    let body = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"a",
        "kind":{{"group":"","version":"v1","kind":{kind:?}}},"resource":{{"group":"","version":"v1","resource":"pods"}},
        "operation":"CREATE","dryRun":true,"userInfo":{{}},
        "object":{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}}}}}"#
    );
    let request = http::Request::post("/hosts?timeout=5s")
        .header("content-type", "application/json")
        .body(body)
        .unwrap();
    webhooks.clone().oneshot(request).await.unwrap();
}

fn watched() -> (Metrics, Webhooks) {
    let metrics = Metrics::new(Arc::default());
    let webhooks = Webhooks::new("policy.example.com").with(validating("hosts", no_hosts));
    let told = metrics.clone();
    webhooks.observe(move |answered| told.answered(answered));
    (metrics, webhooks)
}

#[tokio::test]
async fn reviews_are_counted_by_how_they_ended() {
    let (metrics, webhooks) = watched();
    review(&webhooks, "Pod", r#"{"containers":[]}"#).await;
    review(&webhooks, "Pod", r#"{"containers":[],"hostNetwork":true}"#).await;
    review(&webhooks, "Pod", r#"{"containers":7}"#).await;
    let series = series(&metrics.page());
    let count = |mode: &str, decision: &str, code: &str| {
        let id = format!(
            "kubewright_webhook_reviews_total{{webhook=\"hosts\",decision=\"{decision}\",mode=\"{mode}\",code=\"{code}\",kind=\"Pod\",operation=\"CREATE\",dry_run=\"true\"}}"
        );
        series.get(&id).map(|count| count.parse::<u8>().unwrap())
    };
    assert_eq!(count("enforce", "allowed", "200"), Some(1));
    assert_eq!(count("enforce", "denied", "403"), Some(1));
    assert_eq!(count("enforce", "failed", "422"), Some(1));
    assert_eq!(
        series["kubewright_webhook_latency_seconds_count{webhook=\"hosts\"}"],
        "3"
    );
    assert_eq!(
        series["kubewright_webhook_deadline_left_seconds_count{webhook=\"hosts\"}"],
        "3"
    );
}

#[tokio::test]
async fn decisions_without_effect_are_counted_apart() {
    let metrics = Metrics::new(Arc::default());
    let hook = validating("hosts", no_hosts).shadow();
    let webhooks = Webhooks::new("policy.example.com").with(hook);
    let told = metrics.clone();
    webhooks.observe(move |answered| told.answered(answered));
    review(&webhooks, "Pod", r#"{"containers":[],"hostNetwork":true}"#).await;
    let series = series(&metrics.page());
    let denied = "kubewright_webhook_reviews_total{webhook=\"hosts\",decision=\"denied\",mode=\"shadow\",code=\"403\",kind=\"Pod\",operation=\"CREATE\",dry_run=\"true\"}";
    assert_eq!(series[denied], "1");
}

#[tokio::test]
async fn what_callers_name_cannot_make_a_page_grow_without_end() {
    let (metrics, webhooks) = watched();
    for number in 0..1_000 {
        review(&webhooks, &format!("Kind{number}"), "{}").await;
        review(&webhooks, &"K".repeat(number), "{}").await;
        review(&webhooks, &format!("kind {number}\" \u{e9}"), "{}").await;
    }
    let series = series(&metrics.page());
    let kinds = series
        .keys()
        .filter(|id| id.starts_with("kubewright_webhook_reviews_total"));
    assert!(kinds.count() <= 2 * (MOST_KINDS + 1));
}

#[test]
fn a_configuration_that_cannot_be_used_is_told() {
    let metrics = Metrics::new(Arc::default());
    let (mut source, _live) = Source::yaml("words.yaml".to_owned(), vec!["default".to_owned()]);
    metrics.configuration(vec![source.state()]);
    source.take(Seen::Content(b"[one]".to_vec()));
    source.take(Seen::Content(b"[one".to_vec()));
    let told = |name: &str| series(&metrics.page())[name].clone();
    assert_eq!(
        told("kubewright_configuration_good{place=\"words.yaml\"}"),
        "0"
    );
    for outcome in ["used", "refused"] {
        let name = format!(
            "kubewright_configuration_reads_total{{place=\"words.yaml\",outcome=\"{outcome}\"}}"
        );
        assert_eq!(told(&name), "1", "{outcome}");
    }
    source.take(Seen::Content(b"[two]".to_vec()));
    assert_eq!(
        told("kubewright_configuration_good{place=\"words.yaml\"}"),
        "1"
    );
}

#[test]
fn reconciles_the_process_and_leadership_are_told() {
    let metrics = Metrics::new(Arc::default());
    metrics.caches(Informers::new());
    for outcome in [Outcome::Done, Outcome::Done, Outcome::Failed] {
        metrics.count_reconcile(
            "pods",
            outcome,
            Duration::from_millis(2),
            Duration::from_millis(3),
        );
    }
    let series = series(&metrics.page());
    let ended = "kubewright_reconciles_total{controller=\"pods\",outcome=\"done\"}";
    assert_eq!(series[ended], "2");
    assert_eq!(
        series["workqueue_work_duration_seconds_count{name=\"pods\",controller=\"pods\"}"],
        "3"
    );
    assert_eq!(
        series["workqueue_queue_duration_seconds_sum{name=\"pods\",controller=\"pods\"}"],
        "0.006"
    );
    assert_eq!(
        cfg!(target_os = "linux"),
        series.contains_key("process_resident_memory_bytes")
    );
}

//! The labels that requests are counted under, and the metrics of requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Method;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use kubewright_registry::Served;

use super::counters::Metrics;
use super::measure::Measure;
use super::series::{Labels, Series};
use super::text::Text;
use crate::rest::path::{Path, ResourcePath};
use crate::rest::query::Query;

impl Metrics {
    /// Begins to count a request that its sender may send.
    ///
    /// Only resources that are served have series, so that their number has a bound.
    pub(crate) fn begin(
        self: &Arc<Self>,
        served: &Served,
        parts: &Parts,
        query: &Query,
        path: &Path,
    ) -> Measure {
        let mutates = !matches!(parts.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let resource = match path {
            Path::Resource(resource) => resource,
            Path::Other(words) => {
                let series = of_path(words, &parts.method)
                    .map(|labels| self.find(&labels).unwrap_or_else(|| self.add(&labels)));
                return Measure::begin(self, series, mutates, false);
            }
            Path::Broken(..) => return Measure::begin(self, None, mutates, false),
        };
        let labels = of_resource(resource, parts, query);
        let series = self.find(&labels).or_else(|| {
            let ResourcePath {
                group,
                version,
                plural,
                subresource,
                ..
            } = resource;
            let known = served.now().find(group, version, plural)?;
            let exists = subresource.is_empty() || known.subresource(subresource).is_some();
            exists.then(|| self.add(&labels))
        });
        let runs_long = matches!(labels.verb, "WATCH" | "CONNECT");
        Measure::begin(self, series, mutates, runs_long)
    }
}

impl Series {
    /// Whether the size of an answer counts: upstream measures those of reads.
    pub(super) fn reads(&self) -> bool {
        matches!(self.labels().verb, "GET" | "LIST")
    }
}

fn of_resource<'a>(resource: &'a ResourcePath, parts: &Parts, query: &Query) -> Labels<'a> {
    let watches = parts.method == Method::GET
        && (resource.watch || resource.name.is_empty() && query.flag("watch"));
    let scope = if !resource.name.is_empty() || parts.method == Method::POST {
        "resource"
    } else if !resource.namespace.is_empty() {
        "namespace"
    } else {
        "cluster"
    };
    let part = resource.subresource.as_str();
    let applies = || {
        let kind = parts.headers.get(CONTENT_TYPE);
        kind.is_some_and(|kind| kind == "application/apply-patch+yaml")
    };
    let verb = match parts.method {
        _ if matches!(part, "attach" | "exec" | "log" | "portforward" | "proxy") => "CONNECT",
        _ if watches => "WATCH",
        Method::GET | Method::HEAD if scope == "resource" => "GET",
        Method::GET | Method::HEAD => "LIST",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH if applies() => "APPLY",
        Method::PATCH => "PATCH",
        Method::DELETE if resource.name.is_empty() => "DELETECOLLECTION",
        Method::DELETE => "DELETE",
        _ => "other",
    };
    Labels {
        group: &resource.group,
        version: &resource.version,
        resource: &resource.plural,
        subresource: part,
        scope,
        verb,
        dry_run: match query.text("dryRun") {
            "" => "",
            "All" => "All",
            _ => "invalid",
        },
    }
}

/// The few paths beside resources that the real server counts.
fn of_path(words: &[String], method: &Method) -> Option<Labels<'static>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let path = match words.as_slice() {
        ["healthz", ..] => "/healthz",
        ["livez", ..] => "/livez",
        ["readyz", ..] => "/readyz",
        ["openapi", "v2"] => "openapi/v2",
        ["openapi", "v3"] => "openapi/v3",
        ["openapi", "v3", ..] => "openapi/v3/",
        _ => return None,
    };
    let verb = match *method {
        Method::GET | Method::HEAD => "GET",
        Method::POST => "POST",
        _ => "other",
    };
    Some(Labels {
        group: "",
        version: "",
        resource: "",
        subresource: path,
        scope: "",
        verb,
        dry_run: "",
    })
}

/// Appends the metrics of all requests.
pub(super) fn write(text: &mut Text, all: &[Arc<Series>]) {
    const LONG: &str = "apiserver_longrunning_requests";
    const SECONDS: &str = "apiserver_request_duration_seconds";
    const TOTAL: &str = "apiserver_request_total";
    const SIZES: &str = "apiserver_response_sizes";
    text.family(
        LONG,
        "gauge",
        "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.",
    );
    for series in all {
        let running = series.running.load(Ordering::Relaxed);
        if running != 0 {
            text.count(
                LONG,
                &without_dry_run(&series.labels()),
                running.unsigned_abs(),
            );
        }
    }
    text.family(
        SECONDS,
        "histogram",
        "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
    );
    for series in counted(all) {
        text.histogram(SECONDS, &with_dry_run(&series.labels()), &series.seconds);
    }
    text.family(
        TOTAL,
        "counter",
        "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
    );
    for series in all {
        let labels = series.labels();
        for (code, count) in series.codes() {
            let code = code.to_string();
            let mut labels = with_dry_run(&labels).to_vec();
            labels.insert(0, ("code", &code));
            text.count(TOTAL, &labels, count);
        }
    }
    text.family(
        SIZES,
        "histogram",
        "[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
    );
    for series in counted(all).filter(|series| series.reads()) {
        text.histogram(
            SIZES,
            &without_dry_run(&series.labels()),
            &series.answer_bytes,
        );
    }
    write_watches(text, all);
}

fn counted(all: &[Arc<Series>]) -> impl Iterator<Item = &Arc<Series>> {
    all.iter().filter(|series| series.codes().next().is_some())
}

/// Events are counted by resource alone: those of watches of all scopes are added.
fn write_watches(text: &mut Text, all: &[Arc<Series>]) {
    const EVENTS: &str = "apiserver_watch_events_total";
    text.family(
        EVENTS,
        "counter",
        "[BETA] Number of events sent in watch clients",
    );
    let watches: Vec<_> = all
        .iter()
        .filter(|series| series.labels().verb == "WATCH")
        .collect();
    let resource = |series: &Series| {
        let labels = series.labels();
        [labels.group, labels.resource, labels.version].map(str::to_owned)
    };
    for same in watches.chunk_by(|one, other| resource(one) == resource(other)) {
        let events = same
            .iter()
            .map(|series| series.event_bytes.buckets().1)
            .sum();
        if let Some(first) = same.first() {
            let [group, resource, version] = resource(first);
            let labels = [
                ("group", group.as_str()),
                ("resource", &resource),
                ("version", &version),
            ];
            text.count(EVENTS, &labels, events);
        }
    }
}

fn with_dry_run<'a>(labels: &Labels<'a>) -> [(&'static str, &'a str); 8] {
    [
        ("component", component(labels)),
        ("dry_run", labels.dry_run),
        ("group", labels.group),
        ("resource", labels.resource),
        ("scope", labels.scope),
        ("subresource", labels.subresource),
        ("verb", labels.verb),
        ("version", labels.version),
    ]
}

fn without_dry_run<'a>(labels: &Labels<'a>) -> [(&'static str, &'a str); 7] {
    let [
        component,
        _,
        group,
        resource,
        scope,
        subresource,
        verb,
        version,
    ] = with_dry_run(labels);
    [
        component,
        group,
        resource,
        scope,
        subresource,
        verb,
        version,
    ]
}

fn component(labels: &Labels<'_>) -> &'static str {
    if labels.resource.is_empty() {
        ""
    } else {
        "apiserver"
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn counted_as(metrics: &Arc<Metrics>, method: &str, uri: &str) -> Measure {
        let served = Served::new(kubewright_apiextensions::builtin::registry_when_asked(
            kubewright_apimachinery::version::KubernetesVersion::default(),
        ));
        let request = Request::builder().method(method).uri(uri);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let (query, path) = (
            Query::parse(parts.uri.query()),
            Path::parse(parts.uri.path()),
        );
        metrics.begin(&served, &parts, &query, &path)
    }

    fn text(metrics: &Metrics) -> String {
        let mut text = Text::default();
        write(&mut text, &metrics.all());
        text.into_string()
    }

    #[test]
    fn requests_are_counted_by_resource_verb_scope_and_code() {
        let metrics = Arc::new(Metrics::default());
        for (method, uri, code) in [
            ("GET", "/api/v1/namespaces/a/pods/b", 404),
            ("GET", "/api/v1/namespaces/a/pods/b", 200),
            ("GET", "/api/v1/namespaces/a/pods", 200),
            ("DELETE", "/api/v1/namespaces/a/pods?dryRun=All", 200),
            ("GET", "/readyz/ping", 200),
        ] {
            counted_as(&metrics, method, uri).failed(code);
        }
        let text = text(&metrics);
        for line in [
            r#"apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 1"#,
            r#"apiserver_request_total{code="404",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 1"#,
            r#"apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="namespace",subresource="",verb="LIST",version="v1"} 1"#,
            r#"apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="pods",scope="namespace",subresource="",verb="DELETECOLLECTION",version="v1"} 1"#,
            r#"apiserver_request_total{code="200",component="",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 1"#,
            r#"apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="GET",version="v1"} 2"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_is_not_served_has_no_series() {
        let metrics = Arc::new(Metrics::default());
        for uri in [
            "/api/v1/nopes",
            "/apis/a/v1/b",
            "/x",
            "/api/v1/namespaces/a/pods/b/nope",
        ] {
            drop(counted_as(&metrics, "GET", uri));
        }
        assert!(metrics.all().is_empty());
    }

    #[test]
    fn a_watch_is_counted_when_it_ends_and_other_requests_are_in_flight_till_then() {
        let metrics = Arc::new(Metrics::default());
        let watch = counted_as(&metrics, "GET", "/api/v1/pods?watch=1");
        let write = counted_as(&metrics, "POST", "/api/v1/namespaces/a/pods");
        let running = r#"apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"} 1"#;
        assert!(text(&metrics).contains(running));
        assert_eq!(metrics.mutating.load(Ordering::Relaxed), 1);
        write.failed(409);
        assert_eq!(metrics.mutating.load(Ordering::Relaxed), 0);
        watch.failed(200);
        assert!(!text(&metrics).contains(running));
        assert!(text(&metrics).contains(r#"code="200""#));
    }
}

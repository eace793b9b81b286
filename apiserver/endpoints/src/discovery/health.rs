//! Whether the server is well: `/healthz`, `/livez` and `/readyz`, as a whole and check by check.
//!
//! A server that answers is healthy, and everything that a kube-apiserver starts is there from the start, so every check passes.
//! Probes and scripts ask for them by the names that a kube-apiserver has for them.

use std::fmt::Write as _;

use http::header::X_CONTENT_TYPE_OPTIONS;
use http::{Response, StatusCode};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::version::KubernetesVersion;

use crate::body::Body;
use crate::rest::answer;
use crate::rest::not_found::not_found;
use crate::rest::request::Request;

/// Answers `ok`, or with `?verbose` one line per check; a check has a path of its own.
pub(super) fn answer(
    request: &Request,
    which: &str,
    check: &str,
    version: KubernetesVersion,
) -> Response<Body> {
    let checks: Vec<&str> = checks(which, version).collect();
    if check.is_empty() {
        return if request.query.get("verbose").is_some() {
            let excluded: Vec<&str> = request.query.all("exclude").collect();
            answer::text(StatusCode::OK, report(which, &checks, &excluded))
        } else {
            answer::text(StatusCode::OK, "ok")
        };
    }
    if !checks.contains(&check) {
        return not_found();
    }
    let mut response = answer::text(StatusCode::OK, "ok");
    response.headers_mut().remove(X_CONTENT_TYPE_OPTIONS);
    response
}

fn report(which: &str, checks: &[&str], excluded: &[&str]) -> String {
    let mut text = String::new();
    for check in checks {
        let how = if excluded.contains(check) {
            "excluded: ok"
        } else {
            "ok"
        };
        let _ = writeln!(text, "[+]{check} {how}");
    }
    let unknown = excluded.iter().filter(|check| !checks.contains(check));
    let mut unknown: Vec<String> = unknown.map(|check| quoted(check)).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        let unknown = unknown.join(",");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {unknown}"
        );
    }
    let _ = writeln!(text, "{which} check passed");
    text
}

/// The checks, in the order of a kube-apiserver.
fn checks(which: &str, version: KubernetesVersion) -> impl Iterator<Item = &'static str> {
    let (first, last): (&[&str], &[&str]) = if which == "readyz" {
        let first = &["ping", "log", "etcd", "etcd-readiness", "informer-sync"];
        (first, &["shutdown"])
    } else {
        (
            &["ping", "log", "loopback-serving-certificate", "etcd"],
            &[],
        )
    };
    let all = first.iter().chain(&STARTED).chain(last);
    // `UnknownVersionInteroperabilityProxy`, `WatchCacheInitializationPostStartHook`
    let is_newer = |check: &str| {
        matches!(
            check,
            "poststarthook/peer-endpoint-reconciler-controller" | "poststarthook/storage-readiness"
        )
    };
    all.copied()
        .filter(move |check| version >= KubernetesVersion::V1_36 || !is_newer(check))
}

/// What a kube-apiserver starts.
const STARTED: [&str; 31] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/aggregator-reload-proxy-client-cert",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];

//! The answers to the kubelet's probes.

use std::fmt::Write as _;

use http::{Method, StatusCode};

use crate::Readiness;

/// Answers `/healthz`, `/livez` and `/readyz`, and nothing else.
pub(crate) fn answer(
    method: &Method,
    uri: &http::Uri,
    readiness: &Readiness,
) -> Option<(StatusCode, String)> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    match uri.path() {
        "/healthz" | "/livez" => Some((StatusCode::OK, "ok".to_owned())),
        "/readyz" => {
            let is_verbose = uri
                .query()
                .is_some_and(|query| query.split('&').any(|pair| is_flag(pair, "verbose")));
            Some(ready(readiness, is_verbose))
        }
        _ => None,
    }
}

/// Words the answer as a Kubernetes API server words its own: a failure always lists the conditions.
fn ready(readiness: &Readiness, is_verbose: bool) -> (StatusCode, String) {
    let conditions = readiness.conditions();
    let is_ready = conditions.iter().all(|(_, holds)| *holds);
    if is_ready && !is_verbose {
        return (StatusCode::OK, "ok".to_owned());
    }
    let mut text = String::new();
    for (name, holds) in conditions {
        let line = if holds { "ok" } else { "failed" };
        let sign = if holds { '+' } else { '-' };
        let _ = writeln!(text, "[{sign}]{name} {line}");
    }
    let (status, verdict) = if is_ready {
        (StatusCode::OK, "passed")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "failed")
    };
    let _ = writeln!(text, "readyz check {verdict}");
    (status, text)
}

fn is_flag(pair: &str, name: &str) -> bool {
    pair.split_once('=').map_or(pair, |(key, _)| key) == name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(uri: &'static str, readiness: &Readiness) -> Option<(u16, String)> {
        let (status, text) = answer(&Method::GET, &http::Uri::from_static(uri), readiness)?;
        Some((status.as_u16(), text))
    }

    #[test]
    fn readiness_needs_every_condition_and_names_those_that_fail() {
        let readiness = Readiness::default();
        let (caches, serving) = (
            readiness.condition("caches"),
            readiness.condition("serving"),
        );
        serving.set(true);
        let (status, text) = get("/readyz", &readiness).unwrap();
        assert_eq!(status, 503);
        insta::assert_snapshot!(text, @r"
        [-]caches failed
        [+]serving ok
        readyz check failed
        ");
        caches.set(true);
        assert_eq!(get("/readyz", &readiness), Some((200, "ok".to_owned())));
        let (status, text) = get("/readyz?verbose", &readiness).unwrap();
        assert_eq!(status, 200);
        insta::assert_snapshot!(text, @r"
        [+]caches ok
        [+]serving ok
        readyz check passed
        ");
    }

    #[test]
    fn health_does_not_depend_on_readiness() {
        let readiness = Readiness::default();
        readiness.condition("never");
        assert_eq!(get("/healthz", &readiness), Some((200, "ok".to_owned())));
        assert_eq!(get("/livez", &readiness), Some((200, "ok".to_owned())));
        assert_eq!(get("/healthz/", &readiness), None);
        assert_eq!(
            answer(
                &Method::POST,
                &http::Uri::from_static("/healthz"),
                &readiness
            ),
            None
        );
    }
}

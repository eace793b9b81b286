//! The answers to the kubelet's probes, as a Kubernetes API server gives them.

use std::fmt::Write as _;

use http::{Method, StatusCode};

use crate::Readiness;

/// What `/healthz`, `/livez` and `/readyz` tell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    pub(crate) liveness: Readiness,
    pub(crate) readiness: Readiness,
}

impl Health {
    /// Answers `/healthz`, `/livez` and `/readyz`, each as a whole or for one check, and nothing else.
    pub(crate) fn answer(&self, method: &Method, uri: &http::Uri) -> Option<(StatusCode, String)> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return None;
        }
        let path = uri.path().strip_prefix('/')?;
        let (name, check) = match path.split_once('/') {
            Some((name, check)) => (name, Some(check)),
            None => (path, None),
        };
        let checks = match name {
            "healthz" | "livez" => &self.liveness,
            "readyz" => &self.readiness,
            _ => return None,
        };
        let mut checks = checks.conditions();
        if checks.is_empty() {
            // A server that answers is alive.
            checks.push(("ping".to_owned(), true));
        }
        let query = uri.query().unwrap_or_default();
        match check {
            None => Some(all(name, &checks, query)),
            Some(check) => one(&checks, check),
        }
    }
}

fn all(name: &str, checks: &[(String, bool)], query: &str) -> (StatusCode, String) {
    let pairs = || {
        query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    };
    let mut excluded: Vec<&str> = pairs()
        .filter(|(key, value)| *key == "exclude" && !value.is_empty())
        .map(|(_, value)| value)
        .collect();
    let mut text = String::new();
    let mut is_passed = true;
    for (check, holds) in checks {
        let before = excluded.len();
        excluded.retain(|name| name != check);
        // Writing to a string does not fail.
        let _ = match holds {
            _ if excluded.len() < before => writeln!(text, "[+]{check} excluded: ok"),
            true => writeln!(text, "[+]{check} ok"),
            false => {
                is_passed = false;
                writeln!(text, "[-]{check} failed")
            }
        };
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        let _ = writeln!(
            text,
            "warn: some health checks cannot be excluded: no matches for {names}"
        );
    }
    if !is_passed {
        let _ = writeln!(text, "{name} check failed");
        return (StatusCode::SERVICE_UNAVAILABLE, text);
    }
    if !pairs().any(|(key, _)| key == "verbose") {
        return (StatusCode::OK, "ok".to_owned());
    }
    let _ = writeln!(text, "{name} check passed");
    (StatusCode::OK, text)
}

fn one(checks: &[(String, bool)], name: &str) -> Option<(StatusCode, String)> {
    let (_, holds) = checks.iter().find(|(check, _)| check == name)?;
    Some(if *holds {
        (StatusCode::OK, "ok".to_owned())
    } else {
        let text = format!("{name} failed\n");
        (StatusCode::SERVICE_UNAVAILABLE, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(uri: &'static str, health: &Health) -> Option<(u16, String)> {
        let (status, text) = health.answer(&Method::GET, &http::Uri::from_static(uri))?;
        Some((status.as_u16(), text))
    }

    fn health() -> Health {
        let health = Health::default();
        health.readiness.condition("caches");
        health.readiness.condition("serving").set(true);
        health
    }

    #[test]
    fn readiness_needs_every_condition_and_names_those_that_fail() {
        let health = Health::default();
        let caches = health.readiness.condition("caches");
        health.readiness.condition("serving").set(true);
        let (status, text) = get("/readyz", &health).unwrap();
        assert_eq!(status, 503);
        insta::assert_snapshot!(text, @r"
        [-]caches failed
        [+]serving ok
        readyz check failed
        ");
        caches.set(true);
        assert_eq!(get("/readyz", &health), Some((200, "ok".to_owned())));
        let (status, text) = get("/readyz?verbose", &health).unwrap();
        assert_eq!(status, 200);
        insta::assert_snapshot!(text, @r"
        [+]caches ok
        [+]serving ok
        readyz check passed
        ");
    }

    #[test]
    fn a_check_can_be_left_out_or_asked_for_alone() {
        let health = health();
        assert_eq!(
            get("/readyz?exclude=caches", &health),
            Some((200, "ok".to_owned()))
        );
        let (_, text) = get("/readyz?verbose&exclude=caches&exclude=moon", &health).unwrap();
        insta::assert_snapshot!(text, @r#"
        [+]caches excluded: ok
        [+]serving ok
        warn: some health checks cannot be excluded: no matches for "moon"
        readyz check passed
        "#);
        assert_eq!(
            get("/readyz/serving", &health),
            Some((200, "ok".to_owned()))
        );
        assert_eq!(
            get("/readyz/caches", &health),
            Some((503, "caches failed\n".to_owned()))
        );
        assert_eq!(get("/readyz/moon", &health), None);
    }

    #[test]
    fn health_does_not_depend_on_readiness() {
        let health = health();
        assert_eq!(get("/healthz", &health), Some((200, "ok".to_owned())));
        assert_eq!(get("/livez", &health), Some((200, "ok".to_owned())));
        assert_eq!(get("/livez/ping", &health), Some((200, "ok".to_owned())));
        assert_eq!(get("/healthz/", &health), None);
        assert_eq!(
            health.answer(&Method::POST, &http::Uri::from_static("/healthz")),
            None
        );
    }

    #[test]
    fn a_program_is_alive_while_its_own_checks_hold() {
        let health = Health::default();
        let worker = health.liveness.condition("worker");
        assert_eq!(get("/livez", &health).unwrap().0, 503);
        worker.set(true);
        assert_eq!(get("/livez", &health).unwrap().0, 200);
    }
}

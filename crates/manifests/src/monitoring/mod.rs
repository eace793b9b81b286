//! What a program is watched by: alert rules for Prometheus, and a dashboard for Grafana.

mod alerts;
mod dashboard;
mod subject;

use serde_json::Value;

use crate::Parts;

/// The PrometheusRule of a program in a namespace.
pub(crate) fn rules(parts: &Parts, namespace: &str) -> Value {
    alerts::rules(parts, namespace)
}

/// The dashboard of a program.
pub(crate) fn dashboard(parts: &Parts) -> Value {
    dashboard::dashboard(parts)
}

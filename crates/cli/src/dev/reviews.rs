//! Each admission review as it passes: who was asked about what, the verdict, the time, the change.

use std::sync::Arc;

use kubewright_apiserver::admission::{Call, Observer, Verdict};

use super::diff;
use crate::ui::{Tone, Ui};

/// Prints every webhook call.
#[derive(Debug)]
pub(crate) struct Reviews(Arc<Ui>);

impl Reviews {
    /// An observer that prints to `ui`.
    pub(crate) fn new(ui: Arc<Ui>) -> Self {
        Self(ui)
    }
}

impl Observer for Reviews {
    fn called(&self, call: &Call<'_>) {
        for line in describe(&self.0, call) {
            self.0.line(line);
        }
    }
}

fn describe(ui: &Ui, call: &Call<'_>) -> Vec<String> {
    let request = call.request;
    let name = [
        &request.name,
        &metadata(&request.object, "name"),
        &metadata(&request.object, "generateName"),
    ]
    .into_iter()
    .find(|name| !name.is_empty())
    .cloned()
    .unwrap_or_default();
    let place = if request.namespace.is_empty() || request.resource.plural == "namespaces" {
        name
    } else {
        format!("{}/{name}", request.namespace)
    };
    let verdict = match call.verdict {
        Verdict::Allowed if call.before.is_some() => ui.paint(Tone::Good, "changed"),
        Verdict::Allowed => ui.paint(Tone::Good, "allowed"),
        Verdict::Denied(text) => {
            let why = text
                .split_once("denied the request: ")
                .map_or(text, |(_, why)| why);
            format!("{}: {why}", ui.paint(Tone::Bad, "denied"))
        }
        Verdict::Failed(why) => format!("{}: {why}", ui.paint(Tone::Bad, "failed")),
        Verdict::Ignored(why) => format!("{}: {why}", ui.paint(Tone::Bad, "failed, ignored")),
        _ => ui.paint(Tone::Bad, "unknown verdict"),
    };
    let again = if call.again { " (again)" } else { "" };
    let time = format!("{:.1} ms", call.duration.as_secs_f64() * 1000.0);
    let head = format!(
        "{} {} {} {place}{again}  {verdict}  {}",
        ui.paint(Tone::Strong, call.webhook),
        request.operation.as_str(),
        request.kind.kind,
        ui.paint(Tone::Faint, &time),
    );
    let mut lines = vec![head];
    lines.extend(
        call.warnings
            .iter()
            .map(|warning| format!("    warning: {warning}")),
    );
    if let Some(before) = call.before {
        let change = diff::lines(ui, before, &request.object, diff::Context::Around);
        lines.extend(change.into_iter().map(|line| format!("    {line}")));
    }
    lines
}

fn metadata(object: &serde_json::Value, field: &str) -> String {
    object["metadata"][field]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

//! Where metrics come from: the annotation `metrics.kubewright.dev/NAME` of an object is the value of that metric for it.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::status::qualified;
use serde_json::{Map, Value};

use super::pods::{Pod, Usage, clamped};
use crate::object::{list, text};
use crate::work::Context;

const PREFIX: &str = "metrics.kubewright.dev/";

/// The metrics that are set in one namespace.
#[derive(Clone, Copy)]
pub(super) struct Metrics<'a> {
    pub(super) cx: &'a Context,
    pub(super) namespace: &'a str,
}

/// What a metric of the custom or external metrics API is asked for by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identifier<'a> {
    pub(super) name: &'a str,
    pub(super) selector: &'a Value,
}

impl<'a> Identifier<'a> {
    /// The `metric` of a source or of its status.
    pub(super) fn of(metric: &'a Value) -> Self {
        Self {
            name: text(metric, "/name"),
            selector: &metric["selector"],
        }
    }

    /// The values of the series that the selector selects, from `30` or, with labels, `30{queue=mail} 12{queue=web}`.
    fn values(self, measured: &str) -> Result<Vec<i64>, String> {
        let selector = Labels::from_object(self.selector)?;
        let mut values = Vec::new();
        for series in measured.split_whitespace() {
            let (value, labels) = match series.strip_suffix('}') {
                Some(series) => series.split_once('{').unwrap_or((series, "")),
                None => (series, ""),
            };
            let labels = labels.split(',').filter_map(|label| label.split_once('='));
            let labels: Map<String, Value> = labels
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect();
            let value = quantity(value)?;
            if selector
                .as_ref()
                .is_none_or(|selector| selector.matches(Some(&labels)))
            {
                values.push(value);
            }
        }
        Ok(values)
    }
}

/// What pods, or one container of each, use of a resource.
pub(super) fn resource(
    pods: &[Pod],
    resource: &str,
    container: Option<&str>,
) -> Result<Usage, String> {
    let mut usage = Usage::new();
    let mut is_any = false;
    for pod in pods {
        let Some(measured) = annotation(&pod.object, resource) else {
            continue;
        };
        is_any = true;
        let used = used(&pod.object, measured, container);
        let used = used.map_err(|why| {
            let name = &pod.name;
            format!(
                "unable to fetch metrics from resource metrics API: annotation {PREFIX}{resource} of pod {name}: {why}"
            )
        })?;
        if let Some(used) = used {
            usage.insert(pod.name.clone(), used);
        }
    }
    if is_any {
        return Ok(usage);
    }
    Err("no metrics returned from resource metrics API".to_owned())
}

/// The values of a metric for each pod.
pub(super) fn of_pods(pods: &[Pod], metric: Identifier<'_>) -> Result<Usage, String> {
    let mut usage = Usage::new();
    for pod in pods {
        let Some(measured) = annotation(&pod.object, metric.name) else {
            continue;
        };
        let values = metric.values(measured).map_err(|why| {
            let (name, metric) = (&pod.name, metric.name);
            format!("{CUSTOM}annotation {PREFIX}{metric} of pod {name}: {why}")
        })?;
        usage.extend(values.first().map(|value| (pod.name.clone(), *value)));
    }
    if usage.is_empty() {
        return Err("no metrics returned from custom metrics API".to_owned());
    }
    Ok(usage)
}

const CUSTOM: &str = "unable to fetch metrics from custom metrics API: ";

impl Metrics<'_> {
    /// The value of a metric for an object.
    pub(super) fn of_object(
        self,
        metric: Identifier<'_>,
        described: &Value,
    ) -> Result<i64, String> {
        let api_version = text(described, "/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text(described, "/kind").to_owned(),
        };
        let name = text(described, "/name");
        let resource = self.cx.served.now().by_kind(&kind).ok_or_else(|| {
            format!(
                "{CUSTOM}no matches for kind {:?} in group {group:?}",
                kind.kind
            )
        })?;
        let table = qualified(&resource.plural, group);
        // An autoscaler cannot look out of its namespace.
        let path = match (table.as_str(), resource.namespaced) {
            ("namespaces", _) => self.namespace.to_owned(),
            (_, true) => format!("{}/{name}", self.namespace),
            (_, false) => name.to_owned(),
        };
        let object = self.cx.look(|graph| graph.get(&table, &path));
        let object = object.map(|item| item.object.value()).unwrap_or_default();
        let measured = annotation(&object, metric.name).unwrap_or_default();
        let values = metric.values(measured).map_err(|why| {
            let metric = metric.name;
            format!("{CUSTOM}annotation {PREFIX}{metric} of {table} {name}: {why}")
        })?;
        values.first().copied().ok_or_else(|| {
            let metric = metric.name;
            format!("{CUSTOM}the server could not find the metric {metric} for {table} {name}")
        })
    }

    /// The sum of the series of an external metric, which is set at the namespace of the autoscaler.
    pub(super) fn external(self, metric: Identifier<'_>) -> Result<i64, String> {
        let namespace = self
            .cx
            .look(|graph| graph.get("namespaces", self.namespace));
        let namespace = namespace.map(|item| item.object.value());
        let namespace = namespace.unwrap_or_default();
        let measured = annotation(&namespace, metric.name).unwrap_or_default();
        let values = metric.values(measured).map_err(|why| {
            let (name, metric) = (self.namespace, metric.name);
            format!(
                "unable to fetch metrics from external metrics API: annotation {PREFIX}{metric} of namespace {name}: {why}"
            )
        })?;
        let sum = values.into_iter().reduce(i64::saturating_add);
        sum.ok_or_else(|| "no metrics returned from external metrics API".to_owned())
    }
}

fn annotation<'a>(object: &'a Value, metric: &str) -> Option<&'a str> {
    object["metadata"]["annotations"]
        .get(format!("{PREFIX}{metric}"))?
        .as_str()
}

/// Reads `250m`, the usage of a pod's first container, or `web=200m,log=50m`. None if the container that is asked for has no
/// value.
fn used(pod: &Value, measured: &str, container: Option<&str>) -> Result<Option<i64>, String> {
    let mut used = None;
    for part in measured.split(',') {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), value),
            None => (
                list(pod, "/spec/containers")
                    .first()
                    .map_or("", |first| text(first, "/name")),
                part,
            ),
        };
        let value = quantity(value)?;
        if container.is_none_or(|container| container == name) {
            used = Some(used.unwrap_or(0_i64).saturating_add(value));
        }
    }
    Ok(used)
}

fn quantity(measured: &str) -> Result<i64, String> {
    match Quantity::parse(measured.trim()) {
        Some(quantity) => Ok(clamped(quantity.millis())),
        None => Err(format!("{measured:?} is not a quantity")),
    }
}

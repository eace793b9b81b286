//! The metrics of an autoscaler: what each of them proposes, and its status.

use kubewright_apimachinery::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::annotations::{self, Identifier, Metrics};
use super::calculator::Calculator;
use crate::object::text;

/// What one metric proposes.
#[derive(Debug)]
pub(super) struct Proposal {
    pub(super) replicas: i32,
    /// How events name the metric.
    pub(super) metric: String,
    pub(super) status: Value,
}

/// Why a metric proposes nothing.
#[derive(Debug)]
pub(super) struct Unable {
    /// The reason of the event and of the condition.
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// The message with the metric, for the event about all metrics.
    pub(super) error: String,
}

/// What all metrics of an autoscaler are calculated from.
pub(super) struct Sources<'a> {
    pub(super) calculator: Calculator<'a>,
    pub(super) metrics: Metrics<'a>,
}

impl Sources<'_> {
    /// Calculates the replicas for one of `spec.metrics`.
    pub(super) fn propose(&self, metric: &Value) -> Result<Proposal, Unable> {
        match text(metric, "/type") {
            "Object" => self.object(&metric["object"]),
            "Pods" => self.pods(&metric["pods"]),
            "Resource" => self.resource(&metric["resource"], None),
            "ContainerResource" => {
                let source = &metric["containerResource"];
                self.resource(source, Some(text(source, "/container")))
            }
            "External" => self.external(&metric["external"]),
            unknown => {
                let message = format!("unknown metric source type {unknown:?}");
                Err(Unable {
                    reason: "InvalidMetricSourceType",
                    error: message.clone(),
                    message,
                })
            }
        }
    }

    fn object(&self, source: &Value) -> Result<Proposal, Unable> {
        let metric = Identifier::of(&source["metric"]);
        let described = &source["describedObject"];
        let kind = text(described, "/kind");
        let measured = self.metrics.of_object(metric, described).map_err(|why| {
            let (namespace, name) = (self.metrics.namespace, text(described, "/name"));
            let metric = metric.name;
            format!("unable to get metric {metric} on {kind} {namespace}/{name}: {why}")
        });
        let target = &source["target"];
        let status = |current| {
            let metric = identifier(&source["metric"]);
            json!({
                "type": "Object",
                "object": {"describedObject": described, "metric": metric, "current": current},
            })
        };
        let unable = |message: String, detail: &str| Unable {
            reason: "FailedGetObjectMetric",
            error: format!("failed to get object metric value: {detail}{message}"),
            message,
        };
        if let Some(value) = target_of(target, "Value", "value") {
            let measured = measured.map_err(|why| unable(why, ""))?;
            let replicas = self.calculator.by_value(measured, value);
            return Ok(Proposal {
                replicas: replicas.map_err(|why| unable(why, ""))?,
                metric: format!("{kind} metric {}", metric.name),
                status: status(json!({"value": decimal(measured)})),
            });
        }
        let Some(average) = target_of(target, "AverageValue", "averageValue") else {
            let message = "invalid object metric source: neither a value target nor an average value target was set";
            return Err(unable(message.to_owned(), ""));
        };
        let detail = format!("failed to get {} object metric: ", metric.name);
        let measured = measured.map_err(|why| unable(why, &detail))?;
        let (replicas, usage) = self.calculator.per_pod(measured, average);
        Ok(Proposal {
            replicas,
            metric: external_name(metric),
            status: status(json!({"averageValue": decimal(usage)})),
        })
    }

    fn pods(&self, source: &Value) -> Result<Proposal, Unable> {
        let metric = Identifier::of(&source["metric"]);
        let target = millis(&source["target"]["averageValue"]).unwrap_or_default();
        let proposed = annotations::of_pods(self.calculator.pods, metric)
            .map_err(|why| format!("unable to get metric {}: {why}", metric.name))
            .and_then(|usage| self.calculator.by_average(usage, target, None));
        let (replicas, usage) = proposed.map_err(|message| Unable {
            reason: "FailedGetPodsMetric",
            error: format!("failed to get pods metric value: {message}"),
            message,
        })?;
        let current = json!({"averageValue": decimal(usage)});
        Ok(Proposal {
            replicas,
            metric: format!("pods metric {}", metric.name),
            status: json!({
                "type": "Pods",
                "pods": {"metric": identifier(&source["metric"]), "current": current},
            }),
        })
    }

    fn resource(&self, source: &Value, container: Option<&str>) -> Result<Proposal, Unable> {
        let resource = text(source, "/name");
        let proposed = self.of_resource(resource, container, &source["target"]);
        let (replicas, metric, current) = proposed.map_err(|message| {
            let (reason, error) = match container {
                None => (
                    "FailedGetResourceMetric",
                    format!("failed to get {resource} resource metric value: {message}"),
                ),
                Some(container) => (
                    "FailedGetContainerResourceMetric",
                    format!("failed to get {container} container metric value: {message}"),
                ),
            };
            Unable {
                reason,
                message,
                error,
            }
        })?;
        let status = match container {
            None => json!({
                "type": "Resource",
                "resource": {"name": resource, "current": current},
            }),
            Some(container) => json!({
                "type": "ContainerResource",
                "containerResource": {"name": resource, "container": container, "current": current},
            }),
        };
        Ok(Proposal {
            replicas,
            metric,
            status,
        })
    }

    fn of_resource(
        &self,
        resource: &str,
        container: Option<&str>,
        target: &Value,
    ) -> Result<(i32, String, Value), String> {
        let usage = || {
            annotations::resource(self.calculator.pods, resource, container)
                .map_err(|why| format!("unable to get metrics for resource {resource}: {why}"))
        };
        if let Some(target) = millis(&target["averageValue"]) {
            let proposed =
                usage().and_then(|usage| self.calculator.by_average(usage, target, Some(resource)));
            let (replicas, average) =
                proposed.map_err(|why| format!("failed to get {resource} usage: {why}"))?;
            let current = json!({"averageValue": amount(resource, average)});
            return Ok((replicas, format!("{resource} resource"), current));
        }
        let Some(target) = target["averageUtilization"].as_i64() else {
            return Err("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set".to_owned());
        };
        let target = i32::try_from(target).unwrap_or(i32::MAX);
        let proposed = usage().and_then(|usage| {
            self.calculator
                .by_utilization(usage, target, resource, container)
        });
        let proposed =
            proposed.map_err(|why| format!("failed to get {resource} utilization: {why}"))?;
        let of = if container.is_some() {
            "container resource"
        } else {
            "resource"
        };
        let metric = format!("{resource} {of} utilization (percentage of request)");
        let current = json!({
            "averageUtilization": proposed.percentage,
            "averageValue": amount(resource, proposed.average),
        });
        Ok((proposed.replicas, metric, current))
    }

    fn external(&self, source: &Value) -> Result<Proposal, Unable> {
        let metric = Identifier::of(&source["metric"]);
        let name = metric.name;
        let measured = self.metrics.external(metric).map_err(|why| {
            let (namespace, selector) = (self.metrics.namespace, selector(metric.selector));
            format!("unable to get external metric {namespace}/{name}/{selector}: {why}")
        });
        let unable = |message: String, detail: &str| Unable {
            reason: "FailedGetExternalMetric",
            error: format!("failed to get {name} external metric value: {detail}{message}"),
            message,
        };
        let proposal = |replicas, current: Value| Proposal {
            replicas,
            metric: external_name(metric),
            status: json!({
                "type": "External",
                "external": {"metric": identifier(&source["metric"]), "current": current},
            }),
        };
        let target = &source["target"];
        if let Some(average) = millis(&target["averageValue"]) {
            let detail = format!("failed to get {name} external metric: ");
            let measured = measured.map_err(|why| unable(why, &detail))?;
            let (replicas, usage) = self.calculator.per_pod(measured, average);
            let current = json!({"averageValue": decimal(usage)});
            return Ok(proposal(replicas, current));
        }
        let Some(value) = millis(&target["value"]) else {
            let message = "invalid external metric source: neither a value target nor an average value target was set";
            return Err(unable(message.to_owned(), ""));
        };
        let detail = format!("failed to get external metric {name}: ");
        let measured = measured.map_err(|why| unable(why, &detail))?;
        let replicas = self.calculator.by_value(measured, value);
        let replicas = replicas.map_err(|why| unable(why, &detail))?;
        Ok(proposal(replicas, json!({"value": decimal(measured)})))
    }
}

/// The target of a type, in thousandths.
fn target_of(target: &Value, of: &str, field: &str) -> Option<i64> {
    if text(target, "/type") != of {
        return None;
    }
    millis(&target[field])
}

fn millis(value: &Value) -> Option<i64> {
    let quantity = Quantity::from_value(value)?;
    Some(super::pods::clamped(quantity.millis()))
}

/// The `metric` of a status: the name, and the selector if there is one.
fn identifier(metric: &Value) -> Value {
    let mut identifier = Map::new();
    identifier.insert("name".to_owned(), metric["name"].clone());
    if let Some(selector) = metric.get("selector").filter(|it| it.is_object()) {
        identifier.insert("selector".to_owned(), selector.clone());
    }
    Value::Object(identifier)
}

fn external_name(metric: Identifier<'_>) -> String {
    format!(
        "external metric {}({})",
        metric.name,
        selector(metric.selector)
    )
}

/// A selector as Go prints it in messages.
fn selector(selector: &Value) -> String {
    if !selector.is_object() {
        return "<nil>".to_owned();
    }
    let labels = crate::object::map(selector, "/matchLabels");
    let labels = labels.iter().map(|(key, value)| {
        let value = value.as_str().unwrap_or_default();
        format!("{key}: {value},")
    });
    let expressions = crate::object::list(selector, "/matchExpressions").iter();
    let expressions = expressions.map(|expression| {
        let values: Vec<&str> = crate::object::list(expression, "/values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let [key, operator] = ["/key", "/operator"].map(|at| text(expression, at));
        let values = values.join(" ");
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.collect::<String>(),
        expressions.collect::<String>()
    )
}

fn decimal(millis: i64) -> String {
    let text = format!("{millis}m");
    Quantity::parse(&text).map_or(text, |quantity| quantity.to_string())
}

/// An amount of a resource in thousandths; memory is shown in powers of 1024, as metrics-server shows it.
fn amount(resource: &str, millis: i64) -> String {
    let mut units = millis.div_euclid(1000) + i64::from(millis.rem_euclid(1000) > 0);
    if resource != "memory" || units < 1024 {
        return decimal(millis);
    }
    let mut suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = suffixes.next().unwrap_or_default();
    while units % 1024 == 0
        && let Some(next) = suffixes.next()
    {
        units /= 1024;
        suffix = next;
    }
    format!("{units}{suffix}")
}

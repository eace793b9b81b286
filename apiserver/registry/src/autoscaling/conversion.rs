//! Autoscalers in version 1: one CPU target as a field, all the rest as JSON in annotations.

use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Map, Value, json};

use kubewright_validation::internal::shown;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const STATUSES: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
// Nothing is read from these, and they go all the same.
const SLOW_DOWN: &str = "autoscaling.alpha.kubernetes.io/scale-down-tolerance";
const SLOW_UP: &str = "autoscaling.alpha.kubernetes.io/scale-up-tolerance";
const DEFAULT_CPU_UTILIZATION: i64 = 80;

/// Gives an autoscaler of version 1 the shape of version 2, as it is held.
pub(super) fn to_v2(object: &mut Value) {
    read(object, HELD);
}

fn read(object: &mut Value, current: Words) {
    let mut kept = take_annotations(object);
    let Some(spec) = object.part("spec") else {
        return;
    };
    let mut metrics = Vec::new();
    if let Some(Value::Array(others)) = kept.remove(METRICS) {
        metrics.extend(others.iter().map(|metric| metric_to_v2(metric, TARGET)));
    }
    let cpu = take(spec, "targetCPUUtilizationPercentage");
    if !cpu.is_null() {
        metrics.push(cpu_target(&cpu));
    }
    if metrics.is_empty() {
        metrics.push(cpu_target(&json!(DEFAULT_CPU_UTILIZATION)));
    }
    spec.put("metrics", metrics);
    if let Some(behavior) = kept.remove(BEHAVIOR).map(with_small_letters)
        && behavior.as_object().is_some_and(|rules| !rules.is_empty())
    {
        spec.put("behavior", behavior);
    }
    let Some(status) = object.existing("status") else {
        return;
    };
    // Only version 1 writes a zero here.
    if status.int("currentReplicas") == Some(0) {
        status.drop_field("currentReplicas");
    }
    let cpu = take(status, "currentCPUUtilizationPercentage");
    if let Some(Value::Array(all)) = kept.remove(STATUSES) {
        let all: Vec<Value> = all
            .iter()
            .map(|metric| metric_to_v2(metric, current))
            .collect();
        status.put("currentMetrics", all);
    } else if cpu.is_null() {
        status.put("currentMetrics", Value::Null);
    } else {
        let current = json!({ "averageUtilization": cpu });
        let cpu = json!({ "name": "cpu", "current": current });
        status.put(
            "currentMetrics",
            json!([{ "type": "Resource", "resource": cpu }]),
        );
    }
    if let Some(conditions) = kept.remove(CONDITIONS) {
        status.put("conditions", conditions);
    }
}

/// Makes of an autoscaler of version 1 what the real server has of it: its own type knows the fields of version 2, so that
/// annotations come and go with them.
pub(super) fn as_held(object: &mut Value) {
    read(object, CURRENT);
    to_held(object);
}

/// Gives an autoscaler of version 2 the shape of version 1 in which numbers that are not set stay so.
pub(super) fn to_held(object: &mut Value) {
    write(object, HELD);
}

/// Gives an autoscaler of version 2 the shape of version 1.
pub(super) fn to_v1(object: &mut Value) {
    write(object, CURRENT);
}

fn write(object: &mut Value, current: Words) {
    drop(take_annotations(object));
    let mut kept = Map::new();
    if let Some(spec) = object.existing("spec") {
        let mut target = None;
        let mut others = Vec::new();
        for metric in spec.list("metrics") {
            let resource = metric.at("resource");
            let utilization = resource.at("target").at("averageUtilization");
            let is_cpu = metric.text("type") == "Resource" && resource.text("name") == "cpu";
            if is_cpu && !utilization.is_null() {
                target.get_or_insert_with(|| utilization.clone());
            } else {
                others.push(metric_to_v1(metric, TARGET));
            }
        }
        spec.drop_field("metrics");
        if let Some(target) = target {
            spec.put("targetCPUUtilizationPercentage", target);
        }
        if !others.is_empty() {
            kept.insert(METRICS.to_owned(), metrics_text(&others).into());
        }
        let behavior = take(spec, "behavior");
        if !behavior.is_null() {
            // The real server writes a struct that has no JSON names.
            let text = shown("autoscaling.HorizontalPodAutoscalerBehavior", &behavior);
            kept.insert(BEHAVIOR.to_owned(), text.into());
        }
    }
    if let Some(status) = object.existing("status") {
        let metrics = take(status, "currentMetrics");
        let metrics = metrics.as_array().map_or(&[][..], Vec::as_slice);
        for metric in metrics {
            let resource = metric.at("resource");
            let current = resource.at("current").at("averageUtilization");
            if resource.text("name") == "cpu" && !current.is_null() {
                status.put("currentCPUUtilizationPercentage", current.clone());
            }
        }
        if !metrics.is_empty() {
            let all: Vec<Value> = metrics.iter().map(|m| metric_to_v1(m, current)).collect();
            kept.insert(STATUSES.to_owned(), metrics_text(&all).into());
        }
        let conditions = take(status, "conditions");
        if conditions.as_array().is_some_and(|all| !all.is_empty()) {
            kept.insert(CONDITIONS.to_owned(), conditions.to_string().into());
        }
        status.fill("currentReplicas", 0);
    }
    if !kept.is_empty()
        && let Some(annotations) = object
            .part("metadata")
            .and_then(|metadata| metadata.part("annotations"))
            .and_then(Value::as_object_mut)
    {
        annotations.extend(kept);
    }
}

/// Fields by their JSON names, where Go's were written; what is null is not there.
fn with_small_letters(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            let named = fields.map(|(mut name, value)| {
                if let Some(first) = name.get_mut(..1) {
                    first.make_ascii_lowercase();
                }
                (name, with_small_letters(value))
            });
            Value::Object(named.collect())
        }
        Value::Array(items) => items.into_iter().map(with_small_letters).collect(),
        other => other,
    }
}

/// In an autoscaler of version 1, which annotations are part of the status, and which of the spec.
pub(super) fn keep_annotations(of_status: bool, new: &mut Value, old: &Value) {
    let names = if of_status {
        [STATUSES, CONDITIONS]
    } else {
        [METRICS, BEHAVIOR]
    };
    let before = old.at("metadata").at("annotations");
    let comes = names.iter().any(|name| before.has(name));
    let Some(metadata) = new.existing("metadata") else {
        return;
    };
    if !comes && !metadata.has("annotations") {
        return;
    }
    let Some(annotations) = metadata.part("annotations") else {
        return;
    };
    for name in names {
        annotations.take_from(before, name);
    }
    if annotations.as_object().is_some_and(Map::is_empty) {
        metadata.drop_field("annotations");
    }
}

/// The fields of metrics in the order of Go's structs, which is one for all of them.
const IN_GO: [&str; 23] = [
    "type",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "kind",
    "name",
    "apiVersion",
    "target",
    "metricName",
    "metricSelector",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetValue",
    "currentValue",
    "targetAverageValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
];

/// Metrics as the text of an annotation, which Go writes.
fn metrics_text(metrics: &[Value]) -> String {
    let all: Vec<String> = metrics.iter().map(in_go_order).collect();
    html_escaped(format!("[{}]", all.join(",")))
}

fn in_go_order(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return value.to_string();
    };
    let place = |name: &str| IN_GO.iter().position(|known| *known == name);
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| place(name).unwrap_or(IN_GO.len()));
    let text = |(name, value): (&String, &Value)| {
        // Labels have names of their own.
        let value = match name.as_str() {
            "matchLabels" => value.to_string(),
            _ => in_go_order(value),
        };
        format!("{}:{value}", Value::from(name.as_str()))
    };
    let all: Vec<String> = fields.into_iter().map(text).collect();
    format!("{{{}}}", all.join(","))
}

fn take(holder: &mut Value, field: &str) -> Value {
    let value = holder.at(field).clone();
    holder.drop_field(field);
    value
}

/// Takes the annotations that hold fields; a text that is not JSON is lost, as it is refused by the real server.
fn take_annotations(object: &mut Value) -> Map<String, Value> {
    let mut taken = Map::new();
    let Some(metadata) = object.existing("metadata") else {
        return taken;
    };
    let Some(annotations) = metadata.existing("annotations") else {
        return taken;
    };
    for name in [METRICS, STATUSES, CONDITIONS, BEHAVIOR, SLOW_DOWN, SLOW_UP] {
        let text = take(annotations, name);
        if let Some(value) = text
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok())
        {
            taken.insert(name.to_owned(), value);
        }
    }
    if annotations.as_object().is_some_and(Map::is_empty) {
        metadata.drop_field("annotations");
    }
    taken
}

fn cpu_target(utilization: &Value) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": utilization });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

/// How a metric's numbers are called: of a spec, or of a status.
#[derive(Clone, Copy)]
struct Words {
    part: &'static str,
    utilization: &'static str,
    average: &'static str,
    value: &'static str,
    /// Whether numbers that are not set stay so, though they are structs in Go.
    leaves_unset: bool,
}

const TARGET: Words = Words {
    part: "target",
    utilization: "targetAverageUtilization",
    average: "targetAverageValue",
    value: "targetValue",
    leaves_unset: false,
};

const CURRENT: Words = Words {
    part: "current",
    utilization: "currentAverageUtilization",
    average: "currentAverageValue",
    value: "currentValue",
    leaves_unset: false,
};

/// In the real server's own type they are pointers.
const HELD: Words = Words {
    leaves_unset: true,
    ..CURRENT
};

const SOURCES: [&str; 5] = [
    "resource",
    "containerResource",
    "pods",
    "object",
    "external",
];

/// What the field for the average is called: an object metric has its own word for it.
fn average_word(field: &str, words: Words) -> &'static str {
    if field == "object" {
        "averageValue"
    } else {
        words.average
    }
}

fn metric_to_v2(metric: &Value, words: Words) -> Value {
    let mut new = metric.clone();
    for field in SOURCES {
        let Some(source) = new.existing(field) else {
            continue;
        };
        let described = if field == "object" {
            take(source, "target")
        } else {
            Value::Null
        };
        if let Some(number) = always_written(field, words) {
            source.fill(number, "0");
        }
        let mut numbers = Map::new();
        for (from, to) in [
            (words.utilization, "averageUtilization"),
            (average_word(field, words), "averageValue"),
            (words.value, "value"),
        ] {
            let number = take(source, from);
            if !number.is_null() {
                numbers.insert(to.to_owned(), number);
            }
        }
        if words.part == "target" {
            if field == "object"
                && numbers.contains_key("averageValue")
                && numbers.get("value").is_some_and(|value| value == "0")
            {
                numbers.remove("value");
            }
            numbers.insert("type".to_owned(), kind_of_target(field, &numbers).into());
        }
        let mut named = Map::new();
        let selector = if field == "external" {
            "metricSelector"
        } else {
            "selector"
        };
        for (from, to) in [("metricName", "name"), (selector, "selector")] {
            let value = take(source, from);
            if !value.is_null() {
                named.insert(to.to_owned(), value);
            }
        }
        if !named.is_empty() {
            source.put("metric", Value::Object(named));
        }
        if !described.is_null() {
            source.put("describedObject", described);
        }
        source.put(words.part, Value::Object(numbers));
    }
    new
}

fn metric_to_v1(metric: &Value, words: Words) -> Value {
    let mut old = metric.clone();
    for field in SOURCES {
        let Some(source) = old.existing(field) else {
            continue;
        };
        let numbers = take(source, words.part);
        for (from, to) in [
            ("averageUtilization", words.utilization),
            ("averageValue", average_word(field, words)),
            ("value", words.value),
        ] {
            if numbers.has(from) {
                source.put(to, numbers.at(from).clone());
            }
        }
        let named = take(source, "metric");
        let selector = if field == "external" {
            "metricSelector"
        } else {
            "selector"
        };
        for (from, to) in [("name", "metricName"), ("selector", selector)] {
            if named.has(from) {
                source.put(to, named.at(from).clone());
            }
        }
        let described = take(source, "describedObject");
        if !described.is_null() {
            source.put("target", described);
        }
        if let Some(number) = always_written(field, words) {
            source.fill(number, "0");
        }
    }
    old
}

/// The number of a source in version 1 that is a struct in Go instead of a pointer, so that it is written also when it is not set.
fn always_written(field: &str, words: Words) -> Option<&'static str> {
    if words.leaves_unset {
        return None;
    }
    match (words.part, field) {
        ("target", "pods") => Some(words.average),
        ("target", "object") | ("current", "object" | "external") => Some(words.value),
        ("target", _) => None,
        _ => Some(words.average),
    }
}

fn kind_of_target(field: &str, numbers: &Map<String, Value>) -> &'static str {
    let has = |number| numbers.contains_key(number);
    match field {
        "resource" | "containerResource" if has("averageUtilization") => "Utilization",
        "external" if has("value") => "Value",
        "object" if !has("averageValue") => "Value",
        _ => "AverageValue",
    }
}

//! Slices: the devices that a driver has on some nodes.

use std::sync::LazyLock;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::{dns1123_label, dns1123_subdomain};
use kubewright_apimachinery::view::View;
use regex::Regex;
use serde_json::Value;

use kubewright_validation::check::{
    Errors, declaratively, declaratively_swapped, driver_name, immutable, label, problems,
};
use kubewright_validation::devices::parts::{at_most, declared_set};
use kubewright_validation::devices::{binding, capacity, names, taints};
use kubewright_validation::internal::shown;
use kubewright_validation::pod::node_selector;
use kubewright_validation::semantic::same;

const MOST_DEVICES: usize = 128;
const MOST_DEVICES_WITH_MORE: usize = 64;
const MOST_COUNTER_SETS: usize = 8;
const MOST_COUNTERS: usize = 32;
const MOST_CONSUMED: usize = 2;
const MOST_ATTRIBUTES: usize = 32;
const MOST_ATTRIBUTE_VALUES: usize = 48;
const MOST_TAINTS: usize = 16;
const LONGEST_VALUE: usize = 64;
const NODES: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` \
                     is required";
const DEVICE_NODES: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
                            `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

/// A version as semver.org has it: three numbers, what comes before the release, and how it was built.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    let (number, word) = (r"(0|[1-9]\d*)", r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)");
    let build = "[0-9a-zA-Z-]+";
    let text =
        format!(r"\A{number}\.{number}\.{number}(-{word}(\.{word})*)?(\+{build}(\.{build})*)?\z");
    Regex::new(&text).expect("the pattern is a constant")
});

pub(crate) fn spec(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    driver_name(spec.text("driver"), &path.child("driver"), errors);
    pool(spec.at("pool"), &path.child("pool"), errors);
    if !old.is_null() {
        let (now, before) = (spec.at("pool"), old.at("pool"));
        immutable(now, before, &path.child("pool"), "name", errors);
        immutable(spec, old, path, "driver", errors);
        immutable(spec, old, path, "nodeName", errors);
    }
    nodes(spec, path, errors);
    if spec.has("sharedCounters") && spec.has("devices") {
        let detail = "only one of `sharedCounters` or `devices` is allowed";
        errors.push(FieldError::invalid(path, "", detail));
    }
    let devices = spec.list("devices");
    let more = |device: &Value| {
        let parts = ["taints", "consumesCounters"];
        parts.iter().any(|part| !device.list(part).is_empty())
    };
    let most = if devices.iter().any(more) {
        MOST_DEVICES_WITH_MORE
    } else {
        MOST_DEVICES
    };
    let each = spec.flag("perDeviceNodeSelection");
    let at = path.child("devices");
    let all = at_most(devices, most, &at, errors, |device, at, errors| {
        let mut others = old.list("devices").iter();
        let before = others.find(|other| other.text("name") == device.text("name"));
        self::device(device, before, each, at, errors);
    });
    for (index, device) in devices.iter().enumerate().filter(|_| all) {
        let name = device.text("name");
        if devices[..index]
            .iter()
            .any(|other| other.text("name") == name)
        {
            errors.push(FieldError::duplicate(&at.index(index), name));
        }
    }
    let at = path.child("sharedCounters");
    declared_set(
        spec.list("sharedCounters"),
        MOST_COUNTER_SETS,
        ("CounterSet", &["name"]),
        &at,
        errors,
        |set, at, errors| {
            counter_set(set, "name", at, errors);
        },
    );
}

fn pool(pool: &Value, path: &Path<'_>, errors: &mut Errors) {
    names::pool(pool.text("name"), &path.child("name"), errors);
    let count = pool.int("resourceSliceCount").unwrap_or(0);
    if count <= 0 {
        let at = path.child("resourceSliceCount");
        errors.push(FieldError::invalid(&at, count, "must be greater than zero"));
    }
    let generation = pool.int("generation").unwrap_or(0);
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        errors.push(FieldError::invalid(
            &path.child("generation"),
            generation,
            detail,
        ));
    }
}

/// Where the devices are, which is to be said in one way.
fn nodes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut ways = Vec::new();
    if spec.has("nodeName") {
        let empty = "must be either unset or set to a non-empty string";
        if node_name(spec, empty, path, errors) {
            ways.push("`nodeName`");
        }
    }
    if spec.has("nodeSelector") {
        ways.push("`nodeSelector`");
        let (selector, at) = (spec.at("nodeSelector"), path.child("nodeSelector"));
        node_selector(selector, &at, errors);
        let terms = selector.at("nodeSelectorTerms");
        if terms.as_array().map_or(0, Vec::len) != 1 {
            let shown = shown("[]NodeSelectorTerm", terms);
            let at = at.child("nodeSelectorTerms");
            let detail = "must have exactly one node selector term";
            errors.push(FieldError::invalid_shown(&at, &shown, detail));
        }
    }
    for (field, way) in [
        ("allNodes", "`allNodes`"),
        ("perDeviceNodeSelection", "`perDeviceNodeSelection`"),
    ] {
        if set_to_true(spec, field, path, errors) {
            ways.push(way);
        }
    }
    match ways.len() {
        0 => errors.push(FieldError::required(path, NODES)),
        1 => {}
        _ => {
            let detail = format!("{NODES}, but multiple fields are set");
            let shown = format!("{{{}}}", ways.join(", "));
            errors.push(FieldError::invalid(path, shown, &detail));
        }
    }
}

fn node_name(holder: &Value, empty: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let (name, at) = (holder.text("nodeName"), path.child("nodeName"));
    if name.is_empty() {
        errors.push(FieldError::invalid(&at, name, empty));
        return false;
    }
    problems(&at, name, dns1123_subdomain(name), errors);
    true
}

fn set_to_true(holder: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    if holder.has(field) && !holder.flag(field) {
        let detail = "must be either unset or set to true";
        errors.push(FieldError::invalid(&path.child(field), false, detail));
    }
    holder.flag(field)
}

fn device(
    device: &Value,
    before: Option<&Value>,
    has_nodes: bool,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    label(&path.child("name"), device.text("name"), errors);
    let values = device.entries("attributes").count();
    let said = values + device.entries("capacity").count();
    if said > MOST_ATTRIBUTES {
        let detail = format!(
            "the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}"
        );
        errors.push(FieldError::invalid(path, said, &detail));
    }
    if values > MOST_ATTRIBUTE_VALUES {
        let detail =
            format!("the total number of attribute values must not exceed {MOST_ATTRIBUTE_VALUES}");
        errors.push(FieldError::invalid(path, values, &detail));
    }
    let at = path.child("attributes");
    for (name, value) in device.entries("attributes") {
        names::qualified(name, &at, errors);
        attribute(value, &at.key(name), errors);
    }
    let is_new =
        |field: &str| before.is_none_or(|before| !same(before.at(field), device.at(field)));
    let at = path.child("capacity");
    for (name, value) in device.entries("capacity").filter(|_| is_new("capacity")) {
        names::qualified(name, &at, errors);
        let shared = device.flag("allowMultipleAllocations");
        capacity(value, shared, &at.key(name), errors);
    }
    declaratively_swapped(
        errors,
        |errors| {
            if is_new("taints") {
                let at = path.child("taints");
                at_most(
                    device.list("taints"),
                    MOST_TAINTS,
                    &at,
                    errors,
                    taints::taint,
                );
            }
        },
        |errors| {
            declared_set(
                device.list("consumesCounters"),
                MOST_CONSUMED,
                ("DeviceCounterConsumption", &["counterSet"]),
                &path.child("consumesCounters"),
                errors,
                |set, at, errors| counter_set(set, "counterSet", at, errors),
            );
        },
    );
    if has_nodes {
        device_nodes(device, path, errors);
    } else if ["nodeName", "nodeSelector", "allNodes"]
        .iter()
        .any(|field| device.has(field))
    {
        let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if \
                      `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
        errors.push(FieldError::invalid(path, Value::Null, detail));
    }
    binding(device, path, errors);
}

fn device_nodes(device: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut ways = Vec::new();
    if device.has("nodeName") && node_name(device, "must not be empty", path, errors) {
        ways.push("`nodeName`");
    }
    if device.has("nodeSelector") {
        ways.push("`nodeSelector`");
        node_selector(
            device.at("nodeSelector"),
            &path.child("nodeSelector"),
            errors,
        );
    }
    if set_to_true(device, "allNodes", path, errors) {
        ways.push("`allNodes`");
    }
    match ways.len() {
        0 => errors.push(FieldError::required(path, DEVICE_NODES)),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", ways.join(", "));
            errors.push(FieldError::invalid(path, shown, DEVICE_NODES));
        }
    }
}

fn attribute(attribute: &Value, path: &Path<'_>, errors: &mut Errors) {
    let fields = ["int", "bool", "string", "version"];
    let set: Vec<&str> = fields
        .into_iter()
        .filter(|field| attribute.has(field))
        .collect();
    for field in &set {
        let (text, at) = (attribute.text(field), path.child(field));
        if *field == "version" && !VERSION.is_match(text) {
            let detail = "must be a string compatible with semver.org spec 2.0.0";
            errors.push(FieldError::invalid(&at, text, detail));
        }
        if text.len() > LONGEST_VALUE {
            errors.push(FieldError::too_long(&at, LONGEST_VALUE));
        }
    }
    let (shown, which) = match set[..] {
        [] => (String::new(), "one of"),
        [_] => return,
        _ => (format!("{{{}}}", set.join(", ")), "exactly one of"),
    };
    let handwritten = "exactly one value must be specified";
    let handwritten = if set.is_empty() {
        FieldError::invalid(path, "", handwritten)
    } else {
        FieldError::invalid_shown(
            path,
            &self::shown("DeviceAttribute", attribute),
            handwritten,
        )
    };
    let all = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
    let detail = format!("must specify {which}: {all}");
    let error = FieldError::invalid(path, shown, &detail);
    errors.push(error.declarative_for(handwritten));
}

/// Counters that devices share, or what one takes of them; `name` is the field that says of which.
fn counter_set(set: &Value, name: &str, path: &Path<'_>, errors: &mut Errors) {
    let counters: Vec<&str> = set
        .entries("counters")
        .map(|(counter, _)| counter)
        .collect();
    let at = path.child("counters");
    declaratively(errors, |errors| {
        match set.text(name) {
            "" => errors.push(FieldError::required(&path.child(name), "")),
            text => label(&path.child(name), text, errors),
        }
        if counters.is_empty() {
            errors.push(FieldError::required(&at, ""));
        }
        for counter in &counters {
            problems(&at, counter, dns1123_label(counter), errors);
        }
    });
    if counters.len() > MOST_COUNTERS {
        errors.push(FieldError::too_many(&at, counters.len(), MOST_COUNTERS));
    }
}

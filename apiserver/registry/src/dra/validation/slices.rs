//! Slices: the devices that a driver has on some nodes.

use std::cell::Cell;
use std::sync::LazyLock;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::{dns1123_label, dns1123_subdomain, label_value};
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use regex::Regex;
use serde_json::Value;

use super::names;
use super::parts::{as_text, at_most, set};
use kubewright_validation::check::driver_name;
use kubewright_validation::check::{Errors, immutable, label, problems};
use kubewright_validation::internal::shown;
use kubewright_validation::pod::node_selector;
use kubewright_validation::semantic::same;

const MOST_DEVICES: usize = 128;
const MOST_DEVICES_WITH_MORE: usize = 64;
const MOST_COUNTER_SETS: usize = 8;
const MOST_COUNTERS: usize = 32;
const MOST_CONSUMED: usize = 2;
const MOST_ATTRIBUTES: usize = 32;
const MOST_TAINTS: usize = 16;
const MOST_BINDING_CONDITIONS: usize = 4;
const MOST_OPTIONS: usize = 10;
const LONGEST_VALUE: usize = 64;
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];
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
    let name = |device| View::text(device, "name");
    let each = spec.flag("perDeviceNodeSelection");
    set(
        devices,
        most,
        &path.child("devices"),
        errors,
        name,
        |device, at, errors| {
            let mut others = old.list("devices").iter();
            let before = others.find(|other| other.text("name") == device.text("name"));
            self::device(device, before, each, at, errors);
        },
    );
    let at = path.child("sharedCounters");
    let counters = spec.list("sharedCounters");
    set(
        counters,
        MOST_COUNTER_SETS,
        &at,
        errors,
        name,
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
    let said = device.entries("attributes").count() + device.entries("capacity").count();
    if said > MOST_ATTRIBUTES {
        let detail = format!(
            "the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}"
        );
        errors.push(FieldError::invalid(path, said, &detail));
    }
    let at = path.child("attributes");
    for (name, value) in device.entries("attributes") {
        names::qualified(name, &at, errors);
        attribute(value, &at.key(name), errors);
    }
    let at = path.child("capacity");
    for (name, value) in device.entries("capacity") {
        names::qualified(name, &at, errors);
        let shared = device.flag("allowMultipleAllocations");
        capacity(value, shared, &at.key(name), errors);
    }
    if before.is_none_or(|before| !same(before.at("taints"), device.at("taints"))) {
        at_most(
            device.list("taints"),
            MOST_TAINTS,
            &path.child("taints"),
            errors,
            taint,
        );
    }
    let at = path.child("consumesCounters");
    let key = |consumed| View::text(consumed, "counterSet");
    let consumed = device.list("consumesCounters");
    set(
        consumed,
        MOST_CONSUMED,
        &at,
        errors,
        key,
        |set, at, errors| {
            counter_set(set, "counterSet", at, errors);
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
    let mut values = 0;
    for field in ["bool", "int", "string", "version"] {
        if !attribute.has(field) {
            continue;
        }
        values += 1;
        let (text, at) = (attribute.text(field), path.child(field));
        if field == "version" && !VERSION.is_match(text) {
            let detail = "must be a string compatible with semver.org spec 2.0.0";
            errors.push(FieldError::invalid(&at, text, detail));
        }
        if text.len() > LONGEST_VALUE {
            errors.push(FieldError::too_long(&at, LONGEST_VALUE));
        }
    }
    let detail = "exactly one value must be specified";
    match values {
        0 => errors.push(FieldError::invalid(path, "", detail)),
        1 => {}
        _ => {
            let shown = shown("DeviceAttribute", attribute);
            errors.push(FieldError::invalid_shown(path, &shown, detail));
        }
    }
}

fn capacity(capacity: &Value, shared: bool, path: &Path<'_>, errors: &mut Errors) {
    let (policy, at) = (capacity.at("requestPolicy"), path.child("requestPolicy"));
    if policy.is_null() {
        return;
    }
    if !shared {
        let detail = "allowMultipleAllocations must be true";
        errors.push(FieldError::forbidden(&at, detail));
        return;
    }
    let (options, range) = (policy.list("validValues"), policy.at("validRange"));
    let amount = |value: &Value| Quantity::from_value(value);
    let (Some(most), default) = (amount(capacity.at("value")), amount(policy.at("default"))) else {
        return;
    };
    let (what, field) = match (options.is_empty(), range.is_null()) {
        (true, true) => return,
        (false, false) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \
                          \"validRange\" at the same time";
            errors.push(FieldError::forbidden(&at, detail));
            return;
        }
        (false, true) => ("validValues is defined", "validValues"),
        (true, false) => ("validRange is defined", "validRange"),
    };
    let Some(default) = default else {
        let detail = format!("required when {what}");
        errors.push(FieldError::required(&at.child("default"), &detail));
        return;
    };
    if field == "validValues" {
        self::options(options, default, most, &at.child(field), errors);
    } else {
        self::range(range, default, most, &at.child(field), errors);
    }
}

/// The amounts that can be had of a capacity, one by one.
fn options(
    options: &[Value],
    default: Quantity,
    most: Quantity,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let amounts: Vec<Quantity> = options.iter().filter_map(Quantity::from_value).collect();
    for (index, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let detail = "values must be sorted in ascending order";
            let at = path.index(index + 1);
            errors.push(FieldError::invalid(&at, pair[1].to_string(), detail));
        }
    }
    let found = Cell::new(false);
    let all = at_most(options, MOST_OPTIONS, path, errors, |option, at, errors| {
        let Some(option) = Quantity::from_value(option) else {
            return;
        };
        if option > most {
            let detail = format!("option is larger than capacity value: {most}");
            errors.push(FieldError::invalid(at, option.to_string(), &detail));
        }
        found.set(found.get() || option == default);
    });
    for (index, amount) in amounts.iter().enumerate().filter(|_| all) {
        if amounts[..index].contains(amount) {
            let units = amount.millis().div_euclid(1000).to_string();
            errors.push(FieldError::duplicate(&path.index(index), units));
        }
    }
    if !found.get() {
        let detail = "default value is not valid according to the requestPolicy";
        errors.push(FieldError::invalid(path, default.to_string(), detail));
    }
}

/// The amounts that can be had of a capacity, from one to another.
fn range(range: &Value, default: Quantity, most: Quantity, path: &Path<'_>, errors: &mut Errors) {
    let amount = |field: &str| Quantity::from_value(range.at(field));
    let mut wrong = |field: &str, value: Quantity, detail: String| {
        errors.push(FieldError::invalid(
            &path.child(field),
            value.to_string(),
            &detail,
        ));
    };
    let Some(min) = amount("min") else {
        let detail = "required when validRange is defined";
        errors.push(FieldError::required(&path.child("min"), detail));
        return;
    };
    if min > most {
        wrong(
            "min",
            min,
            format!("min is larger than capacity value: {most}"),
        );
    }
    if default < min {
        wrong("min", default, format!("default is less than min: {min}"));
    }
    let max = amount("max");
    if let Some(max) = max {
        if min > max {
            wrong("max", min, format!("min is larger than max: {max}"));
        }
        if max > most {
            wrong(
                "max",
                max,
                format!("max is larger than capacity value: {most}"),
            );
        }
        if default > max {
            wrong("max", default, format!("default is more than max: {max}"));
        }
    }
    let Some(step) = amount("step") else {
        return;
    };
    let next = min.plus(step);
    if next > most {
        let detail = format!("one step {next} is larger than capacity value: {most}");
        wrong("step", step, detail);
    }
    for value in std::iter::once(default).chain(max) {
        if !value.plus(min.negated()).is_multiple_of(step) {
            let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
            wrong("step", value, detail);
        }
    }
}

fn taint(taint: &Value, path: &Path<'_>, errors: &mut Errors) {
    names::label_name(taint.text("key"), &path.child("key"), errors);
    let value = taint.text("value");
    problems(&path.child("value"), value, label_value(value), errors);
    match taint.text("effect") {
        "" => errors.push(FieldError::required(&path.child("effect"), "")),
        _ => effect(taint, path, errors),
    }
}

/// What a taint does, or a toleration stands.
pub(crate) fn effect(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let effect = holder.text("effect");
    if !EFFECTS.contains(&effect) {
        errors.push(FieldError::not_supported(
            &path.child("effect"),
            effect,
            &EFFECTS,
        ));
    }
}

/// Counters that devices share, or what one takes of them; `name` is the field that says of which.
fn counter_set(set: &Value, name: &str, path: &Path<'_>, errors: &mut Errors) {
    match set.text(name) {
        "" => errors.push(FieldError::required(&path.child(name), "")),
        text => label(&path.child(name), text, errors),
    }
    let at = path.child("counters");
    let count = set.entries("counters").count();
    if count == 0 {
        errors.push(FieldError::required(&at, ""));
    } else if count > MOST_COUNTERS {
        errors.push(FieldError::too_many(&at, count, MOST_COUNTERS));
    } else {
        for (counter, _) in set.entries("counters") {
            problems(&at, counter, dns1123_label(counter), errors);
        }
    }
}

/// The conditions for which a pod waits before it is bound, and those that end the waiting.
pub(crate) fn binding(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    const GOOD: &str = "bindingConditions";
    const BAD: &str = "bindingFailureConditions";
    let (good, bad) = (holder.list(GOOD), holder.list(BAD));
    for (field, list) in [(GOOD, good), (BAD, bad)] {
        let at = path.child(field);
        at_most(
            list,
            MOST_BINDING_CONDITIONS,
            &at,
            errors,
            |name, at, errors| {
                names::label_name(as_text(name), at, errors);
            },
        );
    }
    for (field, list) in [(GOOD, good), (BAD, bad)] {
        let at = path.child(field);
        for (index, name) in list.iter().enumerate() {
            if list[..index].contains(name) {
                errors.push(FieldError::duplicate(&at.index(index), as_text(name)));
            }
            if field == BAD && good.contains(name) {
                let detail = "bindingFailureConditions must not overlap with bindingConditions";
                errors.push(FieldError::invalid(&at.index(index), as_text(name), detail));
            }
        }
    }
    for (field, list, other, others) in [(GOOD, good, BAD, bad), (BAD, bad, GOOD, good)] {
        if list.is_empty() && !others.is_empty() {
            let detail = format!("{field} are required to use {other}");
            let value = holder.at(field).clone();
            errors.push(FieldError::invalid(&path.child(field), value, &detail));
        }
    }
}

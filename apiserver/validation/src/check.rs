//! The checks that many kinds share: numbers, enumerations, labels, selectors, immutable fields.

use std::num::{IntErrorKind, ParseIntError};

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::formats;
use crate::internal::shown;
use crate::semantic::same;

/// What is wrong with an object, in the order in which it was found.
pub type Errors = Vec<FieldError>;

const NEGATIVE: &str = "must be greater than or equal to 0";
/// The message for a field that an update cannot change.
pub const IMMUTABLE: &str = "field is immutable";

/// One `Invalid value` for each problem.
pub fn problems(
    path: &Path<'_>,
    value: &str,
    found: impl IntoIterator<Item = impl AsRef<str>>,
    errors: &mut Errors,
) {
    for problem in found {
        errors.push(FieldError::invalid(path, value, problem.as_ref()));
    }
}

/// Checks that a value is a DNS-1123 subdomain, such as `web.example.com`.
pub fn subdomain(path: &Path<'_>, value: &str, errors: &mut Errors) {
    problems(path, value, names::dns1123_subdomain(value), errors);
}

/// Checks that a value is a DNS-1123 label, such as `web-1`.
pub fn label(path: &Path<'_>, value: &str, errors: &mut Errors) {
    problems(path, value, names::dns1123_label(value), errors);
}

/// A domain and a path behind it: `acme.io/foo`.
pub fn domain_path(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    match text.split_once('/') {
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            problems(path, host, names::dns1123_subdomain(host), errors);
            let bad = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&b);
            if !rest.bytes().all(bad) {
                let detail = "Invalid path";
                errors.push(FieldError::invalid(path, rest, detail));
            }
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(path, text, detail));
        }
    }
}

/// Checks that a value is a qualified name, such as `example.com/tier`.
pub fn qualified_name(path: &Path<'_>, value: &str, errors: &mut Errors) {
    problems(path, value, names::qualified_name(value), errors);
}

/// The field of `holder` must not be an empty text.
pub fn required(holder: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) -> bool {
    let missing = match holder.at(field) {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    if missing {
        errors.push(FieldError::required(&path.child(field), ""));
    }
    !missing
}

/// The field must be one of the words; an absent one is required.
pub fn one_of(holder: &Value, path: &Path<'_>, field: &str, words: &[&str], errors: &mut Errors) {
    let value = holder.text(field);
    if value.is_empty() {
        errors.push(FieldError::required(&path.child(field), ""));
    } else if !words.contains(&value) {
        errors.push(FieldError::not_supported(&path.child(field), value, words));
    }
}

/// The field must be one of the words, where it is there.
pub fn one_of_if_set(
    holder: &Value,
    path: &Path<'_>,
    field: &str,
    words: &[&str],
    errors: &mut Errors,
) {
    if holder.has(field) && !words.contains(&holder.text(field)) {
        let value = holder.at(field).clone();
        errors.push(FieldError::not_supported(&path.child(field), value, words));
    }
}

/// Checks that a number, if it is set, is not negative.
pub fn not_negative(holder: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    if let Some(number) = holder.int(field).filter(|number| *number < 0) {
        errors.push(FieldError::invalid(&path.child(field), number, NEGATIVE));
    }
}

/// Checks that a number is a port, 1 to 65535.
pub fn port(number: i64, path: &Path<'_>, errors: &mut Errors) {
    if let Some(problem) = formats::port_number(number) {
        errors.push(FieldError::invalid(path, number, problem));
    }
}

/// A number of a port, or its name.
pub fn port_or_name(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value.as_str() {
        Some(name) => problems(path, name, formats::port_name(name), errors),
        None => port(value.as_i64().unwrap_or(0), path, errors),
    }
}

/// A number that is not negative, or a percentage.
pub fn count_or_percent(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::String(text) => problems(path, text, formats::percent(text), errors),
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            errors.push(FieldError::invalid(path, value.clone(), NEGATIVE));
        }
        _ => {}
    }
}

/// A percentage of at most a hundred; numbers pass.
pub fn at_most_hundred_percent(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if percent_of(value).is_some_and(|percent| percent > 100) {
        let detail = "must not be greater than 100%";
        errors.push(FieldError::invalid(path, value.clone(), detail));
    }
}

/// Whether a number or percentage is zero. A string that is no percentage counts as the number in it, or as none.
pub fn is_zero_count(value: &Value) -> bool {
    let number = match value {
        Value::String(text) => percent_of(value).unwrap_or_else(|| number_in(text)),
        value => value.as_i64().unwrap_or(0),
    };
    number == 0
}

fn percent_of(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    formats::percent(text)
        .is_none()
        .then(|| number_in(text.trim_end_matches('%')))
}

/// What Go's `strconv.Atoi` returns beside an error, too: the nearest number, or zero.
fn number_in(text: &str) -> i64 {
    text.parse()
        .unwrap_or_else(|error: ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => i64::MAX,
            IntErrorKind::NegOverflow => i64::MIN,
            _ => 0,
        })
}

/// Checks that a value is an IP address. Returns whether it is.
pub fn ip(value: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    problems(path, value, formats::ip(value), errors);
    formats::ip(value).is_none()
}

/// Keys and values of labels, or of a node selector.
pub fn labels(holder: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    let path = path.child(field);
    for (key, value) in holder.entries(field) {
        let value = value.as_str().unwrap_or_default();
        qualified_name(&path, key, errors);
        problems(&path, value, names::label_value(value), errors);
    }
}

/// Checks the annotations of an object's metadata.
pub fn annotations(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    annotations_at(holder, &path.child("annotations"), errors);
}

/// The annotations of `holder`, which errors show at a path of their own.
pub fn annotations_at(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LIMIT: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in holder.entries("annotations") {
        size += key.len() + value.as_str().map_or(0, str::len);
        let found = if key.bytes().any(|b| b.is_ascii_uppercase()) {
            names::qualified_name(&key.to_lowercase())
        } else {
            names::qualified_name(key)
        };
        problems(path, key, found, errors);
    }
    if size > LIMIT {
        errors.push(FieldError::too_long(path, LIMIT));
    }
}

/// A label selector as an object.
pub fn selector(selector: &Value, path: &Path<'_>, errors: &mut Errors) {
    labels(selector, path, "matchLabels", errors);
    let expressions = path.child("matchExpressions");
    for (index, expression) in selector.list("matchExpressions").iter().enumerate() {
        requirement(expression, &expressions.index(index), errors);
    }
}

fn requirement(expression: &Value, path: &Path<'_>, errors: &mut Errors) {
    let values = expression.list("values");
    let operator = expression.text("operator");
    match operator {
        "In" | "NotIn" if values.is_empty() => errors.push(FieldError::required(
            &path.child("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
            &path.child("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.push(FieldError::invalid(
            &path.child("operator"),
            operator,
            "not a valid selector operator",
        )),
    }
    qualified_name(&path.child("key"), expression.text("key"), errors);
    let path = path.child("values");
    for (index, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        problems(&path.index(index), value, names::label_value(value), errors);
    }
}

/// Whether a selector says nothing and so selects everything.
pub fn is_empty_selector(selector: &Value) -> bool {
    selector.entries("matchLabels").next().is_none() && selector.list("matchExpressions").is_empty()
}

/// The field must be what it is in the stored object.
pub fn immutable(new: &Value, old: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    immutable_as("", new, old, path, field, errors);
}

/// The same as declarative validation says it, without the value. Returns whether the field is changed: what is below it
/// is not looked at then.
pub fn declared_immutable(
    new: &Value,
    old: &Value,
    path: &Path<'_>,
    field: &str,
    errors: &mut Errors,
) -> bool {
    declared_immutable_as("", new, old, path, field, errors)
}

/// The same for a field whose value handwritten validation shows as one of the API server's own types.
pub fn declared_immutable_as(
    kind: &str,
    new: &Value,
    old: &Value,
    path: &Path<'_>,
    field: &str,
    errors: &mut Errors,
) -> bool {
    let changed = !same(new.at(field), old.at(field));
    if changed {
        errors.push(declared_change(kind, new.at(field), &path.child(field)));
    }
    changed
}

/// The error of declarative validation about a value that may not change, which handwritten validation shows as a type.
pub fn declared_change(kind: &str, value: &Value, path: &Path<'_>) -> FieldError {
    let handwritten = if kind.is_empty() {
        FieldError::invalid(path, value.clone(), IMMUTABLE)
    } else {
        FieldError::invalid_shown(path, &shown(kind, value), IMMUTABLE)
    };
    FieldError::invalid(path, Value::Null, IMMUTABLE).declarative_for(handwritten)
}

/// Checks what declarative validation checks: its errors stand behind all others.
pub fn declaratively<T>(errors: &mut Errors, check: impl FnOnce(&mut Errors) -> T) -> T {
    let mut found = Errors::new();
    let outcome = check(&mut found);
    errors.extend(found.into_iter().map(FieldError::declarative));
    outcome
}

/// Makes a check of declarative validation, and the handwritten one that it covers.
pub fn declared_instead(
    errors: &mut Errors,
    declared: impl FnOnce(&mut Errors),
    handwritten: impl FnOnce(&mut Errors),
) {
    let mut found = Errors::new();
    declared(&mut found);
    let alone = |error: FieldError| error.declarative_for(None);
    errors.extend(found.drain(..).map(alone));
    handwritten(&mut found);
    errors.extend(found.into_iter().map(FieldError::covered));
}

/// Makes two checks, the second of which is the first one to declarative validation.
pub fn declaratively_swapped(
    errors: &mut Errors,
    first: impl FnOnce(&mut Errors),
    second: impl FnOnce(&mut Errors),
) {
    let mut found = Errors::new();
    second(&mut found);
    let declared = found.iter().filter(|error| error.is_declarative());
    errors.extend(declared.map(|error| error.clone().declarative_for(None)));
    first(errors);
    errors.extend(found.into_iter().filter_map(|error| {
        if error.is_declarative() {
            error.handwritten().map(FieldError::covered)
        } else {
            Some(error)
        }
    }));
}

/// A check that a field is there: [`required`], or [`declared_required`] where declarative validation makes it.
pub type Required = fn(&Value, &Path<'_>, &str, &mut Errors) -> bool;

/// The field must not be empty, as declarative validation has it.
pub fn declared_required(
    holder: &Value,
    path: &Path<'_>,
    field: &str,
    errors: &mut Errors,
) -> bool {
    declared_required_for("", holder, path, field, errors)
}

/// The same where handwritten validation says why.
pub fn declared_required_for(
    why: &str,
    holder: &Value,
    path: &Path<'_>,
    field: &str,
    errors: &mut Errors,
) -> bool {
    let is_there = required(holder, path, field, &mut Errors::new());
    if !is_there {
        let at = path.child(field);
        let handwritten = FieldError::required(&at, why);
        errors.push(FieldError::required(&at, "").declarative_for(handwritten));
    }
    is_there
}

/// The same for a field whose value is shown as one of the API server's own types.
pub fn immutable_as(
    kind: &str,
    new: &Value,
    old: &Value,
    path: &Path<'_>,
    field: &str,
    errors: &mut Errors,
) {
    // What is a pointer to the API server is there or not, however little it says.
    let appears = kind.starts_with('?') && new.has(field) != old.has(field);
    if appears || !same(new.at(field), old.at(field)) {
        let (value, at) = (new.at(field), path.child(field));
        errors.push(if kind.is_empty() {
            FieldError::invalid(&at, value.clone(), IMMUTABLE)
        } else {
            FieldError::invalid_shown(&at, &shown(kind, value), IMMUTABLE)
        });
    }
}

/// A quantity that is not negative, and whole where the resource can only be counted.
pub fn quantity(name: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(quantity) = Quantity::from_value(value) else {
        return;
    };
    if quantity.is_negative() {
        errors.push(FieldError::invalid(path, value.clone(), NEGATIVE));
    }
    if is_counted(name) && !quantity.is_whole() {
        errors.push(FieldError::invalid(
            path,
            value.clone(),
            "must be an integer",
        ));
    }
}

/// A quantity of a volume: the type of the whole text is right, so only a sign is wrong. Says whether it is.
pub fn valid_quantity(value: &Value, path: &Path<'_>, errors: &mut Errors) -> bool {
    let wrong = Quantity::from_value(value).filter(|amount| amount.wrapped() < 0);
    if let Some(amount) = wrong {
        let detail = "must be a valid resource quantity";
        errors.push(FieldError::invalid(path, amount.wrapped(), detail));
    }
    wrong.is_some()
}

/// Resources that come in whole numbers: pods, services and the like, and everything from devices.
fn is_counted(name: &str) -> bool {
    matches!(
        name,
        "pods"
            | "resourcequotas"
            | "services"
            | "replicationcontrollers"
            | "secrets"
            | "configmaps"
            | "persistentvolumeclaims"
            | "services.nodeports"
            | "services.loadbalancers"
    ) || is_extended(name)
}

/// `example.com/gpu`: a resource that Kubernetes itself does not know.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::qualified_name(&format!("requests.{name}")).is_empty()
}

/// Returns whether a name is of a resource of Kubernetes itself, such as `cpu`.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// The name of an extended resource as declarative validation checks it.
pub fn declared_extended_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let wrong = |detail: &str| FieldError::invalid(path, name, detail);
    declared_instead(
        errors,
        |errors| {
            if !name.contains('/') {
                let detail = "a name must be a domain-prefixed path, such as 'example.com/my-prop'";
                errors.push(wrong(detail));
            } else if name.contains("kubernetes.io/") {
                errors.push(wrong("must not have \"kubernetes.io/\" domain"));
            }
            if name.starts_with("requests.") {
                errors.push(wrong("must not have \"requests.\" prefix"));
            }
            let problems = names::qualified_name(&format!("requests.{name}"));
            errors.extend(problems.iter().map(|problem| wrong(problem)));
        },
        |errors| {
            if !is_extended(name) {
                errors.push(wrong("must be a valid extended resource name"));
            }
        },
    );
}

/// The name of a driver as declarative validation checks it.
pub fn declared_driver_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    declared_instead(
        errors,
        |errors| {
            if name.is_empty() {
                errors.push(FieldError::required(path, ""));
                return;
            }
            problems(path, name, names::dns1123_subdomain_caseless(name), errors);
            if name.chars().count() > 63 {
                errors.push(FieldError::too_long_in_characters(path, 63));
            }
        },
        |errors| driver_name(name, path, errors),
    );
}

/// The name of a CSI driver.
pub fn driver_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    let lower = name.to_lowercase();
    if !name.is_empty() {
        problems(path, name, names::dns1123_subdomain(&lower), errors);
    }
}

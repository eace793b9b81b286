//! Capacities of devices, and by which rules claims share one.

use std::cell::Cell;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::quantity::{Quantity, Spelled};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::parts::at_most;
use crate::check::Errors;

const MOST_OPTIONS: usize = 10;

/// Checks a capacity of a device, which may be `shared`.
pub fn capacity(capacity: &Value, shared: bool, path: &Path<'_>, errors: &mut Errors) {
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
    let most = Spelled::from_value(capacity.at("value"));
    let (Some(most), default) = (most, Spelled::from_value(policy.at("default"))) else {
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
    default: Spelled<'_>,
    most: Spelled<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let amounts: Vec<Spelled<'_>> = options.iter().filter_map(Spelled::from_value).collect();
    for (index, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let detail = "values must be sorted in ascending order";
            let at = path.index(index + 1);
            errors.push(FieldError::invalid(&at, pair[1].to_string(), detail));
        }
    }
    let found = Cell::new(false);
    let all = at_most(options, MOST_OPTIONS, path, errors, |option, at, errors| {
        let Some(option) = Spelled::from_value(option) else {
            return;
        };
        if option > most {
            let detail = format!("option is larger than capacity value: {most}");
            errors.push(FieldError::invalid(at, option.to_string(), &detail));
        }
        found.set(found.get() || option == default);
    });
    let whole: Vec<i64> = amounts.iter().map(|amount| amount.wrapped()).collect();
    for (index, amount) in whole.iter().enumerate().filter(|_| all) {
        if whole[..index].contains(amount) {
            errors.push(FieldError::duplicate(
                &path.index(index),
                amount.to_string(),
            ));
        }
    }
    if !found.get() {
        let detail = "default value is not valid according to the requestPolicy";
        errors.push(FieldError::invalid(path, default.to_string(), detail));
    }
}

/// The amounts that can be had of a capacity, from one to another.
fn range(
    range: &Value,
    default: Spelled<'_>,
    most: Spelled<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let amount = |field: &str| Spelled::from_value(range.at(field));
    let mut wrong = |field: &str, value: Spelled<'_>, detail: &str| {
        let at = path.child(field);
        errors.push(FieldError::invalid(&at, value.to_string(), detail));
    };
    let Some(min) = amount("min") else {
        let detail = "required when validRange is defined";
        errors.push(FieldError::required(&path.child("min"), detail));
        return;
    };
    if min > most {
        let detail = format!("min is larger than capacity value: {most}");
        wrong("min", min, &detail);
    }
    if default < min {
        let detail = format!("default is less than min: {min}");
        wrong("default", default, &detail);
    }
    let (max, step) = (amount("max"), amount("step"));
    if let Some(max) = max {
        if min > max {
            wrong("max", min, &format!("min is larger than max: {max}"));
        }
        if max > most {
            let detail = format!("max is larger than capacity value: {most}");
            wrong("max", max, &detail);
        }
        if default > max {
            let detail = format!("default is more than max: {max}");
            wrong("default", default, &detail);
        }
    }
    // Amounts are counted in whole units, as far as Go's numbers go; fractions are behind a gate that is off.
    let all = [
        ("default", Some(default)),
        ("min", Some(min)),
        ("max", max),
        ("step", step),
    ];
    let problem = |value: Spelled<'_>| {
        if value.is_negative() {
            Some("must be greater than or equal to 0")
        } else {
            (Some(*value) > Quantity::parse("9223372036854775807"))
                .then_some("must not be larger than 9223372036854775807")
        }
    };
    let all = all.into_iter();
    let unfit: Vec<_> = all
        .filter_map(|(field, value)| Some((field, value?, problem(value?)?)))
        .collect();
    let step_is_positive = step.filter(|step| !step.is_negative() && !step.is_zero());
    match (step, step_is_positive) {
        (None, _) => return,
        (Some(step), None) => return wrong("step", step, "must be greater than zero"),
        (_, Some(step)) if min.plus(*step) > *most => {
            let next = min.plus(*step);
            let detail = format!("one step {next} is larger than capacity value: {most}");
            wrong("step", step, &detail);
        }
        _ => {}
    }
    for (field, value, detail) in &unfit {
        wrong(field, *value, detail);
    }
    for value in std::iter::once(default).chain(max) {
        if let (true, Some(step)) = (unfit.is_empty(), step)
            && (value.wrapped() - min.wrapped()) % step.wrapped() != 0
        {
            let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
            wrong("step", value, &detail);
        }
    }
}

//! Kubernetes quantities, such as `1.5Gi`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::{Object, Quantity, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "quantity",
        "string_to_quantity",
        "(string) -> kubernetes.Quantity",
        quantity,
    ),
    guarded(
        "isQuantity",
        "is_quantity_string",
        "(string) -> bool",
        is_quantity,
    ),
    guarded(
        "sign",
        "quantity_sign",
        "(kubernetes.Quantity) -> int",
        sign,
    ),
    guarded(
        "isGreaterThan",
        "quantity_is_greater_than",
        "kubernetes.Quantity.(kubernetes.Quantity) -> bool",
        greater,
    ),
    guarded(
        "isLessThan",
        "quantity_is_less_than",
        "kubernetes.Quantity.(kubernetes.Quantity) -> bool",
        less,
    ),
    guarded(
        "compareTo",
        "quantity_compare_to",
        "kubernetes.Quantity.(kubernetes.Quantity) -> int",
        compare_to,
    ),
    guarded(
        "asApproximateFloat",
        "quantity_get_float",
        "kubernetes.Quantity.() -> double",
        approximate,
    ),
    guarded(
        "asInteger",
        "quantity_get_int",
        "kubernetes.Quantity.() -> int",
        integer,
    ),
    guarded(
        "isInteger",
        "quantity_is_integer",
        "kubernetes.Quantity.() -> bool",
        is_integer,
    ),
    guarded(
        "add",
        "quantity_add",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        add,
    ),
    guarded(
        "add",
        "quantity_add_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        add,
    ),
    guarded(
        "sub",
        "quantity_sub",
        "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        subtract,
    ),
    guarded(
        "sub",
        "quantity_sub_int",
        "kubernetes.Quantity.(int) -> kubernetes.Quantity",
        subtract,
    ),
];

fn made<'a>(quantity: Quantity) -> Value<'a> {
    Value::Object(Object::Quantity(Arc::new(quantity)))
}

fn only<'v>(values: &'v [Value<'_>]) -> Result<&'v Quantity, Failure> {
    match values {
        [Value::Object(Object::Quantity(quantity)), ..] => Ok(quantity),
        _ => Err(Failure::no_such_overload()),
    }
}

fn both(values: &[Value<'_>]) -> Result<(Quantity, Quantity), Failure> {
    let left = only(values)?.clone();
    let right = match values.get(1) {
        Some(Value::Object(Object::Quantity(quantity))) => (**quantity).clone(),
        Some(Value::Int(value)) => Quantity::of_int(*value),
        _ => return Err(Failure::no_such_overload()),
    };
    Ok((left, right))
}

fn quantity<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Quantity::parse(text).map(made).map_err(Failure::new),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_quantity<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
        _ => Err(Failure::no_such_overload()),
    }
}

fn sign<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let digits = only(values)?.digits;
    Ok(Value::Int(i64::try_from(digits.signum()).unwrap_or(0)))
}

fn order(values: &[Value<'_>]) -> Result<Ordering, Failure> {
    both(values).map(|(left, right)| left.cmp(&right))
}

fn greater<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(order(values)?.is_gt()))
}

fn less<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(order(values)?.is_lt()))
}

fn compare_to<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Int(order(values)? as i64))
}

fn approximate<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Double(only(values)?.as_f64()))
}

fn integer<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let value = only(values)?.as_i64();
    value
        .map(Value::Int)
        .ok_or_else(|| Failure::new("cannot convert value to integer"))
}

fn is_integer<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(only(values)?.as_i64().is_some()))
}

fn add<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (left, right) = both(values)?;
    left.plus(&right).map(made)
}

fn subtract<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (left, right) = both(values)?;
    left.plus(&right.negated()).map(made)
}

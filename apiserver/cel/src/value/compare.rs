//! Equality and order, across the numeric types.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::lists::{key, known, scalar};
use super::{List, Map, Object, Value};
use crate::declared::Items;
use crate::failure::Failure;

/// What becomes of items that cannot be compared while two lists are, or while an item is looked for.
enum Rule {
    /// They are as good as equal in a comparison, and not what is looked for.
    Lenient,
    /// They are not equal: what a Go type of a built-in kind holds.
    Native,
    /// They are an error: what has a schema.
    Strict,
}

impl List<'_> {
    /// Returns whether an item equals the value.
    ///
    /// # Errors
    /// No item does, and the list has a schema and an item that cannot be compared with the value.
    pub(crate) fn contains(&self, value: &Value<'_>) -> Result<bool, Failure> {
        if !matches!(self.rule(), Rule::Strict) {
            let mut items = self.iter();
            return Ok(items.any(|item| matches!(equal(value, &item), Ok(true))));
        }
        let mut failure = None;
        for item in self.iter() {
            match part_equal(&item, value) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                // What is no value of its type may be the one that is looked for.
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        failure.map_or(Ok(false), Err)
    }

    fn rule(&self) -> Rule {
        match self {
            Self::Json(_) | Self::Values(_) | Self::Joined(..) => Rule::Lenient,
            Self::Declared(_, of) if of.is_native() => Rule::Native,
            Self::Declared(..) => Rule::Strict,
        }
    }
}

/// Whether a part of a value with a schema equals a value. Where the schema says list or map, null is of another type.
pub(super) fn part_equal(item: &Value<'_>, value: &Value<'_>) -> Result<bool, Failure> {
    match (item, value) {
        (Value::List(List::Declared(..)) | Value::Map(Map::Declared(..)), Value::Null) => {
            Err(Failure::no_such_overload())
        }
        _ => equal(item, value),
    }
}

/// Whether two values are equal. Values of different types are not; Kubernetes' own types refuse to be compared with others.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> Result<bool, Failure> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Invalid(reason), _) => return Err(Failure::new(reason.to_string())),
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::String(left), Value::String(right)) => **left == **right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp_instant(right).is_eq(),
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::List(left), Value::List(right)) => lists_equal(left, right)?,
        (Value::Map(left), Value::Map(right)) => maps_equal(left, right)?,
        // What has a schema, or is held in a Go type, is compared with its like alone.
        (Value::List(List::Declared(..)) | Value::Map(Map::Declared(..)), _) => {
            return Err(Failure::no_such_overload());
        }
        (Value::Type(left), Value::Type(right)) => left.name() == right.name(),
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right)?,
            (None, None) => true,
            _ => false,
        },
        (Value::Record(left), Value::Record(right)) => {
            left.name == right.name
                && left.fields.len() == right.fields.len()
                && left
                    .fields
                    .iter()
                    .zip(&right.fields)
                    .all(|((name, value), (other, against))| {
                        name == other && matches!(equal(value, against), Ok(true))
                    })
        }
        (Value::Object(left), right) => return objects_equal(left, right),
        _ => matches!(numbers(left, right), Numbers::Ordered(Ordering::Equal)),
    })
}

/// The order of two values; none for types that have none.
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, Failure> {
    match numbers(left, right) {
        Numbers::Ordered(order) => return Ok(order),
        Numbers::NotOrdered => return Err(Failure::new("NaN values cannot be ordered")),
        Numbers::None => {}
    }
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => (**left).cmp(&**right),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Timestamp(left), Value::Timestamp(right)) => left.cmp_instant(right),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        _ => return Err(Failure::no_such_overload()),
    })
}

/// How two values stand to each other as numbers.
enum Numbers {
    Ordered(Ordering),
    /// One of them is NaN.
    NotOrdered,
    /// They are no pair of numbers.
    None,
}

fn numbers(left: &Value<'_>, right: &Value<'_>) -> Numbers {
    let order = match (left, right) {
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Double(left), right) => match integer(right) {
            Some(right) => double_with(*left, right),
            None => return Numbers::None,
        },
        (left, Value::Double(right)) => match integer(left) {
            Some(left) => double_with(*right, left).map(Ordering::reverse),
            None => return Numbers::None,
        },
        _ => match (integer(left), integer(right)) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => return Numbers::None,
        },
    };
    order.map_or(Numbers::NotOrdered, Numbers::Ordered)
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Uint(value) => Some(i128::from(*value)),
        _ => None,
    }
}

// The reference implementation compares the nearest doubles, so the largest integers equal doubles that are not quite theirs.
#[expect(
    clippy::cast_precision_loss,
    reason = "as in the reference implementation"
)]
fn double_with(double: f64, integer: i128) -> Option<Ordering> {
    double.partial_cmp(&(integer as f64))
}

fn lists_equal(left: &List<'_>, right: &List<'_>) -> Result<bool, Failure> {
    if let (List::Json(left), List::Json(right)) = (left, right)
        && std::ptr::eq(*left, *right)
    {
        return Ok(true);
    }
    lists_are_equal(left, right)
}

fn maps_equal(left: &Map<'_>, right: &Map<'_>) -> Result<bool, Failure> {
    if let (Map::Json(left), Map::Json(right)) = (left, right)
        && std::ptr::eq(*left, *right)
    {
        return Ok(true);
    }
    if let (Map::Declared(left, of), Map::Declared(right, _)) = (left, right) {
        return of.is_same(left, right);
    }
    if let Map::Declared(members, of) = left
        && !of.is_native()
    {
        return of.is_map(members, right);
    }
    let same = left.len() == right.len()
        && left.entries().iter().all(|(key, value)| {
            right
                .find(key)
                .is_some_and(|other| matches!(equal(value, &other), Ok(true)))
        });
    Ok(same)
}

fn objects_equal(left: &Object<'_>, right: &Value<'_>) -> Result<bool, Failure> {
    let Value::Object(right) = right else {
        return Err(Failure::no_such_overload());
    };
    Ok(match (left, right) {
        (Object::Quantity(left), Object::Quantity(right)) if !right.calculated => {
            left.cmp(right).is_eq()
        }
        (Object::Url(left), Object::Url(right)) => left.to_string() == right.to_string(),
        (Object::Ip(left), Object::Ip(right)) => left == right,
        (Object::Cidr(left), Object::Cidr(right)) => left == right,
        (Object::Format(left), Object::Format(right)) => left.name == right.name,
        (Object::Semver(left), Object::Semver(right)) => left.cmp(right).is_eq(),
        _ => return Err(Failure::no_such_overload()),
    })
}

/// Whether two lists are equal, by the kind of the first one.
fn lists_are_equal(left: &List<'_>, right: &List<'_>) -> Result<bool, Failure> {
    if left.len() != right.len() {
        return Ok(false);
    }
    Ok(match left.kind() {
        Items::Ordered | Items::Unknown(_) => {
            let rule = left.rule();
            for (left, right) in left.iter().zip(right.iter()) {
                let is_same = match rule {
                    Rule::Lenient => equal(&left, &right).unwrap_or(true),
                    Rule::Native => equal(&left, &right).unwrap_or(false),
                    Rule::Strict => part_equal(&left, &right)?,
                };
                if !is_same {
                    return Ok(false);
                }
            }
            true
        }
        Items::Set => {
            let known = known(left)?;
            let mut seen = HashSet::new();
            for item in right.iter() {
                let item = scalar(&item)?;
                if !known.contains(&item) {
                    return Ok(false);
                }
                seen.insert(item);
            }
            seen.len() == known.len()
        }
        Items::Keyed(keys) => {
            let known: HashMap<String, Value<'_>> =
                left.iter().map(|item| (key(&item, keys), item)).collect();
            let mut seen = HashSet::new();
            let are_equal = right.iter().all(|item| {
                let key = key(&item, keys);
                let same = known.get(&key);
                let is_same = same.is_some_and(|known| matches!(equal(known, &item), Ok(true)));
                seen.insert(key);
                is_same
            });
            are_equal && seen.len() == known.len()
        }
    })
}

//! Which value the API server could not decode: it refuses quantities, dates and base64 without a field, and others without an index.

use kubewright_apimachinery::unrecognized::json_type;
use serde_json::{Map, Value};

use crate::cluster::{Answer, Cluster, Kind, Write};
use crate::manifest::Manifest;
use crate::sentence;

/// The most values of an object that is looked at: each look takes a request, and there are as many as the number has binary digits.
const MOST_VALUES: usize = 10_000;

/// One step from a value to one below it.
#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Item(usize),
}

/// The path of the value that an answer is about, if it could not be decoded: the answer has no indices, if it names a field at all.
///
/// The API server is asked about the object with fewer of its values, until it no longer says the same.
pub(crate) async fn value(
    cluster: &Cluster,
    manifest: &Manifest,
    kind: &Kind,
    answer: &Answer,
) -> Option<String> {
    let said = sentence::undecodable(&answer.body)?;
    let mut paths = Vec::new();
    leaves(&mut Vec::new(), &manifest.object, &mut paths);
    paths.retain(|path| !matches!(&path[..], [Step::Field(name), ..] if is_identity(name)));
    if paths.len() > MOST_VALUES {
        return None;
    }
    let says_the_same = async |count| {
        let fewer = Manifest {
            object: first_values(&manifest.object, count),
            ..manifest.clone()
        };
        let answer = cluster.apply(&fewer, kind, Write::DryRun).await;
        sentence::undecodable(&answer.body).as_ref() == Some(&said)
    };
    if says_the_same(0).await {
        return None;
    }
    let (mut without, mut with) = (0, paths.len());
    while without + 1 < with {
        let half = without.midpoint(with);
        if says_the_same(half).await {
            with = half;
        } else {
            without = half;
        }
    }
    let path = paths.into_iter().nth(without)?;
    let whole = said.of_type.as_ref().map_or(path.len(), |of_type| {
        let of_type = |value: &Value| json_type(value) == of_type;
        let named = length_of_names(&path, said.names);
        (named..path.len())
            .find(|length| at(&manifest.object, &path[..*length]).is_some_and(of_type))
            .unwrap_or(path.len())
    });
    Some(text(&path[..whole]))
}

fn is_identity(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// The paths of all values that have none below them.
fn leaves(path: &mut Vec<Step>, value: &Value, paths: &mut Vec<Vec<Step>>) {
    let mut below = |step, value| {
        path.push(step);
        leaves(path, value, paths);
        path.pop();
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                below(Step::Field(name.clone()), field);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                below(Step::Item(index), item);
            }
        }
        _ => paths.push(path.clone()),
    }
}

/// How many steps of a path lead to the field that has this number of names before and in it.
fn length_of_names(path: &[Step], names: usize) -> usize {
    let is_name = |(_, step): &(usize, &Step)| matches!(step, Step::Field(_));
    let last = path
        .iter()
        .enumerate()
        .filter(is_name)
        .nth(names.max(1) - 1);
    last.map_or(path.len(), |(index, _)| index + 1)
}

fn at<'a>(value: &'a Value, path: &[Step]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Field(name) => value.get(name),
        Step::Item(index) => value.get(index),
    })
}

/// A path as the API server writes it.
fn text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Item(index) => text.extend(["[", &index.to_string(), "]"]),
            Step::Field(name) if name.contains(['.', '[', ']']) => text.extend(["[", name, "]"]),
            Step::Field(name) if text.is_empty() => text.push_str(name),
            Step::Field(name) => text.extend([".", name]),
        }
    }
    text
}

/// The object with the first of its values alone.
fn first_values(object: &Value, mut count: usize) -> Value {
    let all = object.as_object().into_iter().flatten();
    let kept = all.filter_map(|(name, field)| {
        let field = if is_identity(name) {
            field.clone()
        } else {
            first_of(field, &mut count)?
        };
        Some((name.clone(), field))
    });
    Value::Object(kept.collect())
}

/// The value with as many of the values below it as are left, or `None` if none is.
fn first_of(value: &Value, left: &mut usize) -> Option<Value> {
    if *left == 0 {
        return None;
    }
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let kept = fields
                .iter()
                .map_while(|(name, field)| Some((name.clone(), first_of(field, left)?)));
            Some(Value::Object(kept.collect::<Map<_, _>>()))
        }
        Value::Array(items) if !items.is_empty() => {
            let kept = items.iter().map_while(|item| first_of(item, left));
            Some(Value::Array(kept.collect()))
        }
        _ => {
            *left -= 1;
            Some(value.clone())
        }
    }
}

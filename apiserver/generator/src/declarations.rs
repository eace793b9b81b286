//! Reads what Go declares of each type and field, which no crate carries.
//!
//! `type <name>` opens a type; ` <field> <words>` describes one of its fields. `*` and `value` say whether Go has a pointer,
//! `always`, `omitempty` and `omitzero` when an empty value is written, `as=`, `of=` and `by=` what Go calls the field's type, its items'
//! and its keys', `number=` the protobuf number, `place=` where Go declares the field, `in=` the structs that Go inlines around
//! it, `required` that the schema does; everything else is a merge rule of the table. `new` behind a type says that the
//! OpenAPI document has none of that name; its fields have their types in `is=`.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

use crate::model::{Field, Shape, Type, Types, Written};

/// Adds the declarations to the types. Those of types that the OpenAPI document does not have are passed over.
pub(crate) fn add(text: &str, types: &mut Types) -> Result<()> {
    let mut declared = BTreeSet::new();
    let mut current = None;
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix("type ") {
            let (name, words) = head.split_once(' ').unwrap_or((head, ""));
            current = Some(name);
            declared.insert(name);
            if words == "new" {
                types.insert(name.to_owned(), request());
            }
            if let Some(ty) = types.get_mut(name) {
                ty.atomic = words == "atomic";
            }
            continue;
        }
        let name = current.context("the declarations begin with a type")?;
        let Some(ty) = types.get_mut(name) else {
            continue;
        };
        field(line, ty).with_context(|| format!("the declarations of {name}"))?;
    }
    let missing = types
        .iter()
        .find(|(name, ty)| !ty.fields.is_empty() && !declared.contains(name.as_str()));
    match missing {
        Some((missing, _)) => bail!("the declarations do not have {missing}"),
        None => Ok(()),
    }
}

/// A type of requests, before its fields are known.
fn request() -> Type {
    let mut ty = Type::default();
    for word in ["apiVersion", "kind"] {
        let field = Field::usual(Shape::Leaf("string"), false);
        ty.fields.insert(word.to_owned(), field);
    }
    ty
}

fn field(line: &str, ty: &mut Type) -> Result<()> {
    let mut words = line.split_whitespace().peekable();
    let json = words.next().context("a line names a field")?;
    if let Some(shape) = words.peek().and_then(|word| word.strip_prefix("is=")) {
        let field = Field::usual(leaf(shape)?, false);
        ty.fields.insert(json.to_owned(), field);
        words.next();
    }
    let field = ty
        .fields
        .get_mut(json)
        .with_context(|| format!("{json} is no field"))?;
    field.required = false;
    for word in words {
        apply(field, word);
    }
    Ok(())
}

fn leaf(text: &str) -> Result<Shape> {
    if let Some(item) = text.strip_prefix("[]") {
        return Ok(Shape::List(Box::new(leaf(item)?)));
    }
    let leaf = ["string", "bool", "int32", "int64", "time"]
        .into_iter()
        .find(|leaf| *leaf == text)
        .with_context(|| format!("a field of a request has the type {text}"))?;
    Ok(Shape::Leaf(leaf))
}

fn apply(field: &mut Field, word: &str) {
    match word {
        "*" => field.pointer = true,
        "value" => field.pointer = false,
        "always" => field.written = Written::Always,
        "omitempty" => field.written = Written::NotEmpty,
        "omitzero" => field.written = Written::NotZero,
        "required" => field.required = true,
        _ => match word.split_once('=') {
            Some(("as", name)) => field.shape = named(name, field.shape.clone()),
            Some(("of", name)) => {
                if let Some((_, item)) = field.shape.contents() {
                    *item = named(name, item.clone());
                }
            }
            Some(("by", name)) => {
                if let Some((Some(key), _)) = field.shape.contents() {
                    name.clone_into(key);
                }
            }
            Some(("in", names)) => {
                field.inlined_in = names.split('.').map(str::to_owned).collect();
            }
            Some(("number", path)) => field.number = numbers(path),
            Some(("place", path)) => field.place = numbers(path),
            _ => field.merge.push(word.to_owned()),
        },
    }
}

fn numbers<T: FromStr>(path: &str) -> Vec<T> {
    path.split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

fn named(name: &str, shape: Shape) -> Shape {
    Shape::Named(name.to_owned(), Box::new(shape))
}

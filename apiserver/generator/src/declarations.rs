//! Reads the hand-written facts: what Go's declarations and markers say that no crate carries.
//!
//! `type <name>` opens a type; ` <field> <words>` changes one of its fields. `*` and `value` say whether Go has a pointer,
//! `always`, `omitempty` and `omitzero` when an empty value is written, `required` and `optional` what the schema says,
//! `as=`, `of=` and `by=` what Go calls the field's type, its items' and its keys', `number=` the protobuf number, `in=` the structs that Go
//! inlines around it, `place=` where Go declares it if its number does not say it, `plain`
//! that it has no merge rules; everything else is a merge rule of the table.

use std::str::FromStr;

use anyhow::{Context, Result, bail};

use crate::model::{Field, Shape, Types, Written};

/// Applies the facts to the types.
pub(crate) fn add(text: &str, types: &mut Types) -> Result<()> {
    let mut current = None;
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("type ") {
            current = Some(name);
            if !types.contains_key(name) {
                bail!("the declarations name {name}, which is no type");
            }
            continue;
        }
        let name = current.context("the declarations begin with a type")?;
        let mut words = line.split_whitespace();
        let json = words.next().context("a line names a field")?;
        let field = types
            .get_mut(name)
            .and_then(|ty| ty.fields.get_mut(json))
            .with_context(|| format!("the declarations name {name}.{json}, which is no field"))?;
        let mut merge = Vec::new();
        for word in words {
            if !apply(field, word) {
                merge.push(word.to_owned());
            }
        }
        if !merge.is_empty() {
            merge.retain(|word| word != "plain");
            field.merge = merge;
        }
    }
    Ok(())
}

/// Changes the field; false if the word is a merge rule.
fn apply(field: &mut Field, word: &str) -> bool {
    match word {
        "*" => field.pointer = true,
        "value" => field.pointer = false,
        "always" => field.written = Written::Always,
        "omitempty" => field.written = Written::NotEmpty,
        "omitzero" => field.written = Written::NotZero,
        "required" => field.required = true,
        "optional" => field.required = false,
        _ => match word.split_once('=') {
            Some(("as", name)) => field.shape = named(name, field.shape.clone()),
            Some(("of", name)) => match &mut field.shape {
                Shape::List(item) | Shape::Map(_, item) => **item = named(name, (**item).clone()),
                _ => return false,
            },
            Some(("by", name)) => match &mut field.shape {
                Shape::Map(key, _) => name.clone_into(key),
                _ => return false,
            },
            Some(("in", names)) => {
                field.inlined_in = names.split('.').map(str::to_owned).collect();
            }
            Some(("number", path)) => {
                field.number = numbers(path);
                // Most structs declare their fields in the order of the numbers.
                field.place = numbers(path);
            }
            Some(("place", path)) => field.place = numbers(path),
            _ => return false,
        },
    }
    true
}

fn numbers<T: FromStr>(path: &str) -> Vec<T> {
    path.split('.')
        .filter_map(|part| part.parse().ok())
        .collect()
}

fn named(name: &str, shape: Shape) -> Shape {
    Shape::Named(name.to_owned(), Box::new(shape))
}

//! Reads the messages of k8s-pb: field numbers, and the markers in their comments (`+listType=map`, `+patchMergeKey=name`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, GenericArgument, Item, Lit, Meta, PathArguments, Token};

use crate::model::{Field, Shape, Type, Types, plain};

/// Messages by package and plain name.
pub(crate) type Messages = BTreeMap<(String, String), Message>;

/// One message, its fields by plain name.
#[derive(Debug, Default)]
pub(crate) struct Message {
    name: String,
    markers: Vec<String>,
    fields: BTreeMap<String, Member>,
}

#[derive(Debug)]
struct Member {
    rust: String,
    kind: String,
    repeated: bool,
    /// The message, for a field that holds one.
    message: String,
    number: u32,
    /// Messages have their fields in the order of Go's structs.
    place: usize,
    markers: Vec<String>,
}

/// The messages below `source`.
pub(crate) fn read(source: &Path) -> Result<Messages> {
    let mut messages = Messages::new();
    read_package(source, "", &mut messages)?;
    Ok(messages)
}

/// Gives every field its number and its markers; adds the messages of `only_here`, which have no OpenAPI definition.
pub(crate) fn add(messages: &Messages, only_here: &[&str], types: &mut Types) -> Result<()> {
    for (name, ty) in types.iter_mut() {
        let Some((package, short)) = name.rsplit_once('.') else {
            continue;
        };
        ty.atomic = find(messages, name).is_some_and(|message| {
            message
                .markers
                .iter()
                .any(|marker| marker == "structType=atomic")
        });
        let jsons: Vec<String> = ty.fields.keys().map(|json| plain(json)).collect();
        let place = Place {
            messages,
            package,
            own: &jsons,
        };
        for (json, field) in &mut ty.fields {
            if let Some(found) = place.of(&plain(json), &plain(short)) {
                field.number = found.number;
                field.place = found.place;
                field.inlined_in = found.inlined_in;
                field.merge = merge(found.markers);
            }
        }
    }
    for name in only_here {
        let message =
            find(messages, name).with_context(|| format!("there is no message {name}"))?;
        let mut ty = Type::default();
        for member in message.fields.values() {
            let leaf = match member.kind.as_str() {
                "string" => "string",
                "bool" => "bool",
                "int32" => "int32",
                "int64" => "int64",
                "message" => "time",
                other => anyhow::bail!("{name} has a field of type {other}"),
            };
            let mut shape = Shape::Leaf(leaf);
            if member.repeated {
                shape = Shape::List(Box::new(shape));
            }
            let mut field = Field::usual(String::new(), shape, false);
            field.number = vec![member.number];
            field.place = vec![member.place];
            ty.fields.insert(camel(&member.rust), field);
        }
        for word in ["apiVersion", "kind"] {
            let field = Field::usual(String::new(), Shape::Leaf("string"), false);
            ty.fields.insert(word.to_owned(), field);
        }
        types.insert((*name).to_owned(), ty);
    }
    Ok(())
}

/// Where fields stand in messages.
struct Place<'a> {
    messages: &'a Messages,
    package: &'a str,
    /// The plain names of the type's own fields. A message in a field of another name is a struct that Go inlines.
    own: &'a [String],
}

/// What a place is: the way to it, and the markers there.
struct Found<'a> {
    number: Vec<u32>,
    place: Vec<usize>,
    inlined_in: Vec<String>,
    markers: &'a [String],
}

impl<'a> Place<'a> {
    fn of(&self, field: &str, message: &str) -> Option<Found<'a>> {
        let message = self
            .messages
            .get(&(self.package.to_owned(), message.to_owned()))?;
        if let Some(member) = message.fields.get(field) {
            return Some(Found {
                number: vec![member.number],
                place: vec![member.place],
                inlined_in: Vec::new(),
                markers: &member.markers,
            });
        }
        message
            .fields
            .iter()
            .filter(|(name, member)| !member.message.is_empty() && !self.own.contains(name))
            .find_map(|(_, member)| {
                let mut found = self.of(field, &plain(&member.message))?;
                found.number.insert(0, member.number);
                found.place.insert(0, member.place);
                found.inlined_in.insert(0, member.message.clone());
                Some(found)
            })
    }
}

fn find<'a>(messages: &'a Messages, name: &str) -> Option<&'a Message> {
    let (package, short) = name.rsplit_once('.')?;
    messages.get(&(package.to_owned(), plain(short)))
}

fn read_package(directory: &Path, package: &str, messages: &mut Messages) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        if path.is_dir() {
            let dot = if package.is_empty() { "" } else { "." };
            let package = format!("{package}{dot}{}", name.replace('_', "-"));
            read_package(&path, &package, messages)?;
        } else if name == "mod.rs" {
            read_module(&fs::read_to_string(&path)?, package, messages)?;
        }
    }
    Ok(())
}

/// Reads the messages of one source file.
pub(crate) fn read_module(text: &str, package: &str, messages: &mut Messages) -> Result<()> {
    for item in syn::parse_file(text)?.items {
        if let Item::Struct(item) = item {
            let message = message(&item);
            messages.insert((package.to_owned(), plain(&message.name)), message);
        }
    }
    Ok(())
}

fn message(item: &syn::ItemStruct) -> Message {
    let mut message = Message {
        name: item.ident.to_string(),
        markers: markers(&item.attrs),
        fields: BTreeMap::new(),
    };
    for (place, field) in item.fields.iter().enumerate() {
        let (Some(ident), Some(mut member)) = (&field.ident, member(&field.attrs)) else {
            continue;
        };
        member.place = place;
        let ident = ident.to_string();
        ident
            .strip_prefix("r#")
            .unwrap_or(&ident)
            .clone_into(&mut member.rust);
        if member.kind == "message" && !member.repeated {
            member.message = innermost(&field.ty).unwrap_or_default();
        }
        message.fields.insert(plain(&member.rust), member);
    }
    message
}

/// Reads `#[prost(string, optional, tag = "7")]` and the comment above it.
fn member(attributes: &[Attribute]) -> Option<Member> {
    let prost = attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("prost"))?;
    let options = prost
        .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
        .ok()?;
    let mut member = Member {
        rust: String::new(),
        kind: String::new(),
        repeated: false,
        message: String::new(),
        number: 0,
        place: 0,
        markers: Vec::new(),
    };
    for option in &options {
        match option {
            Meta::Path(path) if path.is_ident("repeated") => member.repeated = true,
            Meta::Path(path) if member.kind.is_empty() => {
                member.kind = path.get_ident()?.to_string();
            }
            Meta::NameValue(pair) if pair.path.is_ident("tag") => {
                member.number = literal(&pair.value)?.parse().ok()?;
            }
            _ => {}
        }
    }
    member.markers = markers(attributes);
    Some(member)
}

/// The lines of the comment that begin with `+`.
fn markers(attributes: &[Attribute]) -> Vec<String> {
    attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) => literal(&pair.value),
            _ => None,
        })
        .filter_map(|line| Some(line.trim().strip_prefix('+')?.to_owned()))
        .collect()
}

/// The name inside `Option<Box<Name>>`, if it is of the same package.
fn innermost(ty: &syn::Type) -> Option<String> {
    let syn::Type::Path(path) = ty else {
        return None;
    };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(inner) => innermost(inner),
            _ => None,
        },
        _ => (path.path.segments.len() == 1).then(|| last.ident.to_string()),
    }
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The words of the table for the markers that say how a field is merged.
fn merge(markers: &[String]) -> Vec<String> {
    let values = |name: &str| -> Vec<&str> {
        markers
            .iter()
            .filter_map(|marker| marker.strip_prefix(name)?.strip_prefix('='))
            .map(str::trim)
            .collect()
    };
    let mut words = Vec::new();
    for strategy in values("patchStrategy")
        .iter()
        .flat_map(|list| list.split(','))
    {
        match (strategy, values("patchMergeKey").first()) {
            ("merge", Some(key)) => words.push(format!("merge={key}")),
            ("merge", None) => words.push("merge".to_owned()),
            ("retainKeys", _) => words.push("retain".to_owned()),
            ("replace", _) => words.push("replace".to_owned()),
            _ => {}
        }
    }
    let keys = values("listMapKey");
    match values("listType").first() {
        Some(&"map") => words.push(format!("keys={}", keys.join(","))),
        Some(&"set") => words.push("set".to_owned()),
        Some(&"atomic") => words.push("atomic".to_owned()),
        _ => {}
    }
    if values("mapType").contains(&"atomic") || values("structType").contains(&"atomic") {
        words.push("atomic".to_owned());
    }
    if values("structType").contains(&"granular") {
        words.push("granular".to_owned());
    }
    words
}

fn camel(name: &str) -> String {
    let mut out = String::new();
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if upper {
            out.push(c.to_ascii_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    out
}

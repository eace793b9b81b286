//! Reads the types of k8s-openapi: fields, JSON names, what is required, groups and kinds.
//!
//! Each source file holds one type. Its head (the struct and what it implements by constants) is parsed; its JSON names
//! stand in the arms of the generated deserializer, `"envFrom" => Field::Key_env_from`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use syn::{Expr, Fields, GenericArgument, ImplItem, Item, ItemImpl, Lit, PathArguments};

use crate::model::{Field, Shape, Type, Types, Written};

/// The types below `source`, the directory of one Kubernetes version.
pub(crate) fn read(source: &Path) -> Result<Types> {
    let mut files = Vec::new();
    walk(source, &mut files)?;
    let mut definitions = BTreeMap::new();
    for file in &files {
        if let Some((path, definition)) = definition(source, file) {
            definitions.insert(path, definition);
        }
    }
    let mut types = Types::new();
    for file in &files {
        if definition(source, file).is_none() {
            continue;
        }
        let parsed = read_type(&file.text, &definitions)
            .with_context(|| format!("cannot read {}", file.path))?;
        if let Some((name, parsed)) = parsed {
            types.insert(name, parsed);
        }
    }
    Ok(types)
}

struct Source {
    path: String,
    text: String,
}

fn walk(directory: &Path, files: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path)?;
            let path = path.display().to_string();
            files.push(Source { path, text });
        }
    }
    Ok(())
}

/// The Rust path of the type in a file (`api::core::v1::EnvVar`) and the name of its definition.
fn definition(root: &Path, file: &Source) -> Option<(String, String)> {
    let first = file.text.lines().next()?;
    let name = first.strip_prefix("// Generated from definition io.k8s.")?;
    let directory = Path::new(&file.path).parent()?.strip_prefix(root).ok()?;
    let modules: Vec<_> = directory.iter().filter_map(|part| part.to_str()).collect();
    let short = name.rsplit('.').next()?;
    Some((format!("{}::{short}", modules.join("::")), name.to_owned()))
}

pub(crate) fn read_type(
    text: &str,
    definitions: &BTreeMap<String, String>,
) -> Result<Option<(String, Type)>> {
    let name = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("// Generated from definition io.k8s."))
        .context("no definition is named")?;
    let end = text.find("\nimpl<'de").unwrap_or(text.len());
    let head = syn::parse_file(&text[..end])?;
    let names = json_names(text);
    let mut found = Type::default();
    let mut is_struct = false;
    for item in &head.items {
        match item {
            Item::Struct(item) => {
                let fields = match &item.fields {
                    Fields::Named(fields) => fields,
                    // Any JSON: a type with a form of its own, or a struct of Go's that has no fields.
                    _ if leaf(&item.ident.to_string()).is_some() => continue,
                    _ => {
                        is_struct = true;
                        continue;
                    }
                };
                if !item.generics.params.is_empty() {
                    return Ok(None);
                }
                is_struct = true;
                for field in &fields.named {
                    let ident = field.ident.as_ref().context("a field has no name")?;
                    let ident = ident.to_string();
                    let ident = ident.strip_prefix("r#").unwrap_or(&ident);
                    let json = names
                        .get(ident)
                        .with_context(|| format!("{ident} has no JSON name"))?;
                    let (optional, shape) = shape(&field.ty, definitions)
                        .with_context(|| format!("cannot read the type of {ident}"))?;
                    let field = Field::usual(shape, !optional);
                    found.fields.insert((*json).to_owned(), field);
                }
            }
            Item::Impl(item) => {
                if let Some(served_as) = served_as(item) {
                    found.served_as = Some(served_as);
                }
            }
            _ => {}
        }
    }
    if !is_struct {
        return Ok(None);
    }
    if found.served_as.is_some() {
        for word in ["apiVersion", "kind"] {
            let field = Field::usual(Shape::Leaf("string"), false);
            found.fields.entry(word.to_owned()).or_insert(field);
        }
        for part in ["spec", "status"] {
            if let Some(field) = found.fields.get_mut(part)
                && field.shape.is_object()
            {
                field.pointer = false;
            }
        }
    }
    Ok(Some((name.to_owned(), found)))
}

impl Field {
    /// How Go declares most fields: values where the schema requires them; else pointers to structs, numbers and
    /// booleans, and `omitempty` strings, lists and maps. The declarations say where it is otherwise.
    pub(crate) fn usual(shape: Shape, required: bool) -> Self {
        let by_value = match &shape {
            Shape::Leaf("string" | "bytes") | Shape::List(_) | Shape::Map(..) => true,
            shape => shape.is_metadata(),
        };
        // k8s-openapi's own rule makes every metadata required; the schema does not.
        let required = required && !shape.is_metadata();
        Self {
            pointer: !required && !by_value,
            shape,
            required,
            written: if required {
                Written::Always
            } else {
                Written::NotEmpty
            },
            number: Vec::new(),
            place: Vec::new(),
            inlined_in: Vec::new(),
            merge: Vec::new(),
        }
    }
}

/// JSON names by Rust names.
fn json_names(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| {
            let (json, field) = line.trim().split_once(" => Field::Key_")?;
            let json = json.strip_prefix('"')?.strip_suffix('"')?;
            Some((field.strip_suffix(',')?, json))
        })
        .collect()
}

fn served_as(item: &ItemImpl) -> Option<String> {
    let (path, _) = item.trait_.as_ref()?;
    if path.segments.last()?.ident != "Resource" {
        return None;
    }
    item.items.iter().find_map(|item| match item {
        ImplItem::Const(constant) if constant.ident == "API_VERSION" => text_of(&constant.expr),
        _ => None,
    })
}

fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type is optional, and what it holds.
fn shape(ty: &syn::Type, definitions: &BTreeMap<String, String>) -> Result<(bool, Shape)> {
    let syn::Type::Path(path) = ty else {
        bail!("only paths are expected");
    };
    let words: Vec<String> = path
        .path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    let arguments: Vec<&syn::Type> = match &path.path.segments.last().map(|last| &last.arguments) {
        Some(PathArguments::AngleBracketed(arguments)) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let inner = |at: usize| -> Result<Shape> {
        let ty = arguments.get(at).context("an argument is missing")?;
        Ok(shape(ty, definitions)?.1)
    };
    let last = words.last().map_or("", String::as_str);
    let found = match last {
        "Option" => return Ok((true, inner(0)?)),
        "Box" => inner(0)?,
        "Vec" => Shape::List(Box::new(inner(0)?)),
        "BTreeMap" => Shape::Map(String::new(), Box::new(inner(1)?)),
        _ => {
            if let Some(leaf) = leaf(last) {
                return Ok((false, Shape::Leaf(leaf)));
            }
            let path = words.strip_prefix(&["crate".to_owned()]).unwrap_or(&words);
            let path = path.join("::");
            let name = definitions
                .get(&path)
                .with_context(|| format!("{path} is not known"))?;
            Shape::Object(name.clone())
        }
    };
    Ok((false, found))
}

/// The table's word for a type that is no object, or has a form of its own.
fn leaf(rust: &str) -> Option<&'static str> {
    Some(match rust {
        "String" => "string",
        "bool" => "bool",
        "i32" => "int32",
        "i64" => "int64",
        "f64" => "float64",
        "ByteString" => "bytes",
        "Time" => "time",
        "MicroTime" => "microtime",
        "Quantity" => "quantity",
        "IntOrString" => "intorstring",
        "RawExtension" => "raw",
        "FieldsV1" => "fields",
        "JSON" => "json",
        "JSONSchemaPropsOrArray" => "schemaorlist",
        "JSONSchemaPropsOrBool" => "schemaorbool",
        "JSONSchemaPropsOrStringArray" => "schemaornames",
        _ => return None,
    })
}

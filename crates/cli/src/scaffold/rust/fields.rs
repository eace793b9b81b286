//! What a kind is made of: read from its Rust file, for a version after it and for the conversion between them.

use syn::{
    Attribute, Expr, ExprLit, Fields, Item, ItemStruct, ItemUse, Lit, Meta, MetaNameValue, Token,
    Type, UseTree,
};

use super::{Source, range};

/// A field of a spec or a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Its type, if that means the same in every file.
    pub(crate) plain: Option<String>,
}

/// What a kind is made of besides its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) spec: Vec<Field>,
    pub(crate) status: Option<Status>,
}

/// The type of a status, and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// The parts of a kind, of which the types are in its file.
pub(crate) fn parts(text: &str, kind: &str) -> Result<Parts, String> {
    let source = Source::read(text)?;
    let (spec, attribute) = spec(&source, kind)?;
    let values = values(attribute)?;
    let status = values.iter().find(|value| value.path.is_ident("status"));
    let status = status.map(|status| {
        let name = string(&status.value).unwrap_or_default();
        let known = structs(&source).find(|item| item.ident == name);
        let item = known.ok_or_else(|| format!("it has no struct `{name}`"))?;
        let fields = fields(&source, item)?;
        Ok::<_, String>(Status { name, fields })
    });
    Ok(Parts {
        spec: fields(&source, spec)?,
        status: status.transpose()?,
    })
}

fn fields(source: &Source<'_>, item: &ItemStruct) -> Result<Vec<Field>, String> {
    let Fields::Named(fields) = &item.fields else {
        return Err(format!("the fields of `{}` have no names", item.ident));
    };
    let shared = shared(source);
    let mut fields: Vec<Field> = fields
        .named
        .iter()
        .map(|field| Field {
            name: field
                .ident
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            plain: is_plain(&field.ty, &shared)
                .then(|| quote::ToTokens::to_token_stream(&field.ty).to_string()),
        })
        .collect();
    fields.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(fields)
}

/// The types of Kubernetes that a file imports by their own names: they are the same in every file that does.
fn shared(source: &Source<'_>) -> Vec<String> {
    fn names(tree: &UseTree, found: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => names(&path.tree, found),
            UseTree::Name(name) => found.push(name.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
            UseTree::Rename(_) | UseTree::Glob(_) => {}
        }
    }
    let mut found = Vec::new();
    for item in &source.file.items {
        if let Item::Use(ItemUse {
            tree: UseTree::Path(path),
            ..
        }) = item
            && path.ident == "k8s_openapi"
        {
            names(&path.tree, &mut found);
        }
    }
    found
}

fn structs<'a>(source: &'a Source<'_>) -> impl Iterator<Item = &'a ItemStruct> {
    source.file.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    })
}

/// The file of a kind for another version of it: the same, but for the version.
pub(crate) fn with_version(text: &str, kind: &str, version: &str) -> Result<String, String> {
    let source = Source::read(text)?;
    let (_, attribute) = spec(&source, kind)?;
    let said = values(attribute)?
        .into_iter()
        .find(|value| value.path.is_ident("version"))
        .ok_or_else(|| format!("the attribute `kube` of {kind} says no version"))?;
    Ok(source.replace(range(&said.value), &format!("\"{version}\"")))
}

/// The struct that a kind is derived from, and the attribute that says so.
fn spec<'a>(source: &'a Source<'_>, kind: &str) -> Result<(&'a ItemStruct, &'a Attribute), String> {
    for item in structs(source) {
        for attribute in item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("kube"))
        {
            let is_it = |value: &MetaNameValue| {
                value.path.is_ident("kind") && string(&value.value).as_deref() == Some(kind)
            };
            if values(attribute)?.iter().any(is_it) {
                return Ok((item, attribute));
            }
        }
    }
    Err(format!("the file derives no kind {kind}"))
}

/// What an attribute says as `name = value`.
fn values(attribute: &Attribute) -> Result<Vec<MetaNameValue>, String> {
    let parser = syn::punctuated::Punctuated::<Meta, Token![,]>::parse_terminated;
    let metas = attribute.parse_args_with(parser);
    let metas = metas.map_err(|error| format!("an attribute cannot be read: {error}"))?;
    let values = metas.into_iter().filter_map(|meta| match meta {
        Meta::NameValue(value) => Some(value),
        _ => None,
    });
    Ok(values.collect())
}

fn string(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// Whether a type is made of what every file knows, or of types that are shared.
fn is_plain(tested: &Type, shared: &[String]) -> bool {
    let Type::Path(path) = tested else {
        return false;
    };
    let Some(last) = path
        .path
        .segments
        .last()
        .filter(|_| path.path.segments.len() == 1)
    else {
        return false;
    };
    let name = last.ident.to_string();
    match &last.arguments {
        syn::PathArguments::None => PLAIN.contains(&name.as_str()) || shared.contains(&name),
        syn::PathArguments::AngleBracketed(arguments) if CONTAINERS.contains(&name.as_str()) => {
            arguments.args.iter().all(|argument| match argument {
                syn::GenericArgument::Type(inner) => is_plain(inner, shared),
                _ => false,
            })
        }
        _ => false,
    }
}

const PLAIN: [&str; 12] = [
    "String", "bool", "char", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize",
];

const CONTAINERS: [&str; 5] = ["Option", "Vec", "Box", "BTreeMap", "HashMap"];

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
#[derive(CustomResource)]
#[kube(group = "foo.bar", version = "v1", kind = "Box", namespaced)]
pub struct BoxSpec {
    pub size: Option<Vec<u32>>,
    pub lid: Lid,
}
"#;

    fn field(name: &str, plain: Option<&str>) -> Field {
        Field {
            name: name.to_owned(),
            plain: plain.map(str::to_owned),
        }
    }

    #[test]
    fn fields_are_read_and_types_of_the_file_are_told_apart() {
        let found = parts(FILE, "Box").unwrap();
        assert_eq!(
            found.spec,
            [
                field("lid", None),
                field("size", Some("Option < Vec < u32 > >"))
            ]
        );
        assert_eq!(found.status, None);
        assert_eq!(
            parts(FILE, "Bag").unwrap_err(),
            "the file derives no kind Bag"
        );
    }

    #[test]
    fn a_status_is_read_with_the_types_that_kubernetes_has_for_it() {
        let with_status = FILE.replace("namespaced", "status = \"BoxStatus\"");
        assert_eq!(
            parts(&with_status, "Box").unwrap_err(),
            "it has no struct `BoxStatus`"
        );
        let whole = format!(
            "use k8s_openapi::apimachinery::v1::{{Condition, Time as Moment}};\n{with_status}\n\
             pub struct BoxStatus {{ pub at: Moment, pub conditions: Vec<Condition> }}"
        );
        let status = parts(&whole, "Box").unwrap().status.unwrap();
        assert_eq!(status.name, "BoxStatus");
        assert_eq!(
            status.fields,
            [
                field("at", None),
                field("conditions", Some("Vec < Condition >"))
            ]
        );
        let own = whole.replace("k8s_openapi", "mine");
        let status = parts(&own, "Box").unwrap().status.unwrap();
        assert_eq!(status.fields[1], field("conditions", None));
    }

    #[test]
    fn another_version_is_the_same_but_for_the_version() {
        let new = with_version(FILE, "Box", "v2").unwrap();
        assert_eq!(new, FILE.replace("\"v1\"", "\"v2\""));
    }
}

//! What a kind is made of: read from its Rust file, for a version after it and for the conversion between them.

use syn::{
    Attribute, Expr, ExprLit, Fields, Item, ItemStruct, Lit, Meta, MetaNameValue, Token, Type,
};

use super::{Source, range};

/// A field of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// Its type, if that means the same in every file.
    pub(crate) plain: Option<String>,
}

/// The fields of the spec of a kind.
pub(crate) fn fields(text: &str, kind: &str) -> Result<Vec<Field>, String> {
    let source = Source::read(text)?;
    let (spec, attribute) = spec(&source, kind)?;
    if values(attribute)?
        .iter()
        .any(|value| value.path.is_ident("status"))
    {
        return Err(format!("{kind} has a status"));
    }
    let Fields::Named(fields) = &spec.fields else {
        return Err(format!("the fields of `{}` have no names", spec.ident));
    };
    let fields = fields.named.iter().map(|field| Field {
        name: field
            .ident
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        plain: is_plain(&field.ty).then(|| quote::ToTokens::to_token_stream(&field.ty).to_string()),
    });
    Ok(fields.collect())
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
    let structs = source.file.items.iter().filter_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    });
    for item in structs {
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

/// Whether a type is made of what every file knows.
fn is_plain(tested: &Type) -> bool {
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
        syn::PathArguments::None => PLAIN.contains(&name.as_str()),
        syn::PathArguments::AngleBracketed(arguments) if CONTAINERS.contains(&name.as_str()) => {
            arguments.args.iter().all(|argument| match argument {
                syn::GenericArgument::Type(inner) => is_plain(inner),
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

    #[test]
    fn fields_are_read_and_types_of_the_file_are_told_apart() {
        let plain = Some("Option < Vec < u32 > >".to_owned());
        assert_eq!(
            fields(FILE, "Box").unwrap(),
            [
                Field {
                    name: "size".to_owned(),
                    plain
                },
                Field {
                    name: "lid".to_owned(),
                    plain: None
                }
            ]
        );
        assert_eq!(
            fields(FILE, "Bag").unwrap_err(),
            "the file derives no kind Bag"
        );
        let with_status = FILE.replace("namespaced", "status = \"BoxStatus\"");
        assert_eq!(fields(&with_status, "Box").unwrap_err(), "Box has a status");
    }

    #[test]
    fn another_version_is_the_same_but_for_the_version() {
        let new = with_version(FILE, "Box", "v2").unwrap();
        assert_eq!(new, FILE.replace("\"v1\"", "\"v2\""));
    }
}

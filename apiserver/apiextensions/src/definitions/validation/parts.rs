//! Deprecation, sub-resources, columns and selectable fields of a version.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::Errors;
use kubewright_validation::semantic::same;
use serde_json::Value;

use crate::structural::{self, paths};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const MOST_SELECTABLE: usize = 8;

pub(super) fn deprecation(version: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LONGEST: usize = 256;
    if !version.has("deprecationWarning") {
        return;
    }
    let (warning, at) = (
        version.text("deprecationWarning"),
        path.child("deprecationWarning"),
    );
    let mut refuse = |detail: &str| errors.push(FieldError::invalid(&at, warning, detail));
    if !version.flag("deprecated") {
        refuse("can only be set for deprecated versions");
        return;
    }
    if warning.len() > LONGEST {
        refuse("must be <= 256 characters long");
    }
    if warning.is_empty() {
        refuse("must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| !is_printable(*c)) {
        refuse(&format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// As Go sees it: of the blanks only the plain one.
fn is_printable(letter: char) -> bool {
    letter == ' ' || !(letter.is_control() || letter.is_whitespace())
}

pub(super) fn subresources(parts: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !parts.has("scale") {
        return;
    }
    let scale = parts.at("scale");
    let paths: [(&str, &[&str], &str); 2] = [
        (
            "specReplicasPath",
            &[".spec."],
            "should be a json path under .spec",
        ),
        (
            "statusReplicasPath",
            &[".status."],
            "should be a json path under .status",
        ),
    ];
    for (field, roots, detail) in paths {
        let (text, name) = (scale.text(field), format!("scale.{field}"));
        let at = path.child(&name);
        if text.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            below(text, roots, detail, &at, errors);
        }
    }
    let selector = scale.text("labelSelectorPath");
    if !selector.is_empty() {
        let detail = "should be a json path under either .spec or .status";
        let at = path.child("scale.labelSelectorPath");
        below(selector, &[".spec.", ".status."], detail, &at, errors);
    }
}

fn below(text: &str, roots: &[&str], detail: &str, path: &Path<'_>, errors: &mut Errors) {
    if !text.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(path, text, detail));
    } else if !roots.iter().any(|root| text.starts_with(root)) {
        errors.push(FieldError::invalid(path, text, detail));
    }
}

pub(super) fn columns(columns: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, column) in columns.iter().enumerate() {
        let path = path.index(index);
        if column.text("name").is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        let kind = column.text("type");
        let detail = format!("must be one of {}", TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::required(&path.child("type"), &detail));
        } else if !TYPES.contains(&kind) {
            errors.push(FieldError::invalid(&path.child("type"), kind, &detail));
        }
        let format = column.text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let detail = format!("must be one of {}", FORMATS.join(","));
            errors.push(FieldError::invalid(&path.child("format"), format, &detail));
        }
        // The real server has Go's name of the field here.
        let (text, path) = (column.text("jsonPath"), path.child("JSONPath"));
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if !text.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(&path, text, detail));
        }
    }
}

pub(super) fn selectable(fields: &[Value], schema: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut known: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let path = path.index(index);
        let (text, path) = (field.text("jsonPath"), path.child("jsonPath"));
        if text.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let mut refuse = |detail: &str| errors.push(FieldError::invalid(&path, text, detail));
        let found = match paths::read(text, schema) {
            Ok(found) => found,
            Err(why) => {
                refuse(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if found.text.split(['.', '[']).next() == Some("metadata") {
            refuse("must not point to fields in metadata");
        }
        let scalar = matches!(found.schema.text("type"), "string" | "boolean" | "integer");
        if !scalar {
            refuse(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
                 allowed.",
            );
        }
        if known.contains(&found.text) {
            errors.push(FieldError::duplicate(&path, text));
        } else {
            known.push(found.text);
        }
    }
    if known.len() > MOST_SELECTABLE {
        errors.push(FieldError::too_many(path, known.len(), MOST_SELECTABLE));
    }
}

/// The versions as an error shows them: in the internal form, without what all share.
pub(super) fn shown_versions(versions: &[Value]) -> String {
    let shared = |field| in_common(versions, field);
    let own = |version: &Value, field: &'static str| {
        if shared(field) {
            Value::Null
        } else {
            version.at(field).clone()
        }
    };
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            let schema = match own(version, "schema") {
                Value::Null => "null".to_owned(),
                schema => {
                    let schema = structural::shown(schema.at("openAPIV3Schema"));
                    format!("{{\"OpenAPIV3Schema\":{schema}}}")
                }
            };
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{schema},\
                 \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
                quoted(version.text("name")),
                version.flag("served"),
                version.flag("storage"),
                version.flag("deprecated"),
                version.at("deprecationWarning"),
                shown_subresources(&own(version, "subresources")),
                own(version, "additionalPrinterColumns"),
                own(version, "selectableFields"),
            )
        })
        .collect();
    format!("[{}]", shown.join(","))
}

fn shown_subresources(subresources: &Value) -> String {
    if subresources.is_null() {
        return "null".to_owned();
    }
    let status = if subresources.has("status") {
        "{}"
    } else {
        "null"
    };
    let scale = match subresources.at("scale") {
        Value::Null => "null".to_owned(),
        scale => format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            quoted(scale.text("specReplicasPath")),
            quoted(scale.text("statusReplicasPath")),
            scale.at("labelSelectorPath"),
        ),
    };
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}

/// Whether all versions say the same here.
pub(super) fn in_common(versions: &[Value], field: &str) -> bool {
    let Some((first, others)) = versions.split_first() else {
        return false;
    };
    // An empty list is none, but an empty struct is one.
    let is_struct = matches!(field, "schema" | "subresources");
    others.iter().all(|other| {
        same(other.at(field), first.at(field))
            && (!is_struct || other.has(field) == first.has(field))
    })
}

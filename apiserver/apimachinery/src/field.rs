//! Field paths and field errors, worded as the API server words them.

use std::collections::HashSet;
use std::fmt;

use serde_json::Value;

use crate::go_text::{format_double, html_escaped, quoted};
use crate::json::write as write_json;

/// The path of a field, in the form of field errors: `spec.containers[0].name`, `metadata.annotations[key]`.
///
/// A path is a chain of borrowed steps, built on the way down and formatted only for an error: validating a valid object
/// allocates nothing. A path in a variable needs its parents in variables too; [`Path::new`] takes several fields at once
/// (`spec.template.spec`).
///
/// ```
/// use kubewright_apimachinery::field::Path;
///
/// let containers = Path::new("spec.containers");
/// let first = containers.index(0);
/// assert_eq!(first.child("image").to_string(), "spec.containers[0].image");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Path<'a> {
    parent: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Step<'a> {
    #[default]
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// A path that starts at the named field; `name` may be several fields with dots between them.
    #[inline]
    pub const fn new(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Field(name),
        }
    }

    /// The path of the object itself.
    #[inline]
    pub const fn root() -> Self {
        Self {
            parent: None,
            step: Step::Root,
        }
    }

    /// The field `name` below this one; `name` may be several fields with dots between them.
    #[inline]
    pub const fn child(&'a self, name: &'a str) -> Self {
        self.step(Step::Field(name))
    }

    /// The element at `index` of this list.
    #[inline]
    pub const fn index(&'a self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    /// The value at `key` of this map.
    #[inline]
    pub const fn key(&'a self, key: &'a str) -> Self {
        self.step(Step::Key(key))
    }

    #[inline]
    const fn step(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
        }
    }

    /// Returns whether this is the path of the object itself.
    #[inline]
    pub fn is_root(&self) -> bool {
        matches!(self.step, Step::Root) && self.parent.is_none_or(Path::is_root)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.write(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if self.parent.is_none_or(Path::is_root) => f.write_str(name),
            Step::Field(name) => {
                f.write_str(".")?;
                f.write_str(name)
            }
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("<nil>");
        }
        self.write(f)
    }
}

/// What is wrong with one field.
///
/// ```
/// use kubewright_apimachinery::field::{FieldError, Path};
///
/// let error = FieldError::not_supported(&Path::new("spec.type"), "Loud", &["Quiet", "Silent"]);
/// assert_eq!(
///     error.to_string(),
///     r#"spec.type: Unsupported value: "Loud": supported values: "Quiet", "Silent""#
/// );
/// assert_eq!(error.reason().as_str(), "FieldValueNotSupported");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    field: String,
    reason: Reason,
    body: String,
    declared: Declared,
}

/// Whether declarative validation finds an error, and what handwritten validation says in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Declared {
    /// Handwritten validation alone finds it.
    No,
    /// Both say the same.
    Alike,
    /// Handwritten validation says this, or nothing at this place.
    Otherwise(Option<Box<FieldError>>),
    /// Handwritten validation alone says this, where declarative validation says it at another place.
    Covered,
}

/// The machine-readable kind of a field error: `causes[].reason` of a Status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The field refers to something that does not exist.
    NotFound,
    /// The field must be set.
    Required,
    /// The value stands elsewhere already and must be unique.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of a fixed set.
    NotSupported,
    /// The field may not be set, or not be changed.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The value has the wrong type.
    TypeInvalid,
    /// The server could not check the value.
    Internal,
}

impl Reason {
    /// The word in `causes[].reason`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }
}

impl FieldError {
    /// Says that Kubernetes finds this error by declarative validation, whose errors stand behind all others.
    #[must_use]
    pub fn declarative(mut self) -> Self {
        if self.declared != Declared::No {
            return self;
        }
        // Of names that are too long declarative validation counts the bytes.
        let counted = self.body.strip_suffix(" characters");
        let Some(counted) = counted.filter(|body| body.contains("must be no more than ")) else {
            self.declared = Declared::Alike;
            return self;
        };
        let body = format!("{counted} bytes");
        let handwritten = self.clone();
        Self { body, ..self }.declarative_for(handwritten)
    }

    /// The same for an error that a version without declarative validation of this field words otherwise, or does not
    /// find.
    #[must_use]
    pub fn declarative_for(mut self, handwritten: impl Into<Option<Self>>) -> Self {
        self.declared = Declared::Otherwise(handwritten.into().map(Box::new));
        self
    }

    /// Says that declarative validation covers this error, so that handwritten validation says it in older versions alone.
    #[must_use]
    pub fn covered(mut self) -> Self {
        self.declared = Declared::Covered;
        self
    }

    /// Whether Kubernetes finds this error by declarative validation.
    pub fn is_declarative(&self) -> bool {
        matches!(self.declared, Declared::Alike | Declared::Otherwise(_))
    }

    /// What a version says that validates nothing declaratively.
    pub fn handwritten(mut self) -> Option<Self> {
        match std::mem::replace(&mut self.declared, Declared::No) {
            Declared::Otherwise(handwritten) => handwritten.map(|error| *error),
            Declared::No | Declared::Alike | Declared::Covered => Some(self),
        }
    }

    /// Puts the errors of an object into the order in which Kubernetes reports them: each once, those of declarative validation
    /// last, and none that it covers.
    pub fn settle(errors: &mut Vec<Self>) {
        errors.retain(|error| error.declared != Declared::Covered);
        if errors.len() > 1 {
            errors.sort_by_key(Self::is_declarative);
            let mut seen = HashSet::new();
            errors.retain(|error| seen.insert(error.to_string()));
        }
    }

    /// `Not found: <value>`.
    pub fn not_found(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::new(
            path,
            Reason::NotFound,
            format!("Not found: {}", rendered(&value.into())),
        )
    }

    /// `Required value`, with what would be accepted where there is something to say.
    pub fn required(path: &Path<'_>, detail: &str) -> Self {
        Self::new(
            path,
            Reason::Required,
            with_detail("Required value", detail),
        )
    }

    /// `Duplicate value: <value>`.
    pub fn duplicate(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::duplicate_shown(path, &rendered(&value.into()))
    }

    /// The same for a value that is written already, as the kind's Go type shows it.
    pub fn duplicate_shown(path: &Path<'_>, shown: &str) -> Self {
        Self::new(path, Reason::Duplicate, format!("Duplicate value: {shown}"))
    }

    /// `Duplicate value`, without the value.
    pub fn duplicate_omitted(path: &Path<'_>) -> Self {
        Self::new(path, Reason::Duplicate, "Duplicate value".to_owned())
    }

    /// `Invalid value: <value>: <detail>`.
    pub fn invalid(path: &Path<'_>, value: impl Into<Value>, detail: &str) -> Self {
        Self::invalid_shown(path, &rendered(&value.into()), detail)
    }

    /// The same for a value that is written already, as the kind's Go type shows it.
    pub fn invalid_shown(path: &Path<'_>, shown: &str, detail: &str) -> Self {
        let body = format!("Invalid value: {shown}");
        Self::new(path, Reason::Invalid, with_detail(&body, detail))
    }

    /// `Invalid value: <detail>`, without the value.
    pub fn invalid_omitted(path: &Path<'_>, detail: &str) -> Self {
        Self::new(path, Reason::Invalid, with_detail("Invalid value", detail))
    }

    /// `Invalid value: <value>: <detail>`, for a value of the wrong type.
    pub fn type_invalid(path: &Path<'_>, value: impl Into<Value>, detail: &str) -> Self {
        Self {
            reason: Reason::TypeInvalid,
            ..Self::invalid(path, value, detail)
        }
    }

    /// `Unsupported value: <value>: supported values: "a", "b"`, in the order given.
    pub fn not_supported(path: &Path<'_>, value: impl Into<Value>, supported: &[&str]) -> Self {
        Self::not_supported_shown(path, &rendered(&value.into()), supported)
    }

    /// The same for a value that is written already, as the kind's Go type shows it.
    pub fn not_supported_shown(path: &Path<'_>, shown: &str, supported: &[&str]) -> Self {
        let mut body = format!("Unsupported value: {shown}");
        if !supported.is_empty() {
            let quoted: Vec<String> = supported.iter().map(|word| quoted(word)).collect();
            body.push_str(": supported values: ");
            body.push_str(&quoted.join(", "));
        }
        Self::new(path, Reason::NotSupported, body)
    }

    /// `Forbidden: <detail>`.
    pub fn forbidden(path: &Path<'_>, detail: &str) -> Self {
        Self::new(path, Reason::Forbidden, with_detail("Forbidden", detail))
    }

    /// `Too long: may not be more than <limit> bytes`.
    pub fn too_long(path: &Path<'_>, limit: usize) -> Self {
        let bytes = if limit == 1 { "byte" } else { "bytes" };
        let body = format!("Too long: may not be more than {limit} {bytes}");
        Self::new(path, Reason::TooLong, body)
    }

    /// `Too long: may not be more than <limit> characters`.
    pub fn too_long_in_characters(path: &Path<'_>, limit: usize) -> Self {
        let body = format!("Too long: may not be more than {limit} characters");
        Self::new(path, Reason::TooLong, body)
    }

    /// `Too long: value is too long`, where the limit is below zero.
    pub fn too_long_for_any(path: &Path<'_>) -> Self {
        let body = "Too long: value is too long".to_owned();
        Self::new(path, Reason::TooLong, body)
    }

    /// `Too many: <actual>: has too many items`, where the limit is below zero.
    pub fn too_many_for_any(path: &Path<'_>, actual: usize) -> Self {
        let body = format!("Too many: {actual}: has too many items");
        Self::new(path, Reason::TooMany, body)
    }

    /// `Too many: <actual>: must have at most <limit> items`.
    pub fn too_many(path: &Path<'_>, actual: usize, limit: usize) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        let body = format!("Too many: {actual}: must have at most {limit} {items}");
        Self::new(path, Reason::TooMany, body)
    }

    /// `Internal error: <detail>`.
    pub fn internal(path: &Path<'_>, detail: &str) -> Self {
        Self::new(path, Reason::Internal, format!("Internal error: {detail}"))
    }

    /// Says more behind the text that the kind of error has of itself.
    #[must_use]
    pub fn with_detail(mut self, detail: &str) -> Self {
        self.body = with_detail(&self.body, detail);
        self
    }

    /// The field's path, as printed.
    #[inline]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// The machine-readable kind.
    #[inline]
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The message after the path.
    #[inline]
    pub fn body(&self) -> &str {
        &self.body
    }

    fn new(path: &Path<'_>, reason: Reason, body: String) -> Self {
        Self {
            field: path.to_string(),
            reason,
            body,
            declared: Declared::No,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

/// Formats a value for an error message: strings quoted, other values as JSON (since Kubernetes 1.34).
fn rendered(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        // Go reads a number beyond the signed 64-bit range as a float.
        Value::Number(number) if !number.is_i64() => {
            format_double(number.as_f64().unwrap_or(f64::NAN))
        }
        other => {
            let mut written = Vec::new();
            write_json(&mut written, other);
            html_escaped(String::from_utf8(written).unwrap_or_default())
        }
    }
}

fn with_detail(body: &str, detail: &str) -> String {
    if detail.is_empty() {
        body.to_owned()
    } else {
        format!("{body}: {detail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_declarative_validation_covers_is_said_by_handwritten_validation_alone() {
        let path = Path::new("spec.type");
        let said = |errors: Vec<FieldError>| {
            let bodies = errors.iter().map(FieldError::body);
            bodies.map(str::to_owned).collect::<Vec<_>>()
        };
        let errors = vec![
            FieldError::required(&path, "").declarative_for(FieldError::required(&path, "why")),
            FieldError::forbidden(&path, "elsewhere").declarative_for(None),
            FieldError::duplicate(&path, "a"),
            FieldError::forbidden(&path, "here").covered(),
        ];
        let mut newest = errors.clone();
        FieldError::settle(&mut newest);
        assert_eq!(
            said(newest),
            [
                "Duplicate value: \"a\"",
                "Required value",
                "Forbidden: elsewhere"
            ]
        );
        let mut alone = vec![FieldError::forbidden(&path, "here").covered()];
        FieldError::settle(&mut alone);
        assert!(alone.is_empty(), "{alone:?}");
        let mut older: Vec<_> = errors
            .into_iter()
            .filter_map(FieldError::handwritten)
            .collect();
        FieldError::settle(&mut older);
        assert_eq!(
            said(older),
            [
                "Required value: why",
                "Duplicate value: \"a\"",
                "Forbidden: here"
            ]
        );
    }

    #[test]
    fn declarative_validation_counts_the_bytes_of_a_name() {
        let error =
            |detail: &str| FieldError::invalid(&Path::new("name"), "a", detail).declarative();
        let long = error("must be no more than 63 characters");
        assert_eq!(
            long.body(),
            "Invalid value: \"a\": must be no more than 63 bytes"
        );
        let handwritten = long.handwritten().expect("both find it");
        assert_eq!(
            handwritten.body(),
            "Invalid value: \"a\": must be no more than 63 characters"
        );
        let other = error("must be other characters");
        assert_eq!(
            other.body(),
            "Invalid value: \"a\": must be other characters"
        );
    }

    #[test]
    fn a_path_is_written_as_the_api_server_writes_it() {
        let root = Path::root();
        let spec = root.child("spec.template");
        let containers = spec.child("containers");
        let first = containers.index(0);
        assert_eq!(root.to_string(), "<nil>");
        assert_eq!(
            first.child("name").to_string(),
            "spec.template.containers[0].name"
        );
        assert_eq!(
            Path::new("metadata").child("labels").key("a/b").to_string(),
            "metadata.labels[a/b]"
        );
    }
}

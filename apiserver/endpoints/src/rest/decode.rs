//! From a request body to an object of the endpoint's kind, in the decoder's words where it is none.

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::conform::{self, Conformed, conform};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::{self, Parsed, order};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::unrecognized::{beginning, not_an_object, unreadable_kind};
use kubewright_apimachinery::yaml;
use serde_json::{Map, Value};

use super::call::Call;
use super::negotiate::Input;
use super::query::{FieldValidation, WriteOptions};

/// An object as Go has it in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Whether it has lists or maps that are empty.
    pub(crate) empties: bool,
    /// Whether server-side apply gave one of its managers the time of the request.
    pub(crate) timed: bool,
}

/// Decodes the body of a create or an update into the kind of the request's resource or sub-resource.
///
/// # Errors
/// 400 for what is no such object, 415 for a content type that is not read.
pub(crate) fn body(
    call: &Call,
    kind: &GroupVersionKind,
    options: &WriteOptions,
) -> Result<Decoded> {
    let parsed = match Input::of(&call.headers)? {
        Input::Json => parse_json(&call.body, &kind.kind)?,
        Input::Yaml => parse_yaml(&call.body, &kind.kind)?,
        Input::Protobuf => Parsed {
            value: protobuf(&call.body, kind)?,
            duplicates: Vec::new(),
        },
    };
    let Parsed {
        value: mut object,
        duplicates: mut problems,
    } = parsed;
    if let Some(custom) = of_its_own_kind(call, kind) {
        let mut unknown = Vec::new();
        let ignores = options.field_validation == FieldValidation::Ignore;
        let decoded = custom.decode(&mut object, &call.body, ignores, &mut unknown);
        problems.extend(said_of(&unknown));
        let told = told(call, kind, options, &problems, object);
        return decoded.and(told);
    }
    let older = older_eviction(kind, &object);
    let said = older.as_ref().unwrap_or(kind);
    if let Some(other) = another_version(said, &object) {
        // Unknown fields are reported before the wrong version is.
        let unknown = conform(&other, &mut object.clone());
        problems.extend(said_of(
            &unknown.map_err(|why| cannot_be(&other, &why))?.unknown,
        ));
        told(call, &other, options, &problems, Value::Null)?;
    }
    identify(&mut object, said, &call.body)?;
    if older.is_some() {
        set_kind(kind, &mut object);
    }
    let conformed = conform(kind, &mut object).map_err(|why| {
        let first = first_fault(call, kind);
        cannot_be(said, &as_written(call, first.unwrap_or(why)))
    });
    let Conformed { unknown, empties } = conformed?;
    if let Some(why) = conversion_fault(call, kind, &object) {
        return Err(cannot_be(said, &why));
    }
    problems.extend(said_of(&unknown));
    if problems.len() > 1 && options.field_validation != FieldValidation::Ignore {
        order::sort(&mut problems, &order::paths(&call.body));
    }
    let mut decoded = told(call, said, options, &problems, object)?;
    decoded.empties = empties;
    Ok(decoded)
}

/// The version of the same kind that an object says it is of, where that is not the one of the request.
fn another_version(kind: &GroupVersionKind, object: &Value) -> Option<GroupVersionKind> {
    if unreadable_kind(object).is_some() {
        return None;
    }
    let said = Said::of(object);
    let (group, version) = said.version.rsplit_once('/').unwrap_or(("", &said.version));
    let is_other = !said.version.is_empty() && said.version != group_version(kind);
    let other = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: or(&said.kind, &kind.kind).to_owned(),
    };
    let is_same_kind = other.kind == kind.kind && package(group) == package(&kind.group);
    (is_other && is_same_kind && is_registered(&other)).then_some(other)
}

/// The older version of an Eviction, which has the same fields, where a body says that it is one.
fn older_eviction(kind: &GroupVersionKind, object: &Value) -> Option<GroupVersionKind> {
    let is_eviction = kind.group == "policy" && kind.kind == "Eviction";
    (is_eviction && object["apiVersion"] == "policy/v1beta1").then(|| GroupVersionKind {
        version: "v1beta1".to_owned(),
        ..kind.clone()
    })
}

/// Of several faults of a JSON body, the one that comes first in it: a sorted map has lost their order.
fn first_fault(call: &Call, kind: &GroupVersionKind) -> Option<String> {
    if Input::of(&call.headers) != Ok(Input::Json) {
        return None;
    }
    let mut again = json::parse(&call.body).ok()?.value;
    set_kind(kind, &mut again);
    conform::first_fault(kind, &mut again, &order::paths(&call.body))
}

/// An error about a number repeats it as a JSON body writes it, and as Go writes the one of a YAML body.
fn as_written(call: &Call, why: String) -> String {
    let number = why
        .strip_prefix("json: cannot unmarshal number ")
        .and_then(|rest| rest.split_once(" into "));
    let Some((number, rest)) = number else {
        return why;
    };
    let written = match Input::of(&call.headers) {
        Ok(Input::Json) => json::number_as_written(&call.body, number).map(str::to_owned),
        Ok(Input::Yaml) => number.parse().ok().map(|number: f64| {
            let mut text = Vec::new();
            json::write(&mut text, &number.into());
            String::from_utf8_lossy(&text).into_owned()
        }),
        _ => None,
    };
    match written {
        Some(written) => format!("json: cannot unmarshal number {written} into {rest}"),
        None => why,
    }
}

/// The rules of the request's resource, if a definition made it and its own kind is meant: not a Scale.
pub(crate) fn of_its_own_kind<'c>(call: &'c Call, kind: &GroupVersionKind) -> Option<&'c Custom> {
    Custom::of(&call.resource).filter(|custom| kind.group == custom.definition.group)
}

/// Warns of what a decoder found on the side, or refuses it, as the client asks for.
fn told(
    call: &Call,
    kind: &GroupVersionKind,
    options: &WriteOptions,
    problems: &[String],
    object: Value,
) -> Result<Decoded> {
    match options.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => {
            for problem in problems {
                // What the YAML library says stands on two lines, and a header has one.
                let first_line = "yaml: unmarshal errors:\n  ";
                call.notes
                    .warn(problem.strip_prefix(first_line).unwrap_or(problem));
            }
        }
        FieldValidation::Strict if problems.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", problems.join(", "));
            return Err(cannot_be(kind, &why));
        }
    }
    Ok(Decoded {
        object,
        ..Decoded::default()
    })
}

fn cannot_be(kind: &GroupVersionKind, why: &str) -> Status {
    let (name, version) = (&kind.kind, quoted(&kind.version));
    Status::bad_request(format!(
        "{name} in version {version} cannot be handled as a {name}: {why}"
    ))
}

/// A sentence for each field that the kind does not have.
pub(crate) fn said_of(unknown: &[String]) -> impl Iterator<Item = String> {
    let sentence = |path: &String| format!("unknown field {}", quoted(path));
    unknown.iter().map(sentence)
}

/// Decodes what a patch made of an object: what the real server writes and reads again by its own kind.
///
/// # Errors
/// The decoder's words for what is no object of the kind.
pub(crate) fn patched(
    call: &Call,
    kind: &GroupVersionKind,
    object: &mut Value,
) -> std::result::Result<Conformed, String> {
    if let Some(why) = unreadable_kind(object) {
        return Err(not_known(&why));
    }
    let said = Said::of(object);
    if said.version.is_empty() {
        if !said.is(kind) {
            return Err(said.instead_of_internal(kind));
        }
        // Without a version the decoder fills its internal type, which knows no field by these names.
        let mut conformed = Conformed::default();
        if let Value::Object(members) = object {
            let known = |name: &&String| !matches!(name.as_str(), "kind" | "apiVersion");
            conformed.unknown = members.keys().filter(|name| known(name)).cloned().collect();
        }
        *object = Value::Object(Map::new());
        set_kind(kind, object);
        return Ok(conformed);
    }
    if said.version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {}", said.version));
    }
    if let Some(other) = another_version(kind, object) {
        return from_version(call, &other, kind, object);
    }
    if !said.is(kind) {
        return Err(match said.instead_of(kind, Some(object)) {
            Mismatch::Kind(why) => why,
            Mismatch::Version => no_conversion(&said.version, kind),
        });
    }
    set_kind(kind, object);
    let conformed = conform(kind, object)?;
    conversion_fault(call, kind, object).map_or(Ok(conformed), Err)
}

/// Why the server's own type of a kind cannot hold an object, however well it is formed.
pub(crate) fn conversion_fault(
    call: &Call,
    kind: &GroupVersionKind,
    object: &Value,
) -> Option<String> {
    let resource = &call.resource;
    let is_own = (&kind.group, &kind.kind) == (&resource.group, &resource.kind);
    resource
        .strategy
        .conversion_fault(object)
        .filter(|_| is_own)
}

/// Decodes a patched object as the version of its kind that the patch made it one of.
fn from_version(
    call: &Call,
    other: &GroupVersionKind,
    kind: &GroupVersionKind,
    object: &mut Value,
) -> std::result::Result<Conformed, String> {
    set_kind(other, object);
    let conformed = conform(other, object)?;
    if let Some(why) = conversion_fault(call, other, object) {
        return Err(why);
    }
    let none = || no_conversion(&group_version(other), kind);
    let registry = kubewright_apiextensions::builtin::with_all_versions();
    let resource = |kind| registry.by_kind(kind).ok_or_else(none);
    let (from, to) = (resource(other)?, resource(kind)?);
    from.default(object);
    kubewright_registry::convert(&from, &to, object).map_err(|_| none())?;
    set_kind(kind, object);
    Ok(conformed)
}

fn no_conversion(version: &str, kind: &GroupVersionKind) -> String {
    let own = group_version(kind);
    format!("this server cannot convert an object that a patch made one of {version} to {own}")
}

/// Fills in the kind and the version.
pub(crate) fn set_kind(kind: &GroupVersionKind, object: &mut Value) {
    if let Value::Object(members) = object {
        members.insert("apiVersion".to_owned(), group_version(kind).into());
        members.insert("kind".to_owned(), kind.kind.as_str().into());
    }
}

/// Checks kind and apiVersion of a decoded body, and fills them in where the body has none.
fn identify(object: &mut Value, kind: &GroupVersionKind, body: &[u8]) -> Result<()> {
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if !object.is_object() {
        return Err(unrecognized(&kind.kind, &not_an_object(object), body));
    }
    if let Some(why) = unreadable_kind(object) {
        return Err(unrecognized(&kind.kind, &not_known(&why), body));
    }
    let said = Said::of(object);
    if said.version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {}", said.version);
        return Err(unrecognized(&kind.kind, &why, body));
    }
    if said.is(kind) {
        set_kind(kind, object);
        return Ok(());
    }
    Err(said.refused(kind, Some(object)))
}

/// The decoder's error for an object whose kind it cannot determine.
fn not_known(why: &str) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// The `apiVersion` and `kind` of an object; empty where they are missing.
#[derive(Debug)]
struct Said {
    version: String,
    kind: String,
}

/// Why an object is not of a kind.
#[derive(Debug)]
enum Mismatch {
    /// The same objects in another version.
    Version,
    /// Another kind, or none at all.
    Kind(String),
}

/// Versions that are no longer served, and of which the decoder knows one kind.
const OLDER_SCALES: [&str; 3] = ["apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"];

impl Said {
    fn of(object: &Value) -> Self {
        let text = |name: &str| object[name].as_str().unwrap_or_default().to_owned();
        Self {
            version: text("apiVersion"),
            kind: text("kind"),
        }
    }

    fn is(&self, kind: &GroupVersionKind) -> bool {
        let same_version = self.version.is_empty() || self.version == group_version(kind);
        same_version && (self.kind.is_empty() || self.kind == kind.kind)
    }

    /// The decoder's words; an object of another kind is decoded as what it says it is, and that comes first.
    fn instead_of(&self, kind: &GroupVersionKind, object: Option<&mut Value>) -> Mismatch {
        let expected = group_version(kind);
        let full_version = or(&self.version, &expected);
        let (group, version) = full_version.rsplit_once('/').unwrap_or(("", full_version));
        let said = GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: or(&self.kind, &kind.kind).to_owned(),
        };
        if said.kind == "Scale" && said.kind == kind.kind && OLDER_SCALES.contains(&full_version) {
            return Mismatch::Version;
        }
        if !is_registered(&said) {
            return Mismatch::Kind(format!(
                "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                quoted(&said.kind),
                quoted(&group_version(&said))
            ));
        }
        if said.kind == kind.kind && package(group) == package(&kind.group) {
            return Mismatch::Version;
        }
        if let Some(Err(why)) = object.map(|object| conform(&said, object)) {
            return Mismatch::Kind(why);
        }
        Mismatch::Kind(format!(
            "converting ({version}.{}) to ({}.{}): unknown conversion",
            said.kind,
            package(&kind.group),
            kind.kind
        ))
    }

    /// The decoder's words for another kind that has no version, and so is the internal one of the group.
    fn instead_of_internal(&self, kind: &GroupVersionKind) -> String {
        let (said, group) = (self.kind.as_str(), kind.group.as_str());
        let registry = kubewright_apiextensions::builtin::with_all_versions();
        let known = |said: &str| {
            let mut all = registry.all();
            all.any(|resource| resource.group == group && resource.kind == said)
        };
        let found = if said == "WatchEvent" {
            "v1.InternalEvent".to_owned()
        } else if group.is_empty() && UNVERSIONED.contains(&said) {
            format!("v1.{said}")
        } else if known(said)
            || said.strip_suffix("List").is_some_and(known)
            || (group.is_empty() && said == "List")
        {
            format!("{}.{said}", package(group))
        } else {
            return format!(
                "no kind {} is registered for the internal version of group {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                quoted(said),
                quoted(group)
            );
        };
        format!(
            "converting ({found}) to ({}.{}): unknown conversion",
            package(group),
            kind.kind
        )
    }

    /// 400 for an object that is not of the kind.
    fn refused(&self, kind: &GroupVersionKind, object: Option<&mut Value>) -> Status {
        let expected = group_version(kind);
        let full_version = or(&self.version, &expected);
        match self.instead_of(kind, object) {
            Mismatch::Version => Status::bad_request(format!(
                "the API version in the data ({full_version}) does not match the expected API version ({expected})"
            )),
            Mismatch::Kind(why) => {
                let version = full_version.rsplit('/').next().unwrap_or_default();
                Status::bad_request(format!(
                    "{} in version {} cannot be handled as a {}: {why}",
                    or(&self.kind, &kind.kind),
                    quoted(version),
                    kind.kind
                ))
            }
        }
    }
}

fn or<'a>(said: &'a str, otherwise: &'a str) -> &'a str {
    if said.is_empty() { otherwise } else { said }
}

/// The kinds of the core group that have one version for all.
const UNVERSIONED: [&str; 5] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "Status",
];

/// Whether the real server's scheme knows a kind: those of the resources, their lists, and what every version has.
fn is_registered(said: &GroupVersionKind) -> bool {
    const EVERYWHERE: [&str; 7] = [
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "UpdateOptions",
        "WatchEvent",
    ];
    let registry = kubewright_apiextensions::builtin::with_all_versions();
    let known = |kind: &str| {
        let kind = GroupVersionKind {
            kind: kind.to_owned(),
            ..said.clone()
        };
        registry.by_kind(&kind).is_some()
    };
    let name = said.kind.as_str();
    let core = said.group.is_empty() && said.version == "v1";
    known(name)
        || name.strip_suffix("List").is_some_and(known)
        || (core && (name == "List" || UNVERSIONED.contains(&name)))
        || (EVERYWHERE.contains(&name)
            && registry.group(&said.group).is_some_and(|group| {
                let mut versions = group.versions.iter();
                versions.any(|version| version.version == said.version)
            }))
}

fn parse_json(body: &[u8], kind: &str) -> Result<Parsed> {
    json::parse(body).map_err(|error| unrecognized(kind, &not_known(&error.to_string()), body))
}

fn parse_yaml(body: &[u8], kind: &str) -> Result<Parsed> {
    yaml::parse(body).map_err(|error| unrecognized(kind, &error.to_string(), body))
}

/// Decodes a protobuf body, of the expected kind if it does not say which it is.
pub(crate) fn protobuf(body: &[u8], expected: &GroupVersionKind) -> Result<Value> {
    use kubewright_apimachinery::protobuf::{DecodeError, decode_as};
    decode_as(body, expected).map_err(|error| match error {
        DecodeError::UnknownKind(said) => Said {
            version: group_version(&said),
            kind: said.kind,
        }
        .refused(expected, None),
        error => unrecognized(&expected.kind, &error.to_string(), body),
    })
}

/// 400 for a body that is no object of any kind; shows how it begins.
fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
    let start = beginning(body);
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({start})"
    ))
}

fn group_version(kind: &GroupVersionKind) -> String {
    if kind.group.is_empty() {
        kind.version.clone()
    } else {
        format!("{}/{}", kind.group, kind.version)
    }
}

/// The Go package of a group's internal types.
pub(super) fn package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}

//! DeleteOptions: from the body or, without one, from the query (spec section C.8).

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::unrecognized::not_an_object;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::{json, yaml};
use serde_json::{Map, Value};

use super::call::Call;
use super::decode::{protobuf, set_kind};
use super::negotiate::Input;
use super::query::check_dry_run;

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) dry_run: bool,
    /// Whether an object that cannot be read is removed nevertheless, and no other one.
    pub(crate) ignores_read_errors: bool,
}

pub(crate) const IGNORES_READ_ERRORS: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// What happens to the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

impl DeleteOptions {
    /// Reads the options of a delete.
    ///
    /// # Errors
    /// 400 for a body that is none, 422 for options that exclude each other.
    pub(crate) fn read(call: &Call) -> Result<Self> {
        if call.body.is_empty() {
            return Self::check(&known(call, from_query(call)?));
        }
        let members = from_body(call)?;
        let read = Self::check(&known(call, members.clone()));
        // What is no DeleteOptions at all is not shown.
        if !matches!(&read, Err(status) if status.code() == 400) {
            audit(call, members);
        }
        read
    }

    /// Reads the options inside another object; null is none.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn from_object(options: &Value) -> Result<Self> {
        match options {
            Value::Object(members) => Self::check(members),
            _ => Ok(Self::default()),
        }
    }

    /// The options as an admission review shows them.
    pub(crate) fn to_value(&self) -> Value {
        let mut options = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            value.map(|value| options.insert(name.to_owned(), value));
        };
        set("kind", Some("DeleteOptions".into()));
        set("apiVersion", Some("meta.k8s.io/v1".into()));
        set("gracePeriodSeconds", self.grace.map(Value::from));
        set("orphanDependents", self.orphan_dependents.map(Value::from));
        set(
            "propagationPolicy",
            self.propagation.map(|policy| policy.as_str().into()),
        );
        set("dryRun", self.dry_run.then(|| vec!["All"].into()));
        let mut preconditions = Map::new();
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.revision)] {
            if let Some(value) = value {
                preconditions.insert(name.to_owned(), value.as_str().into());
            }
        }
        if !preconditions.is_empty() {
            options.insert("preconditions".to_owned(), Value::Object(preconditions));
        }
        Value::Object(options)
    }

    fn check(members: &Map<String, Value>) -> Result<Self> {
        let (mut errors, mut last) = (Vec::new(), Vec::new());
        let mut options = Self::default();
        let wrong = |field: &str, value: &Value, wanted: &str| {
            let found = match value {
                Value::String(_) => "string",
                Value::Number(_) => "number",
                Value::Bool(_) => "bool",
                Value::Array(_) => "array",
                Value::Object(_) | Value::Null => "object",
            };
            Status::bad_request(format!(
                "json: cannot unmarshal {found} into Go struct field DeleteOptions.{field} of type {wanted}"
            ))
        };
        for (name, value) in members {
            match (name.as_str(), value) {
                (_, Value::Null) => {}
                ("gracePeriodSeconds", value) => {
                    let grace = value.as_i64().ok_or_else(|| wrong(name, value, "int64"))?;
                    options.grace = Some(if grace < 0 { 1 } else { grace });
                }
                ("orphanDependents", value) => {
                    let orphan = value.as_bool().ok_or_else(|| wrong(name, value, "bool"))?;
                    options.orphan_dependents = Some(orphan);
                }
                ("propagationPolicy", Value::String(word)) => {
                    options.propagation = Propagation::read(word, &mut errors);
                }
                ("dryRun", Value::Array(values)) => {
                    let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                    check_dry_run(&values, &mut last);
                    options.dry_run = !values.is_empty();
                }
                (IGNORES_READ_ERRORS, value) => {
                    let ignores = value.as_bool().ok_or_else(|| wrong(name, value, "bool"))?;
                    options.ignores_read_errors = ignores;
                }
                ("preconditions", Value::Object(preconditions)) => {
                    let text = |name: &str| {
                        let text = preconditions.get(name).and_then(Value::as_str);
                        text.map(str::to_owned)
                    };
                    options.uid = text("uid");
                    options.revision = text("resourceVersion");
                }
                ("propagationPolicy", value) => {
                    return Err(wrong(name, value, "v1.DeletionPropagation"));
                }
                ("dryRun", value) => return Err(wrong(name, value, "[]string")),
                ("preconditions", value) => return Err(wrong(name, value, "v1.Preconditions")),
                _ => {}
            }
        }
        if options.orphan_dependents.is_some()
            && let Some(policy) = members.get("propagationPolicy").and_then(Value::as_str)
        {
            let both = FieldError::invalid(
                &Path::new("propagationPolicy"),
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            );
            errors.insert(0, both);
        }
        errors.extend(last);
        if options.ignores_read_errors {
            for other in [
                "propagationPolicy",
                "orphanDependents",
                "gracePeriodSeconds",
                "preconditions",
            ] {
                if members.get(other).is_some_and(|value| !value.is_null()) {
                    let detail = format!("cannot be set together with .{other}");
                    let path = Path::new(IGNORES_READ_ERRORS);
                    errors.push(FieldError::invalid(&path, true, &detail));
                }
            }
        }
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        Ok(options)
    }
}

impl Propagation {
    fn read(word: &str, errors: &mut Vec<FieldError>) -> Option<Self> {
        match word {
            "Orphan" => Some(Self::Orphan),
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            other => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                let path = Path::new("propagationPolicy");
                errors.push(FieldError::not_supported(&path, other, &supported));
                None
            }
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Orphan => "Orphan",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

/// The options that the API server of the emulated version knows: the gate of one is closed before 1.37.
fn known(call: &Call, mut members: Map<String, Value>) -> Map<String, Value> {
    if call.shared.served.now().version() < KubernetesVersion::V1_37 {
        members.remove(IGNORES_READ_ERRORS);
    }
    members
}

/// Shows the options of a body to the audit log: in the version of the real server's own types, whatever was sent.
fn audit(call: &Call, mut members: Map<String, Value>) {
    if call.trail.is_none() {
        return;
    }
    members.retain(|name, value| {
        let known = [
            "gracePeriodSeconds",
            "preconditions",
            "orphanDependents",
            "propagationPolicy",
            "dryRun",
            IGNORES_READ_ERRORS,
        ];
        known.contains(&name.as_str()) && !value.is_null()
    });
    let kind = GroupVersionKind {
        group: "meta.k8s.io".to_owned(),
        version: "__internal".to_owned(),
        kind: "DeleteOptions".to_owned(),
    };
    let mut options = Value::Object(members);
    set_kind(&kind, &mut options);
    call.audit(&kind, &options);
}

fn from_query(call: &Call) -> Result<Map<String, Value>> {
    let query = &call.query;
    let mut members = Map::new();
    if let Some(grace) = query.number("gracePeriodSeconds")? {
        members.insert("gracePeriodSeconds".to_owned(), grace.into());
    }
    if query.get("orphanDependents").is_some() {
        let orphan = query.flag("orphanDependents");
        members.insert("orphanDependents".to_owned(), orphan.into());
    }
    if query.get(IGNORES_READ_ERRORS).is_some() {
        let ignores = query.flag(IGNORES_READ_ERRORS);
        members.insert(IGNORES_READ_ERRORS.to_owned(), ignores.into());
    }
    if !query.text("propagationPolicy").is_empty() {
        let policy = query.text("propagationPolicy");
        members.insert("propagationPolicy".to_owned(), policy.into());
    }
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    if !dry_run.is_empty() {
        members.insert("dryRun".to_owned(), dry_run.into());
    }
    Ok(members)
}

fn from_body(call: &Call) -> Result<Map<String, Value>> {
    let bad = |error: json::Malformed| {
        let prefix = "couldn't get version/kind; json parse error";
        Status::bad_request(format!("{prefix}: {error}"))
    };
    let kind = GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "DeleteOptions".to_owned(),
    };
    let value = match Input::of(&call.headers)? {
        Input::Json => json::parse(&call.body).map_err(bad)?.value,
        Input::Yaml => yaml::parse(&call.body).map_err(bad)?.value,
        Input::Protobuf => protobuf(&call.body, &kind)?,
    };
    let members = match value {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => return Err(Status::bad_request(not_an_object(&other))),
    };
    let kind = members
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !matches!(kind, "" | "DeleteOptions") {
        let version = members
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default();
        return Err(Status::bad_request(format!(
            "no kind {} is registered for version {} in scheme \"pkg/apis/meta/internalversion/scheme/register.go:27\"",
            quoted(kind),
            quoted(version)
        )));
    }
    Ok(members)
}

//! API services.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::Errors;
use kubewright_validation::formats;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped()
    .with_name(names::path_segment)
    .with_qualified_finalizers();

/// The port of a service that names none.
const HTTPS: i64 = 443;

/// The strategy of API services.
#[derive(Debug)]
pub(crate) struct APIService;

impl Strategy for APIService {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.part("spec")
            && let Some(service) = spec.existing("service")
        {
            service.fill("port", HTTPS);
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        if !object.at("spec").has("service") {
            object.put("status", json!({"conditions": [local(&now())]}));
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource != "status" {
            return new.take_from(old, "status");
        }
        new.take_from(old, "spec");
        if let Some(metadata) = new.part("metadata") {
            for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
                metadata.take_from(old.at("metadata"), field);
            }
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        if subresource == "status" {
            check_status(new, errors);
        } else {
            check(new, errors);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

/// The condition of an API service that this server serves by itself.
fn local(now: &str) -> Value {
    json!({
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    })
}

fn check(object: &Value, errors: &mut Errors) {
    METADATA.create(object, errors);
    let spec = object.at("spec");
    let (group, version) = (spec.text("group"), spec.text("version"));
    let name = object.at("metadata").text("name");
    let required = format!("{version}.{group}");
    if !name.is_empty() && names::path_segment(name).is_empty() && name != required {
        let detail = format!(
            "must be `spec.version+\".\"+spec.group`: {}",
            quoted(&required)
        );
        let path = Path::new("metadata");
        let error = FieldError::invalid(&path.child("name"), name, &detail);
        // Names are checked before all but the base of a generated one.
        let before = |error: &&FieldError| error.field() == "metadata.generateName";
        let at = errors.iter().take_while(before).count();
        errors.insert(at, error);
    }
    let path = Path::new("spec");
    if group.is_empty() && version != "v1" {
        let detail = "only v1 may have an empty group and it better be legacy kube";
        errors.push(FieldError::required(&path.child("group"), detail));
    }
    let of_group = (!group.is_empty()).then(|| names::dns1123_subdomain(group));
    for detail in of_group.into_iter().flatten() {
        errors.push(FieldError::invalid(&path.child("group"), group, &detail));
    }
    for detail in names::dns1035_label(version) {
        errors.push(FieldError::invalid(
            &path.child("version"),
            version,
            &detail,
        ));
    }
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = spec.int(field).unwrap_or_default();
        if !(1..=most).contains(&priority) {
            let detail = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(&path.child(field), priority, &detail));
        }
    }
    check_service(spec, &path, errors);
}

fn check_service(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let bundle = STANDARD.decode(spec.text("caBundle")).unwrap_or_default();
    let (at_bundle, at_insecure) = (path.child("caBundle"), path.child("insecureSkipTLSVerify"));
    let insecure = spec.flag("insecureSkipTLSVerify");
    if !spec.has("service") {
        if !bundle.is_empty() {
            let shown = format!("{} bytes", bundle.len());
            let detail = "local APIServices may not have a caBundle";
            errors.push(FieldError::invalid(&at_bundle, shown, detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid(&at_insecure, true, detail));
        }
        return;
    }
    let (service, path) = (spec.at("service"), path.child("service"));
    for field in ["namespace", "name"] {
        if service.text(field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
    }
    let port = service.int("port").unwrap_or_default();
    if let Some(problem) = formats::port_number(port) {
        let detail = format!("port is not valid: {problem}");
        errors.push(FieldError::invalid(&path.child("port"), port, &detail));
    }
    if insecure && !bundle.is_empty() {
        let detail = "may not be true if caBundle is present";
        errors.push(FieldError::invalid(&at_insecure, true, detail));
    }
}

fn check_status(object: &Value, errors: &mut Errors) {
    let path = Path::new("status");
    let list = path.child("conditions");
    let conditions = object.at("status").list("conditions");
    for (at, condition) in conditions.iter().enumerate() {
        let said = condition.text("status");
        let known = ["True", "False", "Unknown"];
        if !known.contains(&said) {
            let at = list.index(at);
            errors.push(FieldError::not_supported(&at.child("status"), said, &known));
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let service = row.spec().at("service");
    let server = if service.is_null() {
        "Local".to_owned()
    } else {
        format!("{}/{}", service.text("namespace"), service.text("name"))
    };
    let conditions = row.status().list("conditions");
    let available = conditions
        .iter()
        .find(|condition| condition.text("type") == "Available");
    let available = match available.map(|it| (it.text("status"), it.text("reason"))) {
        None => "Unknown".to_owned(),
        Some((status, reason)) if status != "True" && !reason.is_empty() => {
            format!("{status} ({reason})")
        }
        Some((status, _)) => status.to_owned(),
    };
    vec![row.name(), server.into(), available.into(), row.age()]
}

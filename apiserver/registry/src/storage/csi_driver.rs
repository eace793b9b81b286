//! Drivers for storage.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::or_none;
use crate::generation;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::check::{Errors, IMMUTABLE, one_of_if_set};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const KIND: [&str; 3] = ["storage.k8s.io", "v1", "CSIDriver"];
const METADATA: Rules = Rules::cluster_scoped();

const TOKENS: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";

/// The strategy of drivers. They are only counted once they change.
#[derive(Debug)]
pub(crate) struct CSIDriver;

impl Strategy for CSIDriver {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        check(new, errors);
        check_update(new, old, errors);
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let spec = new.at("spec");
        let asked = spec.list("tokenRequests");
        let tokens = !asked.is_empty() && asked != old.at("spec").list("tokenRequests");
        if tokens && !spec.has("serviceAccountTokenInSecrets") {
            vec![TOKENS.to_owned()]
        } else {
            Vec::new()
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("attachRequired", true);
    for field in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
        "preventPodSchedulingIfMissing",
    ] {
        spec.fill(field, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        spec.put("volumeLifecycleModes", json!(["Persistent"]));
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    one_of_if_set(spec, &path, "fsGroupPolicy", &policies, errors);
    let requests = spec.list("tokenRequests");
    let at = path.child("tokenRequests");
    for (index, request) in requests.iter().enumerate() {
        let at = at.index(index);
        let audience = request.text("audience");
        let twice = |other: &Value| other.text("audience") == audience;
        if requests[..index].iter().any(twice) {
            errors.push(FieldError::duplicate(&at.child("audience"), audience));
            continue;
        }
        let detail = match request.int("expirationSeconds") {
            Some(..600) => "may not specify a duration less than 10 minutes",
            Some(seconds) if seconds > 1 << 32 => {
                "may not specify a duration larger than 2^32 seconds"
            }
            _ => continue,
        };
        let value = request.at("expirationSeconds").clone();
        errors.push(FieldError::invalid(
            &at.child("expirationSeconds"),
            value,
            detail,
        ));
    }
    for mode in spec.list("volumeLifecycleModes") {
        let mode = mode.as_str().unwrap_or_default();
        let modes = ["Persistent", "Ephemeral"];
        if !modes.contains(&mode) {
            let at = path.child("volumeLifecycleModes");
            errors.push(FieldError::not_supported(&at, mode, &modes));
        }
    }
    if let Some(seconds) = spec
        .int("nodeAllocatableUpdatePeriodSeconds")
        .filter(|s| *s < 10)
    {
        let at = path.child("nodeAllocatableUpdatePeriodSeconds");
        let detail = "must be greater than or equal to 10 seconds";
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    let field = "serviceAccountTokenInSecrets";
    if spec.has(field) && requests.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        let value = spec.at(field).clone();
        errors.push(FieldError::invalid(&path.child(field), value, detail));
    }
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    // The name in the text is not quite the field's.
    for (field, name) in [
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ] {
        if !same(spec.at(field), before.at(field)) {
            let value = spec.at(field).clone();
            let at = Path::new("spec");
            errors.push(FieldError::invalid(&at.child(name), value, IMMUTABLE));
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let join = |list: &[Value], text: fn(&Value) -> &str| {
        let items: Vec<&str> = list.iter().map(text).collect();
        items.join(",")
    };
    let tokens = if spec.has("tokenRequests") {
        join(spec.list("tokenRequests"), |request| {
            request.text("audience")
        })
    } else {
        "<unset>".to_owned()
    };
    let modes = join(spec.list("volumeLifecycleModes"), |mode| {
        mode.as_str().unwrap_or_default()
    });
    vec![
        row.name(),
        spec.at("attachRequired").as_bool().unwrap_or(true).into(),
        spec.flag("podInfoOnMount").into(),
        spec.flag("storageCapacity").into(),
        tokens.into(),
        spec.flag("requiresRepublish").into(),
        or_none(modes).into(),
        row.age(),
    ]
}

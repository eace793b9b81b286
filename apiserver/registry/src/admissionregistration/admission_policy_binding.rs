//! Bindings of admission policies.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::check::{Errors, subdomain};
use kubewright_validation::metadata::Rules;
use serde_json::Value;

use super::policy_spec::Effect;
use super::{match_resources, params, static_suffix};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::selector;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of bindings of both kinds of policies.
#[derive(Debug)]
pub(crate) struct AdmissionPolicyBinding {
    /// The version of its objects.
    pub(super) version: String,
    /// What the policies do that its objects bind.
    pub(super) effect: Effect,
}

impl Strategy for AdmissionPolicyBinding {
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.part("spec") else {
            return;
        };
        if let Some(resources) = spec.existing("matchResources") {
            match_resources::default(resources);
        }
        if self.version == "v1alpha1"
            && let Some(reference) = spec.existing("paramRef")
        {
            reference.fill("parameterNotFoundAction", "Deny");
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let kind = match self.effect {
            Effect::Mutates => "MutatingAdmissionPolicyBinding",
            Effect::Validates => "ValidatingAdmissionPolicyBinding",
        };
        let kind = ["admissionregistration.k8s.io", &self.version, kind];
        generation::count_spec(kind, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.check(object, &mut found.errors);
        static_suffix::check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        self.check(new, &mut found.errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        static_suffix::warnings(new)
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

impl AdmissionPolicyBinding {
    fn check(&self, object: &Value, errors: &mut Errors) {
        METADATA.create(object, errors);
        let (path, spec) = (Path::new("spec"), object.at("spec"));
        let policy_path = path.child("policyName");
        match spec.text("policyName") {
            "" => {
                let error = FieldError::required(&policy_path, "");
                errors.push(match self.effect {
                    Effect::Mutates => error,
                    Effect::Validates => error.declarative(),
                });
            }
            name => subdomain(&policy_path, name, errors),
        }
        if spec.has("paramRef") {
            params::reference(spec.at("paramRef"), &path.child("paramRef"), errors);
        }
        let (resources, resources_path) = (spec.at("matchResources"), path.child("matchResources"));
        match_resources::check(resources, &resources_path, errors);
        match self.effect {
            Effect::Mutates => match_resources::check_mutable(resources, &resources_path, errors),
            Effect::Validates => validation_actions(spec, &path, errors),
        }
    }
}

fn validation_actions(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
    let path = path.child("validationActions");
    let actions = spec.list("validationActions");
    for (index, action) in actions.iter().enumerate() {
        let (at, text) = (path.index(index), action.as_str().unwrap_or_default());
        if !ACTIONS.contains(&text) {
            errors.push(FieldError::not_supported(&at, text, &ACTIONS));
        }
        if actions[..index].contains(action) {
            errors.push(FieldError::duplicate(&at, text));
        }
    }
    let has = |wanted: &str| actions.iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        let value = spec.at("validationActions").clone();
        errors.push(FieldError::invalid(&path, value, detail));
    }
    if actions.is_empty() {
        let handwritten = FieldError::required(&path, "at least one validation action is required");
        errors.push(FieldError::required(&path, "").declarative_for(handwritten));
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let reference = row.spec().at("paramRef");
    let parameter = match (reference.text("namespace"), reference.text("name")) {
        (_, "") if reference.has("selector") => selector(reference.at("selector")),
        (_, "") => "<unset>".to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    let policy = row.spec().text("policyName").into();
    vec![row.name(), policy, parameter.into(), row.age()]
}

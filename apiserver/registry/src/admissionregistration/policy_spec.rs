//! The part of a policy's spec that validating and mutating policies have in common.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_cel::Composition;
use kubewright_validation::check::{Errors, one_of_if_set};
use kubewright_validation::semantic::same;
use serde_json::Value;

use super::match_conditions::match_conditions;
use super::{match_resources, params, variables};

/// Whether a policy changes objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Validates,
    Mutates,
}

pub(super) fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("failurePolicy", "Fail");
    if let Some(constraints) = spec.existing("matchConstraints") {
        match_resources::default(constraints);
    }
}

/// Checks a spec; `old` is null for a new policy. Returns what the expressions that it does not check can use.
pub(super) fn check(
    spec: &Value,
    old: &Value,
    effect: Effect,
    path: &Path<'_>,
    errors: &mut Errors,
) -> Composition {
    let policies = ["Fail", "Ignore"];
    one_of_if_set(spec, path, "failurePolicy", &policies, errors);
    if spec.has("paramKind") {
        params::kind(spec.at("paramKind"), &path.child("paramKind"), errors);
    }
    let constraints_path = path.child("matchConstraints");
    if spec.has("matchConstraints") {
        let constraints = spec.at("matchConstraints");
        match_resources::check(constraints, &constraints_path, errors);
        if constraints.list("resourceRules").is_empty() {
            let at = constraints_path.child("resourceRules");
            errors.push(FieldError::required(&at, ""));
        }
        if effect == Effect::Mutates {
            match_resources::check_mutable(constraints, &constraints_path, errors);
        }
    } else {
        errors.push(FieldError::required(&constraints_path, ""));
    }
    let mut composition = Composition::new(spec.has("paramKind"));
    if !keeps_conditions(spec, old) {
        // Match conditions are evaluated before variables.
        let environment = composition.environment().clone();
        let environment = environment.without_variable("variables");
        match_conditions(spec, &environment, path, errors);
    }
    variables::declare(spec, &mut composition, path, errors);
    composition
}

/// Whether nothing changes that match conditions depend on. They are not looked at again then.
fn keeps_conditions(new: &Value, old: &Value) -> bool {
    let keeps = |field: &str| same(new.at(field), old.at(field));
    !old.is_null() && keeps("paramKind") && keeps("matchConditions")
}

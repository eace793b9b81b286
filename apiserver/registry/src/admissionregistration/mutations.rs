//! The mutations of a mutating policy: expressions that make a patch.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use kubewright_cel::{Composition, Environment, Type};
use kubewright_validation::check::{Errors, one_of};
use serde_json::Value;

use super::expressions;

const APPLY_CONFIGURATION: &str = "ApplyConfiguration";
const JSON_PATCH: &str = "JSONPatch";

pub(super) fn check(spec: &Value, composition: &Composition, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("mutations");
    let mutations = spec.list("mutations");
    if mutations.is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(FieldError::required(&path, detail));
        return;
    }
    let environment = composition.environment().clone().with_patches();
    for (index, mutation) in mutations.iter().enumerate() {
        self::mutation(mutation, &environment, &path.index(index), errors);
    }
}

fn mutation(mutation: &Value, environment: &Environment, path: &Path<'_>, errors: &mut Errors) {
    let patch_type = mutation.text("patchType");
    let (field, other, output) = match patch_type {
        APPLY_CONFIGURATION => ("applyConfiguration", "jsonPatch", Type::object("Object")),
        JSON_PATCH => {
            let output = Type::list(Type::object("JSONPatch"));
            ("jsonPatch", "applyConfiguration", output)
        }
        _ => {
            let types = [APPLY_CONFIGURATION, JSON_PATCH];
            return one_of(mutation, path, "patchType", &types, errors);
        }
    };
    let at = path.child(field);
    if mutation.has(field) {
        let written = mutation.at(field).text("expression");
        expression(
            written,
            environment,
            output,
            &at.child("expression"),
            errors,
        );
    } else {
        let detail = format!("must be specified when patchType is {patch_type}");
        errors.push(FieldError::required(&at, &detail));
    }
    if mutation.has(other) {
        let detail = format!("must not be specified when patchType is {patch_type}");
        let value = format!("{{{other}}}");
        errors.push(FieldError::invalid(&path.child(other), value, &detail));
    }
}

fn expression(
    written: &str,
    environment: &Environment,
    output: Type,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let expression = written.trim();
    if expression.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Err(problem) = expressions::check(environment, expression, &[output]) {
        errors.push(expressions::refused(path, expression, &problem));
    }
}

//! One policy: what it is for, its parameters, and the expressions that are compiled of it.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::binding::Binding;
use crate::matching::Criteria;

/// A policy with its bindings; `E` is what its expressions make of a request.
#[derive(Debug)]
pub(super) struct Definition<E> {
    pub(super) name: String,
    pub(super) criteria: Criteria,
    pub(super) param_kind: Option<GroupVersionKind>,
    pub(super) ignore_failure: bool,
    pub(super) bindings: Vec<Binding>,
    pub(super) expressions: E,
}

/// What the expressions of a policy are compiled to.
pub(super) trait Compile {
    fn compile(spec: &Value) -> Self;
}

impl<E: Compile> Definition<E> {
    pub(super) fn from_object(name: String, policy: &Value, bindings: Vec<Binding>) -> Self {
        let spec = policy.at("spec");
        Self {
            name,
            criteria: Criteria::of_policy(spec.at("matchConstraints")),
            param_kind: param_kind(spec.at("paramKind")),
            ignore_failure: spec.text("failurePolicy") == "Ignore",
            bindings,
            expressions: E::compile(spec),
        }
    }
}

fn param_kind(kind: &Value) -> Option<GroupVersionKind> {
    if kind.is_null() {
        return None;
    }
    let api_version = kind.text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.text("kind").to_owned(),
    })
}

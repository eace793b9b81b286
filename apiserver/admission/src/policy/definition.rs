//! One policy: what it is for, its parameters, and the expressions that are compiled of it.

use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::View as _;
use kubewright_registry::Resource;
use serde_json::Value;

use super::binding::Binding;
use super::coverage::Fields;
use super::params;
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::matching::{Criteria, Matched};

/// A policy with its bindings; `E` is what its expressions make of a request.
#[derive(Debug)]
pub(super) struct Definition<E> {
    pub(super) name: String,
    criteria: Criteria,
    param_kind: Option<GroupVersionKind>,
    pub(super) ignore_failure: bool,
    pub(super) bindings: Vec<Binding>,
    pub(super) expressions: E,
}

/// As what a request meets a policy.
pub(super) struct Selected {
    pub(super) matched: Matched,
    /// The resource of the parameters, if the policy has any.
    pub(super) params: Option<Arc<Resource>>,
}

/// What the expressions of a policy are compiled to.
pub(super) trait Compile {
    /// Compiles the expressions of a spec. With `coverage`, the values of their conditions are seen.
    fn compile(spec: &Value, coverage: bool) -> Self;

    /// The fields with an expression, and the values that its conditions have had.
    fn fields(&self) -> Fields;
}

impl<E: Compile> Definition<E> {
    pub(super) fn from_object(
        name: String,
        policy: &Value,
        bindings: Vec<Binding>,
        coverage: bool,
    ) -> Self {
        let spec = policy.at("spec");
        Self {
            name,
            criteria: Criteria::of_policy(spec.at("matchConstraints")),
            param_kind: param_kind(spec.at("paramKind")),
            ignore_failure: spec.text("failurePolicy") == "Ignore",
            bindings,
            expressions: E::compile(spec, coverage),
        }
    }

    /// As what a request meets the policy; nothing if the policy is not for it.
    ///
    /// # Errors
    /// Why the policy cannot be gone by.
    pub(super) fn matches(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
    ) -> Result<Option<Selected>, String> {
        let matched = self.criteria.matches(cluster, attributes);
        let Some(matched) = matched.map_err(|why| why.message().to_owned())? else {
            return Ok(None);
        };
        let params = params::resource(cluster, self.param_kind.as_ref())?;
        Ok(Some(Selected { matched, params }))
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

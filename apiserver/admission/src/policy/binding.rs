//! One binding of a policy: where it holds, with which parameters, and what a failed validation does.

use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::status;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::matching::Criteria;

/// A binding.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// All requests that the policy is for, if there are none.
    criteria: Option<Criteria>,
    pub(super) param_ref: Option<ParamRef>,
    /// `Deny`, `Warn` and `Audit`, as the binding lists them.
    pub(super) actions: Vec<String>,
}

/// Which objects are the parameters.
#[derive(Debug)]
pub(super) struct ParamRef {
    pub(super) which: Which,
    /// Empty for the namespace of the request.
    pub(super) namespace: String,
    pub(super) deny_if_not_found: bool,
}

#[derive(Debug)]
pub(super) enum Which {
    Named(String),
    /// Those that a label selector selects; a selector that cannot be read is an error of the binding.
    Selected(Result<Option<Labels>, String>),
}

impl Binding {
    pub(super) fn from_object(binding: &Value) -> Self {
        let spec = binding.at("spec");
        let resources = spec.at("matchResources");
        let actions = spec.list("validationActions").iter();
        Self {
            name: binding.at("metadata").text("name").to_owned(),
            criteria: (!resources.is_null()).then(|| Criteria::of_policy(resources)),
            param_ref: ParamRef::from_object(spec.at("paramRef")),
            actions: actions
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Whether it holds for a request that the policy is for.
    pub(super) fn matches(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
    ) -> status::Result<bool> {
        match &self.criteria {
            Some(criteria) => Ok(criteria.matches(cluster, attributes)?.is_some()),
            None => Ok(true),
        }
    }
}

impl ParamRef {
    fn from_object(reference: &Value) -> Option<Self> {
        if reference.is_null() {
            return None;
        }
        let which = match reference.text("name") {
            "" => Which::Selected(Labels::from_object(reference.at("selector"))),
            name => Which::Named(name.to_owned()),
        };
        Some(Self {
            which,
            namespace: reference.text("namespace").to_owned(),
            deny_if_not_found: reference.text("parameterNotFoundAction") == "Deny",
        })
    }
}

//! Bindings of admission policies.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::policy::match_resources;
use crate::behavior::Behavior;
use crate::column::Column;
use crate::columns::Row;
use crate::columns::text::selector;
use crate::columns::titles::text;
use crate::columns::titles::{AGE, NAME};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of bindings of both kinds of policies.
#[derive(Debug)]
pub(crate) struct AdmissionPolicyBinding {
    /// The version of its objects.
    pub(super) version: String,
    /// The kind of its objects.
    pub(super) kind: &'static str,
}

impl Strategy for AdmissionPolicyBinding {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.part("spec")
            && let Some(resources) = spec.existing("matchResources")
        {
            match_resources(resources);
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let kind = ["admissionregistration.k8s.io", &self.version, self.kind];
        generation::count_spec(kind, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        METADATA.create(new, &mut found.errors);
    }

    fn columns(&self) -> Vec<Column<'_>> {
        COLUMNS.to_vec()
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

const COLUMNS: &[Column<'static>] = &[
    NAME,
    text("PolicyName", "the policy that is bound"),
    text("ParamRef", "the parameters it gets"),
    AGE,
];

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

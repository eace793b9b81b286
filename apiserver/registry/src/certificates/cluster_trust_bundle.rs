//! Bundles of certificates that clients trust.

use std::borrow::Cow;

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::signer;
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::or_none;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::certificates::trust_anchors;
use kubewright_validation::check::{Errors, immutable_as};
use kubewright_validation::metadata;
use kubewright_validation::signers::{signer_name, trust_bundle_name};

/// The strategy of trust bundles.
#[derive(Debug)]
pub(crate) struct ClusterTrustBundle;

impl Strategy for ClusterTrustBundle {
    fn validate(&self, object: &Value, found: &mut Findings) {
        check(object, &mut found.errors);
        let bundle = object.at("spec").text("trustBundle");
        trust_anchors(bundle, &Path::new("spec.trustBundle"), &mut found.errors);
    }

    /// Certificates that do not change are not looked at again.
    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let (spec, before) = (new.at("spec"), old.at("spec"));
        if spec.text("trustBundle") == before.text("trustBundle") {
            check(new, &mut found.errors);
        } else {
            self.validate(new, found);
        }
        let path = Path::new("spec");
        immutable_as("s", spec, before, &path, "signerName", &mut found.errors);
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        signer::check_field(field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        signer::field_value(object, field)
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let signer = object.at("spec").text("signerName");
    let name = |name: &str| trust_bundle_name(signer, name);
    metadata::named(false, object, name, errors);
    metadata::finalizer_names(object.at("metadata"), errors);
    if !signer.is_empty() {
        signer_name(signer, &Path::new("spec.signerName"), errors);
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let signer = or_none(row.spec().text("signerName"));
    vec![row.name(), signer.into()]
}

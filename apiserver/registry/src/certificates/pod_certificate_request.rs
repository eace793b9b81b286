//! Requests for the certificates of pods.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::labels;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::certificates::{pod_certificate_answer, pod_certificate_request};
use kubewright_validation::check::immutable_as;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of requests for the certificates of pods.
#[derive(Debug)]
pub(crate) struct PodCertificateRequest;

impl Strategy for PodCertificateRequest {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.part("spec") {
            spec.fill("maxExpirationSeconds", 24 * 60 * 60);
        }
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            crate::metadata::reset(new, old);
        } else {
            new.take_from(old, "status");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        pod_certificate_request(object.at("spec"), &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        if subresource == "status" {
            if errors.is_empty() {
                pod_certificate_answer(new, old, errors);
            }
        } else {
            let kind = "certificates.PodCertificateRequestSpec";
            immutable_as(kind, new, old, &Path::root(), "spec", errors);
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

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let ends = ["Issued", "Denied", "Failed"];
    let conditions = row.status().list("conditions").iter().rev();
    let mut ended = conditions.map(|condition| condition.text("type"));
    let state = ended.find(|kind| ends.contains(kind));
    vec![
        row.name(),
        spec.text("podName").into(),
        spec.text("serviceAccountName").into(),
        spec.text("nodeName").into(),
        spec.text("signerName").into(),
        state.unwrap_or("Pending").into(),
        labels(spec.at("unverifiedUserAnnotations")).into(),
    ]
}

//! Requests for the certificates of pods.

use kubewright_apimachinery::view::{Edit, empty};
use serde_json::Value;

use super::conditions::condition_times;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of requests for the certificates of pods.
#[derive(Debug)]
pub(crate) struct PodCertificateRequest;

impl Strategy for PodCertificateRequest {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            condition_times(new, old);
        } else {
            new.take_from(old, "status");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[],
        }
    }
}

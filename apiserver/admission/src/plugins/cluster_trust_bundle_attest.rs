//! ClusterTrustBundleAttest: a bundle of a signer is written by those who may attest for it.

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

use super::signer::{check, is_about_bundles};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let updates = match attributes.operation {
        Operation::Create => false,
        Operation::Update => true,
        Operation::Delete | Operation::Connect => return Ok(()),
    };
    if !is_about_bundles(attributes) {
        return Ok(());
    }
    let signer = attributes.object.at("spec").text("signerName");
    let is_same = updates && are_the_same(&attributes.object, &attributes.old_object);
    if signer.is_empty() || is_same {
        return Ok(());
    }
    check(cluster, attributes, "attest", "attest for", signer)
}

/// Whether nothing changes but owners and finalizers: garbage collection needs no permission for the signer.
fn are_the_same(new: &Value, old: &Value) -> bool {
    let [new, old] = [new, old].map(|bundle| {
        let mut bundle = bundle.clone();
        if let Some(metadata) = bundle.existing("metadata") {
            for field in ["ownerReferences", "finalizers", "managedFields", "selfLink"] {
                metadata.drop_field(field);
            }
        }
        bundle
    });
    new == old
}

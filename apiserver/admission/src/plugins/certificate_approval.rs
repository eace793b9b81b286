//! CertificateApproval: a request for a certificate is approved or denied by those who may do so for its signer.

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;

use super::signer::{check, is_about_requests};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let approves = is_about_requests(attributes, "approval");
    if !approves || attributes.operation != Operation::Update {
        return Ok(());
    }
    let signer = attributes.old_object.at("spec").text("signerName");
    check(
        cluster,
        attributes,
        "approve",
        "approve requests with",
        signer,
    )
}

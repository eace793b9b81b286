//! CertificateSigning: a certificate is issued by those who may sign for the signer of its request.

use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::view::View as _;

use super::signer::{check, is_about_requests};
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    let writes_status = is_about_requests(attributes, "status");
    if !writes_status || attributes.operation != Operation::Update {
        return Ok(());
    }
    let [new, old] = [&attributes.object, &attributes.old_object].map(|request| {
        let status = request.at("status");
        (status.text("certificate"), status.list("conditions"))
    });
    if new == old {
        return Ok(());
    }
    let signer = attributes.old_object.at("spec").text("signerName");
    check(cluster, attributes, "sign", "sign requests with", signer)
}

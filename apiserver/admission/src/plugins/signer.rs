//! Who may do something for a signer of certificates.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::Result;
use kubewright_cel::{AccessCheck, ResourceAttributes, Target, User as Who};

use super::subject::forbidden;
use crate::attributes::Attributes;
use crate::cluster::Cluster;

const GROUP: &str = "certificates.k8s.io";

/// Whether the request is for this sub-resource of certificate signing requests.
pub(super) fn is_about_requests(attributes: &Attributes, subresource: &str) -> bool {
    attributes.subresource == subresource
        && attributes.resource.group == GROUP
        && attributes.resource.plural == "certificatesigningrequests"
}

/// Whether the request is for a bundle of trusted certificates.
pub(super) fn is_about_bundles(attributes: &Attributes) -> bool {
    attributes.resource.group == GROUP && attributes.resource.plural == "clustertrustbundles"
}

/// Rejects the request unless its user may do this for the signer, or for all signers of the domain.
pub(super) fn check(
    cluster: &dyn Cluster,
    attributes: &Attributes,
    verb: &str,
    what: &str,
    signer: &str,
) -> Result<()> {
    let may = |name: &str| {
        let target = Target::Resource(ResourceAttributes {
            group: GROUP,
            resource: "signers",
            subresource: "",
            namespace: "",
            name,
            field_selector: "",
            label_selector: "",
        });
        let user = Who::Requester;
        let check = AccessCheck { user, verb, target };
        cluster.authorize(&attributes.user, &check).allowed
    };
    let domain = signer.split('/').next().unwrap_or_default();
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    let why = format!("user not permitted to {what} signerName {}", quoted(signer));
    Err(forbidden(attributes, &why))
}

//! The group certificates.k8s.io.

mod certificate_signing_request;
mod cluster_trust_bundle;
mod conditions;
mod pod_certificate_request;
mod request;
mod signer;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CertificateSigningRequest" => {
            Arc::new(certificate_signing_request::CertificateSigningRequest)
        }
        "ClusterTrustBundle" => Arc::new(cluster_trust_bundle::ClusterTrustBundle),
        "PodCertificateRequest" => Arc::new(pod_certificate_request::PodCertificateRequest),
        _ => return None,
    })
}

//! The in-memory source.

use kubewright_certificates::{CertificateError, CertificateSource as _, SelfSigned};

use crate::handshake::verify;

#[tokio::test]
async fn a_service_is_believed_under_the_name_the_api_server_verifies() {
    let identity = SelfSigned::for_service("policy", "policy-system")
        .next()
        .await
        .unwrap();
    verify(&identity, identity.trust(), "policy.policy-system.svc").unwrap();
    verify(&identity, identity.trust(), "policy.other.svc").unwrap_err();
}

#[tokio::test]
async fn a_bad_name_is_an_error_of_the_first_identity() {
    let error = SelfSigned::for_names(["not a name"])
        .next()
        .await
        .unwrap_err();
    assert!(matches!(error, CertificateError::InvalidName { .. }));
    insta::assert_snapshot!(
        error,
        @r#"cannot make a certificate for "not a name", which is neither a DNS name nor an IP address"#
    );
}

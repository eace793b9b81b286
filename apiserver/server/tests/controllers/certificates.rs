//! Certificate signing requests.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use super::{all, condition, settled};
use crate::cluster::Cluster;

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

fn request(name: &str, signer: &str, organization: &str, usages: &[&str]) -> Value {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, "system:node:n");
    subject.push(DnType::OrganizationName, organization);
    params.distinguished_name = subject;
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": BASE64_STANDARD.encode(pem),
            "signerName": format!("kubernetes.io/{signer}"),
            "usages": usages,
            "expirationSeconds": 3600,
        },
    })
}

async fn approve(cluster: &Cluster, name: &str) {
    let path = format!("{REQUESTS}/{name}");
    let mut request = cluster.read(&path).await;
    request["status"]["conditions"] = json!([
        {"type": "Approved", "status": "True", "reason": "Test", "message": "fine"},
    ]);
    cluster
        .put(&format!("{path}/approval"), &request)
        .await
        .expect(200);
    settled().await;
}

#[tokio::test(start_paused = true)]
async fn an_approved_request_gets_a_certificate_of_the_server_s_authority() {
    let cluster = all();
    let usages = ["digital signature", "client auth"];
    let jane = request("jane", "kube-apiserver-client", "dev", &usages);
    cluster.made(REQUESTS, &jane).await;
    let path = format!("{REQUESTS}/jane");
    assert_eq!(cluster.read(&path).await["status"], json!({}));
    approve(&cluster, "jane").await;
    let signed = cluster.read(&path).await;
    let certificate = signed["status"]["certificate"].as_str().unwrap();
    let pem = BASE64_STANDARD.decode(certificate).unwrap();
    assert!(pem.starts_with(b"-----BEGIN CERTIFICATE-----"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_its_signer_does_not_sign_fails_with_the_reason() {
    let cluster = all();
    let server = request("server", "kube-apiserver-client", "dev", &["server auth"]);
    cluster.made(REQUESTS, &server).await;
    approve(&cluster, "server").await;
    let failed = cluster.read(&format!("{REQUESTS}/server")).await;
    let failed = condition(&failed, "Failed");
    assert_eq!(failed["reason"], "SignerValidationFailure");
    assert_eq!(
        failed["message"],
        "invalid usage for client certificate: server auth"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_of_a_kubelet_is_approved_where_its_user_may_make_it() {
    let cluster = all();
    let usages = ["digital signature", "client auth"];
    let kubelet = request(
        "n",
        "kube-apiserver-client-kubelet",
        "system:nodes",
        &usages,
    );
    // The admin of the tests may do everything.
    cluster.made(REQUESTS, &kubelet).await;
    let signed = cluster.read(&format!("{REQUESTS}/n")).await;
    let approved = condition(&signed, "Approved");
    assert_eq!(approved["reason"], "AutoApproved");
    assert_eq!(
        approved["message"],
        "Auto approving kubelet client certificate after SubjectAccessReview."
    );
    assert!(signed["status"]["certificate"].is_string());
    let other = request("o", "kube-apiserver-client-kubelet", "other", &usages);
    cluster.made(REQUESTS, &other).await;
    let ignored = cluster.read(&format!("{REQUESTS}/o")).await;
    assert_eq!(condition(&ignored, "Approved"), &Value::Null);
}

//! Kubeconfigs for the admin and for users with a token.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_auth::{Authority, AuthorityError};

/// The URL of a server that listens on `address`.
pub(super) fn url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("https://127.0.0.1:{}", address.port())
    } else {
        format!("https://{address}")
    }
}

/// The kubeconfig of the admin, who has a certificate.
pub(super) fn of_admin(
    address: SocketAddr,
    trust: &str,
    authority: &Authority,
) -> Result<String, AuthorityError> {
    let admin = authority.admin()?;
    let (certificate, key) = (
        STANDARD.encode(&admin.certificate),
        STANDARD.encode(&admin.key),
    );
    let credential = format!("client-certificate-data: {certificate}\n    client-key-data: {key}");
    Ok(text(address, trust, "kubernetes-admin", &credential))
}

/// The kubeconfig of a user with a token.
pub(super) fn with_token(address: SocketAddr, authority: &str, user: &str, token: &str) -> String {
    text(address, authority, user, &format!("token: {token}"))
}

/// A kubeconfig that refers to no other file.
fn text(address: SocketAddr, authority: &str, user: &str, credential: &str) -> String {
    let url = url(address);
    let authority = STANDARD.encode(authority);
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         current-context: kubewright\n\
         clusters:\n\
         - name: kubewright\n  \
           cluster:\n    \
             server: {url}\n    \
             certificate-authority-data: {authority}\n\
         contexts:\n\
         - name: kubewright\n  \
           context:\n    \
             cluster: kubewright\n    \
             user: {user}\n    \
             namespace: default\n\
         users:\n\
         - name: {user}\n  \
           user:\n    \
             {credential}\n"
    )
}

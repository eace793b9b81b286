//! The kubeconfig of the admin.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::access::{Authority, AuthorityError};

/// The URL of a server that listens on `address`.
pub(super) fn url(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("https://127.0.0.1:{}", address.port())
    } else {
        format!("https://{address}")
    }
}

/// A kubeconfig with everything inside it.
pub(super) fn text(address: SocketAddr, authority: &Authority) -> Result<String, AuthorityError> {
    let url = url(address);
    let admin = authority.admin()?;
    let authority = STANDARD.encode(authority.certificate_pem());
    let (certificate, key) = (
        STANDARD.encode(&admin.certificate),
        STANDARD.encode(&admin.key),
    );
    Ok(format!(
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
             user: kubernetes-admin\n    \
             namespace: default\n\
         users:\n\
         - name: kubernetes-admin\n  \
           user:\n    \
             client-certificate-data: {certificate}\n    \
             client-key-data: {key}\n"
    ))
}

//! The server's certificate authority, as controllers ask for it.

use std::sync::Weak;

use kubewright_auth::{AuthorityError, SigningRequest};
use kubewright_controllers::{Authority, Requested};
use kubewright_endpoints::Shared;

use crate::service::GONE;

/// The authority of a server that may be gone.
#[derive(Debug)]
pub(crate) struct OfServer(pub(crate) Weak<Shared>);

impl OfServer {
    fn ask<T>(
        &self,
        question: impl FnOnce(&kubewright_auth::Authority) -> Result<T, AuthorityError>,
    ) -> Result<T, String> {
        let shared = self.0.upgrade().ok_or(GONE)?;
        let authority = shared.access.authority();
        let authority = authority.map_err(|error| format!("cannot make an authority: {error}"))?;
        question(authority).map_err(|error| error.to_string())
    }
}

impl Authority for OfServer {
    fn root_ca(&self) -> Result<String, String> {
        self.ask(|authority| Ok(authority.certificate_pem().to_owned()))
    }

    fn read(&self, request: &str) -> Result<Requested, String> {
        let request = SigningRequest::from_pem(request).map_err(|error| error.to_string())?;
        Ok(Requested {
            common_name: request.common_name().to_owned(),
            organizations: request.organizations().to_vec(),
            alternative_names: request.alternative_names(),
        })
    }

    fn sign(&self, request: &str, usages: &[&str], valid: (i64, i64)) -> Result<String, String> {
        self.ask(|authority| {
            let request = SigningRequest::from_pem(request)?;
            authority.sign(request, usages, valid)
        })
    }
}

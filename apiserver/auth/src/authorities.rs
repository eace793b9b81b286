//! The certificate authorities of one server: of its clients, and of itself as a client of aggregated API servers.

use std::sync::OnceLock;

use super::authority::{Authority, AuthorityError, ClientPem};

/// The authorities, each made when it is first needed: most servers in tests need neither.
#[derive(Debug, Default)]
pub struct Authorities {
    clients: OnceLock<Authority>,
    front_proxy: OnceLock<FrontProxy>,
}

/// What an aggregated API server knows this server by: a client certificate of an authority that signs no other.
#[derive(Debug)]
pub struct FrontProxy {
    authority: String,
    client: ClientPem,
}

impl Authorities {
    /// The common name of the client certificate: what `--requestheader-allowed-names` of kubeadm's clusters is.
    pub const FRONT_PROXY_CLIENT: &str = "front-proxy-client";

    /// The authorities of a server, with that of its clients if it was given.
    pub fn new(clients: Option<Authority>) -> Self {
        Self {
            clients: clients.map_or_else(OnceLock::new, OnceLock::from),
            front_proxy: OnceLock::new(),
        }
    }

    /// The authority that signs the server's own certificate and those of its clients.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn clients(&self) -> Result<&Authority, AuthorityError> {
        if let Some(authority) = self.clients.get() {
            return Ok(authority);
        }
        let made = Authority::new()?;
        Ok(self.clients.get_or_init(|| made))
    }

    /// The identity of the server as a client of aggregated API servers.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn front_proxy(&self) -> Result<&FrontProxy, AuthorityError> {
        if let Some(front_proxy) = self.front_proxy.get() {
            return Ok(front_proxy);
        }
        let authority = Authority::named("kubewright-front-proxy-ca")?;
        let made = FrontProxy {
            client: authority.client(Self::FRONT_PROXY_CLIENT, &[])?,
            authority: authority.certificate_pem().to_owned(),
        };
        Ok(self.front_proxy.get_or_init(|| made))
    }
}

impl FrontProxy {
    /// The certificate of the authority, which aggregated API servers trust, as PEM.
    pub fn authority_pem(&self) -> &str {
        &self.authority
    }

    /// The client certificate and its key.
    pub fn client(&self) -> &ClientPem {
        &self.client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_of_the_front_proxy_is_not_that_of_clients() {
        let authorities = Authorities::default();
        let front_proxy = authorities.front_proxy().unwrap();
        let clients = authorities.clients().unwrap();
        assert_ne!(front_proxy.authority_pem(), clients.certificate_pem());
        let again = authorities.front_proxy().unwrap();
        assert_eq!(front_proxy.authority_pem(), again.authority_pem());
    }
}

//! An API server to ask: where it is, whom it trusts, and how to be its admin.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use kubewright_certificates::TrustBundle;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

/// An API server that cases are run on. The client is `kubernetes-admin`, by bearer token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    pub(crate) authority: String,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) token: String,
    pub(crate) audit_log: Option<PathBuf>,
}

impl Server {
    /// An API server at an `https` URL.
    ///
    /// # Errors
    /// The URL or the certificates cannot be read.
    pub fn new(url: &str, certificate_authority: &str, token: &str) -> Result<Self> {
        let url: Uri = url.parse().with_context(|| format!("read the URL {url}"))?;
        let authority = url
            .authority()
            .context("the URL names no host")?
            .to_string();
        let trust = TrustBundle::from_pem(certificate_authority)?;
        let mut roots = RootCertStore::empty();
        for certificate in trust.certificates() {
            roots.add(certificate.clone())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            authority,
            tls: Arc::new(tls),
            token: token.to_owned(),
            audit_log: None,
        })
    }

    /// A server that writes its audit log to this file, at the level `RequestResponse`.
    #[must_use]
    pub fn with_audit_log(mut self, path: &Path) -> Self {
        self.audit_log = Some(path.to_owned());
        self
    }

    /// The first cluster and the first user of a kubeconfig, which has to have a token.
    ///
    /// # Errors
    /// The text is no such kubeconfig.
    pub fn from_kubeconfig(text: &str) -> Result<Self> {
        let config: Value = serde_saphyr::from_str(text).context("read the kubeconfig")?;
        let field = |pointer: &str| {
            let value = config.pointer(pointer).and_then(Value::as_str);
            value.with_context(|| format!("the kubeconfig has no {pointer}"))
        };
        let authority =
            STANDARD.decode(field("/clusters/0/cluster/certificate-authority-data")?)?;
        Self::new(
            field("/clusters/0/cluster/server")?,
            &String::from_utf8(authority)?,
            field("/users/0/user/token")?,
        )
    }
}

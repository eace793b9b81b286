//! The embedded server, with an audit log as the real one has it.

use anyhow::{Context, Result};
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_apiserver::{ApiServer, Listening};
use tempfile::NamedTempFile;

use crate::server::Server;

/// A running embedded server.
#[derive(Debug)]
pub struct Embedded {
    listening: Listening,
    _log: NamedTempFile,
    server: Server,
}

impl Embedded {
    /// Starts one.
    ///
    /// # Errors
    /// There is no port or no place for its log.
    pub async fn start() -> Result<Self> {
        let log = NamedTempFile::new().context("make a file for the audit log")?;
        let audit = Audit::to_writer(log.reopen()?).level(Level::RequestResponse);
        let listening = ApiServer::builder()
            .audit(audit)
            .rbac()
            .start()
            .listen(([127, 0, 0, 1], 0))
            .await?;
        let server = Server::new(
            &listening.url(),
            listening.certificate_authority(),
            listening.token(),
        )?;
        Ok(Self {
            server: server.with_audit_log(log.path()),
            listening,
            _log: log,
        })
    }

    /// Where it is.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Ends it.
    pub async fn stop(self) {
        self.listening.stop().await;
    }
}

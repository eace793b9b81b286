//! The embedded server, with an audit log as the real one has it.

use anyhow::{Context, Result};
use kubewright_apiserver::admission::AdmissionPlugin;
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_apiserver::{ApiServer, KubernetesVersion, Listening};
use tempfile::NamedTempFile;

use crate::case::Case;
use crate::run::{self, Run};
use crate::server::Server;

/// A running embedded server.
#[derive(Debug)]
pub struct Embedded {
    listening: Listening,
    _log: NamedTempFile,
    server: Server,
}

impl Embedded {
    /// Starts one of a version, with these admission plugins besides the default ones.
    ///
    /// # Errors
    /// It does not have such a plugin, or there is no port or no place for its log.
    pub async fn start(plugins: &[String], version: KubernetesVersion) -> Result<Self> {
        let plugins = plugins.iter().map(|name| name.parse::<AdmissionPlugin>());
        let plugins: Vec<AdmissionPlugin> = plugins.collect::<Result<_, _>>()?;
        let log = NamedTempFile::new().context("make a file for the audit log")?;
        let audit = Audit::to_writer(log.reopen()?).level(Level::RequestResponse);
        let listening = ApiServer::builder()
            .emulated_version(version)
            .audit(audit)
            .rbac()
            .enable_admission_plugins(plugins)
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

    /// Runs every case, on one server after another: each set of admission plugins has its own.
    ///
    /// # Errors
    /// A server does not start, or cannot be reached at all.
    pub async fn run_all(cases: &[Case]) -> Result<Run> {
        let mut all = Run::default();
        for (plugins, cases) in run::by_plugins(cases) {
            let running = Self::start(&plugins, KubernetesVersion::default()).await?;
            all.extend(run::run(running.server(), &cases, |_| ()).await?);
            running.stop().await;
        }
        Ok(all)
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

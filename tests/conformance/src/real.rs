//! The real server: a kube-apiserver with an etcd, whose admin has the name that the embedded server's has.

use std::fs;

use anyhow::{Context, Result};
use kubewright_apiserver::KubernetesVersion;
use kubewright_testing::ControlPlane;
use tempfile::TempDir;

use crate::server::Server;

/// What the admin says.
const TOKEN: &str = "conformance";

/// All that an event can tell. Probes, which are many, leave no events.
const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: None, namespaces: [conformance-probes]}, {level: RequestResponse}]
";

/// Megabytes that no run of the suite writes: the reader of the audit log does not follow it when it is rotated.
const AUDIT_LOG_SIZE: u32 = 4096;

/// A running control plane; it ends when this is dropped.
#[derive(Debug)]
pub struct Real {
    _plane: ControlPlane,
    _tokens: TempDir,
    server: Server,
}

impl Real {
    /// Starts the programs of `KUBEBUILDER_ASSETS`, or those that `tests/kube-apiserver/build` has built, with these
    /// admission plugins besides those that envtest leaves on, emulating a version.
    ///
    /// # Errors
    /// They are not there, or do not start.
    pub async fn start(plugins: &[String], version: KubernetesVersion) -> Result<Self> {
        let tokens = TempDir::new().context("make a folder for the token")?;
        let path = tokens.path().join("tokens.csv");
        fs::write(&path, format!("{TOKEN},kubernetes-admin,,system:masters\n"))?;
        let mut plane = ControlPlane::builder()
            .audit(POLICY)
            .flag(format!("--audit-log-maxsize={AUDIT_LOG_SIZE}"))
            .flag(format!("--token-auth-file={}", path.display()));
        if version != KubernetesVersion::default() {
            plane = plane.flag(format!("--emulated-version={version}"));
        }
        if !plugins.is_empty() {
            plane = plane.flag(format!("--enable-admission-plugins={}", plugins.join(",")));
        }
        let plane = plane.start().await.context("start a real API server")?;
        Ok(Self {
            server: Server::new(plane.url(), plane.ca_pem(), TOKEN)?
                .with_audit_log(&plane.audit_log()),
            _plane: plane,
            _tokens: tokens,
        })
    }

    /// Where it is.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

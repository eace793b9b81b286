//! The embedded API server as commands use it: on a port, with a kubeconfig file, until somebody interrupts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kubewright_apiserver::{ApiServer, Listening};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};

/// Opens a port of the loopback interface.
pub(crate) async fn listen(server: &ApiServer, port: u16) -> Outcome<Listening> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    server.listen(address).await.map_err(|error| {
        let failure = Failure::from(error);
        if port == 0 {
            failure
        } else {
            failure.hint("pass --port 0 to take a free port")
        }
    })
}

/// A kubeconfig on disk, removed when the cluster that it leads to ends.
#[derive(Debug)]
pub(crate) struct KubeconfigFile(PathBuf);

impl KubeconfigFile {
    /// Writes the kubeconfig; only its owner may read it, since it holds a key.
    pub(crate) fn write(path: &Path, contents: &str) -> Outcome<Self> {
        write(path, contents, Readers::Owner)?;
        let path = std::path::absolute(path).context("cannot name the kubeconfig")?;
        Ok(Self(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        // Somebody may have removed it before us.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Waits for Ctrl-C or a request to terminate.
pub(crate) async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

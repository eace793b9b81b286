//! An embedded API server that goes by roles, and the command with a kubeconfig that leads there.

use std::fs;
use std::path::PathBuf;

use kube::Client;
use kubewright_apiserver::{ApiServer, Listening, PodHandlers};
use tempfile::TempDir;

use crate::command::{Ran, kubewright};

/// A cluster, and a folder for what commands read and write.
pub(crate) struct World {
    folder: TempDir,
    server: ApiServer,
    _listening: Listening,
}

impl World {
    pub(crate) async fn new() -> Self {
        let server = ApiServer::builder().rbac().start();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let listening = server.listen(address).await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("kubeconfig"), listening.kubeconfig()).expect("a file");
        Self {
            folder,
            server,
            _listening: listening,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A client that may do everything.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.service(), "default")
    }

    /// What answers for pods.
    pub(crate) fn pods(&self) -> PodHandlers {
        self.server.pods()
    }

    /// Runs the command in the folder, to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = kubewright(self.folder.path(), arguments);
        Ran::of(command.env("KUBECONFIG", self.path("kubeconfig"))).await
    }
}

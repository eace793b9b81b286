//! Where etcd is, and how it is reached.

use std::path::PathBuf;

/// The servers of an etcd cluster, with the names and meanings of kube-apiserver's flags.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    pub(crate) servers: Vec<String>,
    pub(crate) prefix: String,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) client_files: Option<(PathBuf, PathBuf)>,
}

impl EtcdOptions {
    /// The client URLs of the members, such as `http://127.0.0.1:2379`: `--etcd-servers`.
    pub fn new<S: Into<String>>(servers: impl IntoIterator<Item = S>) -> Self {
        let servers = servers.into_iter().map(Into::into);
        Self {
            servers: servers.collect(),
            prefix: "/registry".to_owned(),
            ca_file: None,
            client_files: None,
        }
    }

    /// Prepends this to every key: `--etcd-prefix`. The default is `/registry`.
    #[must_use]
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.trim_end_matches('/').clone_into(&mut self.prefix);
        self
    }

    /// Trusts the authorities in this file alone: `--etcd-cafile`. The default is to trust those of the system.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// Shows etcd this certificate: `--etcd-certfile` and `--etcd-keyfile`.
    #[must_use]
    pub fn client_files(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.client_files = Some((cert.into(), key.into()));
        self
    }
}

//! The flags of `kubewright apiserver` that name an etcd, as those of kube-apiserver do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use kubewright_apiserver::Builder;

use crate::failure::{Failure, Outcome};

/// Where the objects of a server are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Storage {
    /// In a file of the directory of --data; in memory alone without it
    #[default]
    File,
    /// In etcd, which several servers may share
    Etcd,
}

#[derive(Debug, Args)]
pub(crate) struct Etcd {
    /// Connect to one of these etcd servers, such as http://127.0.0.1:2379
    #[arg(
        long = "etcd-servers",
        value_name = "URLS",
        value_delimiter = ',',
        required_if_eq("storage", "etcd")
    )]
    servers: Vec<String>,

    /// Prepend this to the keys of all objects in etcd
    #[arg(
        long = "etcd-prefix",
        value_name = "PREFIX",
        default_value = "/registry"
    )]
    prefix: String,

    /// Trust etcd servers whose certificate an authority in this file has signed, instead of those of the system
    #[arg(long = "etcd-cafile", value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Authenticate to etcd with the certificate in this file
    #[arg(long = "etcd-certfile", value_name = "FILE", requires = "key_file")]
    cert_file: Option<PathBuf>,

    /// Authenticate to etcd with the key in this file
    #[arg(long = "etcd-keyfile", value_name = "FILE", requires = "cert_file")]
    key_file: Option<PathBuf>,
}

impl Etcd {
    /// Gives a server the objects in etcd.
    #[cfg(feature = "etcd")]
    pub(crate) fn keep(self, server: Builder) -> Outcome<Builder> {
        use kubewright_apiserver::{EtcdBackend, EtcdOptions};

        let mut options = EtcdOptions::new(self.servers).prefix(&self.prefix);
        if let Some(file) = self.ca_file {
            options = options.ca_file(file);
        }
        if let (Some(cert), Some(key)) = (self.cert_file, self.key_file) {
            options = options.client_files(cert, key);
        }
        let backend = EtcdBackend::connect(options).map_err(|error| {
            Failure::from(error).hint("check that etcd runs, and the flags --etcd-servers, --etcd-cafile, --etcd-certfile and --etcd-keyfile")
        })?;
        server.shared_storage(backend).map_err(|error| {
            Failure::from(error).hint("choose another prefix with --etcd-prefix if another program has written these keys")
        })
    }

    /// Says that this program was built without it.
    #[cfg(not(feature = "etcd"))]
    pub(crate) fn keep(self, _: Builder) -> Outcome<Builder> {
        let message = format!(
            "cannot connect to {}: this program was built without etcd",
            self.servers.join(",")
        );
        Err(Failure::new(message).hint("build it with the feature `etcd`"))
    }
}

//! Where the tests of `kubewright assets` run it.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::command::{Ran, kubewright};
use crate::mirror::{Mirror, programs};

/// A repository, and a store beside it.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("the place of the test is there");
        fs::create_dir_all(folder.path().join("repository/.git"))
            .expect("the place of the test is there");
        Self(folder)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.0.path().join("repository")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    pub(crate) fn lock(&self) -> String {
        fs::read_to_string(self.repository().join("kubewright.lock")).unwrap_or_default()
    }

    pub(crate) fn command(&self, indexes: &str, arguments: &[&str]) -> tokio::process::Command {
        let mut command = kubewright(&self.repository(), &["assets"]);
        command
            .args(arguments)
            .env("KUBEWRIGHT_ASSETS_STORE", self.store())
            .env("KUBEWRIGHT_ASSETS_INDEX", indexes)
            // A proxy of this machine does not lead to the mirrors of the tests.
            .env("no_proxy", "127.0.0.1")
            .env("NO_PROXY", "127.0.0.1");
        command
    }

    pub(crate) async fn run(&self, indexes: &str, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(indexes, arguments)).await
    }

    /// Runs `use` for linux-amd64, which has to go well, and gives the path.
    pub(crate) async fn used(&self, indexes: &str, arguments: &[&str]) -> PathBuf {
        let ran = self.run(indexes, &with_linux("use", arguments)).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let path = PathBuf::from(
            ran.out
                .strip_suffix('\n')
                .expect("the place of the test is there"),
        );
        assert!(path.is_absolute() && path.join("kube-apiserver").is_file());
        path
    }

    /// Runs `use` for linux-amd64, which has to fail, and gives what it says.
    pub(crate) async fn refused(&self, indexes: &str, arguments: &[&str]) -> String {
        let ran = self.run(indexes, &with_linux("use", arguments)).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        ran.err
    }

    /// The folders in the store.
    pub(crate) fn installed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.store()).into_iter().flatten();
        let folders = entries
            .map(|entry| entry.expect("the store is read"))
            .filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = folders
            .map(|entry| {
                entry
                    .file_name()
                    .into_string()
                    .expect("the place of the test is there")
            })
            .collect();
        names.retain(|name| name != "downloads");
        names.sort();
        names
    }
}

pub(crate) fn with_linux<'a>(command: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&[command, "--os", "linux", "--arch", "amd64"], arguments].concat()
}

pub(crate) fn name(version: &str) -> String {
    format!("envtest-v{version}-linux-amd64.tar.gz")
}

/// A mirror with three versions.
pub(crate) async fn mirror() -> Mirror {
    let mirror = Mirror::start().await;
    mirror.publishes(&[
        (&name("1.35.9"), &programs("1.35.9")),
        (&name("1.36.1"), &programs("1.36.1")),
        (&name("1.36.2"), &programs("1.36.2")),
        ("envtest-v1.36.2-darwin-arm64.tar.gz", b"a mac's"),
    ]);
    mirror
}

/// Serves TLS with this certificate.
pub(crate) fn acceptor(server: &kubewright_certificates::Issued) -> tokio_rustls::TlsAcceptor {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let chain = server.certificate_pem();
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes())
        .map(|one| one.expect("a certificate"))
        .collect();
    let key = PrivateKeyDer::from_pem_slice(server.key_pem().as_bytes())
        .expect("the certificate is good");
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the certificate is good")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("the certificate is good");
    std::sync::Arc::new(config).into()
}

//! One consistent reading of the files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{CertificateError, Identity, TrustBundle};

/// The symbolic link that the kubelet's atomic writer renames: the files are links into the directory it points at.
const KUBELET_LINK: &str = "..data";

/// Where the files are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) dir: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    pub(super) trust: PathBuf,
}

/// The bytes of the files at one moment.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    certificate: Vec<u8>,
    key: Vec<u8>,
    trust: Option<Vec<u8>>,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Kubelet,
    Plain,
}

impl Layout {
    /// Reads all files, off the runtime's threads.
    pub(super) async fn read(&self) -> Result<Snapshot, CertificateError> {
        let layout = self.clone();
        tokio::task::spawn_blocking(move || layout.read_now())
            .await
            .unwrap_or_else(|error| {
                Err(CertificateError::ReadFile {
                    path: self.dir.clone(),
                    source: io::Error::other(error),
                })
            })
    }

    fn read_now(&self) -> Result<Snapshot, CertificateError> {
        // Reading through the link three times could mix two generations; its target is one.
        if let Ok(target) = fs::read_link(self.dir.join(KUBELET_LINK)) {
            let generation = self.dir.join(target);
            if generation.join(&self.certificate).exists() {
                return self.read_from(&generation, Origin::Kubelet);
            }
        }
        self.read_from(&self.dir, Origin::Plain)
    }

    fn read_from(&self, dir: &Path, origin: Origin) -> Result<Snapshot, CertificateError> {
        let read = |name: &Path| {
            let path = dir.join(name);
            fs::read(&path).map_err(|source| CertificateError::ReadFile { path, source })
        };
        let certificate = read(&self.certificate)?;
        let key = read(&self.key)?;
        let trust = match read(&self.trust) {
            Ok(trust) => Some(trust).filter(|bytes| !bytes.is_empty()),
            Err(CertificateError::ReadFile { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        Ok(Snapshot {
            certificate,
            key,
            trust,
            origin,
        })
    }
}

impl Snapshot {
    /// Whether the files came to be all at once.
    pub(super) fn is_atomic(&self) -> bool {
        self.origin == Origin::Kubelet
    }

    pub(super) fn identity(&self) -> Result<Identity, CertificateError> {
        let trust = self.trust.as_ref().map(TrustBundle::from_pem).transpose()?;
        Identity::from_pem(&self.certificate, &self.key, trust)
    }
}

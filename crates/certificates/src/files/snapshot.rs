//! One consistent reading of a certificate with its key and its authorities.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::follow::{Origin, Place};
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
}

impl Place for Layout {
    type Snapshot = Snapshot;
    type Value = Identity;
    const WHAT: &'static str = "certificate";

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn read(&self) -> Result<(Snapshot, Origin), CertificateError> {
        let (dir, origin) = current(&self.dir, &self.certificate);
        let certificate = read(&dir, &self.certificate)?;
        let key = read(&dir, &self.key)?;
        let trust = match read(&dir, &self.trust) {
            Ok(trust) => Some(trust).filter(|bytes| !bytes.is_empty()),
            Err(CertificateError::ReadFile { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let snapshot = Snapshot {
            certificate,
            key,
            trust,
        };
        Ok((snapshot, origin))
    }

    fn value(snapshot: &Snapshot) -> Result<Identity, CertificateError> {
        let trust = snapshot
            .trust
            .as_ref()
            .map(TrustBundle::from_pem)
            .transpose()?;
        Identity::from_pem(&snapshot.certificate, &snapshot.key, trust)
    }
}

/// The directory that `name` is to be read from, with the others: the one that the kubelet's link points at, if there is
/// one. Reading through the link several times could mix two generations; its target is one.
pub(super) fn current(dir: &Path, name: &Path) -> (PathBuf, Origin) {
    if let Ok(target) = fs::read_link(dir.join(KUBELET_LINK)) {
        let generation = dir.join(target);
        if generation.join(name).exists() {
            return (generation, Origin::Kubelet);
        }
    }
    (dir.to_owned(), Origin::Plain)
}

pub(super) fn read(dir: &Path, name: &Path) -> Result<Vec<u8>, CertificateError> {
    let path = dir.join(name);
    fs::read(&path).map_err(|source| CertificateError::ReadFile { path, source })
}

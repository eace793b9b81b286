//! The CAs of clients, in a file that another program or an operator writes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::follow::{Follow, Origin, Place};
use super::snapshot::{current, read};
use crate::{CertificateError, TrustBundle};

/// Authorities in one PEM file, such as those that sign the API server's client certificate, and its changes.
///
/// It is followed as [`Files`](crate::Files) are: a mounted Secret or ConfigMap that the kubelet swaps, a file that is
/// renamed over another, written in place or appears only later. A half-written file never replaces a good one.
///
/// # Example
///
/// ```
/// use kubewright_certificates::{Authority, TrustFile};
///
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("client-ca.crt");
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let authority = Authority::new("api-server-clients")?;
/// std::fs::write(&path, authority.certificate_pem()).unwrap();
/// let mut file = TrustFile::at(&path);
/// assert_eq!(file.next().await, authority.trust()); // the call after this one waits for a change
/// # Ok::<(), kubewright_certificates::CertificateError>(())
/// # }).unwrap();
/// ```
pub struct TrustFile {
    follow: Follow<At>,
}

#[derive(Clone, Debug)]
struct At {
    dir: PathBuf,
    name: PathBuf,
}

impl TrustFile {
    /// Reads this file, which need not exist yet.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, TrustFile};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("client-ca.crt");
    /// let mut file = TrustFile::at(&path).poll_every(Duration::from_millis(20));
    /// let soon = tokio::time::timeout(Duration::from_millis(50), file.next());
    /// assert!(soon.await.is_err(), "waits for the file");
    ///
    /// let authority = Authority::new("clients")?;
    /// std::fs::write(&path, authority.certificate_pem())?;
    /// assert_eq!(file.next().await, authority.trust());
    /// # Ok(())
    /// # }
    /// ```
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let dir = match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
        Self {
            follow: Follow::of(At { dir, name }),
        }
    }

    /// Sets the interval at which the file is read even without a file event. The default is ten seconds.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, TrustFile};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("client-ca.crt");
    /// let (old, new) = (Authority::new("old")?, Authority::new("new")?);
    /// std::fs::write(&path, old.certificate_pem())?;
    /// let mut file = TrustFile::at(&path).poll_every(Duration::from_millis(20));
    /// assert_eq!(file.next().await, old.trust());
    /// std::fs::write(&path, new.certificate_pem())?;
    /// assert_eq!(file.next().await, new.trust());
    /// # Ok(())
    /// # }
    /// ```
    pub fn poll_every(mut self, poll: Duration) -> Self {
        self.follow.poll = poll;
        self
    }

    /// Waits for the authorities: the first time for a file that can be read, after that for a change of it.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: the next call finds the same change.
    pub async fn next(&mut self) -> TrustBundle {
        self.follow.next().await
    }
}

impl Place for At {
    type Snapshot = Vec<u8>;
    type Value = TrustBundle;
    const WHAT: &'static str = "authorities of clients";

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn read(&self) -> Result<(Vec<u8>, Origin), CertificateError> {
        let (dir, origin) = current(&self.dir, &self.name);
        Ok((read(&dir, &self.name)?, origin))
    }

    fn value(snapshot: &Vec<u8>) -> Result<TrustBundle, CertificateError> {
        TrustBundle::from_pem(snapshot)
    }
}

impl fmt::Debug for TrustFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("TrustFile")
            .field(&self.follow.place.dir.join(&self.follow.place.name))
            .finish()
    }
}

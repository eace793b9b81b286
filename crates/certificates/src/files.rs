//! Certificates from files that another program writes, such as a mounted Secret of cert-manager, or that an operator edits.

mod follow;
mod snapshot;
mod trust;
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use follow::Follow;
use snapshot::Layout;
pub use trust::TrustFile;

use crate::{CertificateError, CertificateSource, Identity};

/// The names of a Secret of type `kubernetes.io/tls`, as cert-manager writes it.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const TRUST: &str = "ca.crt";

/// A source that reads `tls.crt`, `tls.key` and, if it is there, `ca.crt` from a directory, and follows their changes.
///
/// It follows the way in which the kubelet swaps a mounted Secret (`..data` is renamed to point at a new directory),
/// files that are renamed over others, written in place, deleted and made again, and files that appear only later. A
/// half-written file, a certificate without its key or a key of another certificate never replaces a good pair: the
/// old one stays in use until the files are whole again.
///
/// Changes are seen through file events; a slow poll finds those that a file system does not report.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateSource, Files};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path();
/// # let authority = Authority::new("ca")?;
/// # let write = |issued: &kubewright_certificates::Issued| {
/// #     std::fs::write(dir.join("tls.crt"), issued.certificate_pem())?;
/// #     std::fs::write(dir.join("tls.key"), issued.key_pem())
/// # };
/// let issued = authority.sign_server(["localhost"], Duration::from_hours(24))?;
/// write(&issued)?; // as cert-manager or the kubelet does
/// let mut files = Files::in_dir(dir);
/// assert_eq!(files.next().await?.chain(), issued.identity()?.chain());
///
/// // The next call waits until the files change.
/// let renewed = authority.sign_server(["localhost"], Duration::from_hours(24))?;
/// write(&renewed)?;
/// assert_eq!(files.next().await?.chain(), renewed.identity()?.chain());
/// # Ok(())
/// # }
/// ```
pub struct Files {
    follow: Follow<Layout>,
}

impl Files {
    /// Reads the files of this directory, which need not exist yet.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateSource, Files};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path().join("mounted");
    /// let mut files = Files::in_dir(&dir).poll_every(Duration::from_millis(20));
    /// let soon = tokio::time::timeout(Duration::from_millis(50), files.next());
    /// assert!(soon.await.is_err(), "waits for the directory");
    ///
    /// let issued = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    /// std::fs::create_dir(&dir)?;
    /// std::fs::write(dir.join("tls.crt"), issued.certificate_pem())?;
    /// std::fs::write(dir.join("tls.key"), issued.key_pem())?;
    /// assert_eq!(files.next().await?.chain(), issued.identity()?.chain());
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Self {
            follow: Follow::of(Layout {
                dir: dir.into(),
                certificate: CERTIFICATE.into(),
                key: KEY.into(),
                trust: TRUST.into(),
            }),
        }
    }

    /// Sets the file name of the certificate chain. The default is `tls.crt`.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateSource, Files};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// # let issued = Authority::new("ca")?.sign_server(["localhost"], std::time::Duration::from_hours(24))?;
    /// std::fs::write(dir.join("fullchain.pem"), issued.certificate_pem())?;
    /// std::fs::write(dir.join("privkey.pem"), issued.key_pem())?;
    /// let mut files = Files::in_dir(dir).certificate("fullchain.pem").key("privkey.pem");
    /// assert_eq!(files.next().await?.chain(), issued.identity()?.chain());
    /// # Ok(())
    /// # }
    /// ```
    pub fn certificate(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.certificate = name.into();
        self
    }

    /// Sets the file name of the private key. The default is `tls.key`.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateSource, Files};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// # let issued = Authority::new("ca")?.sign_server(["localhost"], std::time::Duration::from_hours(24))?;
    /// std::fs::write(dir.join("tls.crt"), issued.certificate_pem())?;
    /// std::fs::write(dir.join("server.key"), issued.key_pem())?;
    /// let mut files = Files::in_dir(dir).key("server.key");
    /// assert_eq!(files.next().await?.chain(), issued.identity()?.chain());
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.key = name.into();
        self
    }

    /// Sets the file name of the CAs that clients have to trust. The default is `ca.crt`.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateSource, Files};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// # let authority = Authority::new("ca")?;
    /// # let issued = authority.sign_server(["localhost"], std::time::Duration::from_hours(24))?;
    /// std::fs::write(dir.join("tls.crt"), issued.certificate_pem())?;
    /// std::fs::write(dir.join("tls.key"), issued.key_pem())?;
    /// std::fs::write(dir.join("root.pem"), authority.certificate_pem())?;
    /// let mut files = Files::in_dir(dir).trust("root.pem");
    /// assert_eq!(files.next().await?.trust(), &authority.trust());
    /// # Ok(())
    /// # }
    /// ```
    pub fn trust(mut self, name: impl Into<PathBuf>) -> Self {
        self.follow.place.trust = name.into();
        self
    }

    /// Sets the interval at which the files are read even without a file event. The default is ten seconds.
    ///
    /// Shorten it on file systems that report no events, such as network shares.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, CertificateSource, Files};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let mut files = Files::in_dir(dir).poll_every(Duration::from_millis(20));
    /// let writer = async {
    ///     tokio::time::sleep(Duration::from_millis(50)).await;
    ///     let issued = Authority::new("ca")?.sign_server(["localhost"], Duration::from_hours(24))?;
    ///     std::fs::write(dir.join("tls.crt"), issued.certificate_pem())?;
    ///     std::fs::write(dir.join("tls.key"), issued.key_pem())?;
    ///     Ok::<_, Box<dyn std::error::Error>>(issued.identity()?)
    /// };
    /// let (read, written) = tokio::join!(files.next(), writer);
    /// assert_eq!(read?.chain(), written?.chain());
    /// # Ok(())
    /// # }
    /// ```
    pub fn poll_every(mut self, poll: Duration) -> Self {
        self.follow.poll = poll;
        self
    }
}

impl CertificateSource for Files {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        Ok(self.follow.next().await)
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("layout", &self.follow.place)
            .finish_non_exhaustive()
    }
}

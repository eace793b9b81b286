//! Certificates from files that somebody else writes: a mounted Secret, cert-manager, an operator's hand.

mod snapshot;
mod watch;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use snapshot::{Layout, Snapshot};
use watch::Watch;

use crate::{CertificateError, CertificateSource, Identity};

/// The names of a Secret of type `kubernetes.io/tls`, as cert-manager writes it.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const TRUST: &str = "ca.crt";

/// How often the files are read when no event says that they have changed.
const POLL: Duration = Duration::from_secs(10);

/// How long files that are written in place must stay the same before they replace a good pair.
const SETTLE: Duration = Duration::from_millis(20);

/// A source that reads `tls.crt`, `tls.key` and, if it is there, `ca.crt` from a directory, and follows their changes.
///
/// It follows the way in which the kubelet swaps a mounted Secret (`..data` is renamed to point at a new directory),
/// files that are renamed over others, written in place, deleted and made again, and files that appear only later. A
/// half-written file, a certificate without its key or a key of another certificate never replaces a good pair: the
/// old one stays in use until the files are whole again.
///
/// Changes are seen through file events; a slow poll finds those that a file system does not report.
pub struct Files {
    layout: Layout,
    poll: Duration,
    watch: Watch,
    seen: Seen,
}

enum Seen {
    /// Nothing was served yet.
    Nothing,
    /// This is what was served last.
    Served(Snapshot),
}

impl Files {
    /// Reads the files of a directory, which may also appear later.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self {
            watch: Watch::of(dir.clone()),
            layout: Layout {
                dir,
                certificate: CERTIFICATE.into(),
                key: KEY.into(),
                trust: TRUST.into(),
            },
            poll: POLL,
            seen: Seen::Nothing,
        }
    }

    /// Sets the name of the file with the certificate chain; `tls.crt` unless set.
    pub fn certificate(mut self, name: impl Into<PathBuf>) -> Self {
        self.layout.certificate = name.into();
        self
    }

    /// Sets the name of the file with the private key; `tls.key` unless set.
    pub fn key(mut self, name: impl Into<PathBuf>) -> Self {
        self.layout.key = name.into();
        self
    }

    /// Sets the name of the file with the authorities that clients must trust; `ca.crt` unless set.
    pub fn trust(mut self, name: impl Into<PathBuf>) -> Self {
        self.layout.trust = name.into();
        self
    }

    /// Sets how often the files are read when no event says that they have changed; every ten seconds unless set.
    pub fn poll_every(mut self, poll: Duration) -> Self {
        self.poll = poll;
        self
    }

    /// Reads the files: an identity if they are whole and not what is served already.
    async fn read(&self) -> Result<Option<(Snapshot, Identity)>, CertificateError> {
        let mut snapshot = self.layout.read().await?;
        if let Seen::Served(served) = &self.seen {
            if *served == snapshot {
                return Ok(None);
            }
            // The kubelet's swap is atomic. Any other writer may be in the middle of a file, at a point where what
            // there is already makes sense: a chain without its last certificate.
            while !snapshot.is_atomic() {
                tokio::time::sleep(SETTLE).await;
                let again = self.layout.read().await?;
                if again == snapshot {
                    break;
                }
                snapshot = again;
            }
        }
        let identity = snapshot.identity()?;
        Ok(Some((snapshot, identity)))
    }
}

impl CertificateSource for Files {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        let mut patience = Patience::Fresh;
        loop {
            // The watch comes before the read, so that a change between the two is not missed. The very first read
            // needs no watch: files that are there already are served without starting one.
            if matches!(self.seen, Seen::Served(_)) || !matches!(patience, Patience::Fresh) {
                self.watch.arm();
            }
            match self.read().await {
                Ok(Some((snapshot, identity))) => {
                    self.seen = Seen::Served(snapshot);
                    return Ok(identity);
                }
                Ok(None) => patience = Patience::Waiting,
                Err(error) => {
                    let was_fresh = matches!(patience, Patience::Fresh);
                    self.explain(&mut patience, &error);
                    if was_fresh {
                        continue;
                    }
                }
            }
            if self.watch.changed(self.poll).await.is_err() && matches!(patience, Patience::Waiting)
            {
                patience = Patience::Long;
            }
        }
    }
}

/// How long the files have been incomplete, so that a swap in progress is not reported as trouble.
#[derive(Clone, Copy)]
enum Patience {
    Fresh,
    Waiting,
    Long,
    Told,
}

impl Files {
    fn explain(&self, patience: &mut Patience, error: &CertificateError) {
        let dir = self.layout.dir.display();
        let cause = std::error::Error::source(error)
            .map(ToString::to_string)
            .unwrap_or_default();
        match (*patience, &self.seen) {
            (Patience::Fresh, Seen::Nothing) => {
                tracing::info!(%dir, %error, %cause, "waiting for the certificate");
                *patience = Patience::Waiting;
            }
            (Patience::Fresh, Seen::Served(_)) => *patience = Patience::Waiting,
            (Patience::Long, Seen::Nothing) => {
                tracing::warn!(%dir, %error, %cause, "still waiting for the certificate");
                *patience = Patience::Told;
            }
            (Patience::Long, Seen::Served(_)) => {
                tracing::warn!(%dir, %error, %cause, "the new certificate cannot be used; the old one stays in use");
                *patience = Patience::Told;
            }
            (Patience::Waiting | Patience::Told, _) => {}
        }
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Files")
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

//! Files that are read again whenever they change, and give a new value only when they are whole.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::watch::Watch;
use crate::CertificateError;

/// How often the files are read when no event says that they have changed.
const POLL: Duration = Duration::from_secs(10);

/// How long files that are written in place must stay the same before they replace what is in use.
const SETTLE: Duration = Duration::from_millis(20);

/// Where files are, and what they mean together.
pub(super) trait Place: Clone + Send + 'static {
    /// The bytes of the files at one moment.
    type Snapshot: PartialEq + Send + 'static;
    /// The certificates that the bytes contain.
    type Value;
    /// The content of the files, for the log.
    const WHAT: &'static str;

    fn dir(&self) -> &Path;

    /// Reads all files, and returns how they were written.
    fn read(&self) -> Result<(Self::Snapshot, Origin), CertificateError>;

    fn value(snapshot: &Self::Snapshot) -> Result<Self::Value, CertificateError>;
}

/// How the files were written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// By the kubelet's swap, all at once.
    Kubelet,
    Plain,
}

/// A place, what was last taken from it, and the watch on it.
pub(super) struct Follow<P: Place> {
    pub(super) place: P,
    pub(super) poll: Duration,
    watch: Watch,
    taken: Option<P::Snapshot>,
}

impl<P: Place> Follow<P> {
    pub(super) fn of(place: P) -> Self {
        Self {
            watch: Watch::of(place.dir().to_owned()),
            place,
            poll: POLL,
            taken: None,
        }
    }

    /// Waits for files that are whole and not what was taken last.
    pub(super) async fn next(&mut self) -> P::Value {
        let mut patience = Patience::Fresh;
        loop {
            // The watch comes before the read, so that a change between the two is not missed. The very first read
            // needs no watch: files that are there already are served without starting one.
            if self.taken.is_some() || !matches!(patience, Patience::Fresh) {
                self.watch.arm();
            }
            match self.read().await {
                Ok(Some((snapshot, value))) => {
                    self.taken = Some(snapshot);
                    return value;
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

    /// Reads the files: a value if they are whole and not what was taken already.
    async fn read(&self) -> Result<Option<(P::Snapshot, P::Value)>, CertificateError> {
        let (mut snapshot, mut origin) = self.read_once().await?;
        if let Some(taken) = &self.taken {
            if *taken == snapshot {
                return Ok(None);
            }
            // The kubelet's swap is atomic. Any other writer may be in the middle of a file, at a point where what
            // there is already makes sense: a chain without its last certificate.
            while origin == Origin::Plain {
                tokio::time::sleep(SETTLE).await;
                let again = self.read_once().await?;
                if again.0 == snapshot {
                    break;
                }
                (snapshot, origin) = again;
            }
        }
        let value = P::value(&snapshot)?;
        Ok(Some((snapshot, value)))
    }

    /// Reads all files, off the runtime's threads.
    async fn read_once(&self) -> Result<(P::Snapshot, Origin), CertificateError> {
        let place = self.place.clone();
        tokio::task::spawn_blocking(move || place.read())
            .await
            .unwrap_or_else(|error| {
                Err(CertificateError::ReadFile {
                    path: self.place.dir().to_owned(),
                    source: io::Error::other(error),
                })
            })
    }

    fn explain(&self, patience: &mut Patience, error: &CertificateError) {
        let (dir, what) = (self.place.dir().display(), P::WHAT);
        let cause = std::error::Error::source(error)
            .map(ToString::to_string)
            .unwrap_or_default();
        match (*patience, &self.taken) {
            (Patience::Fresh, None) => {
                tracing::info!(%dir, %error, %cause, "waiting for the {what}");
                *patience = Patience::Waiting;
            }
            (Patience::Fresh, Some(_)) => *patience = Patience::Waiting,
            (Patience::Long, None) => {
                tracing::warn!(%dir, %error, %cause, "still waiting for the {what}");
                *patience = Patience::Told;
            }
            (Patience::Long, Some(_)) => {
                tracing::warn!(%dir, %error, %cause, "the new {what} cannot be used; the old one stays in use");
                *patience = Patience::Told;
            }
            (Patience::Waiting | Patience::Told, _) => {}
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

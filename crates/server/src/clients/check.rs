//! Which clients may call, and what happens to the others.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kubewright_certificates::{CertificateError, ClientTrust, TrustBundle, TrustFile};

/// Which clients may call: those that show a certificate of certain authorities, and have one of certain names.
///
/// This is how a webhook knows the API server, which shows a certificate if its admission configuration names one. Every
/// client is asked for a certificate, and judged when it calls: who is not believed is refused with 403 and a sentence that
/// says why, before its body is read. Health checks are answered to everybody, as kubelets have no certificate to show.
///
/// A file with the authorities is followed, so that a change of it takes effect without a restart, also for connections that
/// are open. Certificates that expire while their connection stays open are found out within a minute.
///
/// # Example: find out first who calls, then refuse the others
///
/// ```
/// use kubewright_server::ClientCheck;
///
/// let check = ClientCheck::by_file("/etc/policy/client-ca.crt").named(["kube-apiserver"]);
/// let observing = check.observing(); // logs and counts, and refuses nobody
/// ```
#[derive(Debug)]
#[must_use]
pub struct ClientCheck {
    authorities: Authorities,
    pub(super) rules: Rules,
}

#[derive(Debug)]
enum Authorities {
    Fixed(TrustBundle),
    File(TrustFile),
}

/// What does not change while the server runs.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) names: BTreeSet<String>,
    pub(super) open_paths: BTreeSet<String>,
    pub(super) mode: Mode,
}

/// What happens to a client that is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Refuse,
    Observe,
}

impl ClientCheck {
    /// Believes clients that the authorities in this PEM file have signed for, and follows the file. The server waits for it
    /// if it is not there yet.
    pub fn by_file(path: impl Into<PathBuf>) -> Self {
        Self::by(Authorities::File(TrustFile::at(path)))
    }

    /// Believes clients that these authorities have signed for.
    pub fn by_authorities(authorities: TrustBundle) -> Self {
        Self::by(Authorities::Fixed(authorities))
    }

    fn by(authorities: Authorities) -> Self {
        Self {
            authorities,
            rules: Rules {
                names: BTreeSet::new(),
                open_paths: BTreeSet::new(),
                mode: Mode::Refuse,
            },
        }
    }

    /// Lets only clients call whose certificate has one of these common names; every name will do unless set.
    pub fn named(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.rules.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Lets everybody call these paths. The API server shows its certificate to admission webhooks only: conversions come
    /// without one.
    pub fn except_at(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.rules
            .open_paths
            .extend(paths.into_iter().map(Into::into));
        self
    }

    /// Refuses nobody: logs and counts whom it would have refused.
    pub fn observing(mut self) -> Self {
        self.rules.mode = Mode::Observe;
        self
    }

    /// Waits for the first authorities.
    pub(super) async fn first(&mut self) -> Result<ClientTrust, CertificateError> {
        match &mut self.authorities {
            Authorities::Fixed(authorities) => self.rules.trusting(authorities),
            Authorities::File(file) => self.rules.trusting(&file.next().await),
        }
    }

    /// The file that is to be followed, if there is one.
    pub(crate) fn into_file(self) -> Option<TrustFile> {
        match self.authorities {
            Authorities::Fixed(_) => None,
            Authorities::File(file) => Some(file),
        }
    }
}

impl Rules {
    pub(super) fn trusting(
        &self,
        authorities: &TrustBundle,
    ) -> Result<ClientTrust, CertificateError> {
        ClientTrust::new(authorities, &self.names)
    }
}

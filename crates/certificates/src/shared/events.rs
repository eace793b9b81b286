//! Events and status of a rotation, for Kubernetes Events, logs and metrics.

use std::fmt;
use std::time::SystemTime;

use super::state::Phase;

/// An event of the rotation in this replica. The other replicas report their own events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RotationEvent {
    /// The first authority was created.
    Created,
    /// The next authority was added to the Secret, and will be published.
    Staged {
        /// The number of the next authority.
        generation: u64,
    },
    /// The caBundle of every object contains the next authority.
    Published,
    /// An object has lost the next authority, which is published again before the switch.
    Unpublished,
    /// The next authority has become the current one.
    Switched {
        /// Its number.
        generation: u64,
    },
    /// Authorities were removed from the trust bundle: no certificate that they signed is valid any more.
    Retired,
    /// The authority had expired, and was replaced at once.
    Replaced {
        /// The number of the new one.
        generation: u64,
    },
    /// The Secret was written back from memory.
    Restored {
        /// Why the stored Secret was not used.
        why: String,
        /// The field manager that had written the Secret last.
        writer: Option<String>,
    },
    /// This replica has signed itself a certificate.
    Signed {
        /// The number of the authority.
        generation: u64,
        /// When the certificate expires.
        expires: SystemTime,
    },
    /// An error keeps this replica from its part in the rotation. It serves the certificate that it has, and tries again.
    Trouble {
        /// The error.
        what: String,
    },
    /// The error is over.
    Recovered,
}

/// Status of the rotation in one replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Phase of the rotation; none until the Secret is read or created.
    pub phase: Option<Phase>,
    /// The number of the current authority; 0 until one exists.
    pub generation: u64,
    /// When the current authority expires.
    pub authority_expires: Option<SystemTime>,
    /// When the certificate that is served expires.
    pub certificate_expires: Option<SystemTime>,
    /// The error that keeps this replica from its part in the rotation, if any.
    pub trouble: Option<String>,
}

impl RotationEvent {
    /// Returns the reason of the Kubernetes Event.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Created => "AuthorityCreated",
            Self::Staged { .. } => "AuthorityStaged",
            Self::Published => "AuthorityPublished",
            Self::Unpublished => "AuthorityUnpublished",
            Self::Switched { .. } => "AuthoritySwitched",
            Self::Retired => "AuthorityRetired",
            Self::Replaced { .. } => "AuthorityReplaced",
            Self::Restored { .. } => "SecretRestored",
            Self::Signed { .. } => "CertificateSigned",
            Self::Trouble { .. } => "CertificateTrouble",
            Self::Recovered => "CertificateRecovered",
        }
    }

    /// Returns whether the Kubernetes Event is a warning.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            Self::Unpublished
                | Self::Replaced { .. }
                | Self::Restored { .. }
                | Self::Trouble { .. }
        )
    }
}

impl fmt::Display for RotationEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => formatter.write_str("created the authority"),
            Self::Staged { generation } => {
                write!(formatter, "staged authority {generation} for publication")
            }
            Self::Published => {
                formatter.write_str("the caBundle of every object contains the next authority")
            }
            Self::Unpublished => {
                formatter.write_str("an object has lost the next authority: publishing it again")
            }
            Self::Switched { generation } => {
                write!(formatter, "switched to authority {generation}")
            }
            Self::Retired => formatter
                .write_str("removed authorities without valid certificates from the trust bundle"),
            Self::Replaced { generation } => {
                write!(
                    formatter,
                    "replaced an expired authority with authority {generation}"
                )
            }
            Self::Restored { why, writer } => {
                write!(formatter, "restored the Secret from memory: {why}")?;
                match writer {
                    Some(writer) => write!(formatter, "; field manager `{writer}` wrote it last"),
                    None => Ok(()),
                }
            }
            Self::Signed { generation, .. } => {
                write!(
                    formatter,
                    "signed a certificate with authority {generation}"
                )
            }
            Self::Trouble { what } => formatter.write_str(what),
            Self::Recovered => formatter.write_str("recovered: the certificates are renewed again"),
        }
    }
}

//! What a rotation tells of itself: to Events, logs and metrics.

use std::fmt;
use std::time::SystemTime;

use super::state::Phase;

/// Something that this replica has done or met. What other replicas do, they tell themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// The first authority was made.
    Created,
    /// The next authority was added to the Secret, to be published.
    Staged {
        /// The number that it will have.
        generation: u64,
    },
    /// Every object carries the next authority.
    Published,
    /// Some object no longer carries the next authority, so that it is published once more before it is switched to.
    Unpublished,
    /// The next authority has become the current one.
    Switched {
        /// Its number.
        generation: u64,
    },
    /// Authorities have left what is trusted, as nothing that they signed is valid any more.
    Retired,
    /// The authority had expired, and another took its place without waiting.
    Replaced {
        /// The number of the new one.
        generation: u64,
    },
    /// The Secret was written back from memory.
    Restored {
        /// What was wrong with it.
        why: String,
        /// Who had written it last, by the name of a field manager.
        writer: Option<String>,
    },
    /// This replica has signed itself a certificate.
    Signed {
        /// The number of the authority.
        generation: u64,
        /// When the certificate expires.
        expires: SystemTime,
    },
    /// Something keeps this replica from doing its part. It serves what it has, and tries again.
    Trouble {
        /// What it is.
        what: String,
    },
    /// The trouble is over.
    Recovered,
}

/// Where a replica is in the life of its certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// How far a rotation is; none until the Secret was read or made.
    pub phase: Option<Phase>,
    /// The number of the current authority; 0 until there is one.
    pub generation: u64,
    /// When the current authority expires.
    pub authority_expires: Option<SystemTime>,
    /// When the certificate that is served expires.
    pub certificate_expires: Option<SystemTime>,
    /// What keeps this replica from doing its part, if something does.
    pub trouble: Option<String>,
}

impl Happening {
    /// A word for it, as Events have them.
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

    /// Whether somebody should look.
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

impl fmt::Display for Happening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created => formatter.write_str("made the authority"),
            Self::Staged { generation } => {
                write!(formatter, "staged authority {generation} to be published")
            }
            Self::Published => formatter.write_str("every object carries the next authority"),
            Self::Unpublished => formatter
                .write_str("some object has lost the next authority, which is published again"),
            Self::Switched { generation } => {
                write!(formatter, "switched to authority {generation}")
            }
            Self::Retired => formatter.write_str("retired what can have no valid certificates"),
            Self::Replaced { generation } => {
                write!(formatter, "replaced an expired authority by {generation}")
            }
            Self::Restored { why, writer } => {
                write!(formatter, "wrote the Secret back from memory: {why}")?;
                match writer {
                    Some(writer) => write!(formatter, "; `{writer}` has written it"),
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
            Self::Recovered => formatter.write_str("the trouble with the certificates is over"),
        }
    }
}

//! An authority in the Secret and in CA bundles.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::KeyPair;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::X509Certificate;

use super::fingerprint::Fingerprint;
use super::state::Ca;
use crate::authority::BACK_DATED;
use crate::identity::from_unix;
use crate::{Authority, CertificateError};

/// This organization, and the common name, distinguish the CAs of this program from others in a bundle.
const ORGANIZATION: &str = "kubewright";

/// What RFC 5280 allows a common name, but for a blank and the generation.
const ROOM: usize = 64 - 21;

/// An authority's certificate, with its key as long as it signs.
#[derive(Clone)]
pub(crate) struct Root {
    certificate: CertificateDer<'static>,
    fingerprint: Fingerprint,
    created: SystemTime,
    expires: SystemTime,
    authority: Option<Arc<Authority>>,
}

/// Whose authorities they are: the Secret's namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner(String);

impl Root {
    /// Makes a new authority.
    pub(crate) fn make(
        owner: &Owner,
        generation: u64,
        now: SystemTime,
        lifetime: Duration,
        key: KeyPair,
    ) -> Result<Self, CertificateError> {
        let name = format!("{} {generation}", owner.0);
        let authority = Authority::starting_at(now, Some(ORGANIZATION), &name, lifetime, key)?;
        Self::with_key(authority)
    }

    pub(crate) fn with_key(authority: Authority) -> Result<Self, CertificateError> {
        let root = Self::of(authority.trust().certificates()[0].clone())?;
        Ok(Self {
            authority: Some(Arc::new(authority)),
            ..root
        })
    }

    pub(crate) fn of(certificate: CertificateDer<'static>) -> Result<Self, CertificateError> {
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).map_err(|source| {
            CertificateError::MalformedCertificate {
                source: source.into(),
            }
        })?;
        let validity = parsed.validity();
        let created = from_unix(validity.not_before.timestamp()) + BACK_DATED;
        let expires = from_unix(validity.not_after.timestamp());
        Ok(Self {
            fingerprint: Fingerprint::of(&certificate),
            certificate,
            created,
            expires,
            authority: None,
        })
    }

    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The authority that signs; none of one that was replaced.
    pub(crate) fn authority(&self) -> Option<&Authority> {
        self.authority.as_deref()
    }
}

impl Ca for Root {
    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn created(&self) -> SystemTime {
        self.created
    }

    fn expires(&self) -> SystemTime {
        self.expires
    }

    fn without_key(&self) -> Self {
        Self {
            authority: None,
            ..self.clone()
        }
    }
}

impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        self.certificate == other.certificate
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Root")
            .field("fingerprint", &self.fingerprint)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

impl Owner {
    pub(crate) fn new(namespace: &str, secret: &str) -> Self {
        let full = format!("{namespace}/{secret}");
        if full.len() <= ROOM {
            return Self(full);
        }
        let digest = Fingerprint::of(full.as_bytes()).to_string();
        Self(format!("{}~{}", &full[..ROOM - 17], &digest[..16]))
    }

    /// Whether a certificate in a bundle is one of this Secret's authorities.
    pub(crate) fn owns(&self, certificate: &X509Certificate<'_>) -> bool {
        let subject = certificate.subject();
        let mut organizations = subject.iter_organization();
        let mut names = subject.iter_common_name();
        let is_ours = |name: &str| {
            let generation = name.strip_prefix(&*self.0)?.strip_prefix(' ')?;
            generation.parse::<u64>().ok()
        };
        organizations.any(|found| found.as_str() == Ok(ORGANIZATION))
            && names.any(|found| found.as_str().is_ok_and(|name| is_ours(name).is_some()))
    }
}

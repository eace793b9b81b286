//! The name of a certificate: what its bytes come to.

use std::fmt;

/// SHA-256 digest of a certificate in DER.
///
/// ```
/// use kubewright_certificates::{Authority, CertificateError, Fingerprint};
///
/// let trust = Authority::new("ca")?.trust();
/// // As printed by `openssl x509 -fingerprint -sha256`, without colons.
/// let shown = Fingerprint::of(&trust.certificates()[0]).to_string();
/// assert!(shown.len() == 64 && shown.bytes().all(|digit| digit.is_ascii_hexdigit()));
/// # Ok::<(), CertificateError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Computes the fingerprint of a certificate in DER.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, Fingerprint};
    /// let (one, two) = (Authority::new("ca")?.trust(), Authority::new("ca")?.trust());
    /// assert_ne!(Fingerprint::of(&one.certificates()[0]), Fingerprint::of(&two.certificates()[0]));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn of(certificate: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }

    /// Reads what `Display` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (number, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * number..2 * number + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// In hexadecimal digits, as `openssl x509 -fingerprint -sha256` has them without its colons.
impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

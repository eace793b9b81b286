//! PEM text from DER bytes and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::CertificateError;

pub(crate) const CERTIFICATE: &str = "CERTIFICATE";

/// Reads every certificate; a text without one is an error.
pub(crate) fn certificates(
    pem: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| CertificateError::MalformedPem {
            what,
            source: source.into(),
        })?;
    if certificates.is_empty() {
        return Err(CertificateError::NothingFound { what });
    }
    Ok(certificates)
}

/// Reads the first private key, in any of the three common encodings.
pub(crate) fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    let what = "private key";
    match PrivateKeyDer::from_pem_slice(pem) {
        Ok(key) => Ok(key),
        Err(rustls_pki_types::pem::Error::NoItemsFound) => {
            Err(CertificateError::NothingFound { what })
        }
        Err(source) => Err(CertificateError::MalformedPem {
            what,
            source: source.into(),
        }),
    }
}

/// Writes one block in the strict form of RFC 7468: lines of 64 characters.
pub(crate) fn write(label: &str, der: &[u8], text: &mut String) {
    const LINE: usize = 64;
    let encoded = STANDARD.encode(der);
    text.push_str("-----BEGIN ");
    text.push_str(label);
    text.push_str("-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = tail;
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
}

pub(crate) fn base64(text: &str) -> String {
    STANDARD.encode(text)
}

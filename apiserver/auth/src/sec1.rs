//! Keys as `EC PRIVATE KEY` (SEC 1), the one form that every Kubernetes client reads: some Java clients cannot read PKCS#8.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;

/// What a PKCS#8 key on the curve P-256 begins with: the version, the algorithm, the curve, and the head of the octets.
const PKCS8: &[u8] = &[
    0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d,
];

/// How the key within begins: a sequence of this length, the version, and the head of the private key.
const KEY: &[u8] = &[0x30, 0x6b, 0x02, 0x01, 0x01, 0x04, 0x20];

/// The same with the curve in it.
const KEY_ON_CURVE: &[u8] = &[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];

/// The curve, which PKCS#8 has outside of the key.
const CURVE: &[u8] = &[
    0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// Rewrites a PKCS#8 key on the curve P-256 in PEM as SEC 1; any other text stays as it is.
#[must_use]
pub fn from_pkcs8(pem: &str) -> String {
    let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).ok();
    let sec1 = key.and_then(|key| rewritten(key.secret_pkcs8_der()));
    sec1.map_or_else(|| pem.to_owned(), |der| to_pem(&der))
}

fn rewritten(der: &[u8]) -> Option<Vec<u8>> {
    let key = der.strip_prefix(PKCS8)?.strip_prefix(KEY)?;
    let (private, public) = key.split_at_checked(32)?;
    Some([KEY_ON_CURVE, private, CURVE, public].concat())
}

fn to_pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = "-----BEGIN EC PRIVATE KEY-----\n".to_owned();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = behind;
    }
    pem.push_str("-----END EC PRIVATE KEY-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, PublicKeyData as _};
    use rustls_pki_types::{PrivateKeyDer, PrivateSec1KeyDer};

    use super::*;

    #[test]
    fn a_rewritten_key_is_the_same_key() {
        let key = KeyPair::generate().unwrap();
        let pem = from_pkcs8(&key.serialize_pem());
        assert!(pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{pem}");
        let sec1 = PrivateSec1KeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let signing = rustls::crypto::ring::sign::any_ecdsa_type(&PrivateKeyDer::Sec1(sec1));
        let signing = signing.unwrap();
        let public = signing.public_key().unwrap();
        assert!(public.as_ref().ends_with(key.der_bytes()));
    }

    #[test]
    fn what_is_no_such_key_stays_as_it_is() {
        assert_eq!(from_pkcs8("no key"), "no key");
    }
}

//! The tokens of service accounts: who issues them, for which audiences, and the keys that sign and verify them.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::KeyPair;
use ring::digest;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use rustls::SignatureScheme;
use rustls::sign::SigningKey;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use thiserror::Error;
use x509_parser::asn1_rs::{Integer, Sequence};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::authority::AuthorityError;

/// Issues and verifies the tokens of service accounts, which are JSON Web Tokens.
///
/// A server that is given none signs with an ECDSA key of its own, as `https://kubernetes.default.svc.cluster.local`.
///
/// # Example: tokens that another program can verify
///
/// ```
/// use kubewright_auth::ServiceAccountTokens;
/// use rcgen::KeyPair;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let key = KeyPair::generate()?;
/// let tokens = ServiceAccountTokens::signed_with(key.serialize_pem())?
///     .verified_with(key.public_key_pem())?
///     .issuers(["https://issuer.example.com"]);
/// assert_eq!(tokens.issuer(), "https://issuer.example.com");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[must_use = "handed to `ApiServer::builder().service_account_tokens(…)`"]
pub struct ServiceAccountTokens {
    issuers: Vec<String>,
    audiences: Vec<String>,
    /// Made when the first token is signed or verified, unless keys are given: a server that starts does not wait for it.
    keys: OnceLock<Keys>,
}

/// Why a key cannot sign or verify tokens.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenKeyError {
    /// The input is not PEM.
    #[error("reading a key of service account tokens")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// The PEM contains no key of the kind that is needed.
    #[error("reading a key of service account tokens: found no {0}")]
    Missing(&'static str),
    /// The key has an algorithm or a size that tokens are not signed with.
    #[error(
        "reading a key of service account tokens: unsupported key; use RSA with 2048 to 4096 bits, or ECDSA on P-256 or P-384"
    )]
    Unsupported,
}

#[derive(Debug)]
struct Keys {
    signing: Arc<dyn SigningKey>,
    algorithm: Algorithm,
    /// The public half of the signing key.
    own: VerifyingKey,
    /// What tokens are verified with instead of `own`, unless it is empty.
    given: Vec<VerifyingKey>,
}

/// A public key, and the algorithm that goes with it.
#[derive(Debug)]
pub(crate) struct VerifyingKey {
    pub(crate) algorithm: Algorithm,
    /// The point of an elliptic curve, or PKCS #1.
    pub(crate) key: Vec<u8>,
    /// The hash that tokens name the key by.
    pub(crate) id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Es256,
    Es384,
    Rs256,
}

impl ServiceAccountTokens {
    /// A new private key for [`signed_with`](Self::signed_with), as PEM, to be kept between the starts of a server.
    ///
    /// ```
    /// use kubewright_auth::ServiceAccountTokens;
    ///
    /// let key = ServiceAccountTokens::new_key()?;
    /// let tokens = ServiceAccountTokens::signed_with(&key)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new_key() -> Result<String, AuthorityError> {
        Ok(KeyPair::generate()?.serialize_pem())
    }

    /// Signs with the first private key of `pem`, and verifies with its public half unless
    /// [`verified_with`](Self::verified_with) gives other keys: `--service-account-signing-key-file`.
    ///
    /// # Errors
    /// `pem` contains no private key, or one that is neither RSA nor ECDSA on P-256 or P-384.
    pub fn signed_with(pem: impl AsRef<[u8]>) -> Result<Self, TokenKeyError> {
        let key = PrivateKeyDer::from_pem_slice(pem.as_ref()).map_err(|error| match error {
            rustls_pki_types::pem::Error::NoItemsFound => TokenKeyError::Missing("private key"),
            error => TokenKeyError::Pem(error),
        })?;
        Ok(Self {
            keys: OnceLock::from(Keys::of(&key)?),
            ..Self::default()
        })
    }

    /// Verifies with every key of `pem`, and with those of further calls: `--service-account-key-file`. A certificate or a
    /// private key counts as its public key.
    ///
    /// # Errors
    /// `pem` contains no key, or one that is neither RSA nor ECDSA on P-256 or P-384.
    pub fn verified_with(mut self, pem: impl AsRef<[u8]>) -> Result<Self, TokenKeyError> {
        let mut found = Vec::new();
        for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem.as_ref()) {
            let (kind, der) = section.map_err(TokenKeyError::Pem)?;
            found.extend(VerifyingKey::of_section(kind, der).transpose()?);
        }
        if found.is_empty() {
            return Err(TokenKeyError::Missing("public key"));
        }
        self.make_keys();
        if let Some(keys) = self.keys.get_mut() {
            keys.given.append(&mut found);
        }
        Ok(self)
    }

    /// Issues tokens as the first of these, and accepts those of all of them: `--service-account-issuer`.
    pub fn issuers(mut self, issuers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.issuers = issuers.into_iter().map(Into::into).collect();
        self
    }

    /// Accepts tokens for these audiences, and issues tokens for them where a request names none: `--api-audiences`. The
    /// default is the first issuer.
    pub fn audiences(mut self, audiences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.audiences = audiences.into_iter().map(Into::into).collect();
        self
    }

    /// Who issues the tokens.
    pub fn issuer(&self) -> &str {
        self.issuers.first().map_or(ISSUER, String::as_str)
    }

    /// Whether tokens of this issuer are accepted.
    pub fn accepts(&self, issuer: &str) -> bool {
        if self.issuers.is_empty() {
            issuer == ISSUER
        } else {
            self.issuers.iter().any(|one| one == issuer)
        }
    }

    /// The audiences of the API server.
    pub fn own_audiences(&self) -> Vec<&str> {
        if self.audiences.is_empty() {
            vec![self.issuer()]
        } else {
            self.audiences.iter().map(String::as_str).collect()
        }
    }

    /// The claims as a signed token; nothing if the system has no random numbers.
    pub fn sign(&self, claims: &Value) -> Option<String> {
        let keys = self.make_keys()?;
        let header = json!({"alg": keys.algorithm.name(), "kid": keys.own.id});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = keys.sign(signed.as_bytes())?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Whether one of the keys made this signature.
    pub fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        let Some(keys) = self.make_keys() else {
            return false;
        };
        keys.verifying().any(|key| {
            let public = UnparsedPublicKey::new(key.algorithm.verification(), &key.key);
            public.verify(signed, signature).is_ok()
        })
    }

    /// The keys that tokens are verified with.
    pub(crate) fn verifying_keys(&self) -> impl Iterator<Item = &VerifyingKey> {
        self.make_keys().into_iter().flat_map(Keys::verifying)
    }

    fn make_keys(&self) -> Option<&Keys> {
        if let Some(keys) = self.keys.get() {
            return Some(keys);
        }
        let key = KeyPair::generate().ok()?;
        let made = Keys::of(&PrivatePkcs8KeyDer::from(key.serialize_der()).into()).ok()?;
        Some(self.keys.get_or_init(|| made))
    }
}

impl Keys {
    fn of(key: &PrivateKeyDer<'_>) -> Result<Self, TokenKeyError> {
        let signing = rustls::crypto::ring::sign::any_supported_type(key)
            .map_err(|_| TokenKeyError::Unsupported)?;
        let public = signing.public_key().ok_or(TokenKeyError::Unsupported)?;
        let own = VerifyingKey::of_spki(&public)?;
        Ok(Self {
            algorithm: own.algorithm,
            signing,
            own,
            given: Vec::new(),
        })
    }

    fn verifying(&self) -> impl Iterator<Item = &VerifyingKey> {
        let own = self.given.is_empty().then_some(&self.own);
        own.into_iter().chain(&self.given)
    }

    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let signer = self.signing.choose_scheme(&[self.algorithm.scheme()])?;
        let signature = signer.sign(message).ok()?;
        match self.algorithm.width() {
            Some(width) => concatenated(&signature, width),
            None => Some(signature),
        }
    }
}

impl VerifyingKey {
    /// The key in a section of a PEM file, if it is a section with a key.
    fn of_section(kind: SectionKind, der: Vec<u8>) -> Option<Result<Self, TokenKeyError>> {
        match kind {
            SectionKind::PublicKey => Some(Self::of_spki(&der)),
            SectionKind::Certificate => {
                let certificate = X509Certificate::from_der(&der);
                let certificate = certificate.map_err(|_| TokenKeyError::Unsupported);
                Some(certificate.and_then(|(_, read)| Self::of_spki(read.public_key().raw)))
            }
            _ => {
                let key = PrivateKeyDer::from_pem(kind, der)?;
                Some(Keys::of(&key).map(|keys| keys.own))
            }
        }
    }

    fn of_spki(der: &[u8]) -> Result<Self, TokenKeyError> {
        const POINT_OF_P256: usize = 65;
        const POINT_OF_P384: usize = 97;
        let (_, public) =
            SubjectPublicKeyInfo::from_der(der).map_err(|_| TokenKeyError::Unsupported)?;
        let key = public.subject_public_key.data.to_vec();
        let algorithm = match (public.parsed(), key.len()) {
            (Ok(PublicKey::RSA(_)), _) => Algorithm::Rs256,
            (Ok(PublicKey::EC(_)), POINT_OF_P256) => Algorithm::Es256,
            (Ok(PublicKey::EC(_)), POINT_OF_P384) => Algorithm::Es384,
            _ => return Err(TokenKeyError::Unsupported),
        };
        let hash = digest::digest(&digest::SHA256, der);
        Ok(Self {
            algorithm,
            key,
            id: URL_SAFE_NO_PAD.encode(hash),
        })
    }
}

impl Algorithm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }

    fn scheme(self) -> SignatureScheme {
        match self {
            Self::Es256 => SignatureScheme::ECDSA_NISTP256_SHA256,
            Self::Es384 => SignatureScheme::ECDSA_NISTP384_SHA384,
            Self::Rs256 => SignatureScheme::RSA_PKCS1_SHA256,
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Es256 => &signature::ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &signature::ECDSA_P384_SHA384_FIXED,
            Self::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        }
    }

    /// The bytes of each of the two numbers of an ECDSA signature.
    fn width(self) -> Option<usize> {
        match self {
            Self::Es256 => Some(32),
            Self::Es384 => Some(48),
            Self::Rs256 => None,
        }
    }
}

/// The two numbers of an ECDSA signature in the form of JSON Web Signatures: TLS writes them as ASN.1.
fn concatenated(der: &[u8], width: usize) -> Option<Vec<u8>> {
    let (_, sequence) = Sequence::from_der(der).ok()?;
    let (rest, r) = Integer::from_der(&sequence.content).ok()?;
    let (_, s) = Integer::from_der(rest).ok()?;
    let mut both = Vec::with_capacity(2 * width);
    for number in [r, s] {
        let bytes = number.as_ref();
        let start = bytes.iter().position(|byte| *byte != 0)?;
        let bytes = &bytes[start..];
        both.resize(both.len() + width.checked_sub(bytes.len())?, 0);
        both.extend_from_slice(bytes);
    }
    Some(both)
}

/// Who issues tokens unless the server is given another name.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, PKCS_ECDSA_P384_SHA384};

    use super::*;

    fn parts(token: &str) -> (&[u8], Vec<u8>) {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        (
            signed.as_bytes(),
            URL_SAFE_NO_PAD.decode(signature).unwrap(),
        )
    }

    fn verifies(tokens: &ServiceAccountTokens, token: &str) -> bool {
        let (signed, signature) = parts(token);
        tokens.verify(signed, &signature)
    }

    fn algorithm(token: &str) -> Value {
        let header = token.split('.').next().unwrap();
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
        header["alg"].clone()
    }

    #[test]
    fn a_token_is_verified_by_its_key_in_every_form_and_by_no_other() {
        let p256 = KeyPair::generate().unwrap();
        let p384 = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
        for (key, name) in [(&p256, "ES256"), (&p384, "ES384")] {
            let signer = ServiceAccountTokens::signed_with(key.serialize_pem()).unwrap();
            let token = signer.sign(&json!({"sub": "jane"})).unwrap();
            assert_eq!(algorithm(&token), name);
            assert!(verifies(&signer, &token), "{name}");
            let certificate = CertificateParams::default().self_signed(key).unwrap().pem();
            for form in [key.serialize_pem(), key.public_key_pem(), certificate] {
                let other = ServiceAccountTokens::default();
                let other = other.verified_with(&form).unwrap();
                assert!(verifies(&other, &token), "{form}");
            }
            assert!(!verifies(&ServiceAccountTokens::default(), &token));
        }
    }

    #[test]
    fn a_token_of_an_rsa_key_is_verified() {
        let signer = ServiceAccountTokens::signed_with(RSA).unwrap();
        let token = signer.sign(&json!({})).unwrap();
        assert_eq!(algorithm(&token), "RS256");
        assert!(verifies(&signer, &token));
        assert!(!verifies(&signer, &format!("x{token}")));
    }

    #[test]
    fn keys_that_are_given_replace_the_signing_key_and_are_added_to_each_other() {
        let keys: Vec<String> = (0..2)
            .map(|_| KeyPair::generate().unwrap().serialize_pem())
            .collect();
        let of_first = ServiceAccountTokens::signed_with(&keys[0]).unwrap();
        let token = of_first.sign(&json!({})).unwrap();
        let by_second = of_first.verified_with(&keys[1]).unwrap();
        assert!(!verifies(&by_second, &token));
        let by_both = by_second.verified_with(&keys[0]).unwrap();
        assert!(verifies(&by_both, &token));
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_reason() {
        let refused = |pem: &str| {
            let error = ServiceAccountTokens::signed_with(pem).unwrap_err();
            error.to_string()
        };
        assert!(refused("").ends_with("found no private key"));
        let public = KeyPair::generate().unwrap().public_key_pem();
        assert!(refused(&public).ends_with("found no private key"));
        let empty = ServiceAccountTokens::default().verified_with("");
        assert!(
            empty
                .unwrap_err()
                .to_string()
                .ends_with("found no public key")
        );
    }

    /// A key for this test alone: nothing here makes RSA keys.
    const RSA: &str = include_str!("testdata/rsa.pem");
}

//! The private keys that certificates are made for.

use rcgen::KeyPair;

use crate::CertificateError;

/// Which keys are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Keys {
    #[default]
    EcdsaP256,
    #[cfg(feature = "rsa")]
    Rsa2048,
}

impl Keys {
    pub(crate) fn make(self) -> Result<KeyPair, CertificateError> {
        match self {
            Self::EcdsaP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
                .map_err(|error| CertificateError::make("private key", error)),
            #[cfg(feature = "rsa")]
            Self::Rsa2048 => rsa(),
        }
    }

    /// Generates a key without blocking the runtime: the primes of an RSA key take a tenth of a second to find.
    #[cfg(feature = "shared")]
    pub(crate) async fn make_aside(self) -> Result<KeyPair, CertificateError> {
        if self == Self::EcdsaP256 {
            return self.make();
        }
        let making = tokio::task::spawn_blocking(move || self.make());
        making.await.map_err(|error| CertificateError::Make {
            what: "private key",
            source: error.into(),
        })?
    }
}

#[cfg(feature = "rsa")]
fn rsa() -> Result<KeyPair, CertificateError> {
    use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
    use aws_lc_rs::rsa::{KeyPair as Rsa, KeySize};
    use rustls_pki_types::PrivatePkcs8KeyDer;

    let failed = |source: aws_lc_rs::error::Unspecified| CertificateError::Make {
        what: "private key",
        source: source.into(),
    };
    let key = Rsa::generate(KeySize::Rsa2048).map_err(failed)?;
    let key: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
    let key = PrivatePkcs8KeyDer::from(key.as_ref());
    KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_RSA_SHA256)
        .map_err(|error| CertificateError::make("private key", error))
}

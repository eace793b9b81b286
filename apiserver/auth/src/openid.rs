//! What other programs verify the tokens of service accounts by: the issuer's configuration and its public keys, as OpenID
//! Connect publishes them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x509_parser::asn1_rs::{Integer, Sequence};
use x509_parser::prelude::FromDer as _;

use super::tokens::{Algorithm, ServiceAccountTokens, VerifyingKey};

/// The path of the keys.
const KEYS: &str = "/openid/v1/jwks";

impl ServiceAccountTokens {
    /// The configuration of the issuer, as JSON; none for an issuer whose name is no address of a configuration, which must be
    /// an `https` URL without a query and a fragment.
    ///
    /// `host` is the address that the keys are served at.
    pub fn openid_configuration(&self, host: &str) -> Option<String> {
        let issuer = self.published_issuer()?;
        let mut algorithms: Vec<&str> = self
            .verifying_keys()
            .map(|key| key.algorithm.name())
            .collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        Some(format!(
            r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":{}}}"#,
            Value::from(issuer),
            Value::from(format!("https://{host}{KEYS}")),
            Value::from(algorithms),
        ))
    }

    /// The public keys as a JSON Web Key Set; none where there is no [configuration](Self::openid_configuration).
    pub fn key_set(&self) -> Option<String> {
        self.published_issuer()?;
        let keys = self.verifying_keys().filter_map(web_key);
        let keys: Vec<String> = keys.collect();
        Some(format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
    }

    fn published_issuer(&self) -> Option<&str> {
        let issuer = self.issuer();
        let is_url = issuer.starts_with("https://") && !issuer.contains(['?', '#']);
        is_url.then_some(issuer)
    }
}

/// The key with its members in the order in which Go writes them.
fn web_key(key: &VerifyingKey) -> Option<String> {
    let encode = |bytes: &[u8]| json!(URL_SAFE_NO_PAD.encode(bytes));
    let (id, name) = (json!(key.id), key.algorithm.name());
    let curve = match key.algorithm {
        Algorithm::Es256 => "P-256",
        Algorithm::Es384 => "P-384",
        Algorithm::Rs256 => {
            let (_, sequence) = Sequence::from_der(&key.key).ok()?;
            let (rest, modulus) = Integer::from_der(&sequence.content).ok()?;
            let (_, exponent) = Integer::from_der(rest).ok()?;
            let [n, e] = [modulus, exponent].map(|number| encode(without_zeros(number.as_ref())));
            return Some(format!(
                r#"{{"use":"sig","kty":"RSA","kid":{id},"alg":"{name}","n":{n},"e":{e}}}"#
            ));
        }
    };
    // An uncompressed point: a mark, and two numbers of the same length.
    let point = key.key.get(1..)?;
    let (x, y) = point.split_at_checked(point.len() / 2)?;
    let (x, y) = (encode(x), encode(y));
    Some(format!(
        r#"{{"use":"sig","kty":"EC","kid":{id},"crv":"{curve}","alg":"{name}","x":{x},"y":{y}}}"#
    ))
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_keys_are_written_as_the_real_server_writes_them() {
        let tokens = ServiceAccountTokens::signed_with(P256).unwrap();
        assert_eq!(
            tokens.key_set().unwrap(),
            r#"{"keys":[{"use":"sig","kty":"EC","kid":"ynphSOa0Ls-lVbkMpRIJlE8HqAZ69ZjPwou_zMc3TGc","crv":"P-256","alg":"ES256","x":"KuRMVxpwBtaA77f53YmInzmRtLPvvAMK2ECFVqxXMZk","y":"HJft_LNIjvYzlbCEz6S-Iz9szITRZsiFfTHjbMG2cT4"}]}"#
        );
        let keys = read(
            &ServiceAccountTokens::signed_with(RSA)
                .unwrap()
                .key_set()
                .unwrap(),
        );
        assert_eq!(keys["keys"][0]["kty"], "RSA");
        assert_eq!(keys["keys"][0]["e"], "AQAB");
        let modulus = keys["keys"][0]["n"].as_str().unwrap();
        let modulus = URL_SAFE_NO_PAD.decode(modulus).unwrap();
        assert!(modulus.len() >= 256 && modulus[0] != 0);
    }

    #[test]
    fn the_configuration_names_the_issuer_and_the_algorithms_of_its_keys() {
        let tokens = ServiceAccountTokens::signed_with(RSA).unwrap();
        let tokens = tokens
            .verified_with(P256)
            .unwrap()
            .verified_with(RSA)
            .unwrap();
        let configuration = read(&tokens.openid_configuration("example.com:6443").unwrap());
        assert_eq!(
            configuration["issuer"],
            "https://kubernetes.default.svc.cluster.local"
        );
        assert_eq!(
            configuration["jwks_uri"],
            "https://example.com:6443/openid/v1/jwks"
        );
        assert_eq!(
            configuration["id_token_signing_alg_values_supported"],
            json!(["ES256", "RS256"])
        );
    }

    #[test]
    fn an_issuer_that_is_no_address_publishes_nothing() {
        for issuer in [
            "kubernetes",
            "http://a.example",
            "https://a.example?b",
            "https://a.example#b",
        ] {
            let tokens = ServiceAccountTokens::default().issuers([issuer]);
            assert_eq!(tokens.openid_configuration("a"), None, "{issuer}");
            assert_eq!(tokens.key_set(), None, "{issuer}");
        }
    }

    /// Keys for these tests alone.
    const P256: &str = include_str!("testdata/p256.pem");
    const RSA: &str = include_str!("testdata/rsa.pem");
}

//! A document as it is kept: its JSON, its hash, and its protobuf form when it was asked for.

use std::fmt::Write as _;
use std::sync::OnceLock;

use bytes::Bytes;
use kubewright_apimachinery::version::KubernetesVersion;
use ring::digest::{Context, SHA512};
use serde_json::{Value, json};

use super::gnostic;

/// A document and the hash by which clients know it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document {
    /// The JSON text.
    pub body: Bytes,
    /// The hash in the index's address and in the ETag.
    pub hash: String,
    /// The message of its protobuf form.
    message: &'static str,
    protobuf: OnceLock<Bytes>,
}

impl Document {
    pub(super) fn new(body: Bytes, hash: String, message: &'static str) -> Self {
        Self {
            body,
            hash,
            message,
            protobuf: OnceLock::new(),
        }
    }

    /// Returns the protobuf form, which is made when a client first asks for it.
    pub fn protobuf(&self) -> Bytes {
        let made = self.protobuf.get_or_init(|| {
            let document = serde_json::from_slice(&self.body).unwrap_or_default();
            gnostic::encode(&document, self.message)
        });
        made.clone()
    }
}

/// What a document says of the server.
pub(super) fn info(version: KubernetesVersion) -> Value {
    json!({ "title": "Kubernetes", "version": version.to_string() })
}

/// How clients authenticate.
pub(super) fn bearer_token() -> Value {
    json!({
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    })
}

/// The hash of a document.
pub(super) fn hash_of(text: &[u8]) -> String {
    let mut digest = Context::new(&SHA512);
    digest.update(text);
    hex(digest)
}

/// The digest in capital letters, as the real server writes it.
pub(super) fn hex(digest: Context) -> String {
    let bytes = digest.finish();
    let mut out = String::with_capacity(2 * bytes.as_ref().len());
    for byte in bytes.as_ref() {
        let _ = write!(out, "{byte:02X}");
    }
    out
}

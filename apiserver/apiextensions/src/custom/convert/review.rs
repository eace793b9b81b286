//! The ConversionReview: what is sent, and what is read of the answer.

use bytes::Bytes;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::json::write as write_json;
use kubewright_apimachinery::view::View;
use kubewright_webhook_client::{CONVERSION, Envelope, Opened, Reply, ReviewVersion};
use serde_json::Value;

const ENVELOPE: Envelope = Envelope {
    group: "apiextensions.k8s.io",
    kind: "ConversionReview",
    others: &["CustomResourceDefinition", "CustomResourceDefinitionList"],
    shape: &CONVERSION,
};

/// Writes the review: one JSON object, with the empty response that Go's client sends along.
pub(super) fn write(version: ReviewVersion, uid: &str, wanted: &str, objects: &[&Value]) -> Bytes {
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(br#"{"kind":"ConversionReview","apiVersion":"#);
    write_json(&mut out, &ENVELOPE.api_version(version).into());
    out.extend_from_slice(br#","request":{"uid":"#);
    write_json(&mut out, &uid.into());
    out.extend_from_slice(br#","desiredAPIVersion":"#);
    write_json(&mut out, &wanted.into());
    out.extend_from_slice(br#","objects":["#);
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(&mut out, object);
    }
    out.extend_from_slice(
        b"]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}\n",
    );
    out.into()
}

/// A decoded answer, not yet checked.
#[derive(Debug)]
pub(super) struct Review {
    version: ReviewVersion,
    api_version: String,
    kind: String,
    response: Option<Value>,
}

/// Decodes an answer as the review that was sent.
pub(super) fn decode(reply: &Reply, version: ReviewVersion) -> Result<Review, String> {
    let Opened {
        api_version,
        kind,
        mut document,
    } = ENVELOPE.open(reply.body(), version)?;
    let response = document.get_mut("response").map(Value::take);
    Ok(Review {
        version,
        api_version,
        kind,
        response,
    })
}

impl Review {
    /// Checks what the version demands, and that the webhook says that it succeeded. Answers what it converted.
    pub(super) fn verify(self, uid: &str) -> Result<Vec<Value>, String> {
        let strict = self.version == ReviewVersion::V1;
        let (own, said) = (ENVELOPE.api_version(self.version), &self.api_version);
        if strict && (*said != own || self.kind != ENVELOPE.kind) {
            return Err(ENVELOPE.unexpected(said, &self.kind));
        }
        let mut response = self.response.ok_or("no response provided")?;
        let answered = response.text("uid");
        if strict && answered != uid {
            let (expected, got) = (quoted(uid), quoted(answered));
            return Err(format!("expected response.uid={expected}, got {got}"));
        }
        let result = response.at("result");
        let (status, message) = (result.text("status"), result.text("message"));
        if status != "Success" {
            return Err(if message.is_empty() {
                format!("response.result.status was '{status}', not 'Success'")
            } else {
                message.to_owned()
            });
        }
        Ok(match response["convertedObjects"].take() {
            Value::Array(objects) => objects,
            _ => Vec::new(),
        })
    }
}

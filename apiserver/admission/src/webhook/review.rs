//! The AdmissionReview that is sent: one JSON object, written straight to bytes (A.15).

use bytes::Bytes;
use kubewright_webhook_client::ReviewVersion;
use serde::Serialize;

use crate::attributes::Attributes;
use crate::head::Head;
use crate::matching::Matched;

/// Writes the review. `object` and `old` are the objects' JSON, in the version of `matched`.
pub(super) fn write(
    version: ReviewVersion,
    uid: &str,
    attributes: &Attributes,
    matched: &Matched,
    object: &[u8],
    old: &[u8],
) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + old.len() + 1024);
    out.extend_from_slice(br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/"#);
    out.extend_from_slice(version.name().as_bytes());
    out.extend_from_slice(br#"","request":"#);
    json(&mut out, &Head::of(uid, attributes, matched));
    out.pop();
    out.extend_from_slice(br#","object":"#);
    out.extend_from_slice(object);
    out.extend_from_slice(br#","oldObject":"#);
    out.extend_from_slice(old);
    out.extend_from_slice(br#","dryRun":"#);
    json(&mut out, &attributes.dry_run);
    out.extend_from_slice(br#","options":"#);
    json(&mut out, &attributes.options);
    out.extend_from_slice(b"}}\n");
    out.into()
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("text keys and a writer that cannot fail");
}

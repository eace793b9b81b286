//! The AdmissionReview that is sent: one JSON object, written straight to bytes (A.15).

use bytes::Bytes;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::user::User;
use kubewright_webhook_client::ReviewVersion;
use serde::Serialize;
use serde_json::Value;

use super::select::Invocation;
use crate::attributes::Attributes;

/// Writes the review. `object` and `old` are the objects' JSON, in the version of `invocation`.
pub(super) fn write(
    version: ReviewVersion,
    uid: &str,
    attributes: &Attributes,
    invocation: &Invocation,
    object: &[u8],
    old: &[u8],
) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + old.len() + 1024);
    out.extend_from_slice(br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/"#);
    out.extend_from_slice(version.name().as_bytes());
    out.extend_from_slice(br#"","request":"#);
    json(&mut out, &Head::of(uid, attributes, invocation));
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

/// What match conditions see as `request`: the review's, without uid and objects.
pub(super) fn request_for_conditions(attributes: &Attributes, invocation: &Invocation) -> Value {
    let head = Head::of("", attributes, invocation);
    let mut request = serde_json::to_value(head).expect("text keys");
    if let Value::Object(members) = &mut request {
        members.remove("uid");
        members.insert("dryRun".to_owned(), attributes.dry_run.into());
        if !attributes.options.is_null() {
            members.insert("options".to_owned(), attributes.options.clone());
        }
    }
    request
}

/// The members of `request` before the objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    uid: &'a str,
    kind: Kind<'a>,
    resource: Name<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: Kind<'a>,
    request_resource: Name<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: &'a str,
    user_info: UserInfo<'a>,
}

#[derive(Serialize)]
struct Kind<'a> {
    group: &'a str,
    version: &'a str,
    #[serde(rename = "kind")]
    name: &'a str,
}

#[derive(Serialize)]
struct Name<'a> {
    group: &'a str,
    version: &'a str,
    resource: &'a str,
}

#[derive(Serialize)]
struct UserInfo<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    extra: &'a std::collections::BTreeMap<String, Vec<String>>,
}

impl<'a> Head<'a> {
    fn of(uid: &'a str, attributes: &'a Attributes, invocation: &'a Invocation) -> Self {
        let kind = |kind: &'a GroupVersionKind| Kind {
            group: &kind.group,
            version: &kind.version,
            name: &kind.kind,
        };
        let name = |resource: &'a kubewright_registry::Resource| Name {
            group: &resource.group,
            version: &resource.version,
            resource: &resource.plural,
        };
        Self {
            uid,
            kind: kind(&invocation.kind),
            resource: name(&invocation.resource),
            sub_resource: &attributes.subresource,
            request_kind: kind(&attributes.kind),
            request_resource: name(&attributes.resource),
            request_sub_resource: &attributes.subresource,
            name: &attributes.name,
            namespace: &attributes.namespace,
            operation: attributes.operation.as_str(),
            user_info: UserInfo::of(&attributes.user),
        }
    }
}

impl<'a> UserInfo<'a> {
    fn of(user: &'a User) -> Self {
        Self {
            username: &user.username,
            uid: &user.uid,
            groups: &user.groups,
            extra: &user.extra,
        }
    }
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("text keys and a writer that cannot fail");
}

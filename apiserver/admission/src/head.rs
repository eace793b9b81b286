//! The `request` of an AdmissionReview without its objects, as webhooks and expressions see it (A.15).

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::user::User;
use serde::Serialize;

use crate::attributes::Attributes;
use crate::matching::Matched;

/// The members of `request` before the objects.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head<'a> {
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
    pub(crate) fn of(uid: &'a str, attributes: &'a Attributes, matched: &'a Matched) -> Self {
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
            kind: kind(&matched.kind),
            resource: name(&matched.resource),
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

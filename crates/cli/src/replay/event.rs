//! An event of an audit log (`audit.k8s.io/v1`), as far as a replay needs it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An event. Objects stay text until they are needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    #[serde(rename = "auditID", default)]
    pub(crate) audit_id: String,
    #[serde(default)]
    pub(crate) stage: String,
    #[serde(rename = "requestURI", default)]
    pub(crate) request_uri: String,
    #[serde(default)]
    pub(crate) verb: String,
    #[serde(default)]
    user: UserInfo,
    impersonated_user: Option<UserInfo>,
    pub(crate) object_ref: Option<ObjectReference>,
    #[serde(default)]
    pub(crate) response_status: ResponseStatus,
    request_object: Option<Box<RawValue>>,
    response_object: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) request_received_timestamp: String,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// The user of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UserInfo {
    pub(crate) username: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

/// The resource, and the object as far as the URL or the request names it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectReference {
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) api_group: String,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// How the request ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ResponseStatus {
    pub(crate) code: u16,
    pub(crate) message: String,
}

impl Event {
    /// The user as whom the request was handled.
    pub(crate) fn user(&self) -> &UserInfo {
        self.impersonated_user.as_ref().unwrap_or(&self.user)
    }

    /// Whether the API server refused the request.
    pub(crate) fn is_refused(&self) -> bool {
        self.response_status.code >= 400
    }

    /// Whether nothing was to be stored.
    pub(crate) fn is_dry_run(&self) -> bool {
        let in_options = || {
            let options = self
                .request_object()
                .filter(|_| self.verb.starts_with("delete"));
            options.is_some_and(|options| options["dryRun"][0] == "All")
        };
        self.parameters("dryRun").any(|value| value == "All") || in_options()
    }

    /// The object, the patch or the options that were sent.
    pub(crate) fn request_object(&self) -> Option<Value> {
        read(self.request_object.as_deref())
    }

    /// The object that was answered; none if it is a Status, a Table or metadata alone.
    pub(crate) fn response_object(&self) -> Option<Value> {
        let object = read(self.response_object.as_deref())?;
        let is_other = matches!(
            object["apiVersion"].as_str(),
            Some("meta.k8s.io/v1" | "meta.k8s.io/v1beta1")
        );
        let is_status = object["apiVersion"] == "v1" && object["kind"] == "Status";
        (!is_other && !is_status).then_some(object)
    }

    /// The value of a parameter of the query, as it was sent.
    pub(crate) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let query = self
            .request_uri
            .split_once('?')
            .map_or("", |(_, query)| query);
        query.split('&').filter_map(move |pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key) == name).then(|| decoded(value))
        })
    }
}

fn read(text: Option<&RawValue>) -> Option<Value> {
    let value: Value = serde_json::from_str(text?.get()).ok()?;
    (!value.is_null()).then_some(value)
}

/// Text of a query, without its escapes.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(match (escaped, byte) {
            (Some(escaped), _) => escaped,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(event: Value) -> Event {
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn parameters_come_without_their_escapes() {
        let event = event(
            json!({"requestURI": "/a?command=sh&command=-c&command=echo+%22a%22%3b&x=%zz&dryRun=All"}),
        );
        let all = |name| event.parameters(name).collect::<Vec<_>>();
        assert_eq!(all("command"), ["sh", "-c", "echo \"a\";"]);
        assert_eq!(all("x"), ["%zz"]);
        assert_eq!(all("dryRun"), ["All"]);
        assert!(all("y").is_empty());
    }

    #[test]
    fn an_answer_that_is_no_object_is_none() {
        for other in [
            json!({"apiVersion": "v1", "kind": "Status", "status": "Success"}),
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "Table"}),
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}),
            Value::Null,
        ] {
            assert!(
                event(json!({"responseObject": other}))
                    .response_object()
                    .is_none()
            );
        }
        let pod = json!({"apiVersion": "v1", "kind": "Pod"});
        let event = event(json!({"responseObject": pod}));
        assert_eq!(event.response_object(), Some(pod));
    }

    #[test]
    fn the_user_is_the_one_who_was_impersonated() {
        let own = json!({"user": {"username": "admin"}});
        assert_eq!(event(own).user().username, "admin");
        let other = json!({"user": {"username": "admin"}, "impersonatedUser": {"username": "alice", "groups": ["dev"]}});
        assert_eq!(event(other).user().groups, ["dev"]);
    }
}

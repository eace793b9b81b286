//! Takes out of a review what is not for others, kind by kind.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The annotation in which kubectl repeats the whole object.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Of which kind the objects of a review are, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Secret,
    ConfigMap,
    /// A TokenRequest or a TokenReview.
    Token,
    /// A CustomResourceDefinition: its schema has fields of the names that values have elsewhere.
    Definition,
    Other,
}

/// What is done with a value, by where it is.
#[derive(Clone, Copy)]
enum Place {
    /// An object of the API: its kind says what its members are.
    Object,
    /// Inside of an object, where the names of members say what they are.
    Inside,
    /// Everything in it is taken out.
    Taken(Coding),
    /// Nothing in it is.
    Kept,
    /// A list of members `name` and `value`, or a map from the one to the other: environment variables, headers.
    Pairs,
    Pair,
    Annotations,
    Annotation,
    HttpGet,
    /// An object as text.
    Applied,
}

/// The values that were taken out so far, each with its number.
#[derive(Debug, Default)]
pub(crate) struct Redaction {
    seen: HashMap<String, usize>,
    /// Whether it is the answer's turn.
    is_answer: bool,
}

impl Kind {
    fn of(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str()?;
        Some(match kind {
            "Secret" => Self::Secret,
            "ConfigMap" => Self::ConfigMap,
            "TokenRequest" | "TokenReview" => Self::Token,
            "CustomResourceDefinition" => Self::Definition,
            _ => Self::Other,
        })
    }
}

impl Place {
    /// The place of a member, or of an item of a list, which has its number as its name.
    fn of(self, name: &str, kind: Kind) -> Self {
        let is_item = name == "-" || name.bytes().all(|byte| byte.is_ascii_digit());
        match (self, name) {
            (Self::Object, "data") if kind == Kind::Secret => Self::Taken(Coding::Base64),
            (Self::Object, "stringData") if kind == Kind::Secret => Self::Taken(Coding::Plain),
            (Self::Object, "data") if kind == Kind::ConfigMap => Self::Taken(Coding::Plain),
            (Self::Object, "binaryData") if kind == Kind::ConfigMap => Self::Taken(Coding::Base64),
            (Self::Object, name) if kind == Kind::Definition && name != "metadata" => Self::Kept,
            (Self::Object | Self::Inside, name) => match name {
                "env" | "httpHeaders" => Self::Pairs,
                "args" | "command" => Self::Taken(Coding::Plain),
                "annotations" => Self::Annotations,
                "httpGet" => Self::HttpGet,
                "token" if kind == Kind::Token => Self::Taken(Coding::Plain),
                _ => Self::Inside,
            },
            (Self::Pairs, _) if is_item => Self::Pair,
            (Self::Pairs, _) | (Self::Pair, "value") | (Self::HttpGet, "path") => {
                Self::Taken(Coding::Plain)
            }
            (Self::HttpGet, "httpHeaders") => Self::Pairs,
            (Self::Annotations, APPLIED) => Self::Applied,
            (Self::Annotations | Self::Annotation, _) => Self::Annotation,
            (Self::Pair | Self::HttpGet, _) => Self::Inside,
            (Self::Taken(_) | Self::Kept | Self::Applied, _) => self,
        }
    }
}

impl Redaction {
    /// Takes values out of the objects of a review, and tells of which kind they are.
    pub(crate) fn review(&mut self, review: &mut Value) -> Kind {
        let request = &mut review["request"];
        let asked = Kind::of(&request["kind"]);
        let kind = Kind::of(&request["object"]).or_else(|| Kind::of(&request["oldObject"]));
        let kind = kind.or(asked).unwrap_or(Kind::Other);
        for which in ["object", "oldObject"] {
            if let Some(object) = request.get_mut(which) {
                self.object(object, kind);
            }
        }
        if let Some(extra) = request.pointer_mut("/userInfo/extra") {
            self.all(extra, Coding::Plain);
        }
        kind
    }

    /// Takes values out of a JSON Patch of an object of this kind.
    pub(crate) fn patch(&mut self, patch: &mut Value, kind: Kind) {
        self.is_answer = true;
        for operation in patch.as_array_mut().into_iter().flatten() {
            let path = operation["path"].as_str().unwrap_or_default().to_owned();
            let Some(value) = operation.get_mut("value") else {
                continue;
            };
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            if segments.is_empty() {
                self.object(value, kind);
                continue;
            }
            let place = segments.iter().fold(Place::Object, |place, segment| {
                place.of(&unescaped(segment), kind)
            });
            self.value(value, place, kind);
        }
    }

    fn object(&mut self, object: &mut Value, kind: Kind) {
        let kind = Kind::of(object).unwrap_or(kind);
        self.value(object, Place::Object, kind);
    }

    /// The object once more, as text.
    fn applied(&mut self, applied: &mut Value, kind: Kind) {
        let object = applied.as_str().map(serde_json::from_str::<Value>);
        match object {
            Some(Ok(mut object)) => {
                self.object(&mut object, kind);
                *applied = object.to_string().into();
            }
            _ => self.all(applied, Coding::Plain),
        }
    }

    /// Takes values out, however deep they are: pods are in templates, and those in resources of all kinds.
    fn value(&mut self, value: &mut Value, place: Place, kind: Kind) {
        match (place, &mut *value) {
            (Place::Taken(coding), value) => self.all(value, coding),
            (Place::Applied, value) => self.applied(value, kind),
            (Place::Kept, _) => {}
            // Objects are in others, as in a template of a Secret.
            (Place::Inside, value) if is_object_with_values(value) => self.object(value, kind),
            (_, Value::Array(items)) => {
                let place = place.of("-", kind);
                for item in items {
                    self.value(item, place, kind);
                }
            }
            (_, Value::Object(members)) => {
                for (name, member) in members {
                    let place = match place {
                        Place::Pairs => Place::Taken(Coding::Plain),
                        place => place.of(name, kind),
                    };
                    self.value(member, place, kind);
                }
            }
            // In a map, not a list; or an annotation.
            (Place::Pair | Place::Pairs, value) => self.all(value, Coding::Plain),
            // What the program itself says there is what its answers differ in.
            (Place::Annotation | Place::Annotations, Value::String(text))
                if !self.is_answer || self.seen.contains_key(text) =>
            {
                *text = self.taken(text, Coding::Plain);
            }
            _ => {}
        }
    }

    /// Every text in it.
    fn all(&mut self, value: &mut Value, coding: Coding) {
        match value {
            Value::String(text) => *text = self.taken(text, coding),
            Value::Array(items) => items.iter_mut().for_each(|item| self.all(item, coding)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| self.all(member, coding));
            }
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => {
                *value = self.taken(&value.to_string(), coding).into();
            }
        }
    }

    fn taken(&mut self, text: &str, coding: Coding) -> String {
        // The same value is the same, however it is written.
        let plain = match coding {
            Coding::Plain => text.to_owned(),
            Coding::Base64 => STANDARD
                .decode(text)
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .unwrap_or_else(|| text.to_owned()),
        };
        let next = self.seen.len() + 1;
        let number = *self.seen.entry(plain).or_insert(next);
        let text = format!("redacted-{number}");
        match coding {
            Coding::Plain => text,
            Coding::Base64 => STANDARD.encode(text),
        }
    }
}

/// How a value is written.
#[derive(Clone, Copy)]
enum Coding {
    Plain,
    Base64,
}

fn is_object_with_values(value: &Value) -> bool {
    let kind = Kind::of(value);
    matches!(kind, Some(Kind::Secret | Kind::ConfigMap | Kind::Token))
        && value.get("apiVersion").is_some()
}

/// A segment of a JSON pointer, as the key that it stands for.
fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn review(object: &Value) -> Value {
        json!({"request": {"object": object, "oldObject": null}})
    }

    fn redacted(object: &Value) -> Value {
        let mut review = review(object);
        Redaction::default().review(&mut review);
        review["request"]["object"].take()
    }

    #[test]
    fn each_kind_keeps_what_it_may_show() {
        for (object, kept) in [
            (
                json!({"kind": "Secret", "type": "Opaque", "data": {"a": "c2VjcmV0"}, "stringData": {"b": "secret", "c": "x"}}),
                json!({"kind": "Secret", "type": "Opaque", "data": {"a": "cmVkYWN0ZWQtMQ=="},
                    "stringData": {"b": "redacted-1", "c": "redacted-2"}}),
            ),
            (
                json!({"kind": "ConfigMap", "data": {"mode": "fast"}, "binaryData": {"a": "c2VjcmV0"}}),
                json!({"kind": "ConfigMap", "data": {"mode": "redacted-2"}, "binaryData": {"a": "cmVkYWN0ZWQtMQ=="}}),
            ),
            (
                json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [
                    {"image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]}]}}}}}}),
                json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [
                    {"image": "a", "env": [{"name": "A", "value": "redacted-1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]}]}}}}}}),
            ),
            (
                json!({"kind": "Pod", "metadata": {"annotations": {"note": "1"}, "labels": {"team": "a"}}, "spec": {"containers": [
                    {"image": "a", "command": ["sh", "-c"], "args": ["--password=2"], "livenessProbe": {"exec": {"command": ["sh"]}},
                     "readinessProbe": {"httpGet": {"path": "/3", "port": 80, "httpHeaders": [{"name": "A", "value": "4"}]}}}]}}),
                json!({"kind": "Pod", "metadata": {"annotations": {"note": "redacted-1"}, "labels": {"team": "a"}}, "spec": {"containers": [
                    {"image": "a", "command": ["redacted-3", "redacted-4"], "args": ["redacted-2"], "livenessProbe": {"exec": {"command": ["redacted-3"]}},
                     "readinessProbe": {"httpGet": {"path": "redacted-6", "port": 80, "httpHeaders": [{"name": "A", "value": "redacted-5"}]}}}]}}),
            ),
            (
                json!({"kind": "Runner", "spec": {"env": {"A": "1", "B": "2"}, "template": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "3"}}}}),
                json!({"kind": "Runner", "spec": {"env": {"A": "redacted-1", "B": "redacted-2"},
                    "template": {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "redacted-3"}}}}),
            ),
            (
                json!({"kind": "CustomResourceDefinition", "metadata": {"annotations": {"a": "1"}}, "spec": {"properties": {"env": {"type": "array"}}}}),
                json!({"kind": "CustomResourceDefinition", "metadata": {"annotations": {"a": "redacted-1"}}, "spec": {"properties": {"env": {"type": "array"}}}}),
            ),
            (
                json!({"kind": "TokenRequest", "spec": {"audiences": ["a"]}, "status": {"token": "abc"}}),
                json!({"kind": "TokenRequest", "spec": {"audiences": ["a"]}, "status": {"token": "redacted-1"}}),
            ),
        ] {
            assert_eq!(redacted(&object), kept);
        }
    }

    #[test]
    fn what_kubectl_repeats_is_taken_out_too() {
        let applied = json!({"kind": "Secret", "data": {"a": "c2VjcmV0"}}).to_string();
        let object = |applied: &str| json!({"kind": "Secret", "metadata": {"annotations": {APPLIED: applied}}});
        let kept = redacted(&object(&applied));
        let text = kept["metadata"]["annotations"][APPLIED].as_str().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            json!({"kind": "Secret", "data": {"a": "cmVkYWN0ZWQtMQ=="}})
        );
        let kept = redacted(&object("no JSON, with a secret"));
        assert_eq!(kept["metadata"]["annotations"][APPLIED], "redacted-1");
    }

    #[test]
    fn no_form_of_a_patch_lets_a_secret_through() {
        let applied = json!({"kind": "Secret", "data": {"a": "c2VjcmV0"}}).to_string();
        let (data, plain) = ("c2VjcmV0", "secret");
        for (path, value) in [
            ("", json!({"kind": "Secret", "data": {"a": data}})),
            ("/data", json!({"a": data})),
            ("/data/a", json!(data)),
            ("/stringData", json!({"a": plain})),
            ("/stringData/a", json!(plain)),
            ("/metadata", json!({"annotations": {APPLIED: applied}})),
            ("/metadata/annotations", json!({APPLIED: applied})),
            (
                "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
                json!(applied),
            ),
        ] {
            let mut patch = json!([{"op": "add", "path": path, "value": value}]);
            Redaction::default().patch(&mut patch, Kind::Secret);
            let text = patch.to_string();
            assert!(
                !text.contains(data) && !text.contains("\"secret\""),
                "{path}: {text}"
            );
            assert!(
                text.contains("redacted-1") || text.contains("cmVkYWN0ZWQtMQ"),
                "{path}: {text}"
            );
        }
    }

    #[test]
    fn a_patch_lets_no_value_through_that_an_object_does_not() {
        for (path, value) in [
            ("/spec/containers/0/args", json!(["secret"])),
            ("/spec/containers/0/args/-", json!("secret")),
            ("/spec/containers/0/command/0", json!("secret")),
            ("/spec/containers/0", json!({"args": ["secret"]})),
            (
                "/spec/containers/0/livenessProbe/httpGet",
                json!({"path": "secret"}),
            ),
            (
                "/spec/containers/0/livenessProbe/httpGet/path",
                json!("secret"),
            ),
            (
                "/spec/containers/0/livenessProbe/httpGet/httpHeaders/0/value",
                json!("secret"),
            ),
            (
                "/spec/containers/0/livenessProbe/httpGet/httpHeaders/-",
                json!({"name": "a", "value": "secret"}),
            ),
            ("/spec/env/A", json!("secret")),
            ("/spec/env", json!({"A": "secret"})),
            ("/metadata/annotations/note", json!("secret")),
            ("/metadata/annotations", json!({"note": "secret"})),
            ("/metadata", json!({"annotations": {"note": "secret"}})),
            ("/spec/template/metadata/annotations/note", json!("secret")),
        ] {
            // An annotation is taken out where it was copied from the object.
            let mut redaction = Redaction::default();
            let object = json!({"kind": "Pod", "spec": {"containers": [{"args": ["secret"]}]}});
            redaction.review(&mut review(&object));
            let mut patch = json!([{"op": "add", "path": path, "value": value}]);
            redaction.patch(&mut patch, Kind::Other);
            assert!(!patch.to_string().contains("secret"), "{patch}");
        }
        let own = json!([{"op": "add", "path": "/metadata/annotations/note", "value": "welcome"}]);
        let mut patch = own.clone();
        Redaction::default().patch(&mut patch, Kind::Other);
        assert_eq!(patch, own);
        let mut patch = json!([{"op": "add", "path": "/data/mode", "value": "secret"}]);
        Redaction::default().patch(&mut patch, Kind::ConfigMap);
        assert!(!patch.to_string().contains("secret"), "{patch}");
    }

    #[test]
    fn what_the_authenticator_adds_to_the_user_is_taken_out() {
        let mut review = json!({"request": {"userInfo": {"username": "a", "groups": ["b"], "extra": {"scopes": ["c"]}}, "object": null}});
        Redaction::default().review(&mut review);
        let user = json!({"username": "a", "groups": ["b"], "extra": {"scopes": ["redacted-1"]}});
        assert_eq!(review["request"]["userInfo"], user);
    }

    proptest! {
        #[test]
        fn what_was_taken_out_once_stays_as_it_is(values in proptest::collection::vec("[a-z]{0,3}|redacted-[1-3]", 0..6)) {
            let env: Vec<Value> = values.iter().map(|value| json!({"name": "A", "value": value})).collect();
            let data: Vec<(String, Value)> = values.iter().enumerate()
                .map(|(place, value)| (format!("key-{place}"), STANDARD.encode(value).into()))
                .collect();
            let data: serde_json::Map<String, Value> = data.into_iter().collect();
            for object in [json!({"kind": "Pod", "spec": {"containers": [{"env": env}]}}), json!({"kind": "Secret", "data": data})] {
                let once = redacted(&object);
                prop_assert_eq!(redacted(&once), once);
            }
        }
    }
}

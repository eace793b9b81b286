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
    /// A TokenRequest or a TokenReview.
    Token,
    Other,
}

/// The values that were taken out so far, each with its number.
#[derive(Debug, Default)]
pub(crate) struct Redaction {
    seen: HashMap<String, usize>,
}

impl Kind {
    fn of(object: &Value) -> Option<Self> {
        let kind = object["kind"].as_str()?;
        Some(match kind {
            "Secret" => Self::Secret,
            "TokenRequest" | "TokenReview" => Self::Token,
            _ => Self::Other,
        })
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
        kind
    }

    /// Takes values out of a JSON Patch of an object of this kind.
    pub(crate) fn patch(&mut self, patch: &mut Value, kind: Kind) {
        for operation in patch.as_array_mut().into_iter().flatten() {
            let path = operation["path"].as_str().unwrap_or_default().to_owned();
            let Some(value) = operation.get_mut("value") else {
                continue;
            };
            let segments: Vec<&str> = path.split('/').skip(1).collect();
            match (kind, &segments[..]) {
                (_, []) => self.object(value, kind),
                (Kind::Secret, ["data", ..]) => self.all(value, Coding::Base64),
                (Kind::Secret, ["stringData", ..]) | (Kind::Token, [.., "token"]) => {
                    self.all(value, Coding::Plain);
                }
                (_, [.., "env", _, "value"]) => self.all(value, Coding::Plain),
                (_, [.., "env", _]) => self.variable(value),
                (_, [.., "env"]) => self.variables(value),
                (_, ["metadata", "annotations", key]) if unescaped(key) == APPLIED => {
                    self.applied(value, kind);
                }
                _ => self.anywhere(value, kind),
            }
        }
    }

    fn object(&mut self, object: &mut Value, kind: Kind) {
        let kind = Kind::of(object).unwrap_or(kind);
        if kind == Kind::Secret {
            for (member, coding) in [("data", Coding::Base64), ("stringData", Coding::Plain)] {
                if let Some(values) = object.get_mut(member) {
                    self.all(values, coding);
                }
            }
        }
        self.anywhere(object, kind);
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

    /// Environment variables, tokens and what kubectl repeats, however deep they are: pods are in templates, and those in
    /// resources of all kinds.
    fn anywhere(&mut self, value: &mut Value, kind: Kind) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.anywhere(item, kind)),
            Value::Object(members) => {
                for (name, member) in members {
                    match name.as_str() {
                        "env" if member.is_array() => self.variables(member),
                        APPLIED => self.applied(member, kind),
                        "token" if kind == Kind::Token => self.all(member, Coding::Plain),
                        _ => self.anywhere(member, kind),
                    }
                }
            }
            _ => {}
        }
    }

    fn variables(&mut self, variables: &mut Value) {
        for variable in variables.as_array_mut().into_iter().flatten() {
            self.variable(variable);
        }
    }

    fn variable(&mut self, variable: &mut Value) {
        if let Some(value) = variable.get_mut("value") {
            self.all(value, Coding::Plain);
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
                json!({"kind": "ConfigMap", "data": {"mode": "fast"}}),
                json!({"kind": "ConfigMap", "data": {"mode": "fast"}}),
            ),
            (
                json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [
                    {"image": "a", "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]}]}}}}}}),
                json!({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": {"initContainers": [
                    {"image": "a", "env": [{"name": "A", "value": "redacted-1"}, {"name": "B", "valueFrom": {"fieldRef": {}}}]}]}}}}}}),
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

//! What a webhook made of an object, held against what it was.

use kubewright_apimachinery::view::View;
use kubewright_webhook_client::go_word;
use serde_json::Value;

use super::metadata;

/// An object as a webhook sent it back.
#[derive(Debug)]
pub(super) struct Converted(Value);

impl Converted {
    /// Reads an entry of the answer.
    ///
    /// # Errors
    /// Go's words for what is no object, or has no kind.
    pub(super) fn read(answered: Value) -> Result<Self, String> {
        match &answered {
            Value::Null => Err("unexpected end of JSON input".to_owned()),
            // A version that is none takes the kind with it.
            Value::Object(_)
                if answered.text("kind").is_empty()
                    || answered.text("apiVersion").matches('/').count() > 1 =>
            {
                Err(format!("Object 'Kind' is missing in '{answered}'"))
            }
            Value::Object(_) => Ok(Self(answered)),
            other => Err(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go_word(other)
            )),
        }
    }

    /// The object of the version that was wanted, with the metadata that it has to have.
    ///
    /// # Errors
    /// What is wrong with it, as it stands behind `returned`.
    pub(super) fn check(self, original: &Value, wanted: &str) -> Result<Value, String> {
        let Self(mut object) = self;
        let (said, kind) = (object.text("apiVersion"), object.text("kind"));
        if said != wanted {
            return Err(format!(
                "invalid object at index 0: invalid groupVersion (expected {wanted}, received {said})"
            ));
        }
        let expected = original.text("kind");
        if kind != expected {
            return Err(format!(
                "invalid object at index 0: invalid kind (expected {expected}, received {kind})"
            ));
        }
        for (what, field) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
            let before = original.at("metadata").text(field);
            let after = object.at("metadata").text(field);
            if before != after {
                return Err(format!(
                    "invalid object: must have the same {what}: {before} != {after}"
                ));
            }
        }
        metadata::restore(original, &mut object)
            .map_err(|why| format!("invalid metadata: {why}"))?;
        Ok(object)
    }
}

//! From a request body to a custom object, in the decoder's words where it is none (spec section D.4).

use serde_json::Value;

use super::Custom;
use crate::field::quoted;
use crate::kinds::view::View;
use crate::status::{Result, Status};

impl Custom {
    /// Makes the object in a body one of this version. Answers the paths of what it does not know.
    ///
    /// # Errors
    /// 400 for an object of another version, or for what does not fit at all.
    pub(crate) fn decode(&self, object: &mut Value, body: &[u8]) -> Result<Vec<String>> {
        let kind = &self.definition.kind;
        let Value::Object(members) = &*object else {
            return Err(self.unrecognized("Object 'Kind' is missing in", body));
        };
        let said = members.get("kind").and_then(Value::as_str);
        if said.unwrap_or_default().is_empty() {
            return Err(self.unrecognized("Object 'Kind' is missing in", body));
        }
        let unknown = self.coerce(object).map_err(|why| {
            let (said, version) = (object.text("kind"), object.text("apiVersion"));
            let version = quoted(version.rsplit('/').next().unwrap_or_default());
            Status::bad_request(format!(
                "{said} in version {version} cannot be handled as a {kind}: {why}"
            ))
        })?;
        let (said, wanted) = (object.text("apiVersion"), self.api_version());
        if said != wanted {
            return Err(Status::bad_request(format!(
                "the API version in the data ({said}) does not match the expected API version ({wanted})"
            )));
        }
        Ok(unknown)
    }

    /// `example.com/v1`.
    pub(crate) fn api_version(&self) -> String {
        format!("{}/{}", self.definition.group, self.name)
    }

    fn unrecognized(&self, why: &str, body: &[u8]) -> Status {
        let (kind, text) = (&self.definition.kind, String::from_utf8_lossy(body));
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} '{text}' ({})",
            crate::rest::decode::beginning(body)
        ))
    }
}

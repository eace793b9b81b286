//! From a request body to a custom object, in the decoder's words where it is none (spec section D.4).

use kubewright_apimachinery::conform::settle_numbers;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::unrecognized::{beginning, not_an_object};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Custom;

impl Custom {
    /// Decodes the object in a body by this version, and adds the paths of unknown fields to `unknown`. With `ignores`, for
    /// `fieldValidation=Ignore`, the error for an object without a kind is worded as by the real server's lenient decoder.
    ///
    /// # Errors
    /// 400 for an object of another version, or for what does not fit at all.
    pub fn decode(
        &self,
        object: &mut Value,
        body: &[u8],
        ignores: bool,
        unknown: &mut Vec<String>,
    ) -> Result<()> {
        let kind = &self.definition.kind;
        if !object.is_object() && !object.is_null() {
            return Err(self.unrecognized(&not_an_object(object), body));
        }
        if object.text("kind").is_empty() {
            let text = String::from_utf8_lossy(body);
            let why = format!("Object 'Kind' is missing in '{text}'");
            if !ignores {
                return Err(self.unrecognized(&why, body));
            }
            let version = quoted(&self.name);
            return Err(Status::bad_request(format!(
                "{kind} in version {version} cannot be handled as a {kind}: {why}"
            )));
        }
        settle_numbers(object);
        let (said, wanted) = (object.text("apiVersion").to_owned(), self.api_version());
        if said != wanted {
            if said.starts_with(&format!("{}/", self.definition.group)) {
                unknown.extend(others(object));
            }
            return Err(Status::bad_request(format!(
                "the API version in the data ({said}) does not match the expected API version ({wanted})"
            )));
        }
        let found = self.coerce(object).map_err(|why| {
            let (said, version) = (object.text("kind"), quoted(&self.name));
            Status::bad_request(format!(
                "{said} in version {version} cannot be handled as a {kind}: {why}"
            ))
        })?;
        unknown.extend(found);
        Ok(())
    }

    /// `example.com/v1`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.definition.group, self.name)
    }

    fn unrecognized(&self, why: &str, body: &[u8]) -> Status {
        let (kind, start) = (&self.definition.kind, beginning(body));
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({start})"
        ))
    }
}

/// What a version without a schema does not know: everything that not every object has.
fn others(object: &Value) -> Vec<String> {
    let members = object.as_object().into_iter().flatten();
    let names = members.map(|(name, _)| name.as_str());
    names
        .filter(|name| !matches!(*name, "apiVersion" | "kind" | "metadata"))
        .map(str::to_owned)
        .collect()
}

//! From a request body to a custom object, in the decoder's words where it is none (spec section D.4).

use serde_json::{Number, Value};

use super::Custom;
use crate::field::quoted;
use crate::kinds::view::View;
use crate::rest::decode::{beginning, not_an_object};
use crate::status::{Result, Status};

impl Custom {
    /// Makes the object in a body one of this version. `unknown` is told the paths of what it does not know.
    ///
    /// # Errors
    /// 400 for an object of another version, or for what does not fit at all.
    pub(crate) fn decode(
        &self,
        object: &mut Value,
        body: &[u8],
        unknown: &mut Vec<String>,
    ) -> Result<()> {
        let kind = &self.definition.kind;
        if !object.is_object() && !object.is_null() {
            return Err(self.unrecognized(&not_an_object(object), body));
        }
        if object.text("kind").is_empty() {
            let text = String::from_utf8_lossy(body);
            return Err(self.unrecognized(&format!("Object 'Kind' is missing in '{text}'"), body));
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
    pub(crate) fn api_version(&self) -> String {
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

/// Go has one number for `1` and `1.0`, and writes it without a fraction; what no 64 bits hold is not whole to it.
pub(crate) fn settle_numbers(value: &mut Value) {
    /// The largest number below which every whole one is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let Some(float) = number.as_f64().filter(|_| !number.is_i64()) else {
                return;
            };
            if float.fract() == 0.0 && float.abs() < EXACT {
                #[expect(clippy::cast_possible_truncation, reason = "whole and exact")]
                let whole = float as i64;
                *number = Number::from(whole);
            } else if let Some(inexact) = Number::from_f64(float) {
                *number = inexact;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle_numbers),
        Value::Object(members) => members.values_mut().for_each(settle_numbers),
        _ => {}
    }
}

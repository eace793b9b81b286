//! Conversion webhooks: each object gets the desired version, and the further changes that the case declares.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::case::{Raw, set};

/// A conversion webhook. The desired version, without its group, selects what it does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Converter {
    /// The last part of its path.
    pub(crate) converting: String,
    /// Values that go from one JSON pointer to another.
    #[serde(default)]
    moves: BTreeMap<String, BTreeMap<String, String>>,
    /// JSON pointers that are set in every object; null removes.
    #[serde(default)]
    sets: BTreeMap<String, BTreeMap<String, Value>>,
    /// JSON pointers that are set in the whole answer.
    #[serde(default)]
    review: BTreeMap<String, BTreeMap<String, Value>>,
    /// An HTTP answer instead.
    #[serde(default)]
    raw: BTreeMap<String, Raw>,
    /// Whether the requests to it are compared: each different one once, since a real server also converts objects without a
    /// request of the case.
    #[serde(default)]
    pub(crate) calls: bool,
}

impl Converter {
    /// Reads a converter as a case has it.
    ///
    /// # Errors
    /// The value is not a converter.
    pub(crate) fn read(written: Value) -> Result<Self> {
        serde_json::from_value(written).context("read a converter")
    }

    /// The answer to a conversion review.
    ///
    /// # Errors
    /// The case sets what cannot be set.
    pub(crate) fn answer(&self, review: &Value) -> Result<Raw> {
        let wanted = review["request"]["desiredAPIVersion"].as_str();
        let wanted = wanted.unwrap_or_default();
        let version = wanted.rsplit('/').next().unwrap_or_default();
        if let Some(raw) = self.raw.get(version) {
            return Ok(raw.clone());
        }
        let objects = review["request"]["objects"]
            .as_array()
            .into_iter()
            .flatten();
        let converted = objects.map(|object| self.converted(object, wanted, version));
        let mut answer = json!({
            "apiVersion": review["apiVersion"],
            "kind": "ConversionReview",
            "response": {
                "uid": review["request"]["uid"],
                "convertedObjects": converted.collect::<Result<Vec<_>>>()?,
                "result": {"status": "Success"},
            },
        });
        for (pointer, value) in self.review.get(version).into_iter().flatten() {
            if pointer.is_empty() {
                answer = value.clone();
            } else {
                set(&mut answer, pointer, value.clone())?;
            }
        }
        Ok(Raw {
            body: answer,
            ..Raw::default()
        })
    }

    fn converted(&self, object: &Value, wanted: &str, version: &str) -> Result<Value> {
        let mut object = object.clone();
        object["apiVersion"] = wanted.into();
        for (from, to) in self.moves.get(version).into_iter().flatten() {
            if let Some(value) = object.pointer(from).cloned() {
                set(&mut object, from, Value::Null)?;
                set(&mut object, to, value)?;
            }
        }
        for (pointer, value) in self.sets.get(version).into_iter().flatten() {
            if pointer.is_empty() {
                object = value.clone();
            } else {
                set(&mut object, pointer, value.clone())?;
            }
        }
        Ok(object)
    }
}

//! From one version of a custom object to another (spec section D.7).

mod converted;
mod metadata;
mod review;
mod webhook;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::Definition;
use crate::admission::Reach;
use crate::kinds::{Resource, conversion};

use webhook::Webhook;

/// How the versions of a definition become each other.
#[derive(Debug)]
pub(crate) enum Conversion {
    /// They differ by their names alone.
    None,
    /// Somebody else knows.
    Webhook(Box<Webhook>),
}

impl Conversion {
    /// Reads what a definition of this name says.
    pub(super) fn read(conversion: &Value, definition: &str) -> Self {
        if conversion.text("strategy") == "Webhook" {
            Self::Webhook(Box::new(Webhook::read(
                conversion.at("webhook"),
                definition,
            )))
        } else {
            Self::None
        }
    }
}

impl Definition {
    /// Converts an object to `version`, where it is not in it already.
    ///
    /// # Errors
    /// 500 with the real server's words.
    pub(crate) async fn convert(
        &self,
        reach: Reach<'_>,
        mut object: Value,
        version: &str,
    ) -> Result<Value> {
        let wanted = format!("{}/{version}", self.group);
        if object.text("apiVersion") == wanted {
            return Ok(object);
        }
        match &self.conversion {
            Conversion::Webhook(webhook) if !is_empty(&object) => {
                let converted = webhook.convert(reach, &object, &wanted).await;
                converted.map_err(Status::plain)
            }
            _ => {
                object.put("apiVersion", wanted.as_str());
                Ok(object)
            }
        }
    }
}

/// Turns an object of `from` into one of `to`, another version of the same objects, and asks a webhook where a definition has
/// one.
///
/// # Errors
/// There is no conversion between the two, or it failed.
pub(crate) async fn between(
    reach: Reach<'_>,
    from: &Resource,
    to: &Resource,
    mut object: Value,
) -> Result<Value> {
    match &from.custom {
        Some(custom) if from.kind == to.kind => {
            custom.definition.convert(reach, object, &to.version).await
        }
        _ => {
            conversion::convert(from, to, &mut object)?;
            Ok(object)
        }
    }
}

/// Whether an object has nothing but its kind, which needs nobody to be converted.
fn is_empty(object: &Value) -> bool {
    let members = object.as_object();
    members.is_some_and(|members| {
        members.len() == 2 && members.contains_key("kind") && members.contains_key("apiVersion")
    })
}

//! Conversion of custom objects between versions (spec section D.7).

mod converted;
mod metadata;
mod review;
mod strategy;
mod webhook;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::Resource;
use kubewright_webhook_client::Reach;
use serde_json::Value;

use super::{Custom, Definition};

pub(crate) use strategy::Conversion;

impl Definition {
    /// Converts an object to `version`, unless it already has that version.
    ///
    /// # Errors
    /// 500 with the real API server's message.
    pub async fn convert(
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

/// Converts an object from the version of `from` to the version of `to`, through the definition's conversion webhook if it has
/// one.
///
/// # Errors
/// There is no conversion between the two versions, or the conversion failed.
pub async fn between(
    reach: Reach<'_>,
    from: &Resource,
    to: &Resource,
    mut object: Value,
) -> Result<Value> {
    match Custom::of(from) {
        Some(custom) if from.kind == to.kind => {
            custom.definition.convert(reach, object, &to.version).await
        }
        _ => {
            kubewright_registry::convert(from, to, &mut object)?;
            Ok(object)
        }
    }
}

/// Whether an object has no fields besides `apiVersion` and `kind`: the server converts it without the webhook.
fn is_empty(object: &Value) -> bool {
    let members = object.as_object();
    members.is_some_and(|members| {
        members.len() == 2 && members.contains_key("kind") && members.contains_key("apiVersion")
    })
}

//! From one version of a custom object to another (spec section D.7).

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
    /// Converts an object to `version`, where it is not in it already.
    ///
    /// # Errors
    /// 500 with the real server's words.
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

/// Turns an object of `from` into one of `to`, another version of the same objects, and asks a webhook where a definition has
/// one.
///
/// # Errors
/// There is no conversion between the two, or it failed.
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

/// Whether an object has nothing but its kind, which needs nobody to be converted.
fn is_empty(object: &Value) -> bool {
    let members = object.as_object();
    members.is_some_and(|members| {
        members.len() == 2 && members.contains_key("kind") && members.contains_key("apiVersion")
    })
}

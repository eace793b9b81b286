//! The conversion strategy of a definition.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::webhook::Webhook;

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
    pub(crate) fn read(conversion: &Value, definition: &str) -> Self {
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

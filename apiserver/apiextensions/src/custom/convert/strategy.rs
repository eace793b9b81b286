//! The conversion strategy of a definition.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::webhook::Webhook;

/// How the server converts between the versions of a definition.
#[derive(Debug)]
pub(crate) enum Conversion {
    /// The server changes `apiVersion` alone.
    None,
    /// A webhook converts the objects.
    Webhook(Box<Webhook>),
}

impl Conversion {
    /// Reads `spec.conversion` of the named definition.
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

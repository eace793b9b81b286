//! The webhook that converts: where it is, and one call of it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_webhook_client::{NoClient, Reach, ReviewVersion, Target};
use serde_json::Value;
use uuid::Uuid;

use super::converted::Converted;
use super::review;

/// How long a real server waits, whatever the request's own deadline is.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A webhook that converts, as a definition says it.
#[derive(Debug)]
pub(crate) struct Webhook {
    name: String,
    target: Target,
    version: Option<ReviewVersion>,
}

impl Webhook {
    pub(super) fn read(webhook: &Value, definition: &str) -> Self {
        Self {
            name: format!("conversion_webhook_for_{definition}"),
            target: Target::of_conversion(&without_blank_bundle(webhook.at("clientConfig"))),
            version: ReviewVersion::preferred(webhook.at("conversionReviewVersions")),
        }
    }

    /// Has an object converted to `wanted`, a group and version.
    ///
    /// # Errors
    /// The real server's words for a call that failed, and for an answer that is none.
    pub(super) async fn convert(
        &self,
        reach: Reach<'_>,
        object: &Value,
        wanted: &str,
    ) -> Result<Value, String> {
        let version = self
            .version
            .ok_or_else(|| "no supported conversion review versions".to_owned())?;
        let endpoint = reach.client.endpoint(&self.target);
        let endpoint = endpoint.map_err(|why| self.no_client(&why))?;
        let about = {
            let (said, kind) = (object.text("apiVersion"), object.text("kind"));
            format!("conversion webhook for {said}, Kind={kind}")
        };
        let failed = |why: String| format!("{about} failed: {why}");
        let uid = Uuid::new_v4().to_string();
        let body = review::write(version, &uid, wanted, &[object]);
        let reply = reach.post(&endpoint, body, TIMEOUT).await;
        let reply = reply.map_err(|error| failed(error.to_string()))?;
        let review = review::decode(&reply, version).map_err(failed)?;
        let objects = review.verify(&uid).map_err(failed)?;
        let count = objects.len();
        let Ok([answered]) = <[Value; 1]>::try_from(objects) else {
            return Err(format!("{about} returned {count} objects, expected 1"));
        };
        let converted = Converted::read(answered)?;
        converted
            .check(object, wanted)
            .map_err(|why| format!("{about} returned {why}"))
    }

    fn no_client(&self, why: &NoClient) -> String {
        why.shown(&self.name)
    }
}

/// A bundle that is nothing but blanks is none, other than in a webhook configuration.
fn without_blank_bundle(config: &Value) -> Value {
    let mut config = config.clone();
    let bundle = STANDARD.decode(config.text("caBundle"));
    if bundle.is_ok_and(|bundle| bundle.trim_ascii().is_empty()) {
        config.drop_field("caBundle");
    }
    config
}

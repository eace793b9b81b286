//! The reviews that webhooks would be sent for a request, for callers that send them elsewhere.

use std::sync::Arc;

use bytes::Bytes;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_webhook_client::Reach;
use serde_json::{Value, json};

use super::call::{self, Prepared};
use super::configuration::{Hook, of_configuration};
use super::{is_exempt, select};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::forms::Forms;

/// The webhooks of a configuration that need not be in the cluster, compiled once.
#[derive(Clone, Debug)]
pub struct DetachedWebhooks(Vec<Arc<Hook>>);

impl DetachedWebhooks {
    /// Compiles the webhooks of a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration, with the defaults that the
    /// API server would store.
    pub fn new(configuration: &Value) -> Self {
        let mut configuration = configuration.clone();
        let webhooks = configuration["webhooks"].as_array_mut();
        for webhook in webhooks.into_iter().flatten() {
            for (field, default) in [
                ("matchPolicy", json!("Equivalent")),
                ("namespaceSelector", json!({})),
                ("objectSelector", json!({})),
            ] {
                if webhook[field].is_null() {
                    webhook[field] = default;
                }
            }
        }
        Self(of_configuration(&configuration))
    }

    /// Returns the AdmissionReview for each webhook that the API server would call for the request, by the name of the webhook;
    /// or the reason why the API server would fail the request instead.
    pub(crate) async fn reviews(
        &self,
        reach: Reach<'_>,
        cluster: &dyn Cluster,
        attributes: &Attributes,
    ) -> Vec<(String, Result<Bytes>)> {
        let mut reviews = Vec::new();
        if is_exempt(attributes, cluster) {
            return reviews;
        }
        for hook in &self.0 {
            match review(hook, reach, cluster, attributes).await {
                Ok(None) => {}
                Ok(Some(prepared)) => reviews.push((hook.name.clone(), Ok(prepared.into_body()))),
                Err(why) => reviews.push((hook.name.clone(), Err(why))),
            }
        }
        reviews
    }
}

async fn review(
    hook: &Arc<Hook>,
    reach: Reach<'_>,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<Option<Prepared>> {
    let Some(invocation) = select::select(hook, cluster, attributes)? else {
        return Ok(None);
    };
    let mut forms = Forms::default();
    let read = !hook.conditions.is_empty();
    let form = forms.of(reach, attributes, &invocation.matched, read).await;
    let mut form = form.map_err(Status::into_internal)?;
    if !select::conditions_hold(cluster, attributes, &invocation, &form)? {
        return Ok(None);
    }
    match call::prepare(attributes, &invocation, &mut form) {
        Ok(prepared) => Ok(Some(prepared)),
        // The failure policy lets the request pass without the webhook.
        Err(call::Failure::Call { .. }) if hook.ignore_failure => Ok(None),
        Err(failure) => Err(failure.into_status(&hook.name)),
    }
}

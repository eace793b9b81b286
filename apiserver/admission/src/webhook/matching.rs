//! Whether the match conditions of a webhook hold for a request (A.8).

use kubewright_apimachinery::status::{Result, Status};
use kubewright_cel::{AccessCheck, Authority, ResourceAttributes, Variables};
use serde_json::Value;

use super::conditions::Outcome;
use super::forms::Form;
use super::review;
use super::select::Invocation;
use crate::attributes::Attributes;
use crate::cluster::Cluster;

/// Whether the webhook is called, with the objects in the form that it would get.
pub(super) fn matches(
    cluster: &dyn Cluster,
    attributes: &Attributes,
    invocation: &Invocation,
    form: &Form<'_>,
) -> Result<bool> {
    let conditions = &invocation.hook.conditions;
    if conditions.is_empty() {
        return Ok(true);
    }
    let request = review::request_for_conditions(attributes, invocation);
    let authorizer = |check: &AccessCheck<'_>| cluster.authorize(&attributes.user, check);
    let authority = Authority::new(&authorizer);
    let checked = authority.request_resource(&ResourceAttributes {
        group: &attributes.resource.group,
        resource: &attributes.resource.plural,
        subresource: &attributes.subresource,
        namespace: &attributes.namespace,
        name: &attributes.name,
        ..ResourceAttributes::default()
    });
    let variables = Variables::new()
        .with_json("object", form.object)
        .with_json("oldObject", form.old)
        .with_json("request", &request)
        .with_json("namespaceObject", &Value::Null)
        .with("authorizer", authority.value())
        .with("authorizer.requestResource", checked);
    match conditions.outcome(&variables) {
        Outcome::Call => Ok(true),
        Outcome::Skip => Ok(false),
        Outcome::Failed(_) if invocation.hook.ignore_failure => Ok(false),
        Outcome::Failed(why) => Err(Status::forbidden(
            &attributes.resource.group,
            &attributes.resource.plural,
            &attributes.name,
            &why,
        )),
    }
}

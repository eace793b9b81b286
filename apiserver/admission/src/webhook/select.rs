//! Whether a webhook is called for a request, and as what (A.5.1, A.8).

use std::sync::Arc;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_cel::{AccessCheck, Authority};

use super::configuration::Hook;
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::expressions::{Outcome, Request};
use crate::forms::Form;
use crate::matching::Matched;

/// A webhook to call, with the resource and the kind that its review contains.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    pub(super) hook: Arc<Hook>,
    pub(super) matched: Matched,
}

/// Selects by rules and selectors; match conditions come after this, on the object in the form that the webhook gets.
pub(super) fn select(
    hook: &Arc<Hook>,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<Option<Invocation>> {
    let matched = hook.criteria.matches(cluster, attributes)?;
    Ok(matched.map(|matched| Invocation {
        hook: Arc::clone(hook),
        matched,
    }))
}

/// Whether the match conditions hold for the objects in the form that the webhook would get.
pub(super) fn conditions_hold(
    cluster: &dyn Cluster,
    attributes: &Attributes,
    invocation: &Invocation,
    form: &Form<'_>,
) -> Result<bool> {
    let conditions = &invocation.hook.conditions;
    if conditions.is_empty() {
        return Ok(true);
    }
    let request = Request::new(attributes, &invocation.matched, form.object, form.old);
    let authorizer = |check: &AccessCheck<'_>| cluster.authorize(&attributes.user, check);
    let authority = Authority::new(&authorizer);
    match conditions.outcome(&request.variables_of_conditions(&authority)) {
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

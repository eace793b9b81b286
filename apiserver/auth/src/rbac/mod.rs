//! Role-based access control: who may do what, by the roles and bindings that the server stores.
//!
//! As on a real kube-apiserver, a ClusterRole with an aggregation rule has the rules that are written into it: putting
//! them there is the work of a controller.

pub mod escalation;
pub(crate) mod policy;
pub(crate) mod rule;

use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::user::User;
use kubewright_storage::Store;

use super::authorizer::{Authorizer, Decision, Rules};
use super::derived::UpToDate;
use super::question::Question;
pub use policy::RoleReference;
use policy::{Found, Policy};
pub use rule::Rule;

/// The API group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io";

/// Authorizes requests by the roles and bindings of a store; changes take effect at once.
#[derive(Debug)]
pub struct Rbac(UpToDate<Policy>);

impl Rbac {
    /// Sets up the authorizer of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Self(UpToDate::new(store))
    }
}

impl Authorizer for Rbac {
    fn decide(&self, question: &Question<'_>) -> Decision {
        let user = question.user;
        let policy = self.0.read();
        let mut missing = Vec::new();
        for found in policy.of(user, question.namespace()) {
            match found {
                Found::Rule(binding, rule) if rule.allows(question) => {
                    let because = binding.because(user);
                    return Decision::Allow(format!("RBAC: allowed by {because}"));
                }
                Found::Rule(..) => {}
                Found::Missing(role) => missing.push(role.clone()),
            }
        }
        let problems = aggregate(&not_found(&missing, RoleReference::singular));
        Decision::NoOpinion(problems.map_or_else(String::new, |why| format!("RBAC: {why}")))
    }

    fn rules(&self, user: &User, namespace: &str) -> Rules {
        let policy = self.0.read();
        let mut rules = Rules::default();
        for found in policy.of(user, namespace) {
            match found {
                Found::Rule(_, rule) => rules.told.push(rule.clone()),
                Found::Missing(role) => rules.missing.push(role.clone()),
            }
        }
        rules
    }
}

/// Returns the error messages of missing roles, without repetitions; `resource` names the resource of a role.
pub fn not_found<'a>(
    missing: &[RoleReference],
    resource: impl Fn(&RoleReference) -> &'a str,
) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for role in missing {
        let (resource, name) = (resource(role), quoted(role.name()));
        let message = format!("{resource}.{GROUP} {name} not found");
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    messages
}

/// Joins error messages as Go's aggregate does; `None` without any.
pub fn aggregate(messages: &[String]) -> Option<String> {
    match messages {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests;

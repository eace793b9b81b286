//! Which authorizers a server asks, and in which order.

use std::sync::Arc;

use kubewright_apimachinery::user::{MASTERS, User};
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_storage::Store;
use serde_json::Value;

use super::authorizer::{AllowAuthenticated, Authorizer, Decision, Rules};
use super::node::NodeAuthorizer;
use super::question::Question;
use super::rbac::Rbac;

/// An authorization mode, named as in kube-apiserver's `--authorization-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthorizationMode {
    /// `AlwaysAllow`: every authenticated user may do everything.
    AlwaysAllow,
    /// `Node`: a kubelet, known as `system:node:<name>` in the group `system:nodes`, may do what kubelets have to do; of
    /// Secrets, ConfigMaps, volumes and claims it may read those of the pods that are bound to its node.
    ///
    /// What a kubelet may write is not narrowed to its own node and pods: that is the work of the admission plugin
    /// NodeRestriction, which a kube-apiserver does not have either unless it is asked to.
    Node,
    /// `RBAC`: roles and bindings decide what a user may do.
    Rbac,
}

/// Asks one authorizer after another until one allows the request; the group `system:masters` may do everything.
#[derive(Debug)]
pub struct Modes(Vec<(&'static str, Box<dyn Authorizer>)>);

impl Modes {
    /// Sets up the authorizers of these modes, as this version of Kubernetes has them; `node_role` returns the initial
    /// ClusterRole `system:node`.
    pub fn new(
        modes: &[AuthorizationMode],
        version: KubernetesVersion,
        store: &Arc<Store>,
        node_role: impl Fn() -> Option<Value>,
    ) -> Self {
        let authorizer = |mode: &AuthorizationMode| -> (_, Box<dyn Authorizer>) {
            match mode {
                AuthorizationMode::AlwaysAllow => ("alwaysallow", Box::new(AllowAuthenticated)),
                AuthorizationMode::Node => {
                    let node = NodeAuthorizer::new(version, store.clone(), node_role().as_ref());
                    ("node", Box::new(node))
                }
                AuthorizationMode::Rbac => ("rbac", Box::new(Rbac::new(store.clone()))),
            }
        };
        Self(modes.iter().map(authorizer).collect())
    }
}

impl Authorizer for Modes {
    fn decide(&self, question: &Question<'_>) -> Decision {
        if question.user.groups.iter().any(|group| group == MASTERS) {
            return Decision::Allow(String::new());
        }
        let mut reasons = Vec::new();
        for (name, authorizer) in &self.0 {
            match authorizer.decide(question) {
                Decision::NoOpinion(why) if why.is_empty() => {}
                Decision::NoOpinion(why) => reasons.push(format!("{name}: {why}")),
                allow @ Decision::Allow(_) => return allow,
            }
        }
        Decision::NoOpinion(reasons.join("\n"))
    }

    fn rules(&self, user: &User, namespace: &str) -> Rules {
        let mut all = Rules::default();
        for (_, authorizer) in &self.0 {
            let of_one = authorizer.rules(user, namespace);
            all.told.extend(of_one.told);
            all.missing.extend(of_one.missing);
            all.untold = all.untold.or(of_one.untold);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use kubewright_storage::Limits;

    use super::super::About;
    use super::*;

    fn decide(modes: &[AuthorizationMode], name: &str, group: &str) -> Decision {
        let store = Arc::new(Store::new(Limits::default()));
        let user = User {
            username: name.to_owned(),
            groups: vec![group.to_owned()],
            ..User::default()
        };
        let about = About::Path("/logs");
        let question = Question {
            user: &user,
            verb: "get",
            about,
        };
        Modes::new(modes, KubernetesVersion::default(), &store, || None).decide(&question)
    }

    #[test]
    fn the_masters_may_do_everything_in_every_mode() {
        use AuthorizationMode::{Node, Rbac};
        let allowed = Decision::Allow(String::new());
        for modes in [&[] as &[_], &[Node], &[Rbac], &[Node, Rbac]] {
            assert_eq!(decide(modes, "root", MASTERS), allowed, "{modes:?}");
            let other = decide(modes, "jane", "system:authenticated");
            assert_eq!(other, Decision::NoOpinion(String::new()), "{modes:?}");
        }
    }

    #[test]
    fn one_that_allows_is_enough() {
        use AuthorizationMode::{AlwaysAllow, Node, Rbac};
        for modes in [[Node, AlwaysAllow], [AlwaysAllow, Rbac]] {
            let decision = decide(&modes, "jane", "system:authenticated");
            assert_eq!(decision, Decision::Allow(String::new()), "{modes:?}");
        }
    }
}

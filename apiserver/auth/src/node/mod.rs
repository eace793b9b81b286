//! What kubelets may do (`--authorization-mode=Node`): what all of them have to do, and read what pods on their node use.

mod graph;
mod references;
mod vertex;

use std::sync::Arc;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_storage::Store;
use serde_json::Value;

use super::authorizer::{Authorizer, Decision, Rules};
use super::derived::UpToDate;
use super::question::{About, Question};
use super::rbac::Rule;
use graph::Graph;
use vertex::{Kind, Vertex};

/// Authorizes the users `system:node:<name>` of the group `system:nodes`, and has no opinion about other users.
///
/// Its error messages are those of the real node authorizer.
#[derive(Debug)]
pub(crate) struct NodeAuthorizer {
    graph: UpToDate<Graph>,
    version: KubernetesVersion,
    /// The rules of all nodes, which do not follow later changes of the role `system:node`.
    rules: Vec<Rule>,
}

/// A question of a kubelet about a resource.
struct Asked<'a> {
    node: &'a str,
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    subresource: &'a str,
    namespace: &'a str,
    name: &'a str,
    fields: Option<&'a Fields>,
}

/// That something is not refused, or why it is.
type Verdict = Result<(), String>;

impl NodeAuthorizer {
    /// Decides as this version of Kubernetes does, by the objects of a store and by the role `system:node` as it is from
    /// the start.
    pub(crate) fn new(version: KubernetesVersion, store: Arc<Store>, role: Option<&Value>) -> Self {
        Self {
            graph: UpToDate::new(store),
            version,
            rules: role.map_or_else(Vec::new, Rule::all_of),
        }
    }

    fn judge(&self, question: &Question<'_>, node: &str) -> Verdict {
        if node.is_empty() {
            let user = quoted(&question.user.username);
            return Err(format!("unknown node for user {user}"));
        }
        let About::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields,
        } = question.about
        else {
            return self.uniformly(question);
        };
        let asked = Asked {
            node,
            verb: question.verb,
            group,
            resource,
            subresource,
            namespace,
            name,
            fields,
        };
        match (asked.group, asked.resource) {
            ("", "secrets") => self.reads(&asked, Kind::Secret),
            ("", "configmaps") => self.reads(&asked, Kind::ConfigMap),
            ("", "persistentvolumeclaims") if asked.subresource == "status" => {
                self.writes_status(&asked, Kind::Claim)
            }
            ("", "persistentvolumeclaims") => self.gets(&asked, Kind::Claim),
            ("", "persistentvolumes") => self.gets(&asked, Kind::Volume),
            ("resource.k8s.io", "resourceclaims") => self.gets(&asked, Kind::ResourceClaim),
            ("storage.k8s.io", "volumeattachments") => self.gets(&asked, Kind::Attachment),
            ("", "serviceaccounts") => self.uses_account(&asked),
            ("coordination.k8s.io", "leases") => asked.about_lease(),
            ("storage.k8s.io", "csinodes") => asked.about_csi_node(),
            ("resource.k8s.io", "resourceslices") => self.about_slice(&asked),
            ("", "nodes") => asked.about_node(),
            ("", "pods") => self.about_pod(&asked),
            ("certificates.k8s.io", "podcertificaterequests") => self.about_certificate(&asked),
            _ => self.uniformly(question),
        }
    }

    /// Reads one object of a namespace.
    fn reads(&self, asked: &Asked<'_>, kind: Kind) -> Verdict {
        if !matches!(asked.verb, "get" | "list" | "watch") {
            return refuse("can only read resources of this type");
        }
        if !asked.subresource.is_empty() {
            return refuse("cannot read subresource");
        }
        if asked.namespace.is_empty() {
            return refuse("can only read namespaced object of this type");
        }
        self.is_related(asked, kind)
    }

    fn gets(&self, asked: &Asked<'_>, kind: Kind) -> Verdict {
        if asked.verb != "get" {
            return refuse("can only get individual resources of this type");
        }
        if !asked.subresource.is_empty() {
            return refuse("cannot get subresource");
        }
        self.is_related(asked, kind)
    }

    fn writes_status(&self, asked: &Asked<'_>, kind: Kind) -> Verdict {
        if !matches!(asked.verb, "update" | "patch") {
            return refuse("can only get/update/patch this type");
        }
        self.is_related(asked, kind)
    }

    /// Gets a service account of a pod, or a token for it.
    fn uses_account(&self, asked: &Asked<'_>) -> Verdict {
        if asked.verb == "get" && asked.subresource.is_empty() {
            return self.reads(asked, Kind::ServiceAccount);
        }
        if asked.verb != "create" || asked.name.is_empty() {
            return refuse("can only create tokens for individual service accounts");
        }
        if asked.subresource != "token" {
            return refuse("can only create token subresource of serviceaccount");
        }
        self.is_related(asked, Kind::ServiceAccount)
    }

    fn about_slice(&self, asked: &Asked<'_>) -> Verdict {
        if !asked.subresource.is_empty() {
            return refuse("cannot authorize ResourceSlice subresources");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.is_related(asked, Kind::Slice),
            "watch" | "list" | "deletecollection" if asked.selects("spec.nodeName") => Ok(()),
            "watch" | "list" | "deletecollection" => refuse(
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => refuse(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn about_certificate(&self, asked: &Asked<'_>) -> Verdict {
        if self.version < KubernetesVersion::V1_37 {
            return refuse("");
        }
        if !asked.subresource.is_empty() {
            return refuse("nodes may not access the status subresource of PodCertificateRequests");
        }
        match asked.verb {
            "create" => Ok(()),
            "get" => self.is_related(asked, Kind::CertificateRequest),
            "list" | "watch" if asked.selects("spec.nodeName") => Ok(()),
            "list" | "watch" => {
                refuse("can only list/watch podcertificaterequests with nodeName field selector")
            }
            verb => Err(format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    fn about_pod(&self, asked: &Asked<'_>) -> Verdict {
        match (asked.subresource, asked.verb) {
            ("", "get") => self.gets(asked, Kind::Pod),
            ("", "list" | "watch") if asked.selects("spec.nodeName") => Ok(()),
            ("", "list" | "watch") if !asked.name.is_empty() => self.is_related(asked, Kind::Pod),
            ("", "list" | "watch") => {
                refuse("can only list/watch pods with spec.nodeName field selector")
            }
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                Ok(())
            }
            _ => refuse(""),
        }
    }

    /// What is the same for all nodes.
    fn uniformly(&self, question: &Question<'_>) -> Verdict {
        if self.rules.iter().any(|rule| rule.allows(question)) {
            Ok(())
        } else {
            refuse("")
        }
    }

    /// Whether pods that are bound to the node use an object.
    fn is_related(&self, asked: &Asked<'_>, kind: Kind) -> Verdict {
        if asked.name.is_empty() {
            return refuse("No Object name found");
        }
        let object = Vertex::new(kind, asked.namespace, asked.name);
        if self.graph.read().leads(&object, asked.node) {
            return Ok(());
        }
        let node = asked.node;
        Err(format!(
            "no relationship found between node '{node}' and this object"
        ))
    }
}

impl Authorizer for NodeAuthorizer {
    fn decide(&self, question: &Question<'_>) -> Decision {
        let Some(node) = node_of(question.user) else {
            return Decision::NoOpinion(String::new());
        };
        match self.judge(question, node) {
            Ok(()) => Decision::Allow(String::new()),
            Err(why) => Decision::NoOpinion(why),
        }
    }

    fn rules(&self, user: &User, _: &str) -> Rules {
        const UNTOLD: &str = "node authorizer does not support user rule resolution";
        Rules {
            untold: node_of(user).map(|_| UNTOLD),
            ..Rules::default()
        }
    }
}

impl Asked<'_> {
    /// Whether only objects are asked for that have this node in a field.
    fn selects(&self, field: &str) -> bool {
        self.fields
            .is_some_and(|fields| fields.requires(field, self.node))
    }

    fn about_lease(&self) -> Verdict {
        if !matches!(self.verb, "get" | "create" | "update" | "patch" | "delete") {
            return refuse("can only get, create, update, patch, or delete a node lease");
        }
        if self.namespace != "kube-node-lease" {
            return refuse("can only access leases in the \"kube-node-lease\" system namespace");
        }
        if self.verb != "create" && self.name != self.node {
            return refuse("can only access node lease with the same name as the requesting node");
        }
        Ok(())
    }

    fn about_csi_node(&self) -> Verdict {
        match self.subresource {
            "" => {}
            "status" => return refuse("CSINode status access requires CSIVolumeHealth feature"),
            _ => return refuse("cannot authorize CSINode subresources"),
        }
        if !matches!(self.verb, "get" | "create" | "update" | "patch" | "delete") {
            return refuse("can only get, create, update, patch, or delete a CSINode");
        }
        if self.verb != "create" && self.name != self.node {
            return refuse("can only access CSINode with the same name as the requesting node");
        }
        Ok(())
    }

    fn about_node(&self) -> Verdict {
        let Self { node, name, .. } = self;
        match (self.subresource, self.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
            // A kubelet asks for its node before that exists.
            ("", "get" | "list" | "watch") if name == node => Ok(()),
            ("", "get" | "list" | "watch") if name.is_empty() => Err(format!(
                "node '{node}' cannot read all nodes, only its own Node object"
            )),
            ("", "get" | "list" | "watch") => Err(format!(
                "node '{node}' cannot read '{name}', only its own Node object"
            )),
            _ => refuse(""),
        }
    }
}

/// The node that a kubelet is on; an empty one if its name does not say.
fn node_of(user: &User) -> Option<&str> {
    let node = user.username.strip_prefix("system:node:")?;
    user.groups
        .iter()
        .any(|group| group == "system:nodes")
        .then_some(node)
}

fn refuse(why: &str) -> Verdict {
    Err(why.to_owned())
}

#[cfg(test)]
mod tests;

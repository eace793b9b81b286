//! Prevention of privilege escalation: the permissions that a user needs to grant the rules of a role or a binding, besides
//! the permission to write the object.

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::user::{MASTERS, User};
use kubewright_apimachinery::view::View as _;
use kubewright_storage::Store;
use serde_json::Value;

use super::super::authorizer::{Authorizer, Decision};
use super::super::question::{About, Question};
use super::rule::{list, not_covered};
use super::{GROUP, RoleReference, Rule, aggregate, not_found};

/// A write of an RBAC object, with what its check needs.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the handlers of requests make it"
)]
pub struct Write<'a> {
    /// The user who writes.
    pub user: &'a User,
    /// The API group of the resource.
    pub group: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The namespace of the request; empty for cluster roles and their bindings.
    pub namespace: &'a str,
    /// The name in the path of the request.
    pub name: &'a str,
    /// The authorizer that decides.
    pub authorizer: &'a dyn Authorizer,
    /// The store of the roles.
    pub store: &'a Store,
}

/// Rejects a role or a binding that grants more than its writer has; `old` is the replaced object, null for a new one.
///
/// # Errors
/// 403 with the rules that the writer lacks, 404 for a binding to a role that does not exist.
pub fn check(write: &Write<'_>, object: &Value, old: &Value) -> Result<()> {
    if write.group != GROUP
        || write.user.groups.iter().any(|group| group == MASTERS)
        || lets_go_only(object, old)
    {
        return Ok(());
    }
    match write.resource {
        "roles" | "clusterroles" => check_role(write, object, old),
        "rolebindings" | "clusterrolebindings" => check_binding(write, object),
        _ => Ok(()),
    }
}

fn check_role(write: &Write<'_>, role: &Value, old: &Value) -> Result<()> {
    let escalate = Question {
        user: write.user,
        verb: "escalate",
        about: About::Resource {
            group: write.group,
            resource: write.resource,
            subresource: "",
            namespace: write.namespace,
            name: write.name,
            fields: None,
        },
    };
    if matches!(write.authorizer.decide(&escalate), Decision::Allow(_)) {
        return Ok(());
    }
    has_all(write, role, &Rule::all_of(role))?;
    let aggregates = |role: &Value| {
        let selectors = role.at("aggregationRule").list("clusterRoleSelectors");
        !selectors.is_empty()
    };
    // An aggregated role may collect any rules.
    if (aggregates(role) || aggregates(old)) && has_all(write, role, &Rule::everything()).is_err() {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        return Err(forbidden(write, role, why));
    }
    Ok(())
}

fn check_binding(write: &Write<'_>, binding: &Value) -> Result<()> {
    let role = RoleReference::of(binding);
    let namespace = write.namespace;
    let (Some(plural), Some(path)) = (role.plural(), role.path(namespace)) else {
        let kind = quoted(role.kind());
        return Err(Status::plain(format!(
            "unsupported role reference kind: {kind}"
        )));
    };
    let bind = Question {
        user: write.user,
        verb: "bind",
        about: About::Resource {
            group: binding.at("roleRef").text("apiGroup"),
            resource: plural,
            subresource: "",
            namespace,
            name: role.name(),
            fields: None,
        },
    };
    if matches!(write.authorizer.decide(&bind), Decision::Allow(_)) {
        return Ok(());
    }
    let table = format!("{plural}.{GROUP}");
    let Some(stored) = write.store.get(&table, &path) else {
        // The real server takes the resource of the request for that of the role, here and in the errors of rules.
        return Err(Status::not_found(GROUP, write.resource, role.name()));
    };
    has_all(write, binding, &Rule::all_of(&stored.value()))
}

/// Checks that the writer holds all of the wanted rules.
fn has_all(write: &Write<'_>, object: &Value, wanted: &[Rule]) -> Result<()> {
    let user = write.user;
    let held = write.authorizer.rules(user, write.namespace);
    let Some(lacks) = not_covered(&held.told, wanted) else {
        return Ok(());
    };
    let (name, groups) = (quoted(&user.username), list(&user.groups));
    let mut why = format!(
        "user {name} (groups={groups}) is attempting to grant RBAC permissions not currently \
         held:\n{lacks}"
    );
    if let Some(problems) = aggregate(&not_found(&held.missing, |_| write.resource)) {
        why.push_str("; resolution errors: [");
        why.push_str(&problems);
        why.push(']');
    }
    Err(forbidden(write, object, &why))
}

fn forbidden(write: &Write<'_>, object: &Value, why: &str) -> Status {
    Status::forbidden(write.group, write.resource, meta_text(object, "name"), why)
}

/// Whether nothing changes but what the garbage collector changes before it removes an object.
fn lets_go_only(object: &Value, old: &Value) -> bool {
    const OF_THE_COLLECTOR: [&str; 3] = ["ownerReferences", "finalizers", "managedFields"];
    let without = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|name, _| !OF_THE_COLLECTOR.contains(&name.as_str()));
        }
        object
    };
    old.is_object() && without(object) == without(old)
}

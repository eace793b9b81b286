//! Nobody gives away more than they have: what writing a role or a binding needs besides the permission to write it.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use super::rule::{list, not_covered};
use super::{GROUP, RoleReference, Rule, aggregate, not_found};
use crate::access::{About, Authorizer, Decision, MASTERS, Question};
use crate::rest::call::{Call, meta_text};

/// Refuses to write a role or a binding that gives more than its writer has; `old` is what is replaced, if anything is.
///
/// # Errors
/// 403 with what the writer lacks, 404 for a binding to a role that does not exist.
pub(crate) fn check(call: &Call, object: &Value, old: &Value) -> Result<()> {
    let (group, plural) = (&call.resource.group, call.resource.plural.as_str());
    if group != GROUP
        || call.user.groups.iter().any(|group| group == MASTERS)
        || lets_go_only(object, old)
    {
        return Ok(());
    }
    match plural {
        "roles" | "clusterroles" => check_role(call, object, old),
        "rolebindings" | "clusterrolebindings" => check_binding(call, object),
        _ => Ok(()),
    }
}

fn check_role(call: &Call, role: &Value, old: &Value) -> Result<()> {
    let (resource, path) = (&call.resource, &call.path);
    let escalate = Question {
        user: &call.user,
        verb: "escalate",
        about: About::Resource {
            group: &resource.group,
            resource: &resource.plural,
            subresource: "",
            namespace: &path.namespace,
            name: &path.name,
            fields: None,
        },
    };
    if matches!(authorizer(call).decide(&escalate), Decision::Allow(_)) {
        return Ok(());
    }
    has_all(call, role, &Rule::all_of(role))?;
    let aggregates = |role: &Value| {
        let selectors = role.at("aggregationRule").list("clusterRoleSelectors");
        !selectors.is_empty()
    };
    // What is gathered may be anything.
    if (aggregates(role) || aggregates(old)) && has_all(call, role, &Rule::everything()).is_err() {
        let why = "must have cluster-admin privileges to use the aggregationRule";
        return Err(forbidden(call, role, why));
    }
    Ok(())
}

fn check_binding(call: &Call, binding: &Value) -> Result<()> {
    let role = RoleReference::of(binding);
    let namespace = &call.path.namespace;
    let (Some(plural), Some(path)) = (role.plural(), role.path(namespace)) else {
        let kind = quoted(role.kind());
        return Err(Status::plain(format!(
            "unsupported role reference kind: {kind}"
        )));
    };
    let bind = Question {
        user: &call.user,
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
    if matches!(authorizer(call).decide(&bind), Decision::Allow(_)) {
        return Ok(());
    }
    let table = format!("{plural}.{GROUP}");
    let Some(stored) = call.shared.store.get(&table, &path) else {
        // The real server takes the resource of the request for that of the role, here and in the errors of rules.
        return Err(Status::not_found(GROUP, &call.resource.plural, role.name()));
    };
    has_all(call, binding, &Rule::all_of(&stored.value()))
}

/// Whether the writer may do all that the rules allow.
fn has_all(call: &Call, object: &Value, wanted: &[Rule]) -> Result<()> {
    let user = &call.user;
    let held = authorizer(call).rules(user, &call.path.namespace);
    let Some(lacks) = not_covered(&held.told, wanted) else {
        return Ok(());
    };
    let (name, groups) = (quoted(&user.username), list(&user.groups));
    let mut why = format!(
        "user {name} (groups={groups}) is attempting to grant RBAC permissions not currently \
         held:\n{lacks}"
    );
    if let Some(problems) = aggregate(&not_found(&held.missing, |_| &call.resource.plural)) {
        why.push_str("; resolution errors: [");
        why.push_str(&problems);
        why.push(']');
    }
    Err(forbidden(call, object, &why))
}

fn forbidden(call: &Call, object: &Value, why: &str) -> Status {
    let resource = &call.resource;
    Status::forbidden(
        &resource.group,
        &resource.plural,
        meta_text(object, "name"),
        why,
    )
}

fn authorizer(call: &Call) -> &dyn Authorizer {
    &*call.shared.access.authorizer
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

//! Who may write an admission policy with parameters, or a binding to them: users who can read the parameters. Denials show
//! them to others.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::GoText;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::user::{MASTERS, User};
use kubewright_apimachinery::view::View as _;
use kubewright_auth::{About, Decision, Question};
use serde_json::{Value, json};

use super::call::Call;

/// Refuses a valid policy or binding whose writer cannot read its parameters; `old` is null for a new object.
pub(crate) fn unreadable(call: &Call, object: &Value, old: &Value) -> Vec<FieldError> {
    let user = &call.user;
    if call.resource.group != "admissionregistration.k8s.io"
        || !call.path.subresource.is_empty()
        || user.groups.iter().any(|group| group == MASTERS)
    {
        return Vec::new();
    }
    let (spec, old) = (object.at("spec"), old.at("spec"));
    let (field, problem) = match call.resource.kind.as_str() {
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            let kind = spec.at("paramKind");
            if kind.is_null() || kind == old.at("paramKind") {
                return Vec::new();
            }
            ("paramKind", unreadable_kind(call, kind))
        }
        // A real server compares pointers: each update is checked again, whatever changes.
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            if !spec.has("paramRef") {
                return Vec::new();
            }
            ("paramRef", unreadable_reference(call, spec))
        }
        _ => return Vec::new(),
    };
    let path = Path::new("spec");
    let at = path.child(field);
    let forbidden = |why: String| FieldError::forbidden(&at, &why);
    problem.map(forbidden).into_iter().collect()
}

fn unreadable_kind(call: &Call, kind: &Value) -> Option<String> {
    let parameters = Parameters::of(call, kind);
    if parameters.may(call, "get", "*", "*") {
        return None;
    }
    let (user, version, kind) = (
        go_user(&call.user),
        kind.text("apiVersion"),
        kind.text("kind"),
    );
    Some(format!(
        "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={kind}, apiVersion={version})"
    ))
}

fn unreadable_reference(call: &Call, spec: &Value) -> Option<String> {
    let (reference, policy_name) = (spec.at("paramRef"), spec.text("policyName"));
    let (name, namespace) = (reference.text("name"), reference.text("namespace"));
    let verb = if name.is_empty() { "list" } else { "get" };
    let mutating = call.resource.kind == "MutatingAdmissionPolicyBinding";
    let policies = if mutating {
        "mutatingadmissionpolicies.admissionregistration.k8s.io"
    } else {
        "validatingadmissionpolicies.admissionregistration.k8s.io"
    };
    let policy = call.shared.store.get(policies, policy_name);
    let policy = policy.map(|stored| stored.value());
    let kind = policy
        .as_ref()
        .map(|policy| policy.at("spec").at("paramKind"));
    let parameters = match kind {
        Some(kind) if !kind.is_null() => Parameters::of(call, kind),
        _ => Parameters::any(),
    };
    if parameters.may(call, verb, namespace, name) {
        return None;
    }
    let user = go_user(&call.user);
    let everything = format!(
        "to determine minimum required permissions and user {user} does not have \"{verb}\" permission for all groups, versions and resources"
    );
    Some(match kind {
        None => format!("unable to get policy {policy_name} {everything}"),
        Some(kind) if !kind.is_null() && !parameters.resolved => {
            let (version, kind) = (kind.text("apiVersion"), kind.text("kind"));
            format!("unable to resolve paramKind &{{{version} {kind}}} {everything}")
        }
        // As upstream, where the two are in the wrong order.
        Some(_) if mutating => format!(
            "user {verb} does not have \"{user}\" permission on the object referenced by paramRef"
        ),
        Some(_) => format!(
            "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
        ),
    })
}

/// The resource of parameters; all resources where it is not known.
struct Parameters {
    group: String,
    resource: String,
    resolved: bool,
}

impl Parameters {
    fn any() -> Self {
        Self {
            group: "*".to_owned(),
            resource: "*".to_owned(),
            resolved: false,
        }
    }

    fn of(call: &Call, kind: &Value) -> Self {
        let kind =
            GroupVersionKind::from_api_version_and_kind(kind.text("apiVersion"), kind.text("kind"));
        let resource = call.shared.served.now().by_kind(&kind);
        Self {
            group: kind.group,
            resolved: resource.is_some(),
            resource: resource.map_or_else(|| "*".to_owned(), |of| of.plural.clone()),
        }
    }

    fn may(&self, call: &Call, verb: &str, namespace: &str, name: &str) -> bool {
        let question = Question {
            user: &call.user,
            verb,
            about: About::Resource {
                group: &self.group,
                resource: &self.resource,
                subresource: "",
                namespace,
                name,
                fields: None,
            },
        };
        let decision = call.shared.access.authorizer.decide(&question);
        matches!(decision, Decision::Allow(_))
    }
}

/// A user as Go prints the struct.
fn go_user(user: &User) -> String {
    let (groups, extra) = (json!(user.groups), json!(user.extra));
    format!(
        "&{{{} {} {} {}}}",
        user.username,
        user.uid,
        GoText(&groups),
        GoText(&extra)
    )
}

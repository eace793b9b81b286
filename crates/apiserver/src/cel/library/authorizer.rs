//! Questions to the authorizer of the API server.

use std::fmt;
use std::sync::Arc;

use super::super::eval::{Evaluated, Failure};
use super::super::value::{Object, Value};
use super::formats;
use super::{Declaration, guarded};
use crate::admission::User;

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded(
        "path",
        "authorizer_path",
        "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.PathCheck",
        path,
    ),
    guarded(
        "group",
        "authorizer_group",
        "kubernetes.authorization.Authorizer.(string) -> kubernetes.authorization.GroupCheck",
        group,
    ),
    guarded(
        "serviceAccount",
        "authorizer_serviceaccount",
        "kubernetes.authorization.Authorizer.(string, string) -> kubernetes.authorization.Authorizer",
        service_account,
    ),
    guarded(
        "resource",
        "groupcheck_resource",
        "kubernetes.authorization.GroupCheck.(string) -> kubernetes.authorization.ResourceCheck",
        resource,
    ),
    guarded(
        "subresource",
        "resourcecheck_subresource",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.subresource = text),
    ),
    guarded(
        "namespace",
        "resourcecheck_namespace",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.namespace = text),
    ),
    guarded(
        "name",
        "resourcecheck_name",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.name = text),
    ),
    guarded(
        "fieldSelector",
        "authorizer_fieldselector",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.field_selector = text),
    ),
    guarded(
        "labelSelector",
        "authorizer_labelselector",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.ResourceCheck",
        |values| with(values, |check, text| check.label_selector = text),
    ),
    guarded(
        "check",
        "pathcheck_check",
        "kubernetes.authorization.PathCheck.(string) -> kubernetes.authorization.Decision",
        check,
    ),
    guarded(
        "check",
        "resourcecheck_check",
        "kubernetes.authorization.ResourceCheck.(string) -> kubernetes.authorization.Decision",
        check,
    ),
    guarded(
        "errored",
        "decision_errored",
        "kubernetes.authorization.Decision.() -> bool",
        errored,
    ),
    guarded(
        "error",
        "decision_error",
        "kubernetes.authorization.Decision.() -> string",
        error,
    ),
    guarded(
        "allowed",
        "decision_allowed",
        "kubernetes.authorization.Decision.() -> bool",
        allowed,
    ),
    guarded(
        "reason",
        "decision_reason",
        "kubernetes.authorization.Decision.() -> string",
        reason,
    ),
];

/// Decides who may do what. The API server implements it; expressions ask it.
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Decides one question.
    fn authorize(&self, question: &Question<'_>) -> Decision;
}

/// Whether a user may do something.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the three parts of a question")]
pub struct Question<'q> {
    /// Who.
    pub user: &'q User,
    /// The verb.
    pub verb: &'q str,
    /// To what.
    pub subject: Subject<'q>,
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "requests are for resources or for paths"
)]
pub enum Subject<'q> {
    /// A path that is no resource, such as `/healthz`.
    Path(&'q str),
    /// A resource; empty texts stand for anything.
    Resource {
        /// The API group.
        group: &'q str,
        /// The resource, such as `pods`.
        resource: &'q str,
        /// The sub-resource.
        subresource: &'q str,
        /// The namespace.
        namespace: &'q str,
        /// The name of the object.
        name: &'q str,
        /// The field selector as it is written.
        field_selector: &'q str,
        /// The label selector as it is written.
        label_selector: &'q str,
    },
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the three parts of an answer")]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong while deciding; empty if nothing did.
    pub error: String,
}

/// The value of `authorizer`: the authorizer and the user it is asked about.
#[derive(Clone, Debug)]
pub struct Authority<'a> {
    authorizer: &'a dyn Authorizer,
    user: Arc<User>,
}

impl<'a> Authority<'a> {
    /// The authorizer, asked about a user.
    pub fn new(authorizer: &'a dyn Authorizer, user: User) -> Self {
        Self {
            authorizer,
            user: Arc::new(user),
        }
    }

    /// The value of the variable `authorizer`.
    pub fn value(self) -> Value<'a> {
        Value::Object(Object::Authorizer(Arc::new(self)))
    }

    /// The value of the variable `authorizer.requestResource`: the check of what the request itself is about.
    pub fn request_resource(
        &self,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
        name: &str,
    ) -> Value<'a> {
        Value::Object(Object::ResourceCheck(Arc::new(ResourceCheck {
            authority: self.clone(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            field_selector: String::new(),
            label_selector: String::new(),
        })))
    }
}

/// `authorizer.path(..)`.
#[derive(Clone, Debug)]
pub struct PathCheck<'a> {
    authority: Authority<'a>,
    path: String,
}

/// `authorizer.group(..)`.
#[derive(Clone, Debug)]
pub struct GroupCheck<'a> {
    authority: Authority<'a>,
    group: String,
}

/// `authorizer.group(..).resource(..)` and what is added to it.
#[derive(Clone, Debug)]
pub struct ResourceCheck<'a> {
    authority: Authority<'a>,
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    field_selector: String,
    label_selector: String,
}

fn authority<'v, 'a>(values: &'v [Value<'a>]) -> Result<&'v Authority<'a>, Failure> {
    match values.first() {
        Some(Value::Object(Object::Authorizer(authority))) => Ok(authority),
        _ => Err(Failure::no_such_overload()),
    }
}

fn text(values: &[Value<'_>], index: usize) -> Result<String, Failure> {
    let text = values.get(index).and_then(Value::as_str).map(str::to_owned);
    text.ok_or_else(Failure::no_such_overload)
}

fn path<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (authority, path) = (authority(values)?.clone(), text(values, 1)?);
    if path.trim().is_empty() {
        return Err(Failure::new("path must not be empty"));
    }
    Ok(Value::Object(Object::PathCheck(Arc::new(PathCheck {
        authority,
        path,
    }))))
}

fn group<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let (authority, group) = (authority(values)?.clone(), text(values, 1)?);
    Ok(Value::Object(Object::GroupCheck(Arc::new(GroupCheck {
        authority,
        group,
    }))))
}

fn service_account<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let authority = authority(values)?;
    let (namespace, name) = (text(values, 1)?, text(values, 2)?);
    if !formats::is_dns1123_subdomain(&name) {
        return Err(Failure::new("Invalid service account name"));
    }
    if !formats::is_dns1123_label(&namespace) {
        return Err(Failure::new("Invalid service account namespace"));
    }
    let user = User {
        username: format!("system:serviceaccount:{namespace}:{name}"),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ],
        ..User::default()
    };
    Ok(Authority::new(authority.authorizer, user).value())
}

fn resource<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::Object(Object::GroupCheck(check))) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    let resource = text(values, 1)?;
    if resource.trim().is_empty() {
        return Err(Failure::new("resource must not be empty"));
    }
    Ok(check
        .authority
        .request_resource(&check.group, &resource, "", "", ""))
}

fn with<'a>(values: &[Value<'a>], set: fn(&mut ResourceCheck<'a>, String)) -> Evaluated<'a> {
    let Some(Value::Object(Object::ResourceCheck(check))) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    let mut changed = (**check).clone();
    set(&mut changed, text(values, 1)?);
    Ok(Value::Object(Object::ResourceCheck(Arc::new(changed))))
}

fn check<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let verb = text(values, 1)?;
    let (authority, subject) = match values.first() {
        Some(Value::Object(Object::PathCheck(check))) => {
            (&check.authority, Subject::Path(&check.path))
        }
        Some(Value::Object(Object::ResourceCheck(check))) => (
            &check.authority,
            Subject::Resource {
                group: &check.group,
                resource: &check.resource,
                subresource: &check.subresource,
                namespace: &check.namespace,
                name: &check.name,
                field_selector: &check.field_selector,
                label_selector: &check.label_selector,
            },
        ),
        _ => return Err(Failure::no_such_overload()),
    };
    let question = Question {
        user: &authority.user,
        verb: &verb,
        subject,
    };
    let decision = authority.authorizer.authorize(&question);
    Ok(Value::Object(Object::Decision(Arc::new(decision))))
}

fn decision<'v>(values: &'v [Value<'_>]) -> Result<&'v Decision, Failure> {
    match values {
        [Value::Object(Object::Decision(decision))] => Ok(decision),
        _ => Err(Failure::no_such_overload()),
    }
}

fn errored<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(!decision(values)?.error.is_empty()))
}

fn error<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::text(decision(values)?.error.as_str()))
}

fn allowed<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(decision(values)?.allowed))
}

fn reason<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::text(decision(values)?.reason.as_str()))
}

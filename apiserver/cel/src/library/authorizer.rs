//! Access checks: the variable `authorizer` and what expressions ask it.

use std::fmt;
use std::sync::Arc;

use super::formats;
use super::{Declaration, guarded};
use crate::eval::{Evaluated, Failure};
use crate::value::{Object, Value};

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

/// Answers the access checks of expressions, which they make through the variable `authorizer`.
///
/// An authorizer is made for one request. It knows the user who sent it, so expressions see no more of users than
/// [`User`] says. Functions from [`AccessCheck`] to [`Decision`] are authorizers.
///
/// ```
/// use kubewright_cel::{AccessCheck, Decision, ResourceAttributes, Target, User};
/// use kubewright_cel::{Authority, Budget, Environment, Variables};
///
/// let alice_reads_pods = |check: &AccessCheck<'_>| match *check {
///     AccessCheck {
///         user: User::Requester,
///         verb: "get",
///         target: Target::Resource(ResourceAttributes { group: "", resource: "pods", .. }),
///     } => Decision::allow("alice reads pods"),
///     _ => Decision::default(),
/// };
///
/// let condition = "authorizer.group('').resource('pods').namespace('blue').check('get').allowed()";
/// let program = Environment::admission().compile(condition)?;
/// let authority = Authority::new(&alice_reads_pods);
/// let variables = Variables::new().with("authorizer", authority.value());
/// let value = program.evaluate(&variables, &mut Budget::match_conditions())?;
/// assert_eq!(value.as_bool(), Some(true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an authorizer",
    note = "an authorizer is a function `Fn(&AccessCheck<'_>) -> Decision`, or a type that implements `Authorizer`"
)]
pub trait Authorizer: Send + Sync {
    /// Decides whether the user may do what an expression asks about.
    fn authorize(&self, check: &AccessCheck<'_>) -> Decision;
}

#[diagnostic::do_not_recommend]
impl<F> Authorizer for F
where
    F: Fn(&AccessCheck<'_>) -> Decision + Send + Sync,
{
    fn authorize(&self, check: &AccessCheck<'_>) -> Decision {
        self(check)
    }
}

/// An access check: who does what to which resource or path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the three parts of a check")]
pub struct AccessCheck<'a> {
    /// The user.
    pub user: User<'a>,
    /// The verb, such as `get` or `create`.
    pub verb: &'a str,
    /// The resource or the path.
    pub target: Target<'a>,
}

/// The user that an expression asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the two users that the language can name"
)]
pub enum User<'a> {
    /// The user who sent the request, with all groups and extra fields: `authorizer` itself.
    Requester,
    /// The account of `authorizer.serviceAccount(namespace, name)`: the user `system:serviceaccount:<namespace>:<name>`
    /// in the groups `system:serviceaccounts` and `system:serviceaccounts:<namespace>`. Both names are valid.
    ServiceAccount {
        /// The namespace of the service account.
        namespace: &'a str,
        /// The name of the service account.
        name: &'a str,
    },
}

/// What an access check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "requests are for resources or for paths"
)]
pub enum Target<'a> {
    /// A non-resource path, such as `/healthz`.
    Path(&'a str),
    /// A resource.
    Resource(ResourceAttributes<'a>),
}

/// The resource of an access check, as in `resourceAttributes` of a SubjectAccessReview. Empty strings mean "any".
///
/// ```
/// use kubewright_cel::ResourceAttributes;
///
/// let web = ResourceAttributes {
///     group: "apps",
///     resource: "deployments",
///     namespace: "blue",
///     name: "web",
///     ..ResourceAttributes::default()
/// };
/// assert_eq!(web.subresource, "");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "all that expressions can say of a resource; callers write it with `..`"
)]
pub struct ResourceAttributes<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural name, such as `pods`.
    pub resource: &'a str,
    /// The sub-resource, such as `status`.
    pub subresource: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The field selector as the expression spells it.
    pub field_selector: &'a str,
    /// The label selector as the expression spells it.
    pub label_selector: &'a str,
}

/// The answer to an access check: the result of `check(..)` in an expression. By default, nothing is allowed.
///
/// ```
/// use kubewright_cel::Decision;
///
/// assert!(Decision::allow("RBAC: allowed by RoleBinding reads-pods").allowed);
/// assert!(!Decision::default().allowed);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the three parts of an answer")]
pub struct Decision {
    /// Whether the user may do it: `allowed()`.
    pub allowed: bool,
    /// Why: `reason()`.
    pub reason: String,
    /// The error of a check that failed: `error()`; empty if it succeeded.
    pub error: String,
}

impl Decision {
    /// Allows it for a reason, which may be empty.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self {
            allowed: true,
            reason: reason.into(),
            error: String::new(),
        }
    }
}

/// The value of the variable `authorizer`: an [`Authorizer`] and the user that it is asked about.
#[derive(Clone)]
pub struct Authority<'a> {
    authorizer: &'a dyn Authorizer,
    /// Who asks instead of the user of the request.
    service_account: Option<Arc<ServiceAccount>>,
}

#[derive(Debug)]
struct ServiceAccount {
    namespace: String,
    name: String,
}

impl<'a> Authority<'a> {
    /// The authorizer of a request, asked about the user who sent it.
    pub fn new(authorizer: &'a dyn Authorizer) -> Self {
        Self {
            authorizer,
            service_account: None,
        }
    }

    /// The value of the variable `authorizer`.
    pub fn value(self) -> Value<'a> {
        Value::Object(Object::Authorizer(Arc::new(self)))
    }

    /// The value of the variable `authorizer.requestResource`: the check of the resource that the request is for.
    ///
    /// ```
    /// use kubewright_cel::{AccessCheck, Authority, Budget, Decision, Environment, Variables};
    /// use kubewright_cel::{ResourceAttributes, Target};
    ///
    /// let may_scale = |check: &AccessCheck<'_>| match check.target {
    ///     Target::Resource(resource) if resource.name == "web" => Decision::allow(check.verb),
    ///     _ => Decision::default(),
    /// };
    /// let web = ResourceAttributes {
    ///     group: "apps",
    ///     resource: "deployments",
    ///     namespace: "blue",
    ///     name: "web",
    ///     ..ResourceAttributes::default()
    /// };
    /// let resource = Authority::new(&may_scale).request_resource(&web);
    /// let variables = Variables::new().with("authorizer.requestResource", resource);
    ///
    /// let condition = "authorizer.requestResource.check('scale').reason()";
    /// let program = Environment::admission().compile(condition)?;
    /// let value = program.evaluate(&variables, &mut Budget::match_conditions())?;
    /// assert_eq!(value.as_str(), Some("scale"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn request_resource(&self, resource: &ResourceAttributes<'_>) -> Value<'a> {
        Value::Object(Object::ResourceCheck(Arc::new(ResourceCheck {
            authority: self.clone(),
            group: resource.group.to_owned(),
            resource: resource.resource.to_owned(),
            subresource: resource.subresource.to_owned(),
            namespace: resource.namespace.to_owned(),
            name: resource.name.to_owned(),
            field_selector: resource.field_selector.to_owned(),
            label_selector: resource.label_selector.to_owned(),
        })))
    }

    fn user(&self) -> User<'_> {
        match &self.service_account {
            None => User::Requester,
            Some(account) => User::ServiceAccount {
                namespace: &account.namespace,
                name: &account.name,
            },
        }
    }
}

impl fmt::Debug for Authority<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("user", &self.user())
            .finish_non_exhaustive()
    }
}

/// An access check of a non-resource path: `authorizer.path(..)`.
#[derive(Clone, Debug)]
pub struct PathCheck<'a> {
    authority: Authority<'a>,
    path: String,
}

/// The first part of an access check of a resource: `authorizer.group(..)`.
#[derive(Clone, Debug)]
pub struct GroupCheck<'a> {
    authority: Authority<'a>,
    group: String,
}

/// An access check of a resource: `authorizer.group(..).resource(..)`, with a namespace, a name and selectors.
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
    let account = Authority {
        authorizer: authority.authorizer,
        service_account: Some(Arc::new(ServiceAccount { namespace, name })),
    };
    Ok(account.value())
}

fn resource<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let Some(Value::Object(Object::GroupCheck(check))) = values.first() else {
        return Err(Failure::no_such_overload());
    };
    let resource = text(values, 1)?;
    if resource.trim().is_empty() {
        return Err(Failure::new("resource must not be empty"));
    }
    Ok(check.authority.request_resource(&ResourceAttributes {
        group: &check.group,
        resource: &resource,
        ..ResourceAttributes::default()
    }))
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
    let (authority, target) = match values.first() {
        Some(Value::Object(Object::PathCheck(check))) => {
            (&check.authority, Target::Path(&check.path))
        }
        Some(Value::Object(Object::ResourceCheck(check))) => (
            &check.authority,
            Target::Resource(ResourceAttributes {
                group: &check.group,
                resource: &check.resource,
                subresource: &check.subresource,
                namespace: &check.namespace,
                name: &check.name,
                field_selector: &check.field_selector,
                label_selector: &check.label_selector,
            }),
        ),
        _ => return Err(Failure::no_such_overload()),
    };
    let decision = authority.authorizer.authorize(&AccessCheck {
        user: authority.user(),
        verb: &verb,
        target,
    });
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

//! Access checks as values: the authorizer of a request, the checks that expressions build, and their answer.

use std::fmt;
use std::sync::Arc;

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
    pub(crate) authorizer: &'a dyn Authorizer,
    /// Who asks instead of the user of the request.
    pub(crate) service_account: Option<Arc<ServiceAccount>>,
}

#[derive(Debug)]
pub(crate) struct ServiceAccount {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl<'a> Authority<'a> {
    /// The authorizer of a request, asked about the user who sent it.
    pub fn new(authorizer: &'a dyn Authorizer) -> Self {
        Self {
            authorizer,
            service_account: None,
        }
    }

    pub(crate) fn user(&self) -> User<'_> {
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
    pub(crate) authority: Authority<'a>,
    pub(crate) path: String,
}

/// The first part of an access check of a resource: `authorizer.group(..)`.
#[derive(Clone, Debug)]
pub struct GroupCheck<'a> {
    pub(crate) authority: Authority<'a>,
    pub(crate) group: String,
}

/// An access check of a resource: `authorizer.group(..).resource(..)`, with a namespace, a name and selectors.
#[derive(Clone, Debug)]
pub struct ResourceCheck<'a> {
    pub(crate) authority: Authority<'a>,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) field_selector: String,
    pub(crate) label_selector: String,
}

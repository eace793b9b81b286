//! The attributes of a request that authorizers decide on.

use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::user::User;

/// A question to an authorizer: whether the user may use the verb on a resource or a path.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "who, what and about what")]
pub struct Question<'a> {
    /// The user.
    pub user: &'a User,
    /// The verb, such as `list`; for a path, the method in lower case.
    pub verb: &'a str,
    /// The resource or the path.
    pub about: About<'a>,
}

/// The resource or the path of a question. Strings are empty where the request has no value.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "requests are about resources or paths"
)]
pub enum About<'a> {
    /// A resource or one of its subresources.
    Resource {
        /// The API group; empty for core.
        group: &'a str,
        /// The plural name.
        resource: &'a str,
        /// The subresource, such as `status`.
        subresource: &'a str,
        /// The namespace.
        namespace: &'a str,
        /// The name of the object.
        name: &'a str,
        /// The field selector of a list, a watch or a collection delete.
        fields: Option<&'a Fields>,
    },
    /// The path of a non-resource request.
    Path(&'a str),
}

impl<'a> Question<'a> {
    /// The namespace of the resource; empty for cluster-scoped resources and paths.
    pub fn namespace(&self) -> &'a str {
        match self.about {
            About::Resource { namespace, .. } => namespace,
            About::Path(_) => "",
        }
    }
}

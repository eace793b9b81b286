//! What a user wants to do, as authorizers are asked about it.

use kubewright_apimachinery::selectors::Fields;
use kubewright_apimachinery::user::User;

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "who, what and about what")]
pub struct Question<'a> {
    /// The user.
    pub user: &'a User,
    /// The verb, such as `list`; of a path, the method in small letters.
    pub verb: &'a str,
    /// The resource or the path.
    pub about: About<'a>,
}

/// What a question is about. Texts are empty for what a request does not say.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "requests are about resources or paths"
)]
pub enum About<'a> {
    /// A resource or a part of one.
    Resource {
        /// The API group; empty for core.
        group: &'a str,
        /// The plural name.
        resource: &'a str,
        /// The sub-resource, such as `status`.
        subresource: &'a str,
        /// The namespace.
        namespace: &'a str,
        /// The name of the object.
        name: &'a str,
        /// What a list, a watch or a deletion of many is narrowed to.
        fields: Option<&'a Fields>,
    },
    /// The path of a request that is about no resource.
    Path(&'a str),
}

impl<'a> Question<'a> {
    /// The namespace that it is about; empty for none.
    pub fn namespace(&self) -> &'a str {
        match self.about {
            About::Resource { namespace, .. } => namespace,
            About::Path(_) => "",
        }
    }
}

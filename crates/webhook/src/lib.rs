//! Admission handlers as a tower service.

mod body;
mod declaration;
mod handler;
mod hook;
mod judge;
mod lane;
mod link;
mod outcomes;
mod refusal;
mod review;
mod selector;
mod service;
mod verdict;
mod webhooks;

pub use declaration::{
    Declaration, FailurePolicy, MatchCondition, MatchPolicy, Reinvocation, Role, Rule, Scope,
    SideEffects,
};
pub use handler::{Mutate, Object, Validate};
pub use hook::{Hook, Undecodable, mutating, validating};
pub use kubewright_review::Operation::{self, Connect, Create, Delete, Update};
pub use kubewright_review::{Change, Kind, Resource, Version};
pub use outcomes::Outcomes;
pub use review::{Review, ReviewBuilder, User};
pub use selector::{Requirement, Selector};
pub use verdict::{Denial, Mutated, OrDeny, Reject, Validated, deny, fail};
pub use webhooks::{DeclarationError, Webhooks};

//! The question "may they?" and who answers it.

use std::fmt;

use crate::admission::User;

/// Decides whether a user may do something.
pub(crate) trait Authorizer: fmt::Debug + Send + Sync {
    /// Answers one question.
    fn decide(&self, question: &Question<'_>) -> Decision;
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) user: &'a User,
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    /// The resource with its sub-resource: `pods/log`; empty for a path.
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    /// The path of a request that is about no resource.
    pub(crate) path: &'a str,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    #[expect(dead_code, reason = "the authorizer that refuses, RBAC, comes later")]
    NoOpinion(String),
}

/// Lets every authenticated user do everything.
#[derive(Debug)]
pub(crate) struct AllowAll;

impl Authorizer for AllowAll {
    fn decide(&self, _: &Question<'_>) -> Decision {
        Decision::Allow
    }
}

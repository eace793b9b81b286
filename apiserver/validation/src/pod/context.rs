//! What a pod spec is part of.

use serde_json::Value;

/// What a pod spec is part of: some rules are for real pods alone.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// The pod's name; `None` inside a template.
    pub(super) pod: Option<&'a str>,
    pub(super) grace_period: Option<i64>,
    pub(super) host_users: bool,
    pub(super) restart_policy: &'a str,
    pub(super) spec: &'a Value,
}

//! A quota as admission and its controller read it.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::list::ResourceList;
use crate::scope::Scope;

/// A ResourceQuota: what is allowed and used by its status, and its scopes.
#[derive(Clone, Debug)]
pub struct Quota {
    name: String,
    hard: ResourceList,
    used: ResourceList,
    pub(crate) scopes: Vec<Scope>,
}

impl Quota {
    /// Reads a ResourceQuota.
    pub fn of(quota: &Value) -> Self {
        let status = quota.at("status");
        Self {
            name: quota.at("metadata").text("name").to_owned(),
            hard: ResourceList::of(status, "hard"),
            used: ResourceList::of(status, "used"),
            scopes: Scope::all_of(quota.at("spec")),
        }
    }

    /// The name of the quota.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is allowed.
    pub fn hard(&self) -> &ResourceList {
        &self.hard
    }

    /// What is used.
    pub fn used(&self) -> &ResourceList {
        &self.used
    }

    pub(crate) fn set_used(&mut self, used: ResourceList) {
        self.used = used;
    }
}

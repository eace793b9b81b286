//! The strategy of kinds without rules of their own.

use kubewright_apimachinery::view::{Edit, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

/// The strategy of a kind without rules of its own.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of kinds without rules"
)]
pub(crate) struct Unspecific {
    /// Whether its objects live in a namespace.
    pub(crate) namespaced: bool,
    /// Whether `status` is a sub-resource.
    pub(crate) has_status: bool,
    /// Whether no field manager owns metadata through a write of the status.
    pub(crate) resets_metadata: bool,
    /// Whether an immediate deletion answers the object.
    pub(crate) returns_deleted: bool,
}

impl Strategy for Unspecific {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        if self.has_status {
            object.put("status", empty());
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
        } else if self.has_status {
            new.take_from(old, "status");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.metadata().create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        self.metadata().changed(new, old, &mut found.errors);
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" if self.resets_metadata => &[&["metadata"], &["spec"]],
            "status" => &[&["spec"]],
            _ if self.has_status => &[&["status"]],
            _ => &[],
        }
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: self.returns_deleted,
            ..Behavior::default()
        }
    }
}

impl Unspecific {
    fn metadata(&self) -> Rules {
        if self.namespaced {
            Rules::namespaced()
        } else {
            Rules::cluster_scoped()
        }
    }
}

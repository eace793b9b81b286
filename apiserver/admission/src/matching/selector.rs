//! The label selectors of a webhook or a policy.

use kubewright_apimachinery::selectors::Labels;
use kubewright_apimachinery::status::{Result, Status};
use serde_json::Value;

/// A label selector of a webhook; a selector that cannot be read fails the requests it is asked about.
#[derive(Debug)]
pub(super) struct Selector(std::result::Result<Option<Labels>, String>);

impl Selector {
    pub(super) fn from_object(selector: &Value) -> Self {
        Self(Labels::from_object(selector))
    }

    /// The selector; none where it selects nothing.
    ///
    /// # Errors
    /// 500 for a selector that cannot be read.
    pub(super) fn read(&self) -> Result<Option<&Labels>> {
        self.0
            .as_ref()
            .map(Option::as_ref)
            .map_err(|why| Status::internal(why))
    }
}

//! A Job with its pods, as one reconcile sees and changes it.

use std::sync::Arc;

use serde_json::Value;

use super::super::super::client::Who;
use super::super::super::object::Item;
use super::super::super::work::Context;

pub(super) const NAME: &str = "job-controller";
pub(super) const WHO: Who<'static> = Who::Controller(NAME);

#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) cx: &'a Context,
    pub(super) object: Value,
    /// As it was read.
    pub(super) before: Value,
    pub(super) pods: Vec<Arc<Item>>,
}

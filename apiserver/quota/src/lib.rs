#![doc = include_str!("../README.md")]

mod charge;
mod evaluator;
mod list;
mod pod;
pub mod pod_resources;
mod quota;
mod scope;
mod usage;
mod volume_claim;

pub use charge::charge;
pub use evaluator::{Evaluator, Request};
pub use list::ResourceList;
pub use quota::Quota;
pub use usage::{Objects, is_replenished, usage};

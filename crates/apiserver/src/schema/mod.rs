//! Bodies into values: reading JSON and YAML, and holding a value to the types of its kind.

pub(crate) mod conform;
pub mod json;
pub mod types;
pub mod yaml;

pub use conform::conform;
pub(crate) use conform::{Changes, conform_changes};

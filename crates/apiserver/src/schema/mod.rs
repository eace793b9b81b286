//! Bodies into values: reading JSON and YAML, and holding a value to the types of its kind.

mod conform;
pub mod types;

pub use conform::conform;

//! Bodies into values: reading JSON and YAML, and holding a value to the types of its kind.

pub(crate) mod conform;
pub(crate) mod depth;
mod equality;
pub mod json;
pub mod types;
pub mod yaml;

pub(crate) use conform::{
    Changes, Medium, conform_changes, conform_type, cut_integers, first_fault, first_fault_in_turn,
    write_empties,
};
pub use conform::{Conformed, conform};
pub(crate) use equality::{same, same_field, same_type};

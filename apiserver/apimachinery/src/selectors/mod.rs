//! Label and field selectors: which objects a list, a watch or a webhook means.

mod fields;
mod labels;
mod parse;

pub use fields::Fields;
pub use labels::{Labels, Operator, Requirement};

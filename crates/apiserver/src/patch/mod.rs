//! What a PATCH body does to an object: JSON patch, JSON merge patch, strategic merge patch.

pub(crate) mod go_text;
pub mod json;
pub mod merge;
pub mod strategic;

//! AdmissionReview on the wire, typed changes and lossless patches.

mod align;
mod apply;
mod change;
mod decode;
mod graft;
mod image;
mod json;
mod lint;
mod patch;
mod raw;
mod request;
mod response;
mod wire;

pub use apply::ApplyError;
pub use change::Change;
pub use decode::{DecodeError, Scope};
pub use image::{Image, ImageError};
pub use lint::{LintError, MayChange, is_annotation_key, mend_warnings};
pub use patch::Patch;
pub use request::{AdmissionReview, Body, ReadError};
pub use response::{Response, Status, StatusCause};
pub use wire::{Kind, Operation, Resource, Version};

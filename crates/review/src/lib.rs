#![doc = include_str!("../README.md")]
//!
//! # How it works
//!
//! A body is read in one pass: the envelope, the objects as far as their type asks for them, and where the members of the
//! object are. Nothing is ever parsed twice, `metadata.managedFields` is stepped over, and nesting costs no stack where nothing
//! is read. A change is the difference of two [`Image`]s of the typed object, and a [`Patch`] is written against the raw one.

mod align;
mod apply;
mod body;
mod change;
mod conversion;
mod decode;
mod error;
mod graft;
mod image;
mod json;
mod lint;
mod patch;
mod printable;
mod raw;
mod recording;
mod request;
mod response;
mod wire;

pub use apply::ApplyError;
pub use body::{Body, PartialBody};
pub use change::Change;
pub use conversion::{ConversionReadError, ConversionReview, ConversionVersion, read_object};
pub use decode::{DecodeError, Scope};
pub use error::ReadError;
pub use image::{Image, ImageError};
pub use lint::{LintError, MayChange, is_annotation_key, mend_warnings};
pub use patch::Patch;
pub use printable::printable;
pub use recording::Recording;
pub use request::AdmissionReview;
pub use response::{Response, Status, StatusCause};
pub use wire::{GroupVersionKind, GroupVersionResource, Operation, Version};

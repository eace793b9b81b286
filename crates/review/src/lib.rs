//! AdmissionReview on the wire, typed changes and lossless patches.

mod change;
mod graft;
mod request;
mod response;

pub use change::Change;
pub use graft::{Image, Patch};
pub use request::{AdmissionReview, Kind, Operation, ReadError, Resource, Version};
pub use response::{Response, Status, StatusCause};

//! AdmissionReview on the wire, typed changes and lossless patches.
//!
//! ```
//! use kubewright_review::{AdmissionReview, Body, Change, Image, Response, Scope};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Sized {
//!     size: u32,
//! }
//!
//! let body = br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
//!     "request":{"uid":"u","operation":"CREATE","object":{"size":1,"unknown":true}}}"#;
//! let body = Body::new(body.to_vec())?;
//! let (review, change) = AdmissionReview::read_typed::<Sized>(&body, Scope::Object)?;
//! let Change::Create(mut object) = change? else { panic!("the operation is CREATE") };
//!
//! let before = Image::of(&object, 0)?;
//! object.size = 2;
//! let patch = review.graft(&before, &before.then(&object)?)?;
//! assert_eq!(patch.to_json(), br#"[{"op":"replace","path":"/size","value":2}]"#);
//!
//! let answer = Response::new(review.version(), review.uid()).patch(&patch).to_json();
//! # let answer = String::from_utf8(answer)?;
//! assert!(answer.contains(r#""uid":"u","allowed":true,"patchType":"JSONPatch""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub use wire::{Kind, Operation, Resource, Version};

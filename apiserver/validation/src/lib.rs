#![doc = include_str!("../README.md")]

mod admission_rule;
pub mod asn1;
pub mod certificates;
pub mod check;
pub mod claims;
pub mod conditions;
mod converted;
pub mod devices;
pub mod formats;
pub mod internal;
pub mod metadata;
pub mod pod;
pub mod semantic;
pub mod signers;
pub mod volume_sources;
mod webhook_client;

pub use admission_rule::{admission_rule, is_review};
pub use converted::converted_entries;
pub use webhook_client::webhook_client;

#![doc = include_str!("../README.md")]

mod admission_rule;
pub mod check;
pub mod claims;
pub mod conditions;
mod converted;
pub mod formats;
pub mod internal;
pub mod metadata;
pub mod pod;
pub mod semantic;
pub mod volume_sources;
mod webhook_client;

pub use admission_rule::admission_rule;
pub use converted::converted_entries;
pub use webhook_client::webhook_client;

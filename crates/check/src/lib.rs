#![doc = include_str!("../README.md")]

mod blame;
mod checker;
mod client_side;
mod cluster;
mod finding;
mod manifest;
mod order;
mod places;
pub mod policy_test;
mod quota;
pub mod report;
mod sentence;
mod source;
mod suggestion;
mod three_way;

pub use checker::{Checked, Checker, Outcome, Report};
pub use finding::{Finding, Location, ObjectReference, Position, Related, Severity};
pub use source::{LARGEST_FILE, Role, Source, Unreadable, files};

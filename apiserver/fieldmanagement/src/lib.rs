#![doc = include_str!("../README.md")]

mod apply;
mod check;
mod collect;
mod compare;
mod conflict;
mod element;
mod entries;
mod fields_v1;
mod fresh;
mod merge;
mod remove;
mod reset;
mod scale;
mod server;
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod track;
mod unowned;
mod versions;

pub use apply::{Applied, apply};
pub use conflict::{ApplyError, Conflict};
pub use entries::{check, same_but_times};
pub use fresh::{NewManagedFields, create};
pub use scale::{Places, REPLICAS, to_parent, to_scale};
pub use server::{created_by_server, update_status};
pub use track::{Tracked, empty, keep, may_not_fit, shown, update};
pub use unowned::merge_unowned;
pub use versions::Versions;

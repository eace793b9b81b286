//! Field managers: who set which field, and server-side apply (spec section C.11.2).
//!
//! Every write is compared with what was there before; the fields that it added or changed belong to its manager from then
//! on. An apply states what its manager wants: what it stated before and no longer states goes, unless somebody else owns
//! it, and a field that another manager owns is a conflict when it would get another value.

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
mod set;
mod shape;
#[cfg(test)]
mod tests;
mod track;
mod versions;

pub(crate) use apply::apply;
pub(crate) use conflict::ApplyError;
pub(crate) use entries::{check, same_but_times};
pub(crate) use fresh::{create, put};
pub(crate) use scale::{Places, REPLICAS, to_parent, to_scale};
pub(crate) use track::{Tracked, empty, may_not_fit, shown, update};
pub(crate) use versions::Versions;

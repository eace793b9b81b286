//! Aggregated API servers: APIServices that name a Service, and the requests of their groups and versions.

mod aggregator;
mod availability;
mod changes;
mod condition;
mod documents;
mod exchange;
mod forward;
mod identity;
mod registration;

pub use aggregator::Aggregator;
pub(crate) use availability::{route, settle};
pub(crate) use forward::forward;
pub(crate) use registration::Registration;

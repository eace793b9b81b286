//! Other clusters that a program works in: named ones, and fleets of those that come and go.
//!
//! What a program knows of another cluster is one Secret of its own, with a kubeconfig. Each cluster has caches, queues and workers
//! of its own, so that one that is down holds up no other.

mod access;
mod fleet;
mod fleets;
mod health;
mod kubeconfig;
mod lead;
mod member;
mod members;
mod roster;
mod secret;
mod state;
mod way;

pub use fleet::Fleet;
pub use kubeconfig::Kubeconfig;
pub use members::Members;
pub use state::ClusterState;

pub(crate) use fleet::declare;
pub(crate) use fleets::{Clusters, Declared};
pub(crate) use lead::Leads;
pub(crate) use roster::Roster;

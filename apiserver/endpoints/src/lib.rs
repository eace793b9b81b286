#![doc = include_str!("../README.md")]

mod aggregation;
pub mod audit;
mod body;
mod cluster;
mod discovery;
mod list;
mod metrics;
pub mod openapi;
mod rest;
mod service_endpoints;
mod watch;

pub use aggregation::Aggregator;
pub use body::Body;
pub use cluster::StoredCluster;
pub use metrics::Metrics;
pub use rest::flow_control::FlowControl;
pub use rest::request::{BoxError, Incoming};
pub use rest::serve;
pub use rest::shared::Shared;
pub use rest::target::RequestInfo;

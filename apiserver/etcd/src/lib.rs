#![doc = include_str!("../README.md")]

mod backend;
mod client;
mod compactor;
mod connect;
mod grpc;
#[cfg(feature = "local")]
mod local;
mod log;
mod message;
mod options;
mod wire;

pub use backend::EtcdBackend;
#[cfg(feature = "local")]
pub use local::LocalEtcd;
pub use options::EtcdOptions;

#[cfg(test)]
mod tests;

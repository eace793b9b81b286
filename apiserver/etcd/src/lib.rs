#![doc = include_str!("../README.md")]

mod backend;
mod client;
mod compactor;
mod connect;
mod grpc;
mod log;
mod message;
mod options;
mod wire;

pub use backend::EtcdBackend;
pub use options::EtcdOptions;

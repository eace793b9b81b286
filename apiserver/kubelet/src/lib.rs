#![doc = include_str!("../README.md")]

mod answers;
mod arguments;
mod attempt;
mod container;
mod environment;
mod fields;
mod handlers;
mod images;
mod kubeconfig;
mod log;
mod network;
mod objects;
mod pod;
mod pods;
mod probes;
mod process;
mod program;
mod simulator;
mod states;
pub mod streaming;
mod transport;
mod unanswered;
mod volumes;

pub use container::Container;
pub use handlers::{Attach, Exec, Forward, PodHandlers};
pub use images::Images;
pub use log::{Log, LogOptions};
pub use objects::{Objects, TokenRequest};
pub use pod::Pod;
pub use pods::Pods;
pub use program::Program;
pub use simulator::{Script, Simulator, Written};
pub use states::{ContainerState, ContainerStatus, Terminated};
pub use transport::{Connection, Stream, connect};
pub use unanswered::Unanswered;

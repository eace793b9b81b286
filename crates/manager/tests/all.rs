//! Programs that run inside this process.

#![cfg(test)]

mod sharding;
mod start;
mod tasks;

use std::time::Duration;

use kubewright_certificates::SelfSigned;
use kubewright_manager::{App, Needs, Program};
use kubewright_server::Drain;

fn program(app: impl FnOnce(&mut Needs) -> App) -> Program {
    Program::new(app).drain(Drain::default().propagation(Duration::ZERO))
}

fn certificates() -> SelfSigned {
    SelfSigned::for_names(["127.0.0.1"])
}

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

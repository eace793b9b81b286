//! Load and start-up measurements, each a ratio against a constant answer over the same TLS.
//!
//! `cargo run --release -p bench -- webhook` measures what webhooks cost a server's processor,
//! `-- apiserver` how fast the embedded API server starts, also in place of envtest's kube-apiserver, and what creating a pod costs it
//! (with `--scale` 100,000 pods and 10,000 watches, beside a real kube-apiserver with etcd), `-- storage` how many objects a store
//! creates in a second, `-- flood` the memory that
//! bursts take in 128 MiB and what is left of it, `-- fleet` what clusters that are down do to the others of a fleet, `-- probes` how long a kubelet waits beside other clients of the same port, `-- controller` what caches hold and how soon and how cheaply
//! controllers reconcile, `-- handshake` what it costs that certificates are live, `-- hand-over` how long no replica leads
//! when a leader ends, and `-- compile` how long a scaffolded project compiles. The server and the load are
//! processes of their own, on a processor each where `taskset` can bind them. All of them run on mimalloc,
//! with `--no-default-features` on the system's allocator, and with `--features counted` on one that counts, which the bytes and allocations of
//! `controller` come from, and by which its times are not to be judged.

#![expect(
    clippy::print_stdout,
    reason = "printing the figures is what this program is for"
)]

mod apiserver;
mod caches;
mod cluster;
mod compile;
mod controller;
mod drop_in;
mod echo;
mod fleet;
mod flood;
mod hand_over;
mod handshake;
mod heap;
mod load;
mod measure;
mod patches;
mod payloads;
mod probes;
mod process;
mod reconciles;
mod report;
mod scale;
mod serve;
mod storage;
mod subjects;
mod webhook;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// What `kubewright` and the programs that it makes run on.
#[cfg(all(feature = "mimalloc", not(feature = "counted")))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures webhooks on real reviews.
    Webhook(webhook::Options),
    /// Measures the embedded API server: its start, and the creation of a pod; `cargo build --release -p kubewright-cli` comes first.
    #[command(name = "apiserver")]
    ApiServer(apiserver::Options),
    /// Measures how many objects a store creates in a second: in memory, in a file and in etcd.
    Storage,
    /// Measures what bursts do to a server in 128 MiB: to its memory, now and afterwards, and to good calls.
    Flood(flood::Options),
    /// Measures how long probes take while 500 other clients are at the same port.
    Probes(probes::Options),
    /// Measures the time without a leader after a leader ends; `cargo build --release -p replicas` comes first.
    #[command(name = "hand-over")]
    HandOver(hand_over::Options),
    /// Measures what a cluster that is down does to the reconciles in the others of a fleet.
    Fleet(fleet::Options),
    /// Measures controllers: their caches, how soon they hear of a change, and what a reconcile costs.
    Controller(controller::Options),
    /// Measures how long Cargo compiles a new project, and its tests after one changed line; `cargo build -p kubewright-cli` comes first.
    Compile(compile::Options),
    /// Measures handshakes while the certificate changes, beside the same server on one that does not.
    Handshake(handshake::Options),
    /// Connects again and again; used by the measurements themselves.
    #[command(hide = true)]
    Connect {
        /// The server's address.
        address: std::net::SocketAddr,
        /// The file with the server's trust bundle.
        trust: PathBuf,
        /// How many handshakes to make.
        count: usize,
    },
    /// Serves one of the servers that are compared; used by the measurements themselves.
    #[command(hide = true)]
    Serve {
        /// Which server.
        server: process::Kind,
    },
    /// Follows the objects of a kind and says what that takes; used by the measurements themselves.
    #[command(hide = true)]
    Follow(caches::Follow),
    /// Patches every object once and says what that takes; used by the measurements themselves.
    #[command(hide = true)]
    Patch(patches::Patches),
    /// Sends one run of requests; used by the measurements themselves.
    #[command(hide = true)]
    Load {
        /// The server's address.
        address: std::net::SocketAddr,
        /// The file with the server's trust bundle.
        trust: PathBuf,
        #[command(flatten)]
        plan: load::Plan,
    },
}

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // As programs do.
        .thread_keep_alive(Duration::from_secs(1))
        .build()?;
    runtime.block_on(async {
        match Arguments::parse().command {
            Command::Webhook(options) => webhook::run(&options),
            Command::Fleet(options) => fleet::run(&options).await,
            Command::Controller(options) => controller::run(&options).await,
            Command::Storage => storage::run(),
            Command::Patch(patches) => patches::patch(&patches).await,
            Command::Follow(follow) => caches::follow(&follow).await,
            Command::Flood(options) => flood::run(&options).await,
            Command::Probes(options) => probes::run(&options).await,
            Command::HandOver(options) => hand_over::run(&options).await,
            Command::Compile(options) => compile::run(&options),
            Command::Handshake(options) => handshake::run(&options),
            Command::Connect {
                address,
                trust,
                count,
            } => handshake::connect(address, &trust, count).await,
            Command::Serve { server } => serve::serve(server).await,
            Command::ApiServer(options) => apiserver::run(&options).await,
            Command::Load {
                address,
                trust,
                plan,
            } => load::run(address, &trust, plan).await,
        }
    })
}

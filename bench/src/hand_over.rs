//! Measures hand-overs between leaders that are processes: the time without a leader after SIGTERM and after SIGKILL.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use replicas::Ending;
use replicas::hand_over::{LEASE_DURATION, Trial};

/// The longest time without a leader that is allowed after SIGTERM.
const GRACEFUL: Duration = Duration::from_millis(150);
/// The longest time without a leader that is allowed after SIGKILL, beside the lease duration.
const KILLED: Duration = Duration::from_millis(100);

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many hand-overs of each kind.
    #[arg(long, default_value_t = 200)]
    rounds: usize,
}

/// Hands over again and again; the slowest of each kind counts.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let program = program_that_leads()?;
    let bars = [
        (Ending::Graceful, GRACEFUL),
        (Ending::Killed, LEASE_DURATION + KILLED),
    ];
    let mut trial = Trial::start(&program).await?;
    println!(
        "{:<10} {:>7} {:>8} {:>8} {:>8} {:>8}  verdict",
        "leader", "rounds", "p50 ms", "p99 ms", "max ms", "bar ms"
    );
    for (ending, bar) in bars {
        let mut taken = Vec::new();
        for _ in 0..options.rounds {
            taken.push(trial.hand_over(ending).await?);
        }
        taken.sort_unstable();
        let at =
            |part: usize| taken.get((taken.len() * part / 100).min(taken.len().saturating_sub(1)));
        let (Some(median), Some(late), Some(worst)) = (at(50), at(99), taken.last()) else {
            continue;
        };
        println!(
            "{:<10} {:>7} {:>8} {:>8} {:>8} {:>8}  {}",
            format!("{ending:?}").to_lowercase(),
            taken.len(),
            median.as_millis(),
            late.as_millis(),
            worst.as_millis(),
            bar.as_millis(),
            if *worst <= bar { "met" } else { "missed" }
        );
    }
    let (leaders, writes) = trial.verdict().await?;
    println!("{leaders} leaders wrote {writes} times, each while it held the Lease");
    Ok(())
}

/// The program that hands over, which is built beside this one.
fn program_that_leads() -> Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name("leader");
    ensure!(
        program.exists(),
        "there is no {}: build it with `cargo build --release -p replicas`",
        program.display()
    );
    program.canonicalize().context("cannot find the program")
}

//! One run: load on one server, and what it cost that server.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;

use crate::load::Seen;
use crate::payloads::Case;
use crate::process::{Process, this_program};
use crate::report::{Comparison, Pair, Run};

/// Measures a case and the constant answer in turns.
pub(crate) fn compare(
    case: Case,
    echo: &Process,
    subject: &Process,
    pairs: usize,
) -> Result<Comparison> {
    ensure!(
        pairs > 0,
        "a comparison takes one pair of runs at least: --pairs 1"
    );
    let requests = case.requests();
    // The first run of each warms it up and does not count.
    run(echo, case, Answer::Constant, requests / 4, 0)?;
    run(subject, case, Answer::Right, requests / 4, 0)?;
    let pairs = (1..=pairs)
        .map(|pair| {
            Ok(Pair {
                echo: run(echo, case, Answer::Constant, requests, pair * requests)?,
                subject: run(subject, case, Answer::Right, requests, pair * requests)?,
            })
        })
        .collect::<Result<_>>()?;
    Ok(Comparison {
        case,
        bytes: case.body().length(),
        bar: case.bar(),
        pairs,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Constant,
    Right,
}

/// Sends a number of requests from the second processor.
fn run(server: &Process, case: Case, answer: Answer, requests: usize, first: usize) -> Result<Run> {
    let mut load = this_program(Some(1));
    let name = case.to_possible_value().context("a case without a name")?;
    load.arg("load")
        .arg(server.address.to_string())
        .arg(&server.trust)
        .arg(name.get_name());
    load.args([requests.to_string(), first.to_string()]);
    if answer == Answer::Constant {
        load.arg("--echo");
    }
    if let Some(token) = &server.token {
        load.args(["--token", token]);
    }
    let before = server.processor_time()?;
    let output = load
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the load")?;
    let cost = server.processor_time()?.saturating_sub(before);
    ensure!(output.status.success(), "the load has failed");
    let seen: Seen = serde_json::from_slice(&output.stdout).context("the load said nothing")?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand requests")]
    let microseconds = cost.as_secs_f64() * 1e6 / requests as f64;
    Ok(Run { microseconds, seen })
}

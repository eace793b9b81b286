//! What webhooks cost: processor time of the server for one request, as a multiple of a constant answer.

use std::path::PathBuf;

use anyhow::Result;

use crate::measure;
use crate::payloads::Case;
use crate::process::{Kind, Process};
use crate::report::{self, Comparison};

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many pairs of runs each case gets.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Only this case.
    #[arg(long)]
    case: Option<Case>,
    /// Where every run is kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// Measures every case, prints the figures and keeps the runs.
pub(crate) fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    let echo = Process::start(Kind::Echo, Some(0), &options.keep)?;
    let webhooks = Process::start(Kind::Webhooks, Some(0), &options.keep)?;
    let is_wanted = |case: &Case| options.case.is_none_or(|only| only == *case);
    Comparison::print_heading();
    let mut comparisons = Vec::new();
    for case in Case::WEBHOOKS.into_iter().filter(is_wanted) {
        let comparison = measure::compare(case, &echo, &webhooks, options.pairs)?;
        comparison.print();
        comparisons.push(comparison);
    }
    report::keep(&options.keep.join("webhook.json"), &comparisons)
}

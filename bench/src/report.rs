//! Pairs of runs, their medians and their ratios.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::load::Seen;
use crate::payloads::Case;

/// What one run has cost.
#[derive(Debug, Serialize)]
pub(crate) struct Run {
    /// The server's processor time for one request.
    pub(crate) microseconds: f64,
    pub(crate) seen: Seen,
}

/// All runs of one case: a constant answer and the subject, in turns.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) case: Case,
    pub(crate) bytes: usize,
    pub(crate) bar: f64,
    pub(crate) pairs: Vec<Pair>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) echo: Run,
    pub(crate) subject: Run,
}

impl Comparison {
    /// The ratio of the medians: what the goals are about.
    pub(crate) fn ratio(&self) -> f64 {
        self.median(|pair| pair.subject.microseconds) / self.median(|pair| pair.echo.microseconds)
    }

    pub(crate) fn worst(&self) -> f64 {
        self.pairs.iter().map(Pair::ratio).fold(0.0, f64::max)
    }

    pub(crate) fn median(&self, value: impl Fn(&Pair) -> f64) -> f64 {
        let mut values: Vec<f64> = self.pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        }
    }

    pub(crate) fn print_heading() {
        println!(
            "{:<10} {:>8} {:>11} {:>11} {:>7} {:>7} {:>7}  {:>8} {:>8}  verdict",
            "case", "bytes", "echo us", "subject us", "ratio", "worst", "bar", "p50 ms", "p99 ms"
        );
    }

    pub(crate) fn print(&self) {
        println!(
            "{:<10} {:>8} {:>11.1} {:>11.1} {:>7.2} {:>7.2} {:>7.2}  {:>8.2} {:>8.2}  {}",
            self.case.name(),
            self.bytes,
            self.median(|pair| pair.echo.microseconds),
            self.median(|pair| pair.subject.microseconds),
            self.ratio(),
            self.worst(),
            self.bar,
            self.median(|pair| pair.subject.seen.p50_ms),
            self.median(|pair| pair.subject.seen.p99_ms),
            if self.ratio() <= self.bar {
                "met"
            } else {
                "missed"
            },
        );
    }
}

impl Pair {
    fn ratio(&self) -> f64 {
        self.subject.microseconds / self.echo.microseconds
    }
}

/// Keeps every run as JSON.
pub(crate) fn keep(path: &Path, comparisons: &[Comparison]) -> Result<()> {
    std::fs::write(path, serde_json::to_vec_pretty(comparisons)?)?;
    println!("every run is in {}", path.display());
    Ok(())
}

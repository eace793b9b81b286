//! Times of expressions of the Common Expression Language: `kubewright-cel` beside the crate `cel` and cel-go.
//!
//! `cargo run --release -p bench-cel` prints the time of one compilation and of one evaluation of each expression in `cases.json`, in
//! all implementations. cel-go is measured twice: by itself, and as the API server runs it, with its libraries and
//! costs; `kubewright-cel` always counts costs. Needs Go, by which the program in `go/` is built first.

#![expect(
    clippy::print_stdout,
    reason = "printing the figures is what this program is for"
)]

mod cases;
mod measure;
mod table;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use cases::{Cases, Measured};
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = here.join("cases.json");
    let text = std::fs::read_to_string(&path).context("reading the cases")?;
    let cases: Cases = serde_json::from_str(&text).context("reading the cases")?;
    let numbers = json!((0..cases.variables.numbers).collect::<Vec<_>>());
    let mut measured = by_go(here, &path)?;
    for one in &cases.expressions {
        measured.push(measure::kubewright(one, &cases.variables, &numbers));
        measured.push(measure::cel(one, &cases.variables, &numbers)?);
    }
    table::print(&cases.expressions, &measured);
    check(&measured)
}

fn by_go(here: &Path, cases: &Path) -> anyhow::Result<Vec<Measured>> {
    let output = Command::new("go")
        .args(["run", "."])
        .arg(cases)
        .current_dir(here.join("go"))
        .env("GOWORK", "off")
        .env("GOFLAGS", "-mod=readonly")
        .output()
        .context("running cel-go: install Go")?;
    if !output.status.success() {
        bail!(
            "running cel-go: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let lines = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    lines
        .map(|line| line.context("reading a measurement of cel-go"))
        .collect()
}

/// All implementations that have a value have the same.
fn check(measured: &[Measured]) -> anyhow::Result<()> {
    for one in measured.iter().filter(|one| one.refused.is_empty()) {
        for other in measured
            .iter()
            .filter(|other| other.refused.is_empty() && other.name == one.name)
        {
            if one.result != other.result {
                let (name, by, result) = (&one.name, &one.engine, &one.result);
                bail!(
                    "{name}: {by} gives {result}, {} gives {}",
                    other.engine,
                    other.result
                );
            }
        }
    }
    Ok(())
}

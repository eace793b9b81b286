//! Writes the tables of Kubernetes' types that the embedded API server reads.
//!
//! `cargo run -p kubewright-apiserver-generator` writes them; with `--check` it only says whether they are current.

mod declarations;
mod model;
mod openapi;
mod sources;
mod tables;

use std::fs;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context, Result};

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    match run(check) {
        Ok(stale) if stale.is_empty() => ExitCode::SUCCESS,
        Ok(stale) => {
            let names = stale.join(", ");
            let _ = writeln!(
                std::io::stderr(),
                "not current: {names}\nhint: run `cargo run -p kubewright-apiserver-generator`"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Writes what is stale; with `check`, only names it.
fn run(check: bool) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (path, text) in generate()? {
        let path = sources::root().join(path);
        if fs::read_to_string(&path).is_ok_and(|current| current == text) {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
        } else {
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
    }
    Ok(stale)
}

/// The files, by their path in the workspace.
fn generate() -> Result<[(&'static str, String); 1]> {
    let source =
        |name| sources::of(name).with_context(|| format!("cannot find the sources of {name}"));
    let mut types = openapi::read(&source("k8s-openapi")?.join("v1_37"))?;
    declarations::add(include_str!("../declarations.txt"), &mut types)?;
    Ok([(
        "apiserver/apimachinery/src/types.txt",
        tables::types(&types),
    )])
}

#[cfg(test)]
mod tests;

//! Where things are: this workspace's crates, and the sources of the crates that the tables are made from.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The `src` directory of a dependency, in the version that the lock file names.
pub(crate) fn of(package: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .context("cannot run cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let manifest = packages
        .iter()
        .find(|found| found["name"] == package)
        .and_then(|found| found["manifest_path"].as_str())
        .context("not among the dependencies")?;
    Ok(Path::new(manifest).with_file_name("src"))
}

//! Building a package with cargo, which tells what it has made and which packages that is made from.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::failure::{Failure, Outcome};

/// What cargo has built.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) executable: PathBuf,
    /// The folders of the packages on this machine that are in it: its own, and those that it depends on by a path.
    pub(crate) packages: Vec<PathBuf>,
}

/// Builds the package in a folder, with everything that the compiler says on standard error. What is made is kept in `target` if
/// that is given.
///
/// # Cancel safety
/// Dropping the future ends cargo.
pub(crate) async fn build(folder: &Path, target: Option<&Path>) -> Outcome<Built> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(
            Failure::new(format!("{} holds no Cargo.toml", folder.display()))
                .hint("name the folder of a Rust package, such as examples/annotate-pod"),
        );
    }
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--message-format=json-render-diagnostics",
            "--manifest-path",
        ])
        .arg(&manifest);
    if let Some(target) = target {
        cargo.arg("--target-dir").arg(target);
    }
    let cargo = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(not_run)?;
    // Not `output`, which would take standard error, too, and with it whatever the compiler has to say.
    let output = cargo.wait_with_output().await.map_err(not_run)?;
    if !output.status.success() {
        return Err(Failure::new(format!(
            "cargo could not build {}",
            folder.display()
        )));
    }
    let built = read(&output.stdout);
    if built.executable.as_os_str().is_empty() {
        return Err(
            Failure::new(format!("{} builds no binary", folder.display()))
                .hint("add a src/main.rs that calls kubewright::run"),
        );
    }
    Ok(built)
}

/// The failure to start cargo.
pub(crate) fn not_run(error: std::io::Error) -> Failure {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let failure = Failure::from(anyhow::Error::from(error).context("cannot run cargo"));
    if is_missing {
        failure.hint("install Rust from https://rustup.rs, or add the folder with cargo to PATH")
    } else {
        failure
    }
}

/// Reads what cargo says to programs: a line of JSON for each thing that it has made, or found made already.
fn read(messages: &[u8]) -> Built {
    let mut built = Built::default();
    let lines = messages.split(|byte| *byte == b'\n');
    for message in lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()) {
        if let Some(executable) = message["executable"].as_str() {
            built.executable = PathBuf::from(executable);
        }
        let is_here = message["package_id"]
            .as_str()
            .is_some_and(|package| package.starts_with("path+"));
        let manifest = message["manifest_path"].as_str().map(Path::new);
        if let Some(folder) = manifest.filter(|_| is_here).and_then(Path::parent)
            && !built.packages.iter().any(|known| known == folder)
        {
            built.packages.push(folder.to_owned());
        }
    }
    built
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_elsewhere_are_not_followed() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","package_id":"registry+https://x#serde@1.0.0","manifest_path":"/registry/serde/Cargo.toml","executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///work/lib#0.1.0","manifest_path":"/work/lib/Cargo.toml","executable":null}"#,
            "\n",
            r#"{"reason":"build-script-executed","package_id":"path+file:///work/lib#0.1.0"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","package_id":"path+file:///work/app#0.1.0","manifest_path":"/work/app/Cargo.toml","executable":"/work/target/debug/app"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
            "\n",
        );
        let built = read(messages.as_bytes());
        assert_eq!(built.executable, Path::new("/work/target/debug/app"));
        assert_eq!(
            built.packages,
            [Path::new("/work/lib"), Path::new("/work/app")]
        );
    }
}

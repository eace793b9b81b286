//! `kubewright apiserver snapshot` and `restore`: all objects of a cluster as one file, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::{Backend as _, Snapshot, import};

use crate::data;
use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write_durably};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Writes all objects of a running server, or of a directory of --data, to a file.
    Snapshot(Take),
    /// Writes the objects of a snapshot into a new directory for --data.
    Restore(Restore),
}

#[derive(Debug, Args)]
pub(crate) struct Take {
    /// The file, which only its owner may read: Secrets are in it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Ask the running server of this kubeconfig
    #[arg(long, value_name = "FILE", default_value = ".kubewright/kubeconfig")]
    kubeconfig: PathBuf,

    /// Read this directory, which no server uses, instead of asking a server
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "kubeconfig")]
    data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The file that `snapshot` wrote, or `kubectl get -A -o json` or `-o yaml`
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Write into this directory, which has no objects yet
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,
}

impl Command {
    pub(crate) fn run(self, ui: &Arc<Ui>) -> Outcome {
        match self {
            Self::Snapshot(take) => take.run(ui),
            Self::Restore(restore) => restore.run(ui),
        }
    }
}

impl Take {
    fn run(self, ui: &Arc<Ui>) -> Outcome {
        let snapshot = match &self.data {
            Some(directory) => of_directory(directory)?,
            None => of_server(&self.kubeconfig)?,
        };
        let told = summary(&snapshot);
        let text = String::from_utf8(snapshot.into_bytes().into());
        let text = text.context("cannot write the snapshot: it is not text")?;
        write_durably(&self.file, &text, Readers::Owner)?;
        ui.line(format!("{}: {told}", self.file.display()));
        Ok(())
    }
}

impl Restore {
    fn run(self, ui: &Arc<Ui>) -> Outcome {
        let snapshot = read(&self.file)?;
        data::make_private(&self.data)
            .with_context(|| format!("cannot make the directory {}", self.data.display()))?;
        let objects = data::objects(&self.data)?;
        snapshot
            .restore(&objects)
            .map_err(|error| Failure::from(error).hint("choose a new directory with --data"))?;
        ui.line(format!("{}: {}", self.data.display(), summary(&snapshot)));
        Ok(())
    }
}

/// Reads a file that `snapshot` or `kubectl get -A -o json` wrote.
pub(super) fn read(file: &Path) -> Outcome<Snapshot> {
    let reading = || format!("cannot read {}", file.display());
    let bytes = fs::read(file).with_context(reading)?;
    Ok(import(&bytes).with_context(reading)?)
}

fn summary(snapshot: &Snapshot) -> String {
    format!(
        "{} objects at revision {}",
        snapshot.len(),
        snapshot.revision()
    )
}

fn of_directory(directory: &Path) -> Outcome<Snapshot> {
    if !data::is_kept(directory) {
        let message = format!("there are no objects in {}", directory.display());
        return Err(Failure::new(message).hint("name a directory of `kubewright apiserver --data`"));
    }
    let contents = data::objects(directory)?.load()?;
    Ok(Snapshot::of_contents(contents)?)
}

fn of_server(kubeconfig: &Path) -> Outcome<Snapshot> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let answer = runtime.block_on(async {
        let read = Kubeconfig::read_from(kubeconfig)
            .with_context(|| format!("cannot read {}", kubeconfig.display()))?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let request = Request::get("/debug/kubewright/snapshot").body(Vec::new())?;
        anyhow::Ok(client.request_text(request).await?)
    });
    let hint =
        "start the server with `kubewright apiserver`, or name its kubeconfig with --kubeconfig";
    let text = answer.map_err(|error| Failure::from(error).hint(hint))?;
    Ok(Snapshot::read(text).context("cannot read the answer of the server")?)
}

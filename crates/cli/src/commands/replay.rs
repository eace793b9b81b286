//! `kubewright replay`: recorded requests, asked of a program or of two versions of it once more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{ArgGroup, Args};
use kubewright_testing::{Recording, recordings};

use crate::dev::program::Program;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::replay::log::Log;
use crate::replay::report::Report;
use crate::replay::revision::Revision;
use crate::replay::version::{Version, label};
use crate::replay::{AuditReplay, Versions, target};
use crate::ui::Ui;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("requests").required(true).args(["directory", "audit_logs"]))]
pub(crate) struct Arguments {
    /// The directory that `run --record` or `dev --record` wrote
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,

    /// Replay the requests of this audit log of an API server: lines of JSON, `-` for standard input; repeat it for each file, the oldest first
    #[arg(long = "audit-log", value_name = "FILE")]
    audit_logs: Vec<PathBuf>,

    /// The directory of the program's package
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    package: PathBuf,

    /// Compare with the program in this directory, another checkout, instead of what was recorded
    #[arg(long, value_name = "FOLDER", conflicts_with = "against_revision")]
    against: Option<PathBuf>,

    /// Compare with the program as of this git revision, instead of what was recorded
    #[arg(long, value_name = "REVISION")]
    against_revision: Option<String>,

    /// Print the result in this format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,

    /// Options of the program, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

impl Arguments {
    /// Whether the result is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        self.output == Output::Json
    }
}

pub(crate) fn run(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(replay(ui, arguments))
}

async fn replay(ui: &Arc<Ui>, arguments: Arguments) -> Outcome {
    let recorded = arguments.directory.as_deref().map(read).transpose()?;
    let logs = arguments.audit_logs.iter().map(|path| Log::open(path));
    let logs = logs.collect::<Outcome<Vec<_>>>()?;

    let revision = match &arguments.against_revision {
        Some(revision) => Some(Revision::check_out(&arguments.package, revision).await?),
        None => None,
    };
    let options = &arguments.options;
    let before = match (&arguments.against, &revision) {
        (Some(folder), _) => {
            let target = target::of_checkout(folder, &arguments.package).await?;
            Some(start(ui, folder, folder, target.as_deref(), options).await?)
        }
        (None, Some(revision)) => {
            let name = arguments.against_revision.as_deref().unwrap_or_default();
            let target = Some(revision.target());
            let started = start(ui, revision.package(), Path::new(name), target, options);
            Some(started.await?)
        }
        (None, None) => None,
    };
    let package = &arguments.package;
    let after = start(ui, package, package, None, options).await?;
    let versions = Versions { before, after };

    let mut report = Report::new(ui, arguments.json());
    let replayed = ask(ui, &versions, recorded.as_deref(), logs, &mut report).await;
    versions.stop().await;
    replayed?;
    report.finish();
    match (report.reviews(), report.different(), report.first_skipped()) {
        (0, _, Some(why)) => Err(Failure::new(format!("no request could be replayed: {why}"))),
        (_, 0, _) => Ok(()),
        (all, different, _) => {
            let text = format!("{different} of {all} reviews are answered otherwise");
            Err(Failure::new(text))
        }
    }
}

/// The reviews in a directory, of which there has to be one.
fn read(directory: &Path) -> Outcome<Vec<Recording>> {
    let recorded = recordings(directory)
        .with_context(|| format!("cannot read the reviews in {}", directory.display()))?;
    if recorded.is_empty() {
        return Err(
            Failure::new(format!("{} holds no recorded review", directory.display()))
                .hint("record some: run the program with --record, or `kubewright dev --record`"),
        );
    }
    Ok(recorded)
}

/// Builds the program in a folder, which is named `name`, and starts it.
async fn start(
    ui: &Arc<Ui>,
    folder: &Path,
    name: &Path,
    target: Option<&Path>,
    options: &[String],
) -> Outcome<Version> {
    let step = ui.step(&format!("building {}", name.display()));
    let program = Program::build_into(folder, target).await?;
    step.done(&format!("built {}", program.name()));
    Version::start(ui, label(&program, name), &program, options).await
}

async fn ask(
    ui: &Ui,
    versions: &Versions,
    recorded: Option<&[Recording]>,
    logs: Vec<Log>,
    report: &mut Report<'_>,
) -> Outcome {
    if let Some(recorded) = recorded {
        crate::replay::recordings(versions, recorded, report).await?;
    }
    let mut replay = AuditReplay::new(versions);
    let is_log = !logs.is_empty();
    for log in logs {
        replay.log(ui, log, report).await?;
    }
    if is_log {
        replay.finish(report);
    }
    Ok(())
}

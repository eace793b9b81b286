//! `kubewright manifests`: the files that install a program, written by the program itself.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::dev::program::Program;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory of the program's package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// The directory of the manifests, relative to the package
    #[arg(long, value_name = "FOLDER", default_value = "deploy")]
    into: PathBuf,

    /// Write nothing; exit with an error if the files are not up to date
    #[arg(long)]
    check: bool,

    /// Options of the program, after `--`
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(write(ui, arguments))
}

async fn write(ui: &Ui, arguments: Arguments) -> Outcome {
    let Arguments {
        folder,
        into,
        check,
        options,
    } = arguments;
    let step = ui.step(&format!("building {}", folder.display()));
    let program = Program::build(&folder).await?;
    step.done(&format!("built {}", program.name()));
    let place = if folder == Path::new(".") {
        into
    } else {
        folder.join(into)
    };
    match program.write_manifests(&place, check, &options).await? {
        Ok(()) if check => ui.note(format!("{} is current", place.display())),
        Ok(()) => ui.note(format!("wrote {}", place.display())),
        Err(said) => {
            let failure = Failure::new(said.trim_end().trim_start_matches("error: "));
            return Err(if check {
                failure.hint("run `kubewright manifests` to write the files anew")
            } else {
                failure
            });
        }
    }
    Ok(())
}

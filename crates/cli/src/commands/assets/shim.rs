//! `kubewright assets shim`.

use std::path::PathBuf;

use clap::Args;

use super::flags::StoreFlag;
use crate::failure::{Failure, Outcome};
use crate::shim::links;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Create the programs in this directory [default: `shim` in the store]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    store: StoreFlag,
}

pub(super) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    let folder = match arguments.directory {
        Some(folder) => std::path::absolute(folder)?,
        None => arguments.store.open()?.shim(),
    };
    let Some(path) = folder.to_str() else {
        let message = format!("the path {} is not UTF-8", folder.display());
        return Err(Failure::new(message).hint("choose another directory"));
    };
    if !links::write(&folder)? {
        ui.note("no kubectl on the PATH: tests that call it through envtest need one");
    }
    ui.line(path);
    Ok(())
}

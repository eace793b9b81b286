//! `kubewright edit`: what a project is like, changed later.

use clap::Args;

use super::init::license;
use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{Settings, edit};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Set the license of the package, as an SPDX expression; an empty string removes it
    #[arg(long, value_name = "SPDX", value_parser = license_or_none)]
    license: Option<String>,

    #[command(flatten)]
    place: Place,
}

fn license_or_none(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    license(text)
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let settings = Settings {
        license: arguments.license.clone(),
    };
    arguments
        .place
        .change(ui, "next: `cargo test`", |tree| edit(tree, &settings))
}

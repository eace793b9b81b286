//! `kubewright completions`: what a shell needs to complete our commands.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell to print completions for
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments, mut command: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "kubewright", &mut script);
    let script = String::from_utf8(script).map_err(Failure::internal)?;
    ui.line(script.trim_end());
    Ok(())
}

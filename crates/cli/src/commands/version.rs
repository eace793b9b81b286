//! `kubewright version`: the versions of this command and of the Kubernetes API that it serves.

use clap::Args;
use kubewright_apiserver::GIT_VERSION;
use serde_json::json;

use crate::output::Output;
use crate::ui::Ui;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
}

impl Arguments {
    pub(crate) fn json(&self) -> bool {
        self.output == Output::Json
    }
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) {
    let version = env!("CARGO_PKG_VERSION");
    match arguments.output {
        Output::Text => {
            ui.line(format!("kubewright {version}"));
            ui.line(format!("Kubernetes {GIT_VERSION} (embedded API server)"));
        }
        Output::Json => {
            ui.line(json!({ "kubewright": version, "kubernetes": GIT_VERSION }).to_string());
        }
    }
}

//! `kubewright doctor`: what is wrong with the webhooks of the current context, or could be.

use anyhow::Context as _;
use clap::Args;
use serde_json::{Value, json};

use crate::current::ClusterFlags;
use crate::doctor::{Examined, Weight, examine};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::ui::{Tone, Ui};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The webhook configurations and CustomResourceDefinitions to examine [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: Output,
}

impl Arguments {
    /// Whether a program reads the result.
    pub(crate) fn json(&self) -> bool {
        self.output == Output::Json
    }
}

pub(crate) fn run(ui: &Ui, arguments: &Arguments) -> Outcome {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime
        .context("cannot start the runtime")
        .map_err(Failure::internal)?;
    let examined = runtime.block_on(async {
        let cluster = arguments.cluster.connect(ui).await?;
        examine(cluster.client(), &arguments.names).await
    })?;
    for name in &arguments.names {
        let is_there = |one: &Examined| one.configuration.ends_with(&format!(" {name}"));
        if !examined.iter().any(is_there) {
            return Err(
                Failure::new(format!("no webhook is configured by the name of {name}"))
                    .hint("leave the name away to have all of them examined"),
            );
        }
    }
    if arguments.json() {
        let all: Vec<Value> = examined.iter().map(Examined::json).collect();
        ui.json(&json!(all));
    } else {
        for one in &examined {
            tell(ui, one);
        }
    }
    if examined.is_empty() {
        ui.note("the cluster has no webhooks");
    }
    let problems = examined
        .iter()
        .filter(|one| one.weight() == Weight::Problem);
    match problems.count() {
        0 => Ok(()),
        1 => Err(Failure::new("one webhook has a problem")),
        n => Err(Failure::new(format!("{n} webhooks have problems"))),
    }
}

fn tell(ui: &Ui, examined: &Examined) {
    ui.line(format!(
        "{} of {}",
        examined.webhook, examined.configuration
    ));
    for finding in &examined.findings {
        let tone = match finding.weight {
            Weight::Good => Tone::Good,
            Weight::Doubt => Tone::Strong,
            Weight::Problem => Tone::Bad,
        };
        ui.line(format!(
            "  {}: {}",
            ui.paint(tone, finding.weight.word()),
            finding.text
        ));
    }
}

//! The guide's page about the command line of a program, made from that command line.

use clap::{Args, Command};

use super::{RunFlags, command};

const HEAD: &str = "\
# The command line of a program

Every command of a program that `kubewright::run` runs, with every option and its default; it is made from that command line. The
program's own options come beside these, with each command, because they decide what is served. What it does is in the chapter on
[programs](programs.md#the-command-line).
";

/// What stands where traces are compiled in, and in the page in any case.
const TRACES: &str = "
## With the feature `otlp`

`program run` has these as well, and what they leave out the [variables of OpenTelemetry](observability.md#traces) say:
";

#[derive(Debug, Args)]
struct Nothing {}

/// The page without what a feature adds.
fn page() -> String {
    let mut page = HEAD.to_owned();
    let of_traces = ["otlp_endpoint", "trace_ratio"];
    let program = command::<Nothing>().mut_subcommands(|command| {
        of_traces
            .iter()
            .filter(|name| {
                command
                    .get_arguments()
                    .any(|argument| argument.get_id() == **name)
            })
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .into_iter()
            .fold(command, |command, name| {
                command.mut_arg(name, |argument| argument.hide(true))
            })
    });
    reference::commands(&mut page, &program, "program");
    page
}

/// What the page has of traces, which only a build with that feature can check.
#[cfg(not(feature = "otlp"))]
fn of_traces() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/options.md");
    let written = std::fs::read_to_string(page).unwrap_or_default();
    let written = written
        .find(TRACES)
        .map(|start| written[start..].to_owned());
    written.unwrap_or_else(|| TRACES.to_owned())
}

#[cfg(not(feature = "otlp"))]
#[test]
fn the_page_of_the_guide_has_every_option_of_a_program() {
    let made = page() + &of_traces();
    reference::hold(
        "options.md",
        &made,
        "kubewright-manager",
        "page_of_the_guide",
    );
}

#[cfg(feature = "otlp")]
#[test]
fn the_page_of_the_guide_has_the_options_of_traces() {
    let mut traces = TRACES.to_owned();
    reference::options(
        &mut traces,
        &crate::traces::TraceFlags::augment_args(Command::new("run")),
    );
    assert!(traces.len() > TRACES.len());
    reference::hold(
        "options.md",
        &(page() + &traces),
        "kubewright-manager --features otlp",
        "traces",
    );
}

#[test]
fn every_option_is_described() {
    let run = RunFlags::augment_args(Command::new("run"));
    for command in command::<Nothing>().get_subcommands().chain([&run]) {
        assert!(command.get_about().is_some() || command.get_name() == "run");
        for argument in command.get_arguments() {
            assert!(
                argument.get_help().is_some(),
                "{argument} of {}",
                command.get_name()
            );
        }
    }
}

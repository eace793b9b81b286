//! Called as `kube-apiserver`: the embedded API server behind the flags of the real one.

use std::fmt::Write as _;

use kubewright_apiserver::GIT_VERSION;

use super::failed::{Failed, runtime};
use super::flags::{CommandLine, Dialect, Given, Known};
use super::settings::{EFFECTIVE, Settings};
use crate::cluster::Interrupt;
use crate::failure::Outcome;
use crate::ui::Ui;

const KNOWN: Known = Known {
    dialect: Dialect::Pflag,
    table: include_str!("kube-apiserver.tsv"),
};

pub(super) fn run(ui: &Ui, arguments: impl IntoIterator<Item = String>) -> Result<(), Failed> {
    const FAILED: u8 = 1;
    match KNOWN.parse(arguments) {
        Err(message) => Err(Failed {
            message,
            code: FAILED,
        }),
        Ok(CommandLine::Help) => {
            ui.line(help());
            Ok(())
        }
        Ok(CommandLine::Version) => {
            ui.line(format!("Kubernetes {GIT_VERSION}"));
            Ok(())
        }
        Ok(CommandLine::Flags(given)) => serve(ui, &given).map_err(|failure| Failed::of(&failure)),
    }
}

fn serve(ui: &Ui, given: &Given) -> Outcome {
    let Settings {
        address,
        server,
        serving,
        notes,
    } = Settings::read(given)?;
    for note in notes {
        ui.note(format!("kube-apiserver: {note}"));
    }
    let runtime = runtime(2)?;
    let served: Outcome = runtime.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let server = server.start();
        let listening = server.listen_with(address, serving).await?;
        ui.note(format!(
            "kube-apiserver: kubewright's embedded API server on {}; objects are kept in memory",
            listening.url()
        ));
        interrupt.wait().await;
        listening.stop().await;
        Ok(())
    });
    // Conversions and writes that are still in progress have no client any more.
    runtime.shutdown_background();
    served
}

/// The help: envtest looks for flags in it, each at the beginning of a line.
fn help() -> String {
    let mut help = format!(
        "kubewright's embedded API server of Kubernetes {GIT_VERSION}, in place of kube-apiserver, for tests.\n\n\
         Usage:\n  kube-apiserver [flags]\n\nFlags:\n\n"
    );
    for (name, says) in EFFECTIVE {
        let kind = KNOWN.iter().find(|(known, _)| *known == name);
        let flag = format!("--{name} {}", kind.map_or("", |(_, kind)| kind));
        let _ = writeln!(help, "      {flag:<48} {says}");
    }
    help.push_str("  -h, --help                                             Print this help\n");
    help.push_str("      --version                                          Print the version\n");
    help.push_str("\nFlags without effect, accepted with a line on standard error:\n\n");
    for (name, kind) in KNOWN.iter() {
        if EFFECTIVE.iter().all(|(effective, _)| *effective != name) {
            let kind = if kind == "bool" { "" } else { kind };
            let _ = writeln!(help, "{}", format!("      --{name} {kind}").trim_end());
        }
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_with_an_effect_is_one_of_kube_apiserver() {
        for (name, _) in EFFECTIVE {
            assert!(KNOWN.iter().any(|(known, _)| known == name), "{name}");
        }
    }

    #[test]
    fn the_help_lists_every_flag_of_kube_apiserver_and_no_insecure_port() {
        let help = help();
        for (name, _) in KNOWN.iter() {
            let listed = |line: &str| {
                let flag = line.trim_start().strip_prefix("--")?.split(' ').next();
                flag.map(|flag| flag == name)
            };
            assert!(
                help.lines().any(|line| listed(line) == Some(true)),
                "{name}"
            );
        }
        assert!(!help.contains("insecure-port"));
    }
}

//! The command line: one module for each command, and the list of them.

mod apiserver;
mod assets;
pub(crate) mod certs;
mod check;
mod completions;
mod create;
mod delete;
mod dev;
mod doctor;
mod edit;
mod init;
mod inspect;
mod install;
mod manifests;
mod project;
mod replay;
mod run;
mod test;
mod test_policy;
mod update;
mod version;

use std::sync::Arc;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::failure::Outcome;
use crate::ui::Ui;

/// The toolkit for Kubernetes admission webhooks and controllers.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, arg_required_else_help = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Creates a project.
    Init(init::Arguments),
    /// Adds an API, a webhook, a task or a policy to a project.
    #[command(subcommand)]
    Create(create::Arguments),
    /// Deletes an API, a webhook, a task or a policy of a project.
    #[command(subcommand)]
    Delete(delete::Arguments),
    /// Edits the settings of a project.
    Edit(edit::Arguments),
    /// Updates a project to the version of this command.
    Update(update::Arguments),
    /// Generates the install manifests of a program.
    Manifests(manifests::Arguments),
    /// Runs a program against an embedded API server and shows every admission review.
    Dev(dev::Arguments),
    /// Runs a program on this machine against the cluster of the current context, without installing anything.
    Run(run::Arguments),
    /// Checks manifests against an embedded API server, as a cluster would.
    Check(check::Arguments),
    /// Tests admission policies and the rules of definitions: which objects they allow, deny and change.
    TestPolicy(test_policy::Arguments),
    /// Runs the tests of a project.
    Test(test::Arguments),
    /// Replays admission reviews of recordings or audit logs and shows the requests that are decided otherwise.
    Replay(replay::Arguments),
    /// Runs an embedded Kubernetes API server until SIGTERM or SIGINT.
    Apiserver(Box<apiserver::Arguments>),
    /// Creates a certificate authority and a server certificate.
    Certs(certs::Arguments),
    /// Manages kube-apiserver and etcd binaries for tests.
    Assets(assets::Arguments),
    /// Installs the CustomResourceDefinitions of a program into the cluster of the current context.
    Install(install::Install),
    /// Deletes the CustomResourceDefinitions of a program.
    Uninstall(install::Uninstall),
    /// Deploys a program to the cluster of the current context.
    Deploy(install::Deploy),
    /// Removes a deployed program, its webhook configurations first.
    Undeploy(install::Undeploy),
    /// Diagnoses the webhooks of the current context: reachability, TLS trust and lockouts.
    Doctor(doctor::Arguments),
    /// Looks inside running programs: caches, queues, reconciles, errors, tasks, certificates and reviews.
    Inspect(Box<inspect::Arguments>),
    /// Prints the shell completion script.
    Completions(completions::Arguments),
    /// Prints the versions of this command and of the Kubernetes API that it serves.
    Version(version::Arguments),
}

impl Command {
    /// Whether the result is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Certs(arguments) => arguments.json(),
            Self::Check(arguments) => arguments.json(),
            Self::TestPolicy(arguments) => arguments.json(),
            Self::Assets(arguments) => arguments.json(),
            Self::Install(arguments) => arguments.json(),
            Self::Uninstall(arguments) => arguments.json(),
            Self::Deploy(arguments) => arguments.json(),
            Self::Undeploy(arguments) => arguments.json(),
            Self::Doctor(arguments) => arguments.json(),
            Self::Inspect(arguments) => arguments.json(),
            Self::Replay(arguments) => arguments.json(),
            Self::Version(arguments) => arguments.json(),
            _ => false,
        }
    }

    pub(crate) fn run(self, ui: &Arc<Ui>) -> Outcome {
        match self {
            Self::Init(arguments) => init::run(ui, arguments),
            Self::Create(arguments) => create::run(ui, arguments),
            Self::Delete(arguments) => delete::run(ui, arguments),
            Self::Edit(arguments) => edit::run(ui, &arguments),
            Self::Update(arguments) => update::run(ui, &arguments),
            Self::Manifests(arguments) => manifests::run(ui, arguments),
            Self::Dev(arguments) => dev::run(ui, &arguments),
            Self::Run(arguments) => run::run(ui, &arguments),
            Self::Check(arguments) => check::run(ui, &arguments),
            Self::TestPolicy(arguments) => test_policy::run(ui, &arguments),
            Self::Test(arguments) => test::run(ui, arguments),
            Self::Replay(arguments) => replay::run(ui, arguments),
            Self::Apiserver(arguments) => apiserver::run(ui, *arguments),
            Self::Certs(arguments) => certs::run(ui, arguments),
            Self::Assets(arguments) => assets::run(ui, arguments),
            Self::Install(arguments) => install::install(ui, &arguments),
            Self::Uninstall(arguments) => install::uninstall(ui, &arguments),
            Self::Deploy(arguments) => install::deploy(ui, &arguments),
            Self::Undeploy(arguments) => install::undeploy(ui, &arguments),
            Self::Doctor(arguments) => doctor::run(ui, &arguments),
            Self::Inspect(arguments) => inspect::run(ui, &arguments),
            Self::Completions(arguments) => {
                completions::run(ui, &arguments, CommandLine::command())
            }
            Self::Version(arguments) => {
                version::run(ui, &arguments);
                Ok(())
            }
        }
    }
}

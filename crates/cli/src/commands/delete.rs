//! `kubewright delete`: takes back what `kubewright create` has made.

use clap::{Args, Subcommand};

use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{
    Group, Kind, Name, Version, delete_api, delete_controller, delete_policy, delete_task,
    delete_webhook,
};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Arguments {
    /// Deletes a version of a custom resource and its controller.
    Api(Api),
    /// Deletes the webhooks of a kind.
    Webhook(What),
    /// Deletes a task.
    Task(Named),
    /// Deletes a policy.
    Policy(Named),
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    /// The version, if the kind has several
    #[arg(long)]
    version: Option<Version>,

    /// Delete only this controller of the kind, created with --controller-name or --owner
    #[arg(long, value_name = "NAME", conflicts_with = "version")]
    controller_name: Option<Name>,

    #[command(flatten)]
    what: What,
}

#[derive(Debug, Args)]
pub(crate) struct What {
    /// The kind, such as WhiteList
    #[arg(long)]
    kind: Kind,

    /// The API group, if the kind exists in several
    #[arg(long)]
    group: Option<Group>,

    /// Also delete files that were edited
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The name that it was created with
    name: Name,

    /// Also delete files that were edited
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    match arguments {
        Arguments::Api(Api {
            version,
            controller_name,
            what,
        }) => {
            let group = what.group.as_ref().map(AsRef::as_ref);
            what.place.change(ui, NEXT, |tree| match &controller_name {
                Some(name) => delete_controller(tree, &what.kind, name, what.force),
                None => delete_api(tree, &what.kind, group, version.as_ref(), what.force),
            })
        }
        Arguments::Webhook(what) => {
            let group = what.group.as_ref().map(AsRef::as_ref);
            what.place.change(ui, NEXT, |tree| {
                delete_webhook(tree, &what.kind, group, what.force)
            })
        }
        Arguments::Task(Named { name, force, place }) => {
            place.change(ui, NEXT, |tree| delete_task(tree, &name, force))
        }
        Arguments::Policy(Named { name, force, place }) => {
            place.change(ui, NEXT, |tree| delete_policy(tree, &name, force))
        }
    }
}

const NEXT: &str = "next: `cargo test`";

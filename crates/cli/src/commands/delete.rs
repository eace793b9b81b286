//! `kubewright delete`: takes back what `kubewright create` has made.

use clap::{Args, Subcommand};

use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{Group, Kind, Version, delete_api, delete_webhook};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Arguments {
    /// Deletes a version of a custom resource and its controller.
    Api(Api),
    /// Deletes the webhooks of a kind.
    Webhook(What),
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    /// The version, if the kind has several
    #[arg(long)]
    version: Option<Version>,

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

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    match arguments {
        Arguments::Api(Api { version, what }) => {
            let group = what.group.as_ref().map(AsRef::as_ref);
            what.place.change(ui, NEXT, |tree| {
                delete_api(tree, &what.kind, group, version.as_ref(), what.force)
            })
        }
        Arguments::Webhook(what) => {
            let group = what.group.as_ref().map(AsRef::as_ref);
            what.place.change(ui, NEXT, |tree| {
                delete_webhook(tree, &what.kind, group, what.force)
            })
        }
    }
}

const NEXT: &str = "next: `cargo test`";

//! `kubewright delete`: takes back what `kubewright create` has made.

use clap::{Args, Subcommand};

use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{Group, Kind, Version, delete_api, delete_webhook};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Arguments {
    /// Deletes a version of a kind, with its controller.
    Api(Api),
    /// Deletes the webhooks of a kind.
    Webhook(What),
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    /// Its version, if there are several
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

    /// Its group, if several groups have this kind
    #[arg(long)]
    group: Option<Group>,

    /// Deletes what has been changed since it was made, too
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

//! `kubewright create`: APIs and webhooks for a project.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ArgAction, Args, Subcommand};

use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{
    Group, Kind, NewApi, NewWebhook, Plural, Version, create_api, create_webhook,
};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Arguments {
    /// Makes a kind of your own, a controller for a kind, or both.
    Api(Api),
    /// Makes webhooks for a kind: of the project, or one that every cluster has.
    Webhook(Webhook),
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    /// The group without the domain, such as police; of a kind that every cluster has, such as apps or core
    #[arg(long)]
    group: Group,

    /// The version, such as v1beta1
    #[arg(long)]
    version: Version,

    /// The kind, such as WhiteList
    #[arg(long)]
    kind: Kind,

    /// The plural in URLs, if the usual one is wrong
    #[arg(long)]
    plural: Option<Plural>,

    /// Whether its objects are in namespaces: true unless said, or as the other versions have it
    #[arg(
        long,
        value_name = "BOOL",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    namespaced: Option<bool>,

    /// Makes a controller, too
    #[arg(long)]
    controller: bool,

    /// Makes no type: the kind is in the project already, is one that every cluster has, or is defined by --crd
    #[arg(long)]
    no_resource: bool,

    #[command(flatten)]
    crd: Definitions,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Webhook {
    /// The kind, such as Pod
    #[arg(long)]
    kind: Kind,

    /// Its group, if several groups have this kind
    #[arg(long)]
    group: Option<Group>,

    /// The version that the webhooks are given, and the hub of a conversion; the first one that was made unless it is said
    #[arg(long)]
    version: Option<Version>,

    /// Makes a webhook that completes objects when they are created
    #[arg(long)]
    defaulting: bool,

    /// Makes a webhook that says which objects there may be
    #[arg(long)]
    validating: bool,

    /// Has the versions of the kind become each other
    #[arg(long)]
    conversion: bool,

    #[command(flatten)]
    crd: Definitions,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Definitions {
    /// For a kind of another project: the file with its CustomResourceDefinition
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,
}

impl Definitions {
    fn read(&self) -> Outcome<Option<String>> {
        let Some(path) = &self.crd else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Some(text))
    }
}

pub(crate) fn run(ui: &Ui, arguments: Arguments) -> Outcome {
    match arguments {
        Arguments::Api(api) => {
            let new = NewApi {
                group: api.group,
                version: api.version,
                kind: api.kind,
                plural: api.plural,
                namespaced: api.namespaced,
                resource: !api.no_resource,
                controller: api.controller,
                definition: api.crd.read()?,
            };
            api.place.change(ui, NEXT, |tree| create_api(tree, &new))
        }
        Arguments::Webhook(webhook) => {
            let new = NewWebhook {
                kind: webhook.kind,
                group: webhook.group,
                version: webhook.version,
                defaulting: webhook.defaulting,
                validating: webhook.validating,
                conversion: webhook.conversion,
                definition: webhook.crd.read()?,
            };
            webhook
                .place
                .change(ui, NEXT, |tree| create_webhook(tree, &new))
        }
    }
}

const NEXT: &str = "next: make it yours, then `cargo test`";

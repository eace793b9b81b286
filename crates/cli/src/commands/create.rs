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
    /// Creates a custom resource, a controller, or both.
    Api(Api),
    /// Creates webhooks for a kind of the project or a built-in kind.
    Webhook(Webhook),
}

#[derive(Debug, Args)]
pub(crate) struct Api {
    /// The API group without the domain, such as police; the full group of a built-in kind, such as apps or core
    #[arg(long)]
    group: Group,

    /// The version, such as v1beta1
    #[arg(long)]
    version: Version,

    /// The kind, such as WhiteList
    #[arg(long)]
    kind: Kind,

    /// The plural resource name, if it is irregular
    #[arg(long)]
    plural: Option<Plural>,

    /// Whether the resource is namespaced [default: true, or the scope of its other versions]
    #[arg(
        long,
        value_name = "BOOL",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set
    )]
    namespaced: Option<bool>,

    /// Also create a controller
    #[arg(long)]
    controller: bool,

    /// Do not create the type: the kind exists in the project, is built-in, or is defined by --crd
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

    /// The API group, if the kind exists in several
    #[arg(long)]
    group: Option<Group>,

    /// The version that the webhooks receive, and the hub of a conversion [default: the first version of the kind]
    #[arg(long)]
    version: Option<Version>,

    /// Create a defaulting webhook
    #[arg(long)]
    defaulting: bool,

    /// Create a validating webhook
    #[arg(long)]
    validating: bool,

    /// Create a conversion webhook
    #[arg(long)]
    conversion: bool,

    #[command(flatten)]
    crd: Definitions,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Definitions {
    /// Use the kind of another project, defined by the CustomResourceDefinition in this file
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

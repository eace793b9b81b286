//! `kubewright create`: APIs, webhooks, tasks and policies for a project.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{ArgAction, Args, Subcommand};
use kubewright_manager::{Cron, CronError};

use super::project::Place;
use crate::failure::Outcome;
use crate::scaffold::{
    Existing, Group, Kind, Name, NewApi, NewPolicy, NewTask, NewWebhook, Owner, Plural, Schedule,
    Version, create_api, create_policy, create_task, create_webhook,
};
use crate::ui::Ui;

#[derive(Debug, Subcommand)]
pub(crate) enum Arguments {
    /// Creates a custom resource, a controller, or both.
    Api(Api),
    /// Creates webhooks for a kind of the project or a built-in kind.
    Webhook(Webhook),
    /// Creates a task that runs by the clock, or once after the start.
    Task(Task),
    /// Creates an admission policy in CEL for a kind of the project or a built-in kind.
    Policy(Policy),
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

    /// The name of the controller, for a kind with several [default: the plural of the kind]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<Name>,

    /// Also create a controller of this kind that creates objects of the new kind and owns them; KIND.GROUP if several groups have it
    #[arg(long, value_name = "KIND")]
    owner: Option<Owner>,

    /// Overwrite files that exist, and create what was created before once more
    #[arg(long)]
    force: bool,

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
    force: Force,

    #[command(flatten)]
    crd: Definitions,

    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Force {
    /// Overwrite files that exist, and create what was created before once more
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Task {
    /// The name of the task, such as cleanup
    name: Name,

    /// Run the task at the start and then after each period, such as 90s, 5m or 1h30m
    #[arg(long, value_name = "PERIOD", value_parser = Schedule::every, conflicts_with = "cron")]
    every: Option<Schedule>,

    /// Run the task at the times of this schedule in cron form, such as "0 3 * * *", in UTC
    #[arg(long, value_name = "SCHEDULE", value_parser = cron)]
    cron: Option<Schedule>,

    /// Run the task on each replica [default: on the replica that leads]
    #[arg(long)]
    on_each_replica: bool,

    /// Overwrite files that exist
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    place: Place,
}

fn cron(text: &str) -> Result<Schedule, CronError> {
    let _: Cron = text.parse()?;
    Ok(Schedule::Cron(text.to_owned()))
}

#[derive(Debug, Args)]
pub(crate) struct Policy {
    /// The name of the policy, such as team-labels
    name: Name,

    /// The kind, such as Pod
    #[arg(long)]
    kind: Kind,

    /// The API group, if the kind exists in several
    #[arg(long)]
    group: Option<Group>,

    /// The version that the rules are for [default: the first version of the kind]
    #[arg(long)]
    version: Option<Version>,

    /// Overwrite files that exist
    #[arg(long)]
    force: bool,

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
                controller: api.controller
                    || (api.controller_name.is_some() && api.owner.is_none()),
                controller_name: api.controller_name,
                owner: api.owner,
                force: api.force,
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
                existing: Existing::by_force(webhook.force.force),
                definition: webhook.crd.read()?,
            };
            webhook
                .place
                .change(ui, NEXT, |tree| create_webhook(tree, &new))
        }
        Arguments::Task(task) => {
            let new = NewTask {
                name: task.name,
                schedule: task.every.or(task.cron).unwrap_or(Schedule::Once),
                on_each_replica: task.on_each_replica,
                force: task.force,
            };
            task.place.change(ui, NEXT, |tree| create_task(tree, &new))
        }
        Arguments::Policy(policy) => {
            let new = NewPolicy {
                name: policy.name,
                kind: policy.kind,
                group: policy.group,
                version: policy.version,
                definition: policy.crd.read()?,
                force: policy.force,
            };
            policy
                .place
                .change(ui, NEXT, |tree| create_policy(tree, &new))
        }
    }
}

const NEXT: &str = "next: make it yours, then `cargo test`";

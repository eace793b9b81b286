//! Deletes Deployments whose images are in no WhiteList of their namespace, or refuses them.

mod admission;
mod api;
mod image;
mod judge;
mod police;
mod record;
mod rule;

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::certificates::SharedAuthority;
use kubewright::controller;
use kubewright::prelude::*;

pub use api::{ListedImage, Offender, WhiteList, WhiteListSpec, WhiteListStatus};
use judge::Judge;
use police::Police;
use record::Record;
use rule::Rule;

/// Deletes Deployments whose images are in no WhiteList of their namespace.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only report: nothing is deleted, and the program has no permission to
    #[arg(long)]
    dry_run: bool,

    /// An image must be in every WhiteList of the namespace, instead of in any
    #[arg(long)]
    require_all: bool,

    /// Also refuse Deployments and Pods with illegal images before they are stored, as a webhook
    #[arg(long)]
    admission: bool,

    /// Look after this namespace alone
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
}

/// Defines the program.
pub fn app(options: Options, needs: &mut Needs) -> App {
    let Options {
        dry_run,
        require_all,
        admission,
        namespace,
    } = options;
    let scope = match &namespace {
        Some(name) => controller::Scope::all().in_namespace(name),
        None => controller::Scope::all(),
    };
    let judge = Judge {
        rule: if require_all {
            Rule::AllLists
        } else {
            Rule::AnyList
        },
        lists: needs.within(scope.clone()).cached(),
    };
    let deployments: Cached<Deployment> = needs.within(scope.clone()).cached();
    let record = Record {
        judge: judge.clone(),
        deployments: deployments.clone(),
        stored: needs.within(scope.clone()).reader(),
        statuses: needs.within(scope.clone()).status_writer(),
        events: needs.recorder(),
    };
    let mut app = App::new("image-police")
        .version(env!("CARGO_PKG_VERSION"))
        .crd::<WhiteList>()
        .controller(record.controller(&scope))
        .install(Install::in_namespace("image-police").image("kubewright.example/image-police"));
    if !dry_run {
        let police = Police {
            judge: judge.clone(),
            deleter: needs.within(scope.clone()).deleter(),
        };
        app = app.controller(police.controller(&deployments, &scope));
    }
    if admission {
        let authority = SharedAuthority::in_secret("image-police-certificates");
        app = app
            .webhooks(admission::webhooks(&judge, namespace))
            .certificates(authority.for_service("image-police"));
    }
    app
}

//! Runs Valkey caches: instances, passwords that are replaced, backups, and upgrades in order.

pub mod api;

mod admission;
mod backups;
mod instances;
mod meters;
mod names;
mod operator;
mod passwords;
mod report;
mod settings;

use kubewright::controller::{LeaderElection, Scope};
use kubewright::prelude::*;

use backups::Backups;
use instances::Instances;
use meters::Meters;
use operator::Operator;
use passwords::Passwords;
use settings::Settings;

/// Runs Valkey caches.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Look after this namespace alone
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,

    /// Also install a ServiceMonitor and alert rules, for a cluster with the Prometheus operator
    #[arg(long)]
    monitored: bool,
}

/// Defines the program: what it does, and how it runs in a cluster.
pub fn app(options: Options, needs: &mut Needs) -> App {
    let mut election = LeaderElection::by_lease("valkey-operator");
    if let Some(namespace) = &options.namespace {
        // Programs that look after one namespace elect a leader in it.
        election = election.in_namespace(namespace.as_str());
    }
    let mut install = Install::in_namespace("valkey-operator")
        .image("kubewright.example/valkey-operator")
        .replicas(2)
        .aggregated_roles();
    if options.monitored {
        install = install.monitored().alert_rules();
    }
    let certificates = SharedAuthority::in_secret("valkey-operator-certificates");
    operator(options, needs)
        .certificates(certificates.for_service("valkey-operator"))
        .leader_election(election)
        .secure_metrics()
        .install(install)
}

/// Defines what the program does. A test of it alone can let years pass: no certificate expires, and no other replica leads.
pub fn operator(options: Options, needs: &mut Needs) -> App {
    let scope = match options.namespace {
        Some(namespace) => Scope::all().in_namespace(namespace),
        None => Scope::all(),
    };
    // Nothing without the label is read or kept in memory, above all no Secret.
    let own = scope.clone().labelled(names::SELECTOR);
    let operator = Operator {
        finalizer: needs
            .within(scope.clone())
            .finalizer("valkey.example.com/final-backup"),
        statuses: needs.within(scope.clone()).status_writer(),
        events: needs.within(scope.clone()).recorder(),
        passwords: Passwords::new(needs, &own),
        settings: Settings::new(needs, &own),
        instances: Instances::new(needs, &own),
        backups: Backups::new(needs, &own),
        meters: Meters::new(needs),
    };
    App::new("valkey-operator")
        .version(env!("CARGO_PKG_VERSION"))
        .webhooks(admission::webhooks())
        .controller(operator.controller(&scope, &own))
}

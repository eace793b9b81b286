//! A webhook that looks after its certificates itself, with short lives: a replica of several.

use std::process::ExitCode;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_certificates::{SharedAuthority, Timing};
use kubewright_manager::{App, Needs};
use kubewright_webhook::{
    Change, Operation::Create, Review, Validated, Webhooks, deny, validating,
};
use replicas::rotation::{ANSWER, CONFIGURATION, SECRET};

/// Answers calls of the API server.
#[derive(Clone, Copy, clap::Args)]
struct Options {
    /// How long an API server may take to go by what was published, in milliseconds
    #[arg(long, default_value_t = 50)]
    settle: u64,
}

async fn answer(_: Change<ConfigMap>, _: Review) -> Validated {
    deny(ANSWER)
}

fn app(options: Options, _: &mut Needs) -> App {
    // As short as certificates can be, whose dates are whole seconds: they are renewed all the time.
    let timing = Timing::new()
        .leaf(Duration::from_secs(4))
        .authority(Duration::from_mins(10))
        .skew(Duration::from_secs(1))
        .settle(Duration::from_millis(options.settle))
        .spread(Duration::from_millis(20));
    let authority = SharedAuthority::in_secret(SECRET)
        .for_service("rotation")
        .also_for(["127.0.0.1"])
        .timing(timing);
    App::new("rotation")
        .webhook_configuration_name(CONFIGURATION)
        .webhooks(
            Webhooks::new("rotation.example.com").with(validating("calls", answer).on([Create])),
        )
        .certificates(authority)
}

fn main() -> ExitCode {
    kubewright_manager::run_with(app)
}

//! Annotates every pod that is created.

use k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::webhook::Version;

/// Annotates every pod that is created.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// The text of the annotation
    #[arg(long, default_value = "welcome")]
    text: String,
}

/// Defines the program.
pub fn app(options: Options, _needs: &mut Needs) -> App {
    App::new("annotate-pod")
        .version(env!("CARGO_PKG_VERSION"))
        .webhook_configuration_name("test-mutating-webhook")
        .webhooks(webhooks(options))
        .install(install())
}

/// The installation, with a certificate from a Secret that the operator provides.
fn install() -> Install {
    Install::in_namespace("annotate-pod")
        .image("kubewright.example/annotate-pod")
        .certificates_in_secret("annotate-pod-certificates")
}

/// The webhook alone, for tests without a program.
pub fn webhooks(options: Options) -> Webhooks {
    Webhooks::new("example.com").with(
        mutating("test-mutating-webhook", Annotate { text: options.text })
            .at("/mutate")
            .on([Create])
            .review_versions([Version::V1, Version::V1Beta1]),
    )
}

/// Sets the annotation `mutate`.
struct Annotate {
    text: String,
}

impl Mutate<Pod> for Annotate {
    async fn mutate(&self, change: Change<Pod>, _: Review) -> Mutated<Pod> {
        let mut pod = change.into_object();
        pod.annotations_mut()
            .insert("mutate".to_owned(), self.text.clone());
        Ok(pod)
    }
}

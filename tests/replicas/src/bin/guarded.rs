//! A webhook that labels pods, to be run with as little memory as a container has.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::Pod;
use kubewright_manager::{App, Needs};
use kubewright_webhook::{Change, Mutated, Operation::Create, Review, Webhooks, mutating};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

async fn label(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), "blue".to_owned());
    Ok(pod)
}

fn app(_: &mut Needs) -> App {
    let webhooks = Webhooks::new("guarded.example.com");
    App::new("guarded").webhooks(webhooks.with(mutating("pods", label).on([Create])))
}

fn main() -> ExitCode {
    kubewright_manager::run(app)
}

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Change, Mutated, Review, validating};

async fn handler(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    Ok(change.into_object())
}

fn main() {
    validating("pods", handler);
}

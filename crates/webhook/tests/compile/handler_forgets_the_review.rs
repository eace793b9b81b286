use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Change, Mutated, mutating};

async fn handler(change: Change<Pod>) -> Mutated<Pod> {
    Ok(change.into_object())
}

fn main() {
    mutating("pods", handler);
}

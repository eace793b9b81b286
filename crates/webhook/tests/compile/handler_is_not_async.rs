use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Change, Review, Validated, validating};

fn handler(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn main() {
    validating("pods", handler);
}

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{Review, Validated, validating};

async fn handler(_: Pod, _: Review) -> Validated {
    Ok(())
}

fn main() {
    validating("pods", handler);
}

use kubewright_webhook::{Change, Review, Validated, validating};

struct NotAnObject;

async fn handler(_: Change<NotAnObject>, _: Review) -> Validated {
    Ok(())
}

fn main() {
    validating("pods", handler);
}

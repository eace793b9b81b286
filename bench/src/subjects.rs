//! The webhooks that are measured, as their users would write them.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_core::ResourceExt as _;
use kube_core::metadata::PartialObjectMeta;
use kubewright_server::{Body, memory_limit};
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, deny, mutating, validating,
};
use tower::Service;

use crate::echo;

/// What the server of the webhooks serves: the webhooks, and beside them a constant answer.
pub(crate) fn service()
-> impl Service<Request<Body>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send {
    let webhooks = webhooks();
    tower::service_fn(move |request: Request<Body>| {
        let mut webhooks = webhooks.clone();
        async move {
            match request.uri().path() {
                "/server" => echo::answer(request).await,
                _ => webhooks.call(request).await,
            }
        }
    })
}

/// All of them, each on the path of its case.
fn webhooks() -> Webhooks {
    let memory = memory_limit().unwrap_or(usize::MAX);
    Webhooks::new("bench.example.com")
        .memory((memory / 8 * 3).min(256 << 20))
        .with(mutating("metadata", label_metadata).at("/metadata"))
        .with(mutating("typed", label_pod).at("/typed"))
        .with(validating("validate", pinned_images).at("/validate"))
        .with(mutating("configmap", annotate_config_map).at("/configmap"))
}

async fn label_metadata(
    change: Change<PartialObjectMeta<Pod>>,
    _: Review,
) -> Mutated<PartialObjectMeta<Pod>> {
    let mut pod = change.into_object();
    pod.labels_mut()
        .insert("team".to_owned(), "blue".to_owned());
    Ok(pod)
}

async fn label_pod(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    pod.labels_mut()
        .insert("team".to_owned(), "blue".to_owned());
    if let Some(spec) = &mut pod.spec {
        spec.termination_grace_period_seconds = Some(45);
    }
    Ok(pod)
}

async fn pinned_images(change: Change<Pod>, _: Review) -> Validated {
    let pod = change.into_object();
    for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
        let image = container.image.as_deref().unwrap_or_default();
        if !image.contains("@sha256:") {
            return deny(format_args!(
                "container {}: image {image} has no digest",
                container.name
            ));
        }
    }
    Ok(())
}

async fn annotate_config_map(change: Change<ConfigMap>, _: Review) -> Mutated<ConfigMap> {
    let mut map = change.into_object();
    map.annotations_mut()
        .insert("checked".to_owned(), "true".to_owned());
    Ok(map)
}

//! The same rule as a webhook, which refuses before anything is stored.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kubewright::prelude::*;
use kubewright::webhook::Scope;

use crate::judge::{Judge, pod};
use crate::rule::containers;

/// Refuses what has illegal images.
#[derive(Clone, Debug)]
struct Guard(Judge);

pub(crate) fn webhooks(judge: &Judge, namespace: Option<String>) -> Webhooks {
    let guard = || Guard(judge.clone());
    // A cluster must be able to come up without the police, and so must the police.
    let judged = Selector::not_in(
        "kubernetes.io/metadata.name",
        ["kube-system", "image-police"],
    );
    let judged = match namespace {
        Some(name) => judged.and_in("kubernetes.io/metadata.name", [name]),
        None => judged,
    };
    // No pod is created with ephemeral containers: `kubectl debug` adds them to a pod that runs.
    let debug = Rule::new([Update], "", "v1", "pods/ephemeralcontainers").scope(Scope::Namespaced);
    Webhooks::new("police.foo.bar")
        .with(
            validating::<Deployment, _>("deployments", guard())
                .on([Create, Update])
                .in_namespaces(judged.clone()),
        )
        .with(
            validating::<Pod, _>("pods", guard())
                .on([Create, Update])
                .rule(debug)
                .in_namespaces(judged),
        )
}

impl Guard {
    async fn judge(
        &self,
        old: Option<&PodSpec>,
        new: Option<&PodSpec>,
        review: &Review,
    ) -> Validated {
        let (Some(namespace), Some(new)) = (review.namespace(), new) else {
            return Ok(());
        };
        // Who was let in is not locked out: controllers must be able to finish with it.
        if old.is_some_and(|old| containers(old).eq(containers(new))) {
            return Ok(());
        }
        match self.0.offence(namespace, new).await? {
            Some(offence) => deny(offence),
            None => Ok(()),
        }
    }
}

impl Validate<Deployment> for Guard {
    async fn validate(&self, change: Change<Deployment>, review: Review) -> Validated {
        let old = change.old().and_then(pod);
        self.judge(old, pod(change.object()), &review).await
    }
}

impl Validate<Pod> for Guard {
    async fn validate(&self, change: Change<Pod>, review: Review) -> Validated {
        let old = change.old().and_then(|pod| pod.spec.as_ref());
        self.judge(old, change.object().spec.as_ref(), &review)
            .await
    }
}

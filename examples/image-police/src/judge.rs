//! Who is judged by which lists.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::PodSpec;
use kubewright::controller::ReadError;
use kubewright::prelude::*;

use crate::api::WhiteList;
use crate::rule::{Offence, Rule};

/// Judges by the WhiteLists of a namespace.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) rule: Rule,
    pub(crate) lists: Cached<WhiteList>,
}

impl Judge {
    /// Lists the WhiteLists of a namespace: all of them, or an error. A caller that took an error for an empty list would delete every
    /// Deployment.
    pub(crate) async fn lists(&self, namespace: &str) -> Result<Vec<WhiteList>, ReadError> {
        self.lists.list_in(namespace).await
    }

    /// The first offence of what is to run in a namespace.
    pub(crate) async fn offence(
        &self,
        namespace: &str,
        pod: &PodSpec,
    ) -> Result<Option<Offence>, ReadError> {
        Ok(self.rule.offence(&self.lists(namespace).await?, pod))
    }

    /// The first offence of a Deployment. One that is being deleted has paid for it.
    pub(crate) fn offence_of(
        &self,
        lists: &[WhiteList],
        deployment: &Deployment,
    ) -> Option<Offence> {
        if deployment.metadata.deletion_timestamp.is_some() {
            return None;
        }
        self.rule.offence(lists, pod(deployment)?)
    }
}

/// What the pods of a Deployment are like.
pub(crate) fn pod(deployment: &Deployment) -> Option<&PodSpec> {
    deployment.spec.template.spec.as_ref()
}

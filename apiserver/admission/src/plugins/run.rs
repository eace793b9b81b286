//! The plugins of one server, run in their order before the webhooks.

use kubewright_apimachinery::status::Result;
use kubewright_pod_security::Configuration;

use super::selection::Enabled;
use super::{AdmissionPlugin, Memory, resource_quota};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::notes::Notes;

/// The enabled plugins, and what they remember between requests.
#[derive(Debug)]
pub(crate) struct Plugins {
    enabled: Enabled,
    memory: Memory,
}

impl Plugins {
    pub(crate) fn new(enabled: Enabled, pod_security: Configuration) -> Self {
        let memory = Memory::new(pod_security);
        Self { enabled, memory }
    }

    /// Whether a plugin runs.
    pub(crate) fn has(&self, plugin: AdmissionPlugin) -> bool {
        self.enabled.has(plugin)
    }

    /// Runs the plugins that may change the object.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the changes of some plugins in `attributes`.
    pub(crate) async fn mutate(
        &self,
        cluster: &dyn Cluster,
        attributes: &mut Attributes,
    ) -> Result<()> {
        for plugin in self.enabled() {
            plugin.admit(&self.memory, cluster, attributes).await?;
        }
        Ok(())
    }

    /// Runs the plugins that validate the final object.
    pub(crate) fn validate(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
        notes: &Notes,
    ) -> Result<()> {
        self.enabled()
            .try_for_each(|plugin| plugin.validate(&self.memory, cluster, attributes, notes))
    }

    /// Charges the request to the quotas of its namespace, when all else has admitted it.
    pub(crate) fn charge(&self, cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
        if !self.has(AdmissionPlugin::ResourceQuota) {
            return Ok(());
        }
        resource_quota::validate(&self.memory.quota_turn, cluster, attributes)
    }

    fn enabled(&self) -> impl Iterator<Item = AdmissionPlugin> {
        let all = AdmissionPlugin::ALL.into_iter();
        all.filter(|plugin| self.enabled.has(*plugin))
    }
}

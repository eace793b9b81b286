//! Which plugins a server runs, selected by the names that kube-apiserver has for them.

use std::fmt;
use std::str::FromStr;

use super::AdmissionPlugin;

/// The name of an admission plugin that this server does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAdmissionPlugin(String);

/// The plugins of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enabled(u32);

impl fmt::Display for AdmissionPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl FromStr for AdmissionPlugin {
    type Err = UnknownAdmissionPlugin;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|plugin| plugin.to_string() == name)
            .ok_or_else(|| UnknownAdmissionPlugin(name.to_owned()))
    }
}

impl fmt::Display for UnknownAdmissionPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = AdmissionPlugin::ALL.map(|plugin| plugin.to_string());
        write!(
            f,
            "this server has no admission plugin {:?}; choose from {}",
            self.0,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownAdmissionPlugin {}

impl Enabled {
    const fn bit(plugin: AdmissionPlugin) -> u32 {
        1 << plugin as u32
    }

    /// Runs a plugin.
    pub fn enable(&mut self, plugin: AdmissionPlugin) {
        self.0 |= Self::bit(plugin);
    }

    /// Does not run a plugin.
    pub fn disable(&mut self, plugin: AdmissionPlugin) {
        self.0 &= !Self::bit(plugin);
    }

    pub(crate) fn has(self, plugin: AdmissionPlugin) -> bool {
        self.0 & Self::bit(plugin) != 0
    }
}

impl Default for Enabled {
    fn default() -> Self {
        let defaults = AdmissionPlugin::ALL.into_iter();
        Self(
            defaults
                .filter(|plugin| plugin.is_default())
                .fold(0, |all, plugin| all | Self::bit(plugin)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_is_found_by_its_name() {
        for plugin in AdmissionPlugin::ALL {
            assert_eq!(plugin.to_string().parse(), Ok(plugin));
        }
        let unknown = "AlwaysDeny".parse::<AdmissionPlugin>().unwrap_err();
        let message = unknown.to_string();
        assert!(
            message.starts_with("this server has no admission plugin \"AlwaysDeny\"; choose from NamespaceLifecycle, "),
            "{message}"
        );
    }

    #[test]
    fn all_plugins_run_by_default_but_those_that_envtest_and_clusters_leave_off() {
        let mut enabled = Enabled::default();
        for plugin in AdmissionPlugin::ALL {
            assert_eq!(enabled.has(plugin), plugin.is_default(), "{plugin}");
        }
        assert!(!enabled.has(AdmissionPlugin::ServiceAccount));
        assert!(!enabled.has(AdmissionPlugin::DenyServiceExternalIPs));
        enabled.enable(AdmissionPlugin::ServiceAccount);
        enabled.disable(AdmissionPlugin::Priority);
        assert!(enabled.has(AdmissionPlugin::ServiceAccount));
        assert!(!enabled.has(AdmissionPlugin::Priority));
        assert!(enabled.has(AdmissionPlugin::RuntimeClass));
    }
}

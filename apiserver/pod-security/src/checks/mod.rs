//! The checks of each level and version, in the order in which their findings are told.

mod app_armor;
mod capabilities;
mod host;
mod privileges;
mod proc_mount;
mod run_as;
mod se_linux;
mod seccomp;
mod sysctls;
mod volumes;
mod windows;

use crate::level::{Level, LevelVersion, Version};
use crate::pod::Pod;
use crate::violation::Violation;

/// What a pod violates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(Vec<Violation>);

type CheckPod = fn(&Pod<'_>) -> Option<Violation>;

/// One check: what it looks for, by the minor version since which it does.
struct Check {
    id: &'static str,
    level: Level,
    /// The check of the level below that this one includes.
    includes: &'static str,
    versions: &'static [(u64, CheckPod)],
}

impl Check {
    const fn baseline(id: &'static str, versions: &'static [(u64, CheckPod)]) -> Self {
        Self {
            id,
            level: Level::Baseline,
            includes: "",
            versions,
        }
    }

    const fn restricted(
        id: &'static str,
        includes: &'static str,
        versions: &'static [(u64, CheckPod)],
    ) -> Self {
        Self {
            id,
            level: Level::Restricted,
            includes,
            versions,
        }
    }

    fn at(&self, minor: u64) -> Option<CheckPod> {
        let mut versions = self.versions.iter().rev();
        versions
            .find(|(since, _)| *since <= minor)
            .map(|(_, check)| *check)
    }
}

/// Those of each level are sorted by their names: clients see the order.
const CHECKS: [Check; 19] = [
    Check::baseline("appArmorProfile", &[(0, app_armor::profile)]),
    Check::baseline("capabilities_baseline", &[(0, capabilities::baseline)]),
    Check::baseline("hostNamespaces", &[(0, host::namespaces)]),
    Check::baseline("hostPathVolumes", &[(0, volumes::host_path)]),
    Check::baseline("hostPorts", &[(0, host::ports)]),
    Check::baseline("hostProbesAndHostLifecycle", &[(34, host::probes)]),
    Check::baseline("privileged", &[(0, privileges::privileged)]),
    Check::baseline(
        "procMount",
        &[
            (0, proc_mount::always),
            (35, proc_mount::outside_user_namespaces),
        ],
    ),
    Check::baseline(
        "seLinuxOptions",
        &[(0, se_linux::options), (31, se_linux::options_since_31)],
    ),
    Check::baseline(
        "seccompProfile_baseline",
        &[(0, seccomp::annotations), (19, seccomp::baseline)],
    ),
    Check::baseline(
        "sysctls",
        &[
            (0, sysctls::since_0),
            (27, sysctls::since_27),
            (29, sysctls::since_29),
            (32, sysctls::since_32),
            (37, sysctls::since_37),
        ],
    ),
    Check::baseline("windowsHostProcess", &[(0, windows::host_process)]),
    Check::restricted(
        "allowPrivilegeEscalation",
        "",
        &[
            (8, privileges::escalation),
            (25, privileges::escalation_but_on_windows),
        ],
    ),
    Check::restricted(
        "capabilities_restricted",
        "capabilities_baseline",
        &[
            (22, capabilities::restricted),
            (25, capabilities::restricted_but_on_windows),
        ],
    ),
    Check::restricted(
        "procMount_restricted",
        "procMount",
        &[(35, proc_mount::always)],
    ),
    Check::restricted(
        "restrictedVolumes",
        "hostPathVolumes",
        &[(0, volumes::restricted)],
    ),
    Check::restricted(
        "runAsNonRoot",
        "",
        &[
            (0, run_as::non_root),
            (35, run_as::non_root_outside_user_namespaces),
        ],
    ),
    Check::restricted(
        "runAsUser",
        "",
        &[
            (23, run_as::user),
            (35, run_as::user_outside_user_namespaces),
        ],
    ),
    Check::restricted(
        "seccompProfile_restricted",
        "seccompProfile_baseline",
        &[
            (19, seccomp::restricted),
            (25, seccomp::restricted_but_on_windows),
        ],
    ),
];

/// What a pod violates of a level. `newest` is the minor version of Kubernetes that `latest` is.
pub fn violations(level: LevelVersion, newest: u32, pod: &Pod<'_>) -> Violations {
    let minor = match level.version {
        Version::Latest => newest.into(),
        Version::Minor(minor) => minor,
    };
    if level.level == Level::Privileged {
        return Violations::default();
    }
    let is_included = |check: &Check| {
        let mut others = CHECKS.iter();
        level.level == Level::Restricted
            && others.any(|other| other.includes == check.id && other.at(minor).is_some())
    };
    let checks = CHECKS.iter();
    let checks = checks.filter(|check| check.level <= level.level && !is_included(check));
    Violations(checks.filter_map(|check| check.at(minor)?(pod)).collect())
}

impl Violations {
    /// Whether the pod is as the level asks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reasons: `hostPort, privileged`.
    pub fn reason(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|found| found.reason.as_str()).collect();
        reasons.join(", ")
    }

    /// The reasons with their details: `host namespaces (hostPID=true), privileged (container "a" …)`.
    pub fn detail(&self) -> String {
        let details = self.0.iter().map(|found| match found.detail.as_str() {
            "" => found.reason.clone(),
            detail => format!("{} ({detail})", found.reason),
        });
        details.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;

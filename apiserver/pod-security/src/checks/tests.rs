//! Each check in its versions: the conformance cases compare the words with a real server.

use serde_json::{Value, json};

use super::{CHECKS, violations};
use crate::level::{Level, LevelVersion, Version};
use crate::pod::Pod;

fn reasons(level: Level, version: Version, spec: &Value) -> String {
    let metadata =
        json!({"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}});
    violations(
        LevelVersion { level, version },
        37,
        &Pod::new(&metadata, spec),
    )
    .reason()
}

#[test]
fn checks_are_sorted_within_their_level_and_their_versions_ascend() {
    assert!(CHECKS.is_sorted_by_key(|check| (check.level, check.id)));
    for check in &CHECKS {
        assert!(check.versions.is_sorted_by_key(|(since, _)| *since));
        let mut others = CHECKS.iter();
        assert!(check.includes.is_empty() || others.any(|other| other.id == check.includes));
    }
}

#[test]
fn a_restricted_check_takes_the_place_of_the_baseline_check_that_it_includes() {
    let spec = json!({
        "containers": [{"name": "c", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}],
        "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
    });
    let all = "restricted volume types, runAsNonRoot != true";
    assert_eq!(
        reasons(Level::Restricted, Version::Minor(0), &spec),
        format!("non-default capabilities, seccompProfile, {all}")
    );
    assert_eq!(
        reasons(Level::Restricted, Version::Minor(22), &spec),
        "allowPrivilegeEscalation != false, unrestricted capabilities, restricted volume types, runAsNonRoot != true, seccompProfile"
    );
    assert_eq!(
        reasons(Level::Baseline, Version::Latest, &spec),
        "non-default capabilities, hostPath volumes"
    );
    assert_eq!(reasons(Level::Privileged, Version::Latest, &spec), "");
}

#[test]
fn checks_come_and_become_milder_with_versions() {
    let baseline = |minor, spec: &Value| reasons(Level::Baseline, Version::Minor(minor), spec);
    let probe = json!({"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]});
    assert_eq!(
        [33, 34].map(|minor| baseline(minor, &probe)),
        ["", "probe or lifecycle host"]
    );
    let sysctl = json!({"securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}});
    assert_eq!(
        [31, 32].map(|minor| baseline(minor, &sysctl)),
        ["forbidden sysctls", ""]
    );
    let user = json!({"hostUsers": false, "securityContext": {"runAsUser": 0, "seccompProfile": {"type": "Localhost"}}});
    let restricted = |minor| reasons(Level::Restricted, Version::Minor(minor), &user);
    assert_eq!(
        [22, 23, 34, 35].map(restricted),
        ["", "runAsUser=0", "runAsUser=0", ""]
    );
}

//! Security contexts of pods and containers.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::paths::relative;
use super::platform::windows;
use crate::check::{Errors, one_of_if_set};
use crate::internal::shown;

/// The security context of a pod, at `path.securityContext`.
pub(super) fn pod(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let context = spec.at("securityContext");
    if context.is_null() {
        return;
    }
    let path = path.child("securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(context.int(field), &path.child(field), errors);
    }
    let groups = path.child("supplementalGroups");
    for (index, group) in context.list("supplementalGroups").iter().enumerate() {
        id(group.as_i64(), &groups.index(index), errors);
    }
    sysctls(context, spec, &path.child("sysctls"), errors);
    let one_of = |field, words: [&str; 2], errors: &mut Errors| {
        one_of_if_set(context, &path, field, &words, errors);
    };
    one_of("fsGroupChangePolicy", ["Always", "OnRootMismatch"], errors);
    seccomp(context, &path, errors);
    windows(context, &path, errors);
    app_armor(context, &path, errors);
    one_of("supplementalGroupsPolicy", ["Merge", "Strict"], errors);
    one_of("seLinuxChangePolicy", ["MountOption", "Recursive"], errors);
}

/// Processes cannot be shared with the host and within the pod at once.
pub(super) fn shared_processes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if spec.flag("hostPID") && spec.flag("shareProcessNamespace") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        let at = path.child("shareProcessNamespace");
        errors.push(FieldError::invalid(&at, true, detail));
    }
}

/// The security context of a container.
pub(super) fn container(context: &Value, host_users: bool, path: &Path<'_>, errors: &mut Errors) {
    if context.is_null() {
        return;
    }
    for field in ["runAsUser", "runAsGroup"] {
        id(context.int(field), &path.child(field), errors);
    }
    one_of_if_set(context, path, "procMount", &["Default", "Unmasked"], errors);
    if host_users && context.text("procMount") == "Unmasked" {
        errors.push(FieldError::invalid(
            &path.child("procMount"),
            "Unmasked",
            "`hostUsers` must be false to use `Unmasked`",
        ));
    }
    seccomp(context, path, errors);
    if context.at("allowPrivilegeEscalation").as_bool() == Some(false) {
        let mut refuse = |detail| {
            let value = shown("SecurityContext", context);
            errors.push(FieldError::invalid_shown(path, &value, detail));
        };
        if context.flag("privileged") {
            refuse("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        for capability in context.at("capabilities").list("add") {
            if capability == "CAP_SYS_ADMIN" {
                refuse(
                    "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
                );
            }
        }
    }
    windows(context, path, errors);
    app_armor(context, path, errors);
}

/// Checks the number of a user or a group.
pub(super) fn id(number: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    if let Some(number) = number.filter(|number| !(0..=i64::from(i32::MAX)).contains(number)) {
        let detail = "must be between 0 and 2147483647, inclusive";
        errors.push(FieldError::invalid(path, number, detail));
    }
}

fn sysctls(context: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let all = context.list("sysctls");
    for (index, sysctl) in all.iter().enumerate() {
        let at = path.index(index);
        let at = at.child("name");
        let name = sysctl.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else if !is_sysctl(name) {
            errors.push(FieldError::invalid(
                &at,
                name,
                "must have at most 253 characters and match regex \
                 ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ));
        } else if all[..index].iter().any(|other| other.text("name") == name) {
            errors.push(FieldError::duplicate(&at, name));
        }
        let dotted = name.replace('/', ".");
        if spec.flag("hostNetwork") && dotted.starts_with("net.") {
            let detail = "may not be specified when 'hostNetwork' is true";
            errors.push(FieldError::invalid(&at, name, detail));
        }
        let ipc = SHARED.contains(&dotted.as_str()) || dotted.starts_with("fs.mqueue.");
        if spec.flag("hostIPC") && ipc {
            let detail = "may not be specified when 'hostIPC' is true";
            errors.push(FieldError::invalid(&at, name, detail));
        }
    }
}

/// What the kernel keeps for each namespace of processes that talk to each other.
const SHARED: [&str; 9] = [
    "kernel.sem",
    "kernel.shm",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.msg",
    "kernel.msgmax",
    "kernel.msgmnb",
];

fn is_sysctl(name: &str) -> bool {
    let edge = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().copied().is_some_and(edge)
                && bytes.last().copied().is_some_and(edge)
                && bytes.iter().all(|b| edge(*b) || matches!(b, b'-' | b'_'))
        })
}

fn is_padded(profile: &Value) -> bool {
    let name = profile.text("localhostProfile");
    name.trim().len() != name.len()
}

fn seccomp(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    let profile = context.at("seccompProfile");
    if profile.is_null() {
        return;
    }
    let path = path.child("seccompProfile");
    let (kind, at) = (profile.text("type"), path.child("type"));
    match kind {
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => {
            let detail = "type is required when seccompProfile is set";
            errors.push(FieldError::required(&at, detail));
        }
        other => {
            let kinds = ["Localhost", "RuntimeDefault", "Unconfined"];
            errors.push(FieldError::not_supported(&at, other, &kinds));
        }
    }
    let local = path.child("localhostProfile");
    match (kind == "Localhost", profile.has("localhostProfile")) {
        (true, true) => relative(profile.text("localhostProfile"), &local, errors),
        (true, false) => {
            let detail = "must be set when seccomp type is Localhost";
            errors.push(FieldError::required(&local, detail));
        }
        (false, true) => {
            let detail = "can only be set when seccomp type is Localhost";
            let value = shown("SeccompProfile", profile);
            errors.push(FieldError::invalid_shown(&local, &value, detail));
        }
        (false, false) => {}
    }
}

fn app_armor(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    let profile = context.at("appArmorProfile");
    if profile.is_null() {
        return;
    }
    let path = path.child("appArmorProfile");
    let local = path.child("localhostProfile");
    match profile.text("type") {
        "Localhost" if is_padded(profile) => {
            let value = profile.text("localhostProfile");
            let detail = "must not be padded with whitespace";
            errors.push(FieldError::invalid(&local, value, detail));
        }
        "Localhost" if profile.text("localhostProfile").is_empty() => {
            let detail = "must be set when AppArmor type is Localhost";
            errors.push(FieldError::required(&local, detail));
        }
        "RuntimeDefault" | "Unconfined" if profile.has("localhostProfile") => {
            let detail = "can only be set when AppArmor type is Localhost";
            let value = shown("s", profile.at("localhostProfile"));
            errors.push(FieldError::invalid_shown(&local, &value, detail));
        }
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        "" => {
            let detail = "type is required when appArmorProfile is set";
            errors.push(FieldError::required(&path.child("type"), detail));
        }
        other => errors.push(FieldError::not_supported(
            &path.child("type"),
            other,
            &["Localhost", "RuntimeDefault", "Unconfined"],
        )),
    }
}

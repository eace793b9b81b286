//! What a pod may say only for one operating system, and the options of Windows.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, required, subdomain};

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// What linux has and Windows does not, in the order in which it is looked for.
const OF_LINUX: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const OF_LINUX_CONTAINERS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// The operating system of a pod, and what it does not know.
pub(super) fn system(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (system, at) = (spec.at("os"), path.child("os"));
    if !required(system, &at, "name", errors) {
        return;
    }
    match system.text("name") {
        "linux" => linux(spec, path, errors),
        "windows" => not_linux(spec, path, errors),
        other => errors.push(FieldError::not_supported(&at, other, &["linux", "windows"])),
    }
}

fn linux(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let detail = "windows options cannot be set for a linux pod";
    if spec.at("securityContext").has("windowsOptions") {
        let at = path.child("securityContext.windowsOptions");
        errors.push(FieldError::forbidden(&at, detail));
    }
    for list in LISTS {
        let path = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            if container.at("securityContext").has("windowsOptions") {
                let at = path.index(index);
                let at = at.child("securityContext.windowsOptions");
                errors.push(FieldError::forbidden(&at, detail));
            }
        }
    }
}

fn not_linux(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let detail = "cannot be set for a windows pod";
    let context = spec.at("securityContext");
    let of_context = path.child("securityContext");
    for field in OF_LINUX {
        if context.has(field) {
            errors.push(FieldError::forbidden(&of_context.child(field), detail));
        }
    }
    for field in ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] {
        let set = match field {
            "hostPID" | "hostIPC" => spec.flag(field),
            field => spec.has(field),
        };
        if set {
            errors.push(FieldError::forbidden(&path.child(field), detail));
        }
    }
    for list in LISTS {
        let path = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            let at = path.index(index);
            let at = at.child("securityContext");
            for field in OF_LINUX_CONTAINERS {
                if container.at("securityContext").has(field) {
                    errors.push(FieldError::forbidden(&at.child(field), detail));
                }
            }
        }
    }
}

/// The options that only Windows has.
pub(super) fn windows(options: &Value, path: &Path<'_>, errors: &mut Errors) {
    if options.has("gmsaCredentialSpecName") {
        let name = options.text("gmsaCredentialSpecName");
        subdomain(&path.child("gmsaCredentialSpecName"), name, errors);
    }
    for field in ["gmsaCredentialSpec", "runAsUserName"] {
        if options.has(field) && options.text(field).is_empty() {
            let detail = format!("{field} cannot be an empty string");
            errors.push(FieldError::invalid(&path.child(field), "", &detail));
        }
    }
}

/// Containers that run as processes of the host: all of a pod or none, and with the host's network.
pub(super) fn host_processes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let of = |holder: &Value| {
        let options = holder.at("securityContext").at("windowsOptions");
        options.at("hostProcess").as_bool()
    };
    let whole = of(spec);
    let (mut all, mut own) = (0, 0);
    for list in LISTS {
        let path = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            let said = of(container);
            if let (Some(whole), Some(said)) = (whole, said)
                && whole != said
            {
                let at = path.index(index);
                let at = at.child("securityContext.windowsOptions.hostProcess");
                let detail = format!(
                    "pod hostProcess value must be identical if both are specified, was {whole}"
                );
                errors.push(FieldError::invalid(&at, said, &detail));
            }
            all += 1;
            own += usize::from(said.or(whole) == Some(true));
        }
    }
    if own == 0 {
        return;
    }
    if own != all {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(path, "", detail));
    }
    if !spec.flag("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(
            &path.child("hostNetwork"),
            false,
            detail,
        ));
    }
}

//! What a pod may say only for one operating system, and the options of Windows.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::html_escaped;
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

/// The options of a security context that only Windows has.
pub(super) fn windows(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LARGEST_SPEC: usize = 64 * 1024;
    let field = "windowsOptions";
    let (options, path) = (context.at(field), path.child(field));
    if options.has("gmsaCredentialSpecName") {
        let name = options.text("gmsaCredentialSpecName");
        subdomain(&path.child("gmsaCredentialSpecName"), name, errors);
    }
    let spec = options.text("gmsaCredentialSpec");
    let problem = match spec.len() {
        _ if !options.has("gmsaCredentialSpec") => None,
        0 => Some("gmsaCredentialSpec cannot be an empty string"),
        length if length > LARGEST_SPEC => Some("gmsaCredentialSpec size must be under 64 KiB"),
        _ => None,
    };
    if let Some(problem) = problem {
        let at = path.child("gmsaCredentialSpec");
        errors.push(FieldError::invalid(&at, spec, problem));
    }
    if options.has("runAsUserName") {
        let (name, at) = (options.text("runAsUserName"), path.child("runAsUserName"));
        // It is shown as JSON: the real server has a pointer here.
        let shown = html_escaped(Value::from(name).to_string());
        for problem in windows_user(name) {
            errors.push(FieldError::invalid_shown(&at, &shown, problem));
        }
    }
}

/// What is wrong with the name of a user of Windows, with or without a domain before it.
fn windows_user(name: &str) -> Vec<&'static str> {
    const LONGEST_DOMAIN: usize = 256;
    const LONGEST_USER: usize = 104;
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string"];
    }
    if name.chars().any(|character| character.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters"];
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return vec!["runAsUserName cannot contain more than one backslash"],
    };
    let mut found = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= LONGEST_DOMAIN {
            found.push("runAsUserName's Domain length must be under 256 characters");
        }
        if !is_net_bios(domain) && !is_dns(domain) {
            found.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        found.push("runAsUserName's User cannot be empty");
    } else if user.len() > LONGEST_USER {
        found.push("runAsUserName's User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|character| matches!(character, '.' | ' ')) {
        found.push("runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(|character| "\"/\\:;|=,+*?<>@[]".contains(character)) {
        found.push(
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        );
    }
    found
}

fn is_net_bios(domain: &str) -> bool {
    const LONGEST: usize = 15;
    (1..=LONGEST).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|character| "\\/:*?\"<>|".contains(character))
}

/// Unlike other names, one with large letters is one, too.
fn is_dns(domain: &str) -> bool {
    const LONGEST_LABEL: usize = 63;
    domain.split('.').all(|label| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
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

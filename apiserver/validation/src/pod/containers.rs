//! Containers of all three sorts: names, ports, environment, mounts.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::context::Context;
use super::paths::no_backsteps;
use super::probes::{lifecycle, probe};
use super::references::{field_reference, resource_reference};
use super::resources::requirements;
use super::security;
use super::volumes::{Volumes, mounts};
use crate::check::{Errors, label, one_of, one_of_if_set, port, problems, required, subdomain};
use crate::formats;

/// The lists of a pod's containers.
pub const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

pub(super) fn containers(
    context: Context<'_>,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let all = context.spec.list("containers");
    if all.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    for (index, container) in all.iter().enumerate() {
        let at = path.index(index);
        common(container, context, volumes, &at, errors);
        let name = container.text("name");
        if all[..index].iter().any(|other| other.text("name") == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        running(container, context, &at, errors);
        restart_rules(container, &at, errors);
    }
    host_port_conflicts(all, path, errors);
}

pub(super) fn init_containers(
    context: Context<'_>,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let all = context.spec.list("initContainers");
    for (index, container) in all.iter().enumerate() {
        let at = path.index(index);
        common(container, context, volumes, &at, errors);
        if container.has("restartPolicy") {
            restart_rules(container, &at, errors);
        } else {
            restart_policy_of_rules(container, &at, errors);
        }
        let name = container.text("name");
        // Of these, only names that are there are remembered.
        let earlier = all[..index].iter().filter(|_| !name.is_empty());
        let mut taken = context.spec.list("containers").iter().chain(earlier);
        if taken.any(|other| other.text("name") == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        host_port_conflicts(std::slice::from_ref(container), path, errors);
        if container.text("restartPolicy") == "Always" {
            running(container, context, &at, errors);
            continue;
        }
        for field in std::iter::once("lifecycle").chain(PROBES) {
            if container.has(field) {
                errors.push(FieldError::forbidden(
                    &at.child(field),
                    "may not be set for init containers without restartPolicy=Always",
                ));
            }
        }
        let policies = at.child("resizePolicy");
        for (index, policy) in container.list("resizePolicy").iter().enumerate() {
            if policy.text("restartPolicy") == "RestartContainer" {
                errors.push(FieldError::invalid(
                    &policies.index(index).child("restartPolicy"),
                    "RestartContainer",
                    "must not be set to 'RestartContainer' for non-sidecar initContainers",
                ));
            }
        }
    }
}

pub(super) fn ephemeral(
    context: Context<'_>,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let spec = context.spec;
    let all = spec.list("ephemeralContainers");
    let others = || {
        let running = spec.list("containers").iter();
        running.chain(spec.list("initContainers"))
    };
    for (index, container) in all.iter().enumerate() {
        let at = path.index(index);
        common(container, context, volumes, &at, errors);
        image_blanks(container, &at, errors);
        let name = container.text("name");
        if others()
            .chain(&all[..index])
            .any(|other| other.text("name") == name)
        {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others().any(|other| other.text("name") == target) {
            let at = at.child("targetContainerName");
            errors.push(FieldError::not_found(&at, target));
        }
        let detail = "cannot be set for an Ephemeral Container";
        for field in [
            "ports",
            "resources",
            "resizePolicy",
            "restartPolicy",
            "restartPolicyRules",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            let value = container.at(field);
            // Resources are a struct, which is there once one of its parts is; what else is empty is there.
            let there = match value {
                Value::Object(parts) if field == "resources" => {
                    parts.values().any(|part| !part.is_null())
                }
                value => !value.is_null(),
            };
            if there {
                errors.push(FieldError::forbidden(&at.child(field), detail));
            }
        }
        let mounts = at.child("volumeMounts");
        for (index, mount) in container.list("volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text(field).is_empty() {
                    let at = mounts.index(index);
                    errors.push(FieldError::forbidden(&at.child(field), detail));
                }
            }
        }
    }
}

/// Real pods refuse what templates tolerate for compatibility.
pub(super) fn image_blanks(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let image = container.text("image");
    if image.trim().len() != image.len() {
        errors.push(FieldError::invalid(
            &path.child("image"),
            image,
            "must not have leading or trailing whitespace",
        ));
    }
}

fn common(
    container: &Value,
    context: Context<'_>,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    if required(container, path, "name", errors) {
        label(&path.child("name"), container.text("name"), errors);
    }
    required(container, path, "image", errors);
    let policies = ["File", "FallbackToLogsOnError"];
    one_of(
        container,
        path,
        "terminationMessagePolicy",
        &policies,
        errors,
    );
    ports(container.list("ports"), &path.child("ports"), errors);
    environment(container.list("env"), &path.child("env"), errors);
    environment_from(container.list("envFrom"), &path.child("envFrom"), errors);
    mounts(container, volumes, path, errors);
    let policies = ["Always", "IfNotPresent", "Never"];
    one_of(container, path, "imagePullPolicy", &policies, errors);
    requirements(
        container.at("resources"),
        context.spec.list("resourceClaims"),
        &path.child("resources"),
        errors,
    );
    resize_policies(container, context, &path.child("resizePolicy"), errors);
    security::container(
        container.at("securityContext"),
        context.host_users,
        &path.child("securityContext"),
        errors,
    );
}

/// Whether a container starts again, and after which exit codes.
fn restart_rules(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    restart_policy_of_rules(container, path, errors);
    let rules = container.list("restartPolicyRules");
    let policies = ["Always", "Never", "OnFailure"];
    one_of_if_set(container, path, "restartPolicy", &policies, errors);
    let at = path.child("restartPolicyRules");
    if rules.len() > 20 {
        errors.push(FieldError::too_many(&at, rules.len(), 20));
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = at.index(index);
        let word = |holder: &Value, field: &str, words: &[&str], at: &Path<'_>| {
            let value = holder.text(field);
            (!words.contains(&value))
                .then(|| FieldError::not_supported(&at.child(field), value, words))
        };
        errors.extend(word(
            rule,
            "action",
            &["Restart", "RestartAllContainers"],
            &at,
        ));
        let (codes, at) = (rule.at("exitCodes"), at.child("exitCodes"));
        if codes.is_null() {
            errors.push(FieldError::required(&at, "must be specified"));
            continue;
        }
        errors.extend(word(codes, "operator", &["In", "NotIn"], &at));
        let values = codes.list("values").len();
        if values > 255 {
            errors.push(FieldError::too_many(&at.child("values"), values, 255));
        }
    }
}

fn restart_policy_of_rules(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let has_rules = !container.list("restartPolicyRules").is_empty();
    if has_rules && !container.has("restartPolicy") {
        let at = path.child("restartPolicy");
        let detail = "must specify restartPolicy when restart rules are used";
        errors.push(FieldError::required(&at, detail));
    }
}

/// What only containers that keep running may have.
fn running(container: &Value, context: Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    if container.has("lifecycle") {
        lifecycle(
            container.at("lifecycle"),
            context.grace_period,
            &path.child("lifecycle"),
            errors,
        );
    }
    for field in PROBES {
        if container.has(field) {
            let at = path.child(field);
            probe(
                container.at(field),
                field,
                context.grace_period,
                &at,
                errors,
            );
        }
    }
}

fn ports(ports: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, item) in ports.iter().enumerate() {
        let at = path.index(index);
        let name = item.text("name");
        if !name.is_empty() {
            let found = formats::port_name(name);
            if !found.is_empty() {
                problems(&at.child("name"), name, found, errors);
            } else if ports[..index]
                .iter()
                .any(|other| other.text("name") == name)
            {
                errors.push(FieldError::duplicate(&at.child("name"), name));
            }
        }
        match item.int("containerPort").unwrap_or(0) {
            0 => errors.push(FieldError::required(&at.child("containerPort"), "")),
            number => port(number, &at.child("containerPort"), errors),
        }
        let host = item.int("hostPort").unwrap_or(0);
        if host != 0 {
            port(host, &at.child("hostPort"), errors);
        }
        one_of(item, &at, "protocol", &["SCTP", "TCP", "UDP"], errors);
    }
}

fn host_port_conflicts(containers: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let at = path.index(index);
        let ports = at.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let number = port.int("hostPort").unwrap_or(0);
            if number == 0 {
                continue;
            }
            let (protocol, ip) = (port.text("protocol"), port.text("hostIP"));
            if !taken.insert((protocol, ip, number)) {
                let shown = format!("{protocol}/{ip}/{number}");
                let at = ports.index(index);
                errors.push(FieldError::duplicate(&at.child("hostPort"), shown));
            }
        }
    }
}

fn environment(variables: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, variable) in variables.iter().enumerate() {
        let at = path.index(index);
        let name = variable.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
        } else {
            problems(&at.child("name"), name, formats::variable(name), errors);
        }
        if variable.has("valueFrom") {
            value_from(variable, &at.child("valueFrom"), errors);
        }
    }
}

fn value_from(variable: &Value, path: &Path<'_>, errors: &mut Errors) {
    let source = variable.at("valueFrom");
    let mut sources = 0;
    if source.has("fieldRef") {
        sources += 1;
        field_reference(
            source.at("fieldRef"),
            &ENVIRONMENT,
            &path.child("fieldRef"),
            errors,
        );
    }
    if source.has("resourceFieldRef") {
        sources += 1;
        let at = path.child("resourceFieldRef");
        resource_reference(source.at("resourceFieldRef"), false, &at, errors);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if source.has(field) {
            sources += 1;
            let (reference, at) = (source.at(field), path.child(field));
            subdomain(&at.child("name"), reference.text("name"), errors);
            if required(reference, &at, "key", errors) {
                let key = reference.text("key");
                problems(&at.child("key"), key, formats::config_key(key), errors);
            }
        }
    }
    if source.has("fileKeyRef") {
        sources += 1;
        file_key(source.at("fileKeyRef"), &path.child("fileKeyRef"), errors);
    }
    let detail = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !variable.text("value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", detail));
}

fn file_key(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    if required(reference, path, "key", errors) {
        let key = reference.text("key");
        problems(&path.child("key"), key, formats::variable(key), errors);
    }
    if required(reference, path, "volumeName", errors) {
        label(
            &path.child("volumeName"),
            reference.text("volumeName"),
            errors,
        );
    }
    if required(reference, path, "path", errors) {
        no_backsteps(reference.text("path"), &path.child("path"), errors);
    }
}

/// Variables that come from files need a volume of the pod that its containers write.
pub(super) fn file_key_volumes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for list in CONTAINERS {
        let containers = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            let at = containers.index(index);
            let variables = at.child("env");
            for (index, variable) in container.list("env").iter().enumerate() {
                let reference = variable.at("valueFrom").at("fileKeyRef");
                if reference.is_null() {
                    continue;
                }
                let name = reference.text("volumeName");
                let mut volumes = spec.list("volumes").iter().rev();
                let found = volumes.find(|volume| volume.text("name") == name);
                let at = variables.index(index);
                let at = at.child("valueFrom.fileKeyRef.volumeName");
                match found {
                    None => errors.push(FieldError::not_found(&at, name)),
                    Some(volume) if !volume.has("emptyDir") => {
                        let detail = "referenced volume must be of type emptyDir";
                        errors.push(FieldError::invalid(&at, name, detail));
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

const ENVIRONMENT: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn environment_from(sources: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, source) in sources.iter().enumerate() {
        let at = path.index(index);
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            problems(
                &at.child("prefix"),
                prefix,
                formats::variable(prefix),
                errors,
            );
        }
        let mut count = 0;
        for field in ["configMapRef", "secretRef"] {
            if source.has(field) {
                count += 1;
                let (reference, at) = (source.at(field), at.child(field));
                if required(reference, &at, "name", errors) {
                    subdomain(&at.child("name"), reference.text("name"), errors);
                }
            }
        }
        let detail = match count {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(path, "", detail));
    }
}

fn resize_policies(container: &Value, context: Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    let policies = container.list("resizePolicy");
    for (index, policy) in policies.iter().enumerate() {
        let name = policy.text("resourceName");
        if policies[..index]
            .iter()
            .any(|other| other.text("resourceName") == name)
        {
            errors.push(FieldError::duplicate(&path.index(index), name));
        }
        for (value, words) in [
            (name, ["cpu", "memory"]),
            (
                policy.text("restartPolicy"),
                ["NotRequired", "RestartContainer"],
            ),
        ] {
            if value.is_empty() {
                errors.push(FieldError::required(path, ""));
            } else if !words.contains(&value) {
                errors.push(FieldError::not_supported(path, value, &words));
            }
        }
        let restart = policy.text("restartPolicy");
        if context.restart_policy == "Never" && restart != "NotRequired" {
            errors.push(FieldError::invalid(
                path,
                restart,
                "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
            ));
        }
    }
}

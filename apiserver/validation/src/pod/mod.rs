//! Pods and pod templates.

mod containers;
mod context;
pub mod paths;
mod platform;
mod probes;
mod profiles;
mod projected;
mod references;
mod resources;
pub mod scheduling;
mod security;
mod volumes;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use context::Context;

use super::check::{
    Errors, annotations, ip, label, labels, one_of, problems, qualified_name, subdomain,
};

pub use containers::CONTAINERS;
pub use resources::{
    container_resource_name, is_overcommitted, of_all_containers, requirements, resource_name,
};
pub use scheduling::{node_selector, tolerations};

/// Checks a new pod.
pub fn create(pod: &Value, errors: &mut Errors) {
    whole(pod, errors);
    let spec = pod.at("spec");
    let path = Path::new("spec");
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "cannot be set on create";
        errors.push(FieldError::forbidden(
            &path.child("ephemeralContainers"),
            detail,
        ));
    }
    if !spec.text("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("nodeName"),
            "cannot be set until all schedulingGates have been cleared",
        ));
    }
    profiles::said_twice(pod, &path, errors);
}

/// Everything about a pod but its metadata.
pub fn whole(pod: &Value, errors: &mut Errors) {
    let metadata = pod.at("metadata");
    let spec = pod.at("spec");
    let path = Path::new("spec");
    pod_annotations(
        metadata.at("annotations"),
        spec,
        &Path::new("metadata.annotations"),
        errors,
    );
    pod_spec(spec, Some(metadata), &path, errors);
    if spec.text("serviceAccountName").is_empty() {
        let volumes = path.child("volumes");
        for (index, volume) in spec.list("volumes").iter().enumerate() {
            let at = volumes.index(index);
            let sources = at.child("projected.sources");
            let list = volume.at("projected").list("sources");
            for (index, source) in list.iter().enumerate() {
                if source.has("serviceAccountToken") {
                    errors.push(FieldError::forbidden(
                        &sources.index(index).child("serviceAccountToken"),
                        "must not be specified when serviceAccountName is not set",
                    ));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        let path = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            containers::image_blanks(container, &path.index(index), errors);
        }
    }
}

/// A template inside another object.
pub fn template(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    let spec = template.at("spec");
    template_metadata(template, path, errors);
    pod_spec(spec, None, &path.child("spec"), errors);
    profiles::said_twice(template, &path.child("spec"), errors);
    if !spec.list("ephemeralContainers").is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("spec.ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        ));
    }
}

/// Labels and annotations of a template.
pub fn template_metadata(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    let metadata = template.at("metadata");
    labels(metadata, path, "labels", errors);
    annotations(metadata, path, errors);
    let at = path.child("annotations");
    pod_annotations(metadata.at("annotations"), template.at("spec"), &at, errors);
}

/// A pod with this annotation mirrors one that its node has from elsewhere.
pub const MIRROR: &str = "kubernetes.io/config.mirror";

/// The path of errors about pods as a whole: upstream's has a part without a name.
pub const NAMELESS: Path<'static> = Path::new("[]");

/// Checks the annotations that mean something to pods.
pub fn pod_annotations(annotations: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    const SECCOMP: &str = "container.seccomp.security.alpha.kubernetes.io/";
    if annotations.has(MIRROR) && spec.text("nodeName").is_empty() {
        errors.push(FieldError::invalid(
            &path.key(MIRROR),
            annotations.text(MIRROR),
            "must set spec.nodeName if mirror pod annotation is set",
        ));
    }
    if annotations.has(COST) {
        let cost = annotations.text(COST);
        let canonical = cost
            .parse::<i32>()
            .is_ok_and(|number| number.to_string() == cost);
        if !canonical {
            let detail = "must be a 32bit integer";
            errors.push(FieldError::invalid(&path.key(COST), cost, detail));
        }
    }
    let Some(annotations) = annotations.as_object() else {
        return;
    };
    for (key, value) in annotations {
        app_armor(key, value, spec, path, errors);
        if key == SECCOMP_POD || key.starts_with(SECCOMP) {
            let profile = value.as_str().unwrap_or_default();
            let known = matches!(profile, "runtime/default" | "docker/default" | "unconfined")
                || profile.starts_with("localhost/");
            if !known {
                errors.push(FieldError::invalid(
                    &path.child(key),
                    profile,
                    "must be a valid seccomp profile",
                ));
            }
        }
    }
}

/// The older way to name a container's profile.
fn app_armor(key: &str, value: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(name) = key.strip_prefix("container.apparmor.security.beta.kubernetes.io/") else {
        return;
    };
    let mut all = ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|list| spec.list(list));
    if !all.any(|container| container.text("name") == name) {
        errors.push(FieldError::invalid(
            &path.key(key),
            name,
            "container not found",
        ));
    }
    let profile = value.as_str().unwrap_or_default();
    let known = matches!(profile, "" | "runtime/default" | "unconfined");
    if !known && !profile.starts_with("localhost/") {
        let detail = format!("invalid AppArmor profile name: {profile:?}");
        errors.push(FieldError::invalid(&path.key(key), profile, &detail));
    }
}

fn pod_spec(spec: &Value, metadata: Option<&Value>, path: &Path<'_>, errors: &mut Errors) {
    let context = Context {
        pod: metadata.map(|metadata| metadata.text("name")),
        grace_period: spec.int("terminationGracePeriodSeconds"),
        host_users: spec.at("hostUsers").as_bool().unwrap_or(true),
        restart_policy: spec.text("restartPolicy"),
        spec,
    };
    if context.grace_period.is_none() {
        let at = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::required(&at, ""));
    }
    let volumes = volumes::volumes(context, &path.child("volumes"), errors);
    let claims = spec.list("resourceClaims");
    if metadata.is_some_and(|metadata| metadata.at("annotations").has(MIRROR)) {
        for _ in claims {
            let detail = "static pods do not support resource claims";
            errors.push(FieldError::forbidden(&NAMELESS, detail));
        }
    } else {
        resources::pod_claims(claims, &path.child("resourceClaims"), errors);
    }
    containers::containers(context, &volumes, &path.child("containers"), errors);
    containers::init_containers(context, &volumes, &path.child("initContainers"), errors);
    containers::ephemeral(
        context,
        &volumes,
        &path.child("ephemeralContainers"),
        errors,
    );
    if spec.has("resources") {
        resources::whole_pod(spec, &path.child("resources"), errors);
    }
    host_ports(context, path, errors);
    let policies = ["Always", "OnFailure", "Never"];
    one_of(spec, path, "restartPolicy", &policies, errors);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(spec, path, "dnsPolicy", &policies, errors);
    labels(spec, path, "nodeSelector", errors);
    security::pod(spec, path, errors);
    security::shared_processes(spec, path, errors);
    scheduling::affinity(spec.at("affinity"), &path.child("affinity"), errors);
    dns(spec, &path.child("dnsConfig"), errors);
    let gates = path.child("readinessGates");
    for (index, gate) in spec.list("readinessGates").iter().enumerate() {
        let at = gates.index(index);
        qualified_name(
            &at.child("conditionType"),
            gate.text("conditionType"),
            errors,
        );
    }
    scheduling::gates(spec, &path.child("schedulingGates"), errors);
    scheduling::spread(spec, &path.child("topologySpreadConstraints"), errors);
    platform::host_processes(spec, path, errors);
    if !context.host_users {
        own_users(spec, path, errors);
    }
    host_name_override(spec, path, errors);
    for field in ["serviceAccountName", "nodeName"] {
        subdomain_if_set(spec, path, field, errors);
    }
    if let Some(deadline) = spec.int("activeDeadlineSeconds")
        && !(1..=i64::from(i32::MAX)).contains(&deadline)
    {
        errors.push(FieldError::invalid(
            &path.child("activeDeadlineSeconds"),
            deadline,
            "must be between 1 and 2147483647, inclusive",
        ));
    }
    for field in ["hostname", "subdomain"] {
        let value = spec.text(field);
        if !value.is_empty() {
            label(&path.child(field), value, errors);
        }
    }
    scheduling::tolerations(spec, &path.child("tolerations"), errors);
    host_aliases(spec, &path.child("hostAliases"), errors);
    subdomain_if_set(spec, path, "priorityClassName", errors);
    if spec.has("runtimeClassName") {
        let class = spec.text("runtimeClassName");
        subdomain(&path.child("runtimeClassName"), class, errors);
    }
    preemption(spec, path, errors);
    overhead(spec, path, errors);
    if spec.has("os") {
        platform::system(spec, path, errors);
    }
    containers::file_key_volumes(spec, path, errors);
}

/// What a pod with users of its own cannot have.
fn own_users(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let detail = "when `hostUsers` is false";
    for (field, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec.flag(field) {
            errors.push(FieldError::forbidden(&path.child(shown), detail));
        }
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let at = path.child(list);
        for (index, container) in spec.list(list).iter().enumerate() {
            if !container.list("volumeDevices").is_empty() {
                let at = at.index(index);
                errors.push(FieldError::forbidden(&at.child("volumeDevices"), detail));
            }
        }
    }
}

/// A host name in the place of the one that the pod's name gives.
fn host_name_override(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LONGEST: usize = 64;
    if !spec.has("hostnameOverride") {
        return;
    }
    let (name, at) = (
        spec.text("hostnameOverride"),
        path.child("hostnameOverride"),
    );
    for field in ["setHostnameAsFQDN", "hostNetwork"] {
        if spec.flag(field) {
            let detail = format!("may not be specified when {field} is true");
            errors.push(FieldError::forbidden(&at, &detail));
        }
    }
    if name.len() > LONGEST {
        errors.push(FieldError::too_long(&at, LONGEST));
    }
    subdomain(&at, name, errors);
}

/// What pods and their classes say of preemption; an empty text is a missing one.
pub fn preemption(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    if holder.has("preemptionPolicy") {
        let policies = ["PreemptLowerPriority", "Never"];
        one_of(holder, path, "preemptionPolicy", &policies, errors);
    }
}

fn subdomain_if_set(spec: &Value, path: &Path<'_>, field: &str, errors: &mut Errors) {
    let value = spec.text(field);
    if !value.is_empty() {
        subdomain(&path.child(field), value, errors);
    }
}

fn overhead(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if spec.has("overhead") {
        let limits = serde_json::json!({ "limits": spec.at("overhead") });
        requirements(&limits, &[], &path.child("overhead"), errors);
    }
}

fn host_ports(context: Context<'_>, path: &Path<'_>, errors: &mut Errors) {
    if !context.spec.flag("hostNetwork") {
        return;
    }
    let containers = path.child("containers");
    for (index, container) in context.spec.list("containers").iter().enumerate() {
        let at = containers.index(index);
        let ports = at.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let host = port.int("hostPort").unwrap_or(0);
            let own = port.int("containerPort").unwrap_or(0);
            if (context.pod.is_some() || host != 0) && host != own {
                errors.push(FieldError::invalid(
                    &ports.index(index).child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                ));
            }
        }
    }
}

fn host_aliases(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, alias) in spec.list("hostAliases").iter().enumerate() {
        let at = path.index(index);
        ip(alias.text("ip"), &at.child("ip"), errors);
        let names = at.child("hostnames");
        for (index, name) in alias.list("hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            subdomain(&names.index(index), name, errors);
        }
    }
}

fn dns(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let config = spec.at("dnsConfig");
    let servers = config.list("nameservers");
    if spec.text("dnsPolicy") == "None" {
        if config.is_null() {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push(FieldError::required(path, detail));
            return;
        }
        if servers.is_empty() {
            errors.push(FieldError::required(
                &path.child("nameservers"),
                "must provide at least one DNS nameserver when `dnsPolicy` is None",
            ));
            return;
        }
    }
    if config.is_null() {
        return;
    }
    let at = path.child("nameservers");
    if servers.len() > 3 {
        errors.push(FieldError::invalid(
            &at,
            config.at("nameservers").clone(),
            "must not have more than 3 nameservers",
        ));
    }
    for (index, server) in servers.iter().enumerate() {
        let server = server.as_str().unwrap_or_default();
        ip(server, &at.index(index), errors);
    }
    let searches = config.list("searches");
    let at = path.child("searches");
    if searches.len() > 32 {
        errors.push(FieldError::invalid(
            &at,
            config.at("searches").clone(),
            "must not have more than 32 search paths",
        ));
    }
    let length: usize = searches
        .iter()
        .map(|search| search.as_str().map_or(0, str::len) + 1)
        .sum();
    if length > 2049 {
        errors.push(FieldError::invalid(
            &at,
            config.at("searches").clone(),
            "must not have more than 2048 characters (including spaces) in the search list",
        ));
    }
    for (index, search) in searches.iter().enumerate() {
        let search = search.as_str().unwrap_or_default();
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            let found = crate::formats::search_path(search);
            problems(&at.index(index), search, found, errors);
        }
    }
    let at = path.child("options");
    for (index, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            errors.push(FieldError::required(&at.index(index), "must not be empty"));
        }
    }
}

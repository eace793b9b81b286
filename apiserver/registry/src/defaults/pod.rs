//! Defaults of pods and of everything that holds a pod template.

use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};

use super::image::pull_policy;
use super::shared::{field_reference, requirements, resource_list};
use super::volumes;

/// Defaults of a pod: those of every pod spec, and those that only real pods get.
pub(crate) fn pod(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    pod_only(spec);
    pod_spec(spec);
    let grace = "terminationGracePeriodSeconds";
    // Templates keep what they say.
    if spec.int(grace).is_some_and(|seconds| seconds < 0) {
        spec.put(grace, 1);
    }
    if let Some(status) = object.part("status") {
        one_list_of_addresses(status);
        for list in [
            "containerStatuses",
            "ephemeralContainerStatuses",
            "initContainerStatuses",
        ] {
            for container in status.each(list) {
                resources_of_status(container);
            }
        }
        resources_of_status(status);
    }
}

/// What a status says that a pod or a container has.
fn resources_of_status(status: &mut Value) {
    if let Some(allocated) = status.existing("allocatedResources") {
        resource_list(allocated);
    }
    if let Some(resources) = status.existing("resources") {
        requirements(resources);
    }
}

/// The server's own type has the list alone, and the single address, where it says another one, in its place.
fn one_list_of_addresses(status: &mut Value) {
    let first = status.list("podIPs").first();
    let first = first.map_or("", |first| first.text("ip")).to_owned();
    let single = status.text("podIP").to_owned();
    if !single.is_empty() && single != first {
        status.put("podIPs", json!([{ "ip": single }]));
    } else if !first.is_empty() {
        status.put("podIP", first);
    }
}

/// Defaults of a template: the pod spec's, without those of real pods.
pub(crate) fn template(owner: &mut Value, field: &str) {
    let Some(template) = owner.part(field) else {
        return;
    };
    template.part("metadata");
    if let Some(spec) = template.part("spec") {
        pod_spec(spec);
    }
}

fn pod_only(spec: &mut Value) {
    let on_host = spec.flag("hostNetwork");
    for list in ["containers", "initContainers"] {
        for container in spec.each(list) {
            requests_from_limits(container);
            if on_host {
                for port in container.each("ports") {
                    if port.int("hostPort").unwrap_or(0) == 0 && port.has("containerPort") {
                        let number = port.at("containerPort").clone();
                        port.put("hostPort", number);
                    }
                }
            }
        }
    }
    spec.fill("enableServiceLinks", true);
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.existing("resources") else {
        return;
    };
    let Some(limits) = resources.map("limits").cloned() else {
        return;
    };
    if let Some(requests) = resources.part("requests").and_then(Value::as_object_mut) {
        for (name, quantity) in limits {
            requests.entry(name).or_insert(quantity);
        }
    }
}

fn pod_spec(spec: &mut Value) {
    spec.fill_text("dnsPolicy", "ClusterFirst");
    spec.fill_text("restartPolicy", "Always");
    spec.fill("securityContext", empty());
    spec.fill("terminationGracePeriodSeconds", 30);
    spec.fill_text("schedulerName", "default-scheduler");
    for volume in spec.each("volumes") {
        volumes::volume(volume);
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for item in spec.each(list) {
            container(item);
        }
    }
    if let Some(overhead) = spec.existing("overhead") {
        resource_list(overhead);
    }
    if let Some(resources) = spec.existing("resources") {
        requirements(resources);
    }
    // Deprecated alias: the API server always writes both.
    if spec.text("serviceAccountName").is_empty() && !spec.text("serviceAccount").is_empty() {
        let name = spec.at("serviceAccount").clone();
        spec.put("serviceAccountName", name);
    } else if spec.has("serviceAccountName")
        && spec.text("serviceAccount") != spec.text("serviceAccountName")
    {
        let name = spec.at("serviceAccountName").clone();
        spec.put("serviceAccount", name);
    }
}

fn container(container: &mut Value) {
    if container.text("imagePullPolicy").is_empty() {
        let policy = pull_policy(container.text("image"));
        container.put("imagePullPolicy", policy);
    }
    container.fill_text("terminationMessagePath", "/dev/termination-log");
    container.fill_text("terminationMessagePolicy", "File");
    for port in container.each("ports") {
        port.fill_text("protocol", "TCP");
    }
    for variable in container.each("env") {
        if let Some(source) = variable.existing("valueFrom") {
            field_reference(source);
            if let Some(key) = source.existing("fileKeyRef") {
                key.fill("optional", false);
            }
        }
    }
    if let Some(resources) = container.part("resources") {
        requirements(resources);
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.existing(probe) {
            self::probe(probe);
        }
    }
    if let Some(lifecycle) = container.existing("lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(hook) = lifecycle.existing(hook) {
                http_get(hook);
            }
        }
    }
}

fn probe(probe: &mut Value) {
    for (field, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if probe.int(field).unwrap_or(0) == 0 {
            probe.put(field, default);
        }
    }
    http_get(probe);
    if let Some(grpc) = probe.existing("grpc") {
        grpc.fill("service", "");
    }
}

fn http_get(handler: &mut Value) {
    if let Some(get) = handler.existing("httpGet") {
        get.fill_text("path", "/");
        get.fill_text("scheme", "HTTP");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pull_policy_follows_the_tag() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.14.2", "IfNotPresent"),
            ("reg.example.com:5000/app", "Always"),
            ("reg.example.com:5000/app:v1", "IfNotPresent"),
            ("app@sha256:0123", "IfNotPresent"),
            ("app:latest@sha256:0123", "IfNotPresent"),
            // A first part with a capital can be no part of a repository, and so is the registry.
            ("Upper/case", "Always"),
            ("lower/Case", "IfNotPresent"),
            ("", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}

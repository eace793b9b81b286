//! Pods: spec section E.2 and Kubernetes' own table of errors.

use super::samples::{Sample, pod, workload};
use super::*;

#[test]
fn pods_are_refused_with_the_api_servers_words() {
    let container = "/spec/containers/0";
    let web = json!({ "name": "web", "image": "x", "imagePullPolicy": "Always" });
    for (pointer, value, expected) in [
        (
            "/spec/containers",
            json!([]),
            "spec.containers: Required value",
        ),
        (
            "/spec/containers/0/name",
            Value::Null,
            "spec.containers[0].name: Required value",
        ),
        (
            "/spec/containers/0/image",
            Value::Null,
            "spec.containers[0].image: Required value",
        ),
        (
            "/spec/containers/1",
            web.clone(),
            "spec.containers[1].name: Duplicate value: \"web\"",
        ),
        (
            "/spec/containers/0/image",
            json!(" x"),
            "spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing whitespace",
        ),
        (
            "/spec/containers/0/imagePullPolicy",
            json!("Often"),
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Often\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ),
        (
            "/spec/containers/0/volumeMounts/0/name",
            json!("x"),
            "spec.containers[0].volumeMounts[0].name: Not found: \"x\"",
        ),
        (
            "/spec/containers/0/volumeMounts/1/mountPath",
            json!("/v"),
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/v\": must be unique",
        ),
        (
            "/spec/containers/0/ports/0/containerPort",
            json!(0),
            "spec.containers[0].ports[0].containerPort: Required value",
        ),
        (
            "/spec/containers/0/ports/0/containerPort",
            json!(65536),
            "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
        ),
        (
            "/spec/containers/0/ports/0/protocol",
            json!("tcp"),
            "spec.containers[0].ports[0].protocol: Unsupported value: \"tcp\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
        ),
        (
            "/spec/containers/0/ports/1",
            json!({ "name": "http", "containerPort": 81 }),
            "spec.containers[0].ports[1].name: Duplicate value: \"http\"",
        ),
        (
            "/spec/containers/0/env/0/name",
            json!(""),
            "spec.containers[0].env[0].name: Required value",
        ),
        (
            "/spec/containers/0/env/0/name",
            json!("A=B"),
            "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII characters other than '='",
        ),
        (
            "/spec/containers/0/env/1/value",
            json!("x"),
            "spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
        ),
        (
            "/spec/containers/0/env/1/valueFrom",
            json!({}),
            "spec.containers[0].env[1].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        (
            "/spec/containers/0/env/1/valueFrom/fieldRef/fieldPath",
            json!("spec.hostname"),
            "spec.containers[0].env[1].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.hostname\": error converting fieldPath: field label not supported: spec.hostname",
        ),
        (
            "/spec/containers/0/resources/requests/cpu",
            json!("2"),
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ),
        (
            "/spec/containers/0/livenessProbe/successThreshold",
            json!(2),
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
        ),
        (
            "/spec/containers/0/livenessProbe/exec",
            json!({ "command": ["a"] }),
            "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
        ),
        (
            "/spec/containers/0/livenessProbe/httpGet",
            Value::Null,
            "spec.containers[0].livenessProbe: Required value: must specify a handler type",
        ),
        (
            "/spec/containers/0/livenessProbe/httpGet/port",
            json!(0),
            "spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            "/spec/initContainers/0/livenessProbe",
            json!({ "exec": { "command": ["a"] } }),
            "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ),
        (
            "/spec/initContainers/0/name",
            json!("web"),
            "spec.initContainers[0].name: Duplicate value: \"web\"",
        ),
        (
            "/spec/volumes/2",
            json!({ "name": "v", "emptyDir": {} }),
            "spec.volumes[2].name: Duplicate value: \"v\"",
        ),
        (
            "/spec/volumes/2",
            json!({ "name": "w", "emptyDir": {}, "hostPath": { "path": "/a" } }),
            "spec.volumes[2].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            "/spec/volumes/2",
            json!({ "name": "w", "secret": {} }),
            "spec.volumes[2].secret.secretName: Required value",
        ),
        (
            "/spec/volumes/2",
            json!({ "name": "w", "hostPath": { "path": "/a/../b" } }),
            "spec.volumes[2].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
        ),
        (
            "/spec/restartPolicy",
            json!("Sometimes"),
            "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ),
        (
            "/spec/dnsPolicy",
            json!("None"),
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
        ),
        (
            "/spec/tolerations/0/effect",
            json!("NoSchedule"),
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        (
            "/spec/topologySpreadConstraints/0/maxSkew",
            json!(0),
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        ),
        (
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector/matchExpressions",
            json!([{ "key": "a", "operator": "In" }]),
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values: \
             Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            "/spec/securityContext",
            json!({ "runAsUser": -1 }),
            "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        ),
        (
            "/spec/activeDeadlineSeconds",
            json!(0),
            "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
        ),
        (
            "/spec/hostAliases",
            json!([{ "ip": "x" }]),
            "spec.hostAliases[0].ip: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            "/spec/ephemeralContainers",
            json!([{ "name": "d", "image": "a" }]),
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ),
    ] {
        assert_eq!(created(&pod(), pointer, value), [expected], "{pointer}");
    }
    let broken = created(
        &pod(),
        &format!("{container}/securityContext/privileged"),
        json!(true),
    );
    assert_eq!(
        broken,
        [
            "spec.containers[0].securityContext: Invalid value: {\"Capabilities\":{\"Add\":null,\"Drop\":[\"ALL\"]},\
             \"Privileged\":true,\"SELinuxOptions\":null,\"WindowsOptions\":null,\"RunAsUser\":1000,\"RunAsGroup\":null,\
             \"RunAsNonRoot\":null,\"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\
             \"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        ]
    );
}

#[test]
fn an_unknown_resource_is_named_twice() {
    // The request is there because a pod requests what it limits.
    let gpu = created(
        &pod(),
        "/spec/containers/0/resources/limits",
        json!({ "gpu": "1" }),
    );
    let expected = ["limits", "requests"].map(|list| {
        [
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ]
        .map(|why| {
            format!("spec.containers[0].resources.{list}[gpu]: Invalid value: \"gpu\": {why}")
        })
    });
    assert_eq!(gpu, expected.concat());
    assert_eq!(
        created(
            &pod(),
            "/spec/containers/0/resources/limits",
            json!({ "pods": "1" })
        ),
        [
            "spec.containers[0].resources.limits[pods]: Invalid value: \"pods\": must be a standard resource for containers",
            "spec.containers[0].resources.requests[pods]: Invalid value: \"pods\": must be a standard resource for containers",
        ]
    );
}

#[test]
fn devices_cannot_be_shared() {
    let resources = |limit: &str, request: &str| json!({ "limits": { "example.com/gpu": limit }, "requests": { "example.com/gpu": request } });
    let check = |value| created(&pod(), "/spec/containers/0/resources", value);
    assert_eq!(check(resources("1", "1")), [""; 0]);
    assert_eq!(
        check(resources("2", "1")),
        [
            "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 2"
        ]
    );
    assert_eq!(
        check(json!({ "requests": { "example.com/gpu": "1" } })),
        [
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"
        ]
    );
    assert_eq!(
        check(resources("500m", "500m")),
        [
            "spec.containers[0].resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer",
            "spec.containers[0].resources.requests[example.com/gpu]: Invalid value: \"500m\": must be an integer",
        ]
    );
}

#[test]
fn a_pod_can_change_its_images_and_little_else() {
    assert_eq!(
        updated(&pod(), "/spec/containers/0/image", json!("nginx:2")),
        [""; 0]
    );
    assert_eq!(
        updated(&pod(), "/metadata/labels", json!({ "new": "label" })),
        [""; 0]
    );
    assert_eq!(
        updated(&pod(), "/spec/activeDeadlineSeconds", json!(10)),
        [""; 0]
    );
    let toleration = json!({ "key": "b", "operator": "Exists" });
    assert_eq!(updated(&pod(), "/spec/tolerations/1", toleration), [""; 0]);
    assert_eq!(
        updated(&pod(), "/spec/tolerations", json!([])),
        [
            "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
        ]
    );
    assert_eq!(
        updated(
            &pod(),
            "/spec/containers/1",
            json!({ "name": "b", "image": "b" })
        ),
        ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    );
    let errors = updated(&pod(), "/spec/nodeName", json!("n"));
    assert_eq!(errors.len(), 1);
    let (text, diff) = errors[0].split_once('\n').unwrap();
    assert_eq!(
        text,
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
         `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
         tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    );
    assert!(diff.starts_with("@@ -"), "{diff}");
    assert!(
        diff.contains("\n- \"NodeName\": \"\",\n+ \"NodeName\": \"n\",\n"),
        "{diff}"
    );
}

#[test]
fn templates_are_checked_at_their_path() {
    let deployment: Sample = workload("Deployment");
    assert_eq!(
        created(
            &deployment,
            "/spec/template/spec/containers/0/image",
            Value::Null
        ),
        ["spec.template.spec.containers[0].image: Required value"]
    );
    // Only real pods mind blanks around an image.
    assert_eq!(
        created(
            &deployment,
            "/spec/template/spec/containers/0/image",
            json!(" ")
        ),
        [""; 0]
    );
    assert_eq!(
        created(
            &deployment,
            "/spec/template/spec/restartPolicy",
            json!("Never")
        ),
        [
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""
        ]
    );
}

#[test]
fn ports_on_the_host_do_not_clash() {
    let ports =
        json!([{ "containerPort": 80, "hostPort": 80 }, { "containerPort": 81, "hostPort": 80 }]);
    assert_eq!(
        created(&pod(), "/spec/containers/0/ports", ports)[0],
        "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//80\""
    );
}

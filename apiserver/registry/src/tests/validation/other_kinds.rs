//! Services, storage, configuration, access and networks.

use super::samples::{
    claim, config_map, ingress, network_policy, role, role_binding, secret, service, volume,
};
use super::*;

#[test]
fn services_are_refused_with_the_api_servers_words() {
    for (pointer, value, expected) in [
        ("/spec/ports", json!([]), "spec.ports: Required value"),
        (
            "/spec/ports/0/port",
            json!(0),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            "/spec/type",
            json!("Local"),
            "spec.type: Unsupported value: \"Local\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
        ),
        (
            "/spec/ports/0/nodePort",
            json!(30080),
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        (
            "/spec/sessionAffinity",
            json!("Always"),
            "spec.sessionAffinity: Unsupported value: \"Always\": supported values: \"ClientIP\", \"None\"",
        ),
        (
            "/spec/externalTrafficPolicy",
            json!("Local"),
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
        ),
        (
            "/spec/allocateLoadBalancerNodePorts",
            json!(true),
            "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
    ] {
        let errors = created(&service(), pointer, value);
        assert!(
            errors.contains(&expected.to_owned()),
            "{pointer}: {errors:?}"
        );
    }
    assert_eq!(
        created(
            &service(),
            "/spec/ports/1",
            json!({ "port": 81, "name": "b" })
        ),
        ["spec.ports[0].name: Required value"]
    );
    assert_eq!(
        created(&service(), "/spec/externalIPs", json!(["127.0.0.1"]))[0],
        "spec.externalIPs[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
    );
    let external = json!({ "type": "ExternalName" });
    assert_eq!(
        created(&service(), "/spec", external),
        ["spec.externalName: Required value"]
    );
}

#[test]
fn the_address_of_a_service_does_not_change() {
    let (group, version, kind, object) = service();
    let resource = resource(group, version, kind);
    let old = ready(group, version, kind, object);
    let mut new = changed(&old, "/spec/clusterIP", json!("10.0.0.8"));
    resource.prepare_for_update("", &mut new, &old);
    assert_eq!(
        messages(&resource.validate_update("", &new, &old).errors),
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.8\"]: may not change once set"]
    );
}

#[test]
fn sealed_configuration_stays_as_it_is() {
    let mut map = config_map();
    map.3["immutable"] = true.into();
    assert_eq!(
        updated(&map, "/data/a.b", json!("2")),
        ["data: Forbidden: field is immutable when `immutable` is set"]
    );
    assert_eq!(
        updated(&map, "/immutable", Value::Null),
        ["immutable: Forbidden: field is immutable when `immutable` is set"]
    );
    assert_eq!(
        created(&config_map(), "/data/c", json!("x")),
        ["data[c]: Invalid value: \"c\": duplicate of key present in binaryData"]
    );
    assert_eq!(
        created(&config_map(), "/data/a b", json!("x")),
        [
            "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' \
          (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        ]
    );
    let large = json!("x".repeat(1024 * 1024 + 1));
    assert_eq!(
        created(&config_map(), "/data/large", large)[0]
            .split_once(": ")
            .unwrap()
            .1,
        "Too long: may not be more than 1048576 bytes"
    );
}

#[test]
fn secrets_have_what_their_type_needs() {
    assert_eq!(
        created(&secret(), "/type", json!("kubernetes.io/tls")),
        [
            "data[tls.crt]: Required value",
            "data[tls.key]: Required value"
        ]
    );
    assert_eq!(
        created(
            &secret(),
            "/type",
            json!("kubernetes.io/service-account-token")
        ),
        ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]
    );
    assert_eq!(
        updated(&secret(), "/type", json!("other")),
        ["type: Invalid value: \"other\": field is immutable"]
    );
}

#[test]
fn claims_and_volumes_are_refused_with_the_api_servers_words() {
    for (sample, pointer, value, expected) in [
        (
            claim(),
            "/spec/accessModes",
            json!([]),
            "spec.accessModes: Required value: at least 1 access mode is required",
        ),
        (
            claim(),
            "/spec/accessModes",
            json!(["Any"]),
            "spec.accessModes: Unsupported value: \"Any\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\"",
        ),
        (
            claim(),
            "/spec/resources",
            json!({}),
            "spec.resources[storage]: Required value",
        ),
        (
            claim(),
            "/spec/resources/requests/storage",
            json!("0"),
            "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
        ),
        (
            volume(),
            "/spec/hostPath",
            Value::Null,
            "spec: Required value: must specify a volume type",
        ),
        (
            volume(),
            "/spec/capacity",
            json!({ "cpu": "1" }),
            "spec.capacity: Unsupported value: {\"cpu\":\"1\"}: supported values: \"storage\"",
        ),
    ] {
        assert_eq!(created(&sample, pointer, value), [expected], "{pointer}");
    }
    let errors = updated(&claim(), "/spec/resources/requests/storage", json!("2Gi"));
    assert_eq!(
        errors,
        [
            "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n\
             @@ -6,7 +6,7 @@\n  \"Resources\": {\n   \"Limits\": null,\n   \"Requests\": {\n-   \"storage\": \"1Gi\"\n\
             +   \"storage\": \"2Gi\"\n   }\n  },\n  \"VolumeName\": \"\",\n"
        ]
    );
    assert_eq!(updated(&claim(), "/spec/volumeName", json!("v")), [""; 0]);
}

#[test]
fn roles_and_bindings_are_refused_with_the_api_servers_words() {
    for (sample, pointer, value, expected) in [
        (
            role(),
            "/rules/0/verbs",
            json!([]),
            vec!["rules[0].verbs: Required value"],
        ),
        (
            role(),
            "/rules/0/resources",
            json!([]),
            vec![
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            role(),
            "/rules/0/nonResourceURLs",
            json!(["/x"]),
            vec![
                "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs",
                "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and non-resource URLs",
            ],
        ),
        (
            role_binding(),
            "/roleRef/kind",
            json!("X"),
            vec![
                "roleRef.kind: Unsupported value: \"X\": supported values: \"Role\", \"ClusterRole\"",
            ],
        ),
        (
            role_binding(),
            "/roleRef/name",
            json!(""),
            vec!["roleRef.name: Required value"],
        ),
        (
            role_binding(),
            "/subjects/0/kind",
            json!("Robot"),
            vec![
                "subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
            ],
        ),
    ] {
        assert_eq!(created(&sample, pointer, value), expected, "{pointer}");
    }
    assert_eq!(
        updated(&role_binding(), "/roleRef/name", json!("y")),
        [
            "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"y\"}: field is immutable"
        ]
    );
}

#[test]
fn networks_are_refused_with_the_api_servers_words() {
    let path = "/spec/rules/0/http/paths/0";
    for (sample, pointer, value, expected) in [
        (
            ingress(),
            "/spec".to_owned(),
            json!({}),
            "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
        ),
        (
            ingress(),
            format!("{path}/pathType"),
            Value::Null,
            "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified",
        ),
        (
            ingress(),
            format!("{path}/path"),
            json!("x"),
            "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path",
        ),
        (
            ingress(),
            "/spec/rules/0/host".to_owned(),
            json!("1.2.3.4"),
            "spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
        ),
        (
            ingress(),
            format!("{path}/backend"),
            json!({}),
            "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required",
        ),
        (
            network_policy(),
            "/spec/ingress/0/from/0".to_owned(),
            json!({}),
            "spec.ingress[0].from[0]: Required value: must specify a peer",
        ),
        (
            network_policy(),
            "/spec/ingress/0/from/0/ipBlock/except".to_owned(),
            json!(["11.0.0.0/16"]),
            "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`",
        ),
        (
            network_policy(),
            "/spec/ingress/0/ports/0/endPort".to_owned(),
            json!(79),
            "spec.ingress[0].ports[0].endPort: Invalid value: 79: must be greater than or equal to `port`",
        ),
    ] {
        assert_eq!(created(&sample, &pointer, value), [expected], "{pointer}");
    }
}

#[test]
fn the_smaller_kinds_have_their_rules() {
    let check = |group: &'static str, kind: &'static str, object: Value| {
        let object = ready(group, "v1", kind, object);
        messages(&resource(group, "v1", kind).validate(&object).errors)
    };
    for (group, kind, object, expected) in [
        (
            "coordination.k8s.io",
            "Lease",
            json!({ "metadata": { "name": "l" }, "spec": { "leaseDurationSeconds": 0 } }),
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        ),
        (
            "",
            "Event",
            json!({ "metadata": { "name": "e" }, "involvedObject": { "namespace": "x" } }),
            "involvedObject.namespace: Invalid value: \"x\": does not match event.namespace",
        ),
        (
            "scheduling.k8s.io",
            "PriorityClass",
            json!({ "metadata": { "name": "p" }, "value": 1_000_000_001 }),
            "value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            json!({ "metadata": { "name": "s" } }),
            "provisioner: Required value",
        ),
        (
            "storage.k8s.io",
            "StorageClass",
            json!({ "metadata": { "name": "s" }, "provisioner": "a", "volumeBindingMode": "Late" }),
            "volumeBindingMode: Unsupported value: \"Late\": supported values: \"Immediate\", \"WaitForFirstConsumer\"",
        ),
        (
            "",
            "LimitRange",
            json!({ "metadata": { "name": "l" }, "spec": { "limits": [
            { "type": "Pod", "min": { "cpu": "2" }, "max": { "cpu": "1" } }] } }),
            "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1",
        ),
        (
            "",
            "ResourceQuota",
            json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "1500m" } } }),
            "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
        ),
        (
            "policy",
            "PodDisruptionBudget",
            json!({ "metadata": { "name": "p" }, "spec": { "maxUnavailable": "150%" } }),
            "spec.maxUnavailable: Invalid value: \"150%\": must not be greater than 100%",
        ),
    ] {
        assert_eq!(check(group, kind, object), [expected], "{kind}");
    }
}

#[test]
fn the_metadata_of_an_attachment_has_an_end() {
    let (group, version, kind) = ("storage.k8s.io", "v1", "VolumeAttachment");
    let object = json!({
        "metadata": { "name": "a" },
        "spec": { "attacher": "a", "nodeName": "n", "source": { "persistentVolumeName": "v" } },
    });
    let old = ready(group, version, kind, object);
    let errors = |length: usize| {
        let metadata = json!({ "a": "x".repeat(length) });
        let new = changed(&old, "/status/attachmentMetadata", metadata);
        let resource = resource(group, version, kind);
        let mut errors = messages(&resource.validate_update("status", &new, &old).errors);
        errors.retain(|error| error.starts_with("status"));
        errors
    };
    assert_eq!(errors(262_143), [""; 0]);
    assert_eq!(
        errors(262_144),
        ["status.attachmentMetadata: Too long: may not be more than 262144 bytes"]
    );
}

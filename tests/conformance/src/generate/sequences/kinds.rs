//! The kinds that sequences write, and the parts of their objects that change.

use serde_json::{Value, json};

use crate::generate::random::Random;

/// A kind and where its objects are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sort {
    pub(super) path: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    /// What an object has besides its metadata.
    whole: &'static str,
    /// Merge patches that change it, some of them for the worse.
    changes: &'static [&'static str],
}

/// A kind with two versions, a status and a scale.
pub(super) const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boxes.{ns}.example.com"},
"spec":{"group":"{ns}.example.com","scope":"Namespaced","names":{"plural":"boxes","kind":"Box"},"versions":[
{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"replicas":{"type":"integer","minimum":0},"text":{"type":"string","default":"d"},"list":{"type":"array","items":{"type":"integer"}},
"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer"}}}},
"any":{"x-kubernetes-preserve-unknown-fields":true},"atomic":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"},"selector":{"type":"string"},"text":{"type":"string"}}}}}}},
{"name":"v2","served":true,"storage":false,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;

const CUSTOM: [Sort; 2] = [
    Sort {
        path: "/apis/{ns}.example.com/v1/namespaces/{ns}/boxes",
        version: "{ns}.example.com/v1",
        kind: "Box",
        whole: r#"{"spec":{"replicas":1,"text":"a","keyed":[{"k":"a","v":1}]}}"#,
        changes: BOX,
    },
    Sort {
        path: "/apis/{ns}.example.com/v2/namespaces/{ns}/boxes",
        version: "{ns}.example.com/v2",
        kind: "Box",
        whole: r#"{"spec":{"replicas":1,"more":{"a":[1]}}}"#,
        changes: BOX,
    },
];

const BOX: &[&str] = &[
    r#"{"spec":{"text":"b"}}"#,
    r#"{"spec":{"text":null}}"#,
    r#"{"spec":{"replicas":3}}"#,
    r#"{"spec":{"replicas":-1}}"#,
    r#"{"spec":{"list":[1,2]}}"#,
    r#"{"spec":{"set":["a","b"]}}"#,
    r#"{"spec":{"set":["b","c"]}}"#,
    r#"{"spec":{"keyed":[{"k":"b","v":2}]}}"#,
    r#"{"spec":{"keyed":[{"k":"a","v":3},{"k":"b"}]}}"#,
    r#"{"spec":{"any":{"x":[1,{"y":null}]}}}"#,
    r#"{"spec":{"atomic":{"a":"b"}}}"#,
    r#"{"spec":{"atomic":{"c":"d"}}}"#,
    r#"{"spec":{}}"#,
    r#"{"spec":null}"#,
    r#"{"status":{"replicas":2,"selector":"a=b"}}"#,
    r#"{"status":{"text":"x"}}"#,
    r#"{"spec":{"nosuch":1}}"#,
    r#"{"spec":{"list":[]}}"#,
    r#"{"spec":{"atomic":{}}}"#,
];

const SORTS: [Sort; 9] = [
    Sort {
        path: "/api/v1/namespaces/{ns}/configmaps",
        version: "v1",
        kind: "ConfigMap",
        whole: r#"{"data":{"a":"1"}}"#,
        changes: &[
            r#"{"data":{"a":"2"}}"#,
            r#"{"data":{"b":"1"}}"#,
            r#"{"data":{"a":null}}"#,
            r#"{"data":null}"#,
            r#"{"data":{}}"#,
            r#"{"immutable":true}"#,
            r#"{"immutable":false}"#,
            r#"{"binaryData":{"x":"aGk="}}"#,
            r#"{"data":{"a b":"c"}}"#,
            r#"{"data":{"a":1}}"#,
            r#"{"nosuch":1}"#,
            r#"{"binaryData":{"a":"aGk="}}"#,
        ],
    },
    Sort {
        path: "/apis/apps/v1/namespaces/{ns}/deployments",
        version: "apps/v1",
        kind: "Deployment",
        whole: r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
        changes: &[
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":null}}"#,
            r#"{"spec":{"replicas":-1}}"#,
            r#"{"spec":{"paused":true}}"#,
            r#"{"spec":{"paused":false}}"#,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}"#,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"j"}]}}}}"#,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"1"}]}]}}}}"#,
            r#"{"spec":{"template":{"metadata":{"labels":{"x":"y"}}}}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"a":"c"}}}}"#,
            r#"{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}"#,
            r#"{"spec":{"minReadySeconds":5}}"#,
            r#"{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}"#,
            r#"{"spec":{"template":{"spec":{"affinity":{}}}}}"#,
            r#"{"spec":{"template":{"spec":{"tolerations":[{"operator":"Exists"}]}}}}"#,
            r#"{"status":{"replicas":1,"readyReplicas":1}}"#,
            r#"{"spec":{"template":{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}}}}"#,
        ],
    },
    Sort {
        path: "/api/v1/namespaces/{ns}/services",
        version: "v1",
        kind: "Service",
        whole: r#"{"spec":{"clusterIP":"None","selector":{"a":"b"},"ports":[{"name":"p","port":80}]}}"#,
        changes: &[
            r#"{"spec":{"ports":[{"name":"p","port":81}]}}"#,
            r#"{"spec":{"ports":[{"name":"q","port":82,"protocol":"UDP"}]}}"#,
            r#"{"spec":{"ports":[{"name":"p","port":80},{"name":"r","port":80,"protocol":"UDP"}]}}"#,
            r#"{"spec":{"selector":null}}"#,
            r#"{"spec":{"selector":{"c":"d"}}}"#,
            r#"{"spec":{"sessionAffinity":"ClientIP"}}"#,
            r#"{"spec":{"type":"ExternalName","externalName":"a.b"}}"#,
            r#"{"spec":{"ports":null}}"#,
            r#"{"spec":{"publishNotReadyAddresses":true}}"#,
            r#"{"spec":{"internalTrafficPolicy":"Local"}}"#,
            r#"{"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}"#,
        ],
    },
    Sort {
        path: "/api/v1/namespaces/{ns}/pods",
        version: "v1",
        kind: "Pod",
        whole: r#"{"spec":{"containers":[{"name":"c","image":"i"}],"terminationGracePeriodSeconds":0}}"#,
        changes: &[
            r#"{"spec":{"containers":[{"name":"c","image":"j"}]}}"#,
            r#"{"spec":{"activeDeadlineSeconds":5}}"#,
            r#"{"spec":{"activeDeadlineSeconds":9}}"#,
            r#"{"spec":{"nodeName":"n"}}"#,
            r#"{"spec":{"tolerations":[{"key":"x","operator":"Exists"}]}}"#,
            r#"{"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"b"}]}]}}"#,
            r#"{"spec":{"hostNetwork":true}}"#,
            r#"{"status":{"phase":"Running"}}"#,
            r#"{"status":{"phase":"Succeeded","conditions":[{"type":"Ready","status":"True"}]}}"#,
            r#"{"status":{"conditions":[{"type":"x","status":"False"}]}}"#,
            r#"{"spec":{"terminationGracePeriodSeconds":1}}"#,
            r#"{"spec":{"schedulingGates":[{"name":"a.b/c"}]}}"#,
        ],
    },
    Sort {
        path: "/api/v1/namespaces/{ns}/secrets",
        version: "v1",
        kind: "Secret",
        whole: r#"{"stringData":{"a":"b"}}"#,
        changes: &[
            r#"{"stringData":{"c":"d"}}"#,
            r#"{"data":{"a":"aGk="}}"#,
            r#"{"data":{"a":null}}"#,
            r#"{"type":"x/y"}"#,
            r#"{"immutable":true}"#,
            r#"{"data":{"a":"?"}}"#,
            r#"{"stringData":{"a":null}}"#,
        ],
    },
    Sort {
        path: "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        version: "policy/v1",
        kind: "PodDisruptionBudget",
        whole: r#"{"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}"#,
        changes: &[
            r#"{"spec":{"minAvailable":"50%"}}"#,
            r#"{"spec":{"minAvailable":null,"maxUnavailable":1}}"#,
            r#"{"spec":{"selector":{"matchLabels":{"c":"d"}}}}"#,
            r#"{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}}"#,
            r#"{"spec":{"maxUnavailable":1}}"#,
            r#"{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}"#,
            r#"{"status":{"disruptionsAllowed":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}"#,
        ],
    },
    Sort {
        path: "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies",
        version: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        whole: r#"{"spec":{"podSelector":{},"ingress":[{"from":[{"podSelector":{"matchLabels":{"a":"b"}}}]}]}}"#,
        changes: &[
            r#"{"spec":{"ingress":[{}]}}"#,
            r#"{"spec":{"ingress":[{"from":[]}]}}"#,
            r#"{"spec":{"ingress":[]}}"#,
            r#"{"spec":{"egress":[{"ports":[{"port":80}]}]}}"#,
            r#"{"spec":{"policyTypes":["Egress"]}}"#,
            r#"{"spec":{"ingress":null}}"#,
            r#"{"spec":{"podSelector":{"matchLabels":{"x":"y"}}}}"#,
            r#"{"spec":{"egress":[{"ports":[{"port":80,"endPort":70}]}]}}"#,
        ],
    },
    Sort {
        path: "/apis/batch/v1/namespaces/{ns}/jobs",
        version: "batch/v1",
        kind: "Job",
        whole: r#"{"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#,
        changes: &[
            r#"{"spec":{"suspend":false}}"#,
            r#"{"spec":{"parallelism":3}}"#,
            r#"{"spec":{"completions":3}}"#,
            r#"{"spec":{"activeDeadlineSeconds":9}}"#,
            r#"{"spec":{"ttlSecondsAfterFinished":0}}"#,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"j"}]}}}}"#,
            r#"{"spec":{"backoffLimit":2}}"#,
            r#"{"status":{"active":1,"ready":0}}"#,
            r#"{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}"#,
        ],
    },
    Sort {
        path: "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
        version: "coordination.k8s.io/v1",
        kind: "Lease",
        whole: r#"{"spec":{"holderIdentity":"a","leaseDurationSeconds":5}}"#,
        changes: &[
            r#"{"spec":{"holderIdentity":"b"}}"#,
            r#"{"spec":{"leaseTransitions":1}}"#,
            r#"{"spec":{"leaseDurationSeconds":0}}"#,
            r#"{"spec":{"renewTime":"2020-01-01T00:00:00.000000Z"}}"#,
            r#"{"spec":{}}"#,
            r#"{"spec":null}"#,
        ],
    },
];

/// What any object may be changed in.
const METADATA: &[&str] = &[
    r#"{"metadata":{"labels":{"a":"b"}}}"#,
    r#"{"metadata":{"labels":{"a":"c","d":"e"}}}"#,
    r#"{"metadata":{"labels":null}}"#,
    r#"{"metadata":{"labels":{"a":null}}}"#,
    r#"{"metadata":{"labels":{"a b":"c"}}}"#,
    r#"{"metadata":{"annotations":{"x/y":"z"}}}"#,
    r#"{"metadata":{"annotations":{}}}"#,
    r#"{"metadata":{"finalizers":["example.com/f"]}}"#,
    r#"{"metadata":{"finalizers":["example.com/g","example.com/f"]}}"#,
    r#"{"metadata":{"finalizers":null}}"#,
    r#"{"metadata":{"finalizers":[]}}"#,
    r#"{"metadata":{"finalizers":["foregroundDeletion"]}}"#,
    r#"{"metadata":{"finalizers":["x"]}}"#,
    r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u"}]}}"#,
    r#"{"metadata":{"ownerReferences":null}}"#,
    r#"{"metadata":{"managedFields":[]}}"#,
    r#"{"metadata":{"managedFields":[{}]}}"#,
    r#"{"metadata":{"resourceVersion":"1"}}"#,
    r#"{"metadata":{"resourceVersion":"x"}}"#,
    r#"{"metadata":{"uid":"0b5a8a4e-7d3f-4e44-9d0c-0f1f8a7f1a11"}}"#,
    r#"{"metadata":{"name":"z"}}"#,
    r#"{"metadata":{"generation":7}}"#,
    r#"{"metadata":{"selfLink":"/a"}}"#,
    r#"{"metadata":{"creationTimestamp":null}}"#,
    r#"{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}"#,
    r#"{"metadata":{"generateName":"gen-"}}"#,
    r#"{"metadata":{"nosuch":1}}"#,
    r#"{"metadata":null}"#,
    "{}",
];

impl Sort {
    pub(super) fn all() -> &'static [Self] {
        &SORTS
    }

    /// One of the two versions of the custom kind.
    pub(super) fn custom(random: &mut Random) -> Self {
        random.one_of(&CUSTOM)
    }

    /// A valid object.
    pub(super) fn object(self, name: &str) -> Value {
        let mut object: Value = serde_json::from_str(self.whole).expect("the table holds JSON");
        object["apiVersion"] = self.version.into();
        object["kind"] = self.kind.into();
        object["metadata"] = json!({"name": name});
        object
    }

    /// A merge patch.
    pub(super) fn change(self, random: &mut Random) -> Value {
        let changes = if random.one_in(3) {
            METADATA
        } else {
            self.changes
        };
        serde_json::from_str(random.pick(changes)).expect("the table holds JSON")
    }
}

//! The kinds that generated policies see, their objects, and the writes of these.

use serde_json::{Value, json};

use crate::generate::random::Random;

/// A kind that policies see.
#[expect(clippy::struct_field_names, reason = "Kubernetes' words")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) resource: &'static str,
    kind: &'static str,
    pub(super) namespaced: bool,
    has_status: bool,
    has_scale: bool,
}

/// The group of the definitions that the servers of this family have from the start: a definition is dear on a real one,
/// which learns of new kinds of parameters twice a minute.
pub(crate) const GROUP: &str = "generated.example.com";

pub(super) const MAPS: Kind = Kind {
    group: "",
    version: "v1",
    resource: "configmaps",
    kind: "ConfigMap",
    namespaced: true,
    has_status: false,
    has_scale: false,
};

pub(super) const WIDGETS: Kind = Kind {
    group: GROUP,
    version: "v1",
    resource: "widgets",
    kind: "Widget",
    namespaced: true,
    has_status: true,
    has_scale: true,
};

const KINDS: [Kind; 6] = [
    MAPS,
    WIDGETS,
    Kind {
        group: "apps",
        resource: "deployments",
        kind: "Deployment",
        ..WIDGETS
    },
    Kind {
        resource: "secrets",
        kind: "Secret",
        ..MAPS
    },
    Kind {
        resource: "pods",
        kind: "Pod",
        has_status: true,
        ..MAPS
    },
    Kind {
        group: "rbac.authorization.k8s.io",
        resource: "clusterroles",
        kind: "ClusterRole",
        namespaced: false,
        ..MAPS
    },
];

/// The definition of [`WIDGETS`], of two versions with every type of field.
pub(crate) fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"},
            "ratio": {"type": "number"},
            "color": {"type": "string", "default": "red"},
            "when": {"type": "string", "format": "date-time"},
            "port": {"x-kubernetes-int-or-string": true},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
            "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "parts": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["name"], "properties": {
                    "name": {"type": "string"}, "count": {"type": "integer", "default": 1},
                }},
            },
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }},
        "status": {"type": "object", "properties": {"size": {"type": "integer"}, "text": {"type": "string"}}},
    }});
    let version = |name: &str, stored: bool| {
        json!({
            "name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema},
            "subresources": {
                "status": {},
                "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
            },
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

impl Kind {
    /// ConfigMaps more often than others: most expressions are about them.
    pub(super) fn any(random: &mut Random) -> Self {
        if random.one_in(2) {
            MAPS
        } else {
            random.one_of(&KINDS)
        }
    }

    pub(super) fn api_version(self, version: &str) -> String {
        match self.group {
            "" => version.to_owned(),
            group => format!("{group}/{version}"),
        }
    }

    pub(super) fn path(self, version: &str) -> String {
        let root = match self.group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        if self.namespaced {
            format!("{root}/namespaces/{{ns}}/{}", self.resource)
        } else {
            format!("{root}/{}", self.resource)
        }
    }

    /// The name of an object: those that no namespace separates have that of the case in front.
    fn name(self, name: &str) -> String {
        if self.namespaced {
            name.to_owned()
        } else {
            format!("{{ns}}-{name}")
        }
    }

    /// The object that is there before the policies are.
    pub(super) fn old(self, random: &mut Random) -> Value {
        let mut object = self.object(random, self.version, "old");
        if self.has_scale && object["spec"].get("replicas").is_none() {
            object["spec"]["size"] = 1.into();
        }
        object
    }

    pub(super) fn object(self, random: &mut Random, version: &str, name: &str) -> Value {
        let mut labels = random.one_of(&[
            json!({}),
            json!({"l": "x"}),
            json!({"l": "y", "env": "prod"}),
        ]);
        if !self.namespaced {
            labels["case"] = "{ns}".into();
        }
        let mut object = json!({
            "apiVersion": self.api_version(version),
            "kind": self.kind,
            "metadata": {"name": self.name(name), "labels": labels},
        });
        match random.below(6) {
            0 => object["metadata"]["annotations"] = json!({"n": "o"}),
            1 => object["metadata"]["finalizers"] = json!(["example.com/f"]),
            _ => {}
        }
        let image = random.pick(&["i", "mirror/i:1", "j"]);
        let pod = json!({"containers": [{
            "name": "c", "image": image, "env": [{"name": "A", "value": "a"}], "resources": {"requests": {"cpu": "1500m"}},
        }], "nodeSelector": {"disk": "ssd"}});
        match self.kind {
            "ConfigMap" => {
                object["data"] = random.one_of(&[
                    json!({"k": "v"}),
                    json!({"k": "w", "n": "42"}),
                    json!({"k": "", "a": "b"}),
                    json!({}),
                    Value::Null,
                ]);
            }
            "Secret" => object["stringData"] = json!({"k": random.pick(&["v", "w"])}),
            "Pod" => object["spec"] = pod,
            "Deployment" => {
                object["spec"] = json!({
                    "replicas": random.between(0, 3), "selector": {"matchLabels": {"a": "b"}},
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod},
                });
            }
            "ClusterRole" => {
                let verbs = random.one_of(&[json!(["get"]), json!(["list", "watch"])]);
                object["rules"] =
                    json!([{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}]);
            }
            _ => {
                object["spec"] = random.one_of(&[
                    json!({"size": 3}),
                    json!({"size": 5, "ratio": 1.5, "when": "2020-01-02T03:04:05Z", "port": 80, "names": ["b", "a"]}),
                    json!({"ratio": 2.0, "port": "http", "parts": [{"name": "x"}, {"name": "y", "count": 2}]}),
                    json!({"free": {"i": 1, "f": 2.5, "l": [1, "x"], "n": null}, "labels": {"l": "x"}, "unknown": 1}),
                    json!({}),
                ]);
            }
        }
        object
    }

    /// A change of an object, as a merge patch.
    fn change(self, random: &mut Random) -> Value {
        let labels = json!({"metadata": {"labels": random.one_of(&[json!({"l": "x"}), json!({"l": "z"}), json!({"l": null})])}});
        let own = match self.kind {
            "ConfigMap" => {
                json!({"data": random.one_of(&[json!({"k": "w"}), json!({"k": null}), json!({"n": "7"}), json!({"k": "v", "z": "1"})])})
            }
            "Secret" => json!({"data": {"k": random.pick(&["dg==", "dw=="])}}),
            "Deployment" => json!({"spec": {"replicas": random.between(0, 4)}}),
            "ClusterRole" | "Pod" => json!({"metadata": {"annotations": {"n": "p"}}}),
            _ => {
                json!({"spec": random.one_of(&[json!({"size": 4}), json!({"size": null, "ratio": 0.5}), json!({"color": "blue"}), json!({"parts": [{"name": "z"}]})])})
            }
        };
        if random.one_in(4) { labels } else { own }
    }
}

/// A write of the case's namespace. A real server selects by its labels late, so nothing follows that policies see.
pub(super) fn write_namespace(random: &mut Random) -> Value {
    let labels = json!({"l": random.pick(&["x", "y"])});
    merge(
        "/api/v1/namespaces/{ns}",
        &json!({"metadata": {"labels": labels}}),
    )
}

/// A write of an object of a kind. Whether all of them may go, too: a real server sees late that parameters are gone.
pub(super) fn write(random: &mut Random, kind: Kind, all: bool) -> Value {
    let version = if kind.group == GROUP {
        random.pick(&["v1", "v1", "v1beta1"])
    } else {
        kind.version
    };
    let path = kind.path(version);
    let old = format!("{path}/{}", kind.name("old"));
    let query = random.pick(&[
        "",
        "",
        "?dryRun=All",
        "?fieldManager=me",
        "?fieldValidation=Strict",
    ]);
    let mut step = match random.below(15) {
        0..6 => {
            let mut object = kind.object(random, version, "a");
            if kind.namespaced && random.one_in(6) {
                object["metadata"]["generateName"] = "gen-".into();
                // The order of two generated names is another on each server.
                if query == "?dryRun=All"
                    && let Some(metadata) = object["metadata"].as_object_mut()
                {
                    metadata.remove("name");
                }
            }
            json!({"send": format!("POST {path}{query}"), "body": object})
        }
        6 => {
            json!({"send": format!("PUT {old}{query}"), "body": kind.object(random, version, "old")})
        }
        7 | 8 => patch(random, kind, &format!("{old}{query}")),
        9 => {
            let name = random.pick(&["old", "new"]);
            let force = random.pick(&["", "&force=true"]);
            json!({
                "send": format!("PATCH {path}/{}?fieldManager=me{force}", kind.name(name)),
                "headers": {"Content-Type": "application/apply-patch+yaml"},
                "body": kind.object(random, version, name),
            })
        }
        10 => {
            json!({"send": format!("DELETE {old}{}", random.pick(&["", "?dryRun=All", "?gracePeriodSeconds=0"]))})
        }
        11 if kind.namespaced && all => json!({"send": format!("DELETE {path}")}),
        12 if kind.has_status => {
            let status = match kind.kind {
                "Pod" => json!({"phase": "Running"}),
                "Deployment" => json!({"replicas": 1}),
                _ => json!({"size": 2, "text": "t"}),
            };
            merge(&format!("{old}/status"), &json!({"status": status}))
        }
        13 if kind.has_scale => merge(
            &format!("{old}/scale"),
            &json!({"spec": {"replicas": random.between(-1, 4)}}),
        ),
        14 if kind.kind == "Pod" => of_pod(random, &old),
        _ => patch(random, kind, &old),
    };
    if random.one_in(10) {
        step["as"] = json!({"user": "jane", "groups": ["system:masters"]});
    }
    step
}

fn merge(path: &str, body: &Value) -> Value {
    json!({"send": format!("PATCH {path}"), "headers": {"Content-Type": "application/merge-patch+json"}, "body": body})
}

fn patch(random: &mut Random, kind: Kind, path: &str) -> Value {
    if random.one_in(4) {
        return json!({
            "send": format!("PATCH {path}"),
            "headers": {"Content-Type": "application/json-patch+json"},
            "body": [{"op": "add", "path": "/metadata/labels/l", "value": random.pick(&["x", "q"])}],
        });
    }
    merge(path, &kind.change(random))
}

/// A sub-resource of a pod that is created or connected to.
fn of_pod(random: &mut Random, path: &str) -> Value {
    match random.below(4) {
        0 => json!({"send": format!("POST {path}/eviction"), "body": {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "old"},
        }}),
        1 => json!({"send": format!("POST {path}/binding"), "body": {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "old"}, "target": {"kind": "Node", "name": "n"},
        }}),
        2 => json!({
            "send": format!("PATCH {path}/ephemeralcontainers"),
            "headers": {"Content-Type": "application/strategic-merge-patch+json"},
            "body": {"spec": {"ephemeralContainers": [{"name": "e", "image": "i"}]}},
        }),
        _ => {
            json!({"send": format!("POST {path}/{}", random.pick(&["exec?command=x&stdout=true", "attach?stdout=true", "portforward"]))})
        }
    }
}

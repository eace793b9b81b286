//! What kubelets may do, as pods, volumes and claims come and go.

use kubewright_storage::{Draft, Limits};
use serde_json::{Value, json};

use super::*;

/// The role `system:node` of a real server.
fn role() -> Value {
    serde_json::from_str(include_str!("../testdata/system-node.json")).expect("a role")
}

struct Cluster {
    store: Arc<Store>,
    authorizer: NodeAuthorizer,
}

impl Cluster {
    fn new() -> Self {
        Self::of(KubernetesVersion::default())
    }

    fn of(version: KubernetesVersion) -> Self {
        let store = Arc::new(Store::new(Limits::default()));
        let authorizer = NodeAuthorizer::new(version, store.clone(), Some(&role()));
        Self { store, authorizer }
    }

    /// Creates or replaces an object.
    fn put(&self, table: &str, path: &str, object: &Value) {
        let draft = Draft::new(object);
        let written = match self.store.get(table, path) {
            None => self.store.create(table, path, draft),
            Some(old) => self.store.replace(table, path, old.revision, draft),
        };
        written.expect("no concurrent writes");
    }

    fn remove(&self, table: &str, path: &str) {
        let old = self.store.get(table, path).expect("the object exists");
        let last = Draft::new(&old.value());
        let removed = self.store.delete(table, path, old.revision, last);
        removed.expect("no concurrent writes");
    }

    /// A pod of the namespace `blue`; it may be on a node.
    fn put_pod(&self, name: &str, spec: &Value) {
        let object = json!({"metadata": {"namespace": "blue", "name": name}, "spec": spec});
        self.put("pods", &format!("blue/{name}"), &object);
    }

    /// Decides on `VERB resource[/subresource] [namespace/]name`, asked by the kubelet of a node.
    fn decide(&self, node: &str, asked: &str, fields: &str) -> Decision {
        let user = User {
            username: format!("system:node:{node}"),
            groups: vec!["system:nodes".to_owned()],
            ..User::default()
        };
        let (verb, rest) = asked.split_once(' ').expect("a verb");
        let (resource, path) = rest.split_once(' ').unwrap_or((rest, ""));
        let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        let (namespace, name) = path.split_once('/').unwrap_or(("", path));
        let fields = Fields::parse(fields).expect("a selector");
        self.authorizer.decide(&Question {
            user: &user,
            verb,
            about: About::Resource {
                group,
                resource,
                subresource,
                namespace,
                name,
                fields: Some(&fields),
            },
        })
    }

    fn allows(&self, node: &str, asked: &str) -> bool {
        matches!(self.decide(node, asked, ""), Decision::Allow(_))
    }
}

#[test]
fn a_kubelet_reads_what_the_pods_on_its_node_use() {
    let cluster = Cluster::new();
    cluster.put_pod(
        "web",
        &json!({
            "nodeName": "n",
            "serviceAccountName": "robot",
            "imagePullSecrets": [{"name": "pull"}],
            "containers": [{
                "envFrom": [{"secretRef": {"name": "env"}}, {"configMapRef": {"name": "env"}}],
                "env": [{"valueFrom": {"configMapKeyRef": {"name": "key"}}}],
            }],
            "volumes": [
                {"name": "a", "secret": {"secretName": "mounted"}},
                {"name": "b", "projected": {"sources": [{"configMap": {"name": "projected"}}]}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "d", "ephemeral": {}},
            ],
        }),
    );
    for used in [
        "get pods blue/web",
        "get serviceaccounts blue/robot",
        "create serviceaccounts/token blue/robot",
        "get secrets blue/pull",
        "list secrets blue/env",
        "watch secrets blue/mounted",
        "get configmaps blue/env",
        "get configmaps blue/key",
        "get configmaps blue/projected",
        "get persistentvolumeclaims blue/claim",
        "get persistentvolumeclaims blue/web-d",
        "patch persistentvolumeclaims/status blue/claim",
    ] {
        assert!(cluster.allows("n", used), "{used}");
        assert!(!cluster.allows("m", used), "{used}");
        let elsewhere = used.replace("blue", "red");
        assert!(!cluster.allows("n", &elsewhere), "{elsewhere}");
        let other = format!("{used}-other");
        assert!(!cluster.allows("n", &other), "{other}");
    }
}

#[test]
fn what_a_pod_uses_counts_while_it_is_bound() {
    let cluster = Cluster::new();
    let on = |node: &str| json!({"nodeName": node, "imagePullSecrets": [{"name": "s"}]});
    cluster.put_pod("a", &on(""));
    assert!(!cluster.allows("n", "get secrets blue/s"));
    cluster.put_pod("a", &on("n"));
    cluster.put_pod("b", &on("n"));
    cluster.put_pod("c", &on("m"));
    assert!(cluster.allows("n", "get secrets blue/s"));
    cluster.remove("pods", "blue/a");
    assert!(cluster.allows("n", "get secrets blue/s"));
    cluster.remove("pods", "blue/b");
    assert!(!cluster.allows("n", "get secrets blue/s"));
    assert!(cluster.allows("m", "get secrets blue/s"));
}

#[test]
fn a_volume_is_reached_by_its_claim_and_a_secret_by_its_volume() {
    let cluster = Cluster::new();
    let claim = json!({"persistentVolumeClaim": {"claimName": "c"}});
    cluster.put_pod("web", &json!({"nodeName": "n", "volumes": [claim]}));
    let volume = |claim: &str| {
        let csi = json!({
            "nodeStageSecretRef": {"namespace": "red", "name": "stage"},
            "controllerPublishSecretRef": {"namespace": "red", "name": "control"},
        });
        json!({"spec": {"claimRef": {"namespace": "blue", "name": claim}, "csi": csi}})
    };
    cluster.put("persistentvolumes", "v", &volume("c"));
    assert!(cluster.allows("n", "get persistentvolumes v"));
    assert!(cluster.allows("n", "get secrets red/stage"));
    assert!(!cluster.allows("n", "get secrets red/control"));
    cluster.put("persistentvolumes", "v", &volume("other"));
    assert!(!cluster.allows("n", "get persistentvolumes v"));
    assert!(!cluster.allows("n", "get secrets red/stage"));
}

#[test]
fn a_mirror_pod_gives_its_node_nothing_but_itself() {
    let cluster = Cluster::new();
    let mirror = json!({
        "metadata": {
            "namespace": "blue",
            "name": "static",
            "annotations": {"kubernetes.io/config.mirror": "hash"},
        },
        "spec": {"nodeName": "n", "serviceAccountName": "robot", "imagePullSecrets": [{"name": "s"}]},
    });
    cluster.put("pods", "blue/static", &mirror);
    assert!(cluster.allows("n", "get pods blue/static"));
    for used in [
        "get secrets blue/s",
        "create serviceaccounts/token blue/robot",
    ] {
        assert!(!cluster.allows("n", used), "{used}");
    }
}

#[test]
fn a_kubelet_works_on_its_own_node_and_lease() {
    let cluster = Cluster::new();
    for own in [
        "get nodes n",
        "watch nodes n",
        "create nodes",
        "update nodes/status n",
        "create leases.coordination.k8s.io kube-node-lease/",
        "update leases.coordination.k8s.io kube-node-lease/n",
        "patch csinodes.storage.k8s.io n",
        "list services",
        "create events blue/",
        "update pods/status blue/web",
        "delete pods blue/web",
        "create pods/eviction blue/web",
        "create certificatesigningrequests.certificates.k8s.io",
        "create podcertificaterequests.certificates.k8s.io blue/",
    ] {
        assert!(cluster.allows("n", own), "{own}");
    }
    for others in [
        "get nodes m",
        "list nodes",
        "delete nodes n",
        "get nodes/status n",
        "update leases.coordination.k8s.io kube-node-lease/m",
        "update leases.coordination.k8s.io kube-system/n",
        "list leases.coordination.k8s.io kube-node-lease/",
        "get csinodes.storage.k8s.io m",
        "update pods blue/web",
        "list namespaces",
        "create services blue/",
        "get podcertificaterequests.certificates.k8s.io blue/other",
        "delete podcertificaterequests.certificates.k8s.io blue/own",
    ] {
        assert!(!cluster.allows("n", others), "{others}");
    }
}

#[test]
fn pods_are_listed_with_the_node_as_selector() {
    let cluster = Cluster::new();
    let allowed = Decision::Allow(String::new());
    let own = "status.phase!=Failed,spec.nodeName=n";
    assert_eq!(cluster.decide("n", "list pods", own), allowed);
    let slices = "deletecollection resourceslices.resource.k8s.io";
    assert_eq!(cluster.decide("n", slices, own), allowed);
    for selector in ["", "spec.nodeName!=n", "spec.nodeName=m"] {
        let refused = Decision::NoOpinion(
            "can only list/watch pods with spec.nodeName field selector".to_owned(),
        );
        assert_eq!(cluster.decide("n", "watch pods", selector), refused);
    }
}

#[test]
fn others_are_no_business_of_this_authorizer() {
    let cluster = Cluster::new();
    let about = About::Path("/logs");
    for (name, group) in [
        ("system:node:n", "system:authenticated"),
        ("jane", "system:nodes"),
    ] {
        let user = User {
            username: name.to_owned(),
            groups: vec![group.to_owned()],
            ..User::default()
        };
        let question = Question {
            user: &user,
            verb: "get",
            about,
        };
        let decision = cluster.authorizer.decide(&question);
        assert_eq!(decision, Decision::NoOpinion(String::new()));
        assert_eq!(cluster.authorizer.rules(&user, "blue").untold, None);
    }
    let unnamed = Decision::NoOpinion("unknown node for user \"system:node:\"".to_owned());
    assert_eq!(cluster.decide("", "get nodes n", ""), unnamed);
}

#[test]
fn an_older_version_has_no_opinion_on_requests_for_certificates_of_pods() {
    use KubernetesVersion::{V1_36, V1_37};
    for (version, why) in [
        (V1_37, "nodes may not delete podcertificaterequests"),
        (V1_36, ""),
    ] {
        let asked = "delete podcertificaterequests.certificates.k8s.io blue/own";
        let decision = Cluster::of(version).decide("n", asked, "");
        assert_eq!(decision, Decision::NoOpinion(why.to_owned()));
    }
}

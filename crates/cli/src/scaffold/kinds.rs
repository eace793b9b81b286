//! The kinds that every cluster has and that webhooks and controllers are mostly about, with an object of each.

use std::any::TypeId;

use k8s_openapi::{NamespaceResourceScope, Resource};

/// A kind that comes with Kubernetes.
#[derive(Clone, Debug)]
pub(super) struct BuiltIn {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) namespaced: bool,
    /// The module of its type in `k8s_openapi::api`, such as `core::v1`.
    pub(super) module: String,
    /// What an object needs besides its name to be accepted, as YAML.
    pub(super) body: &'static str,
}

/// What Rust says of its types, so that nothing of it is typed twice.
macro_rules! kinds {
    ($($group:ident::$version:ident::$kind:ident: $body:expr;)+) => {
        /// All of them.
        pub(super) fn all() -> Vec<BuiltIn> {
            vec![$(BuiltIn {
                module: concat!(stringify!($group), "::", stringify!($version)).to_owned(),
                body: $body,
                ..built_in::<k8s_openapi::api::$group::$version::$kind>()
            }),+]
        }
    };
}

fn built_in<K: Resource>() -> BuiltIn
where
    K::Scope: 'static,
{
    BuiltIn {
        group: K::GROUP,
        version: K::VERSION,
        kind: K::KIND,
        plural: K::URL_PATH_SEGMENT,
        namespaced: TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>(),
        module: String::new(),
        body: "",
    }
}

kinds! {
    core::v1::Pod: POD;
    core::v1::Service: "spec:\n  ports:\n  - port: 80\n";
    core::v1::ConfigMap: "data:\n  key: value\n";
    core::v1::Secret: "stringData:\n  key: value\n";
    core::v1::Namespace: "";
    core::v1::Node: "";
    core::v1::ServiceAccount: "";
    core::v1::PersistentVolumeClaim: CLAIM;
    apps::v1::Deployment: WORKLOAD;
    apps::v1::StatefulSet: WORKLOAD;
    apps::v1::DaemonSet: WORKLOAD;
    apps::v1::ReplicaSet: WORKLOAD;
    batch::v1::Job: JOB;
    batch::v1::CronJob: CRON_JOB;
    networking::v1::Ingress: INGRESS;
    networking::v1::NetworkPolicy: "spec:\n  podSelector: {}\n";
    policy::v1::PodDisruptionBudget: "spec:\n  minAvailable: 1\n  selector: {}\n";
    autoscaling::v2::HorizontalPodAutoscaler: AUTOSCALER;
    rbac::v1::Role: "rules: []\n";
    rbac::v1::RoleBinding: BINDING;
    rbac::v1::ClusterRole: "rules: []\n";
    rbac::v1::ClusterRoleBinding: BINDING;
    storage::v1::StorageClass: "provisioner: example.com/none\n";
}

const POD: &str = "\
spec:
  containers:
  - name: web
    image: nginx:1.29
";

const CLAIM: &str = "\
spec:
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 1Gi
";

const WORKLOAD: &str = "\
spec:
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: nginx:1.29
";

const JOB: &str = "\
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: work
        image: busybox:1.37
";

const CRON_JOB: &str = "\
spec:
  schedule: '0 3 * * *'
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: work
            image: busybox:1.37
";

const INGRESS: &str = "\
spec:
  defaultBackend:
    service:
      name: web
      port:
        number: 80
";

const AUTOSCALER: &str = "\
spec:
  maxReplicas: 3
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: web
";

const BINDING: &str = "\
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: view
";

#[cfg(test)]
mod tests {
    use kubewright_testing::{TestCluster, apply};
    use serde_json::Value;

    use super::*;

    /// What demos and tests of projects begin with.
    #[tokio::test]
    async fn an_object_of_every_kind_is_accepted() {
        let cluster = TestCluster::start().await;
        for known in all() {
            let version = if known.group.is_empty() {
                known.version.to_owned()
            } else {
                format!("{}/{}", known.group, known.version)
            };
            let text = format!(
                "apiVersion: {version}\nkind: {}\nmetadata:\n  name: sample\n{}",
                known.kind, known.body
            );
            let object: Value = serde_saphyr::from_str(&text).unwrap();
            let applied = apply(&cluster.client(), "default", &object).await;
            assert!(applied.is_ok(), "{}: {applied:?}", known.kind);
        }
    }
}

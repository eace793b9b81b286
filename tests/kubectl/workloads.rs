//! Workloads: rollouts, scaling, and what becomes of what is owned.

use crate::session::{Session, with_controllers};

async fn deploy(session: &Session) {
    session
        .prints(
            "create deployment web --image=nginx:1 --replicas=3",
            "deployment.apps/web created",
        )
        .await;
    session
        .shows(
            "rollout status deployment/web",
            &["successfully rolled out"],
        )
        .await;
}

#[tokio::test]
async fn a_deployment_rolls_out_and_back() {
    with_controllers(async |session| {
        deploy(session).await;
        session
            .prints(
                "set image deployment/web nginx=nginx:2",
                "deployment.apps/web image updated",
            )
            .await;
        session
            .shows(
                "rollout status deployment/web",
                &["successfully rolled out"],
            )
            .await;
        session
            .prints(
                "get pods -o jsonpath={.items[*].spec.containers[0].image}",
                "nginx:2 nginx:2 nginx:2",
            )
            .await;
        session
            .prints(
                "rollout history deployment/web",
                "deployment.apps/web\nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>",
            )
            .await;
        session
            .prints(
                "rollout undo deployment/web",
                "deployment.apps/web rolled back",
            )
            .await;
        session
            .shows(
                "rollout status deployment/web",
                &["successfully rolled out"],
            )
            .await;
        session
            .prints(
                "get pods -o jsonpath={.items[*].spec.containers[0].image}",
                "nginx:1 nginx:1 nginx:1",
            )
            .await;
        session
            .prints(
                "rollout history deployment/web",
                "deployment.apps/web\nREVISION  CHANGE-CAUSE\n2         <none>\n3         <none>",
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_restart_makes_all_pods_anew() {
    with_controllers(async |session| {
        deploy(session).await;
        let before = session.run("get pods -o name").await.out;
        session
            .prints(
                "rollout restart deployment/web",
                "deployment.apps/web restarted",
            )
            .await;
        session
            .shows(
                "rollout status deployment/web",
                &["successfully rolled out"],
            )
            .await;
        let after = session.run("get pods -o name").await.out;
        assert_eq!(after.lines().count(), 3);
        assert!(after.lines().all(|pod| !before.contains(pod)));
    })
    .await;
}

#[tokio::test]
async fn a_deployment_is_scaled_waited_for_and_looked_at() {
    with_controllers(async |session| {
        deploy(session).await;
        session
            .prints(
                "scale deployment/web --replicas=5",
                "deployment.apps/web scaled",
            )
            .await;
        session
            .prints(
                "wait --for=jsonpath={.status.availableReplicas}=5 deployment/web --timeout=30s",
                "deployment.apps/web condition met",
            )
            .await;
        session
            .prints(
                "wait --for=condition=Available deployment/web --timeout=30s",
                "deployment.apps/web condition met",
            )
            .await;
        session
            .prints(
                "get deployments",
                "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    5/5     5            5           <age>",
            )
            .await;
        let pods = session.run("get pods --no-headers").await.out;
        assert_eq!(pods.lines().count(), 5, "{pods}");
        for pod in pods.lines() {
            let columns: Vec<&str> = pod.split_whitespace().collect();
            assert_eq!(columns[1..4], ["1/1", "Running", "0"], "{pods}");
        }
        session
            .shows("get nodes", &["simulated-0   Ready    <none>"])
            .await;
        session
            .shows(
                "describe deployment web",
                &["ScalingReplicaSet", "5 desired | 5 updated | 5 total | 5 available | 0 unavailable"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn what_a_deleted_deployment_owns_goes_first_later_or_not_at_all() {
    with_controllers(async |session| {
        for policy in ["foreground", "background"] {
            deploy(session).await;
            session
                .shows(
                    &format!("delete deployment web --cascade={policy}"),
                    &["deployment.apps \"web\" deleted"],
                )
                .await;
            session
                .run("wait --for=delete pod -l app=web --timeout=30s")
                .await;
            session.prints("get replicasets,pods", "").await;
        }
        deploy(session).await;
        session
            .shows(
                "delete deployment web --cascade=orphan",
                &["deployment.apps \"web\" deleted"],
            )
            .await;
        session
            .prints(
                "get replicasets -o jsonpath={.items[*].metadata.ownerReferences}",
                "",
            )
            .await;
        let pods = session.run("get pods -o name").await.out;
        assert_eq!(pods.lines().count(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_stateful_set_rolls_out_and_back() {
    with_controllers(async |session| {
        session.file("db.yaml", STATEFUL_SET);
        session
            .prints("apply -f db.yaml", "statefulset.apps/db created")
            .await;
        let rolled_out = "rollout status statefulset/db --timeout=60s";
        session
            .shows(rolled_out, &["2 new pods have been updated"])
            .await;
        session
            .prints(
                "set image statefulset/db main=nginx:2",
                "statefulset.apps/db image updated",
            )
            .await;
        session
            .shows(rolled_out, &["2 new pods have been updated"])
            .await;
        let images = "get pods -o jsonpath={.items[*].spec.containers[0].image}";
        session.prints(images, "nginx:2 nginx:2").await;
        session
            .prints(
                "rollout undo statefulset/db",
                "statefulset.apps/db rolled back",
            )
            .await;
        session
            .shows(rolled_out, &["2 new pods have been updated"])
            .await;
        session.prints(images, "nginx:1 nginx:1").await;
        session
            .prints(
                "rollout history statefulset/db",
                "statefulset.apps/db\nREVISION  CHANGE-CAUSE\n2         <none>\n3         <none>",
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_daemon_set_is_rolled_out_and_restarted() {
    with_controllers(async |session| {
        session.file("agent.yaml", DAEMON_SET);
        session
            .prints("apply -f agent.yaml", "daemonset.apps/agent created")
            .await;
        let rolled_out = "rollout status daemonset/agent --timeout=60s";
        session
            .shows(rolled_out, &["successfully rolled out"])
            .await;
        let before = session.run("get pods -o name").await.out;
        session
            .prints(
                "rollout restart daemonset/agent",
                "daemonset.apps/agent restarted",
            )
            .await;
        session
            .shows(rolled_out, &["successfully rolled out"])
            .await;
        let after = session.run("get pods -o name").await.out;
        assert_eq!(after.lines().count(), 1);
        assert_ne!(after, before);
    })
    .await;
}

#[tokio::test]
async fn a_job_completes_and_a_deleted_namespace_is_gone() {
    with_controllers(async |session| {
        session
            .prints("create namespace demo", "namespace/demo created")
            .await;
        session
            .prints(
                "create job work --image=busybox -n demo",
                "job.batch/work created",
            )
            .await;
        session
            .prints(
                "wait --for=condition=complete job/work -n demo --timeout=60s",
                "job.batch/work condition met",
            )
            .await;
        session
            .shows("get pods -n demo", &["0/1     Completed"])
            .await;
        session
            .shows("delete namespace demo", &["namespace \"demo\" deleted"])
            .await;
        session
            .refuses(
                "get namespace demo",
                "Error from server (NotFound): namespaces \"demo\" not found",
            )
            .await;
    })
    .await;
}

const STATEFUL_SET: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: 'nginx:1'}]}
";

const DAEMON_SET: &str = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: 'nginx:1'}]}
";

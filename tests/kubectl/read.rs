//! Looking: get in its forms, explain, describe, discovery, access.

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::session::{with_each_kubectl, with_each_kubectl_since};

#[tokio::test(flavor = "multi_thread")]
async fn get_shows_tables() {
    with_each_kubectl(async |person| {
        person.prints("get pods", "").await;
        person
            .prints(
                "get namespaces",
                "NAME              STATUS   AGE\n\
                 default           Active   <age>\n\
                 kube-node-lease   Active   <age>\n\
                 kube-public       Active   <age>\n\
                 kube-system       Active   <age>",
            )
            .await;
        person
            .prints("run nginx --image=nginx:1.27", "pod/nginx created")
            .await;
        person
            .prints(
                "get pods",
                "NAME    READY   STATUS    RESTARTS   AGE\n\
                 nginx   0/1     Pending   0          <age>",
            )
            .await;
        person
            .prints(
                "get pods -A -o wide --no-headers",
                "default   nginx   0/1   Pending   0     <age>   <none>   <none>   <none>   <none>",
            )
            .await;
        person
            .prints("get pods --selector run=nginx -o name", "pod/nginx")
            .await;
        person
            .prints("get pods --selector run!=nginx -o name", "")
            .await;
        person
            .prints(
                "get pods --field-selector status.phase=Pending -o name",
                "pod/nginx",
            )
            .await;
        person
            .prints("get pods --field-selector spec.nodeName=a -o name", "")
            .await;
        person
            .refuses(
                "get pods web",
                "Error from server (NotFound): pods \"web\" not found",
            )
            .await;
        person
            .prints(
                "create deployment web --image=nginx",
                "deployment.apps/web created",
            )
            .await;
        person
            .prints(
                "get deployments",
                "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\n\
                 web    0/1     0            0           <age>",
            )
            .await;
        person
            .prints(
                "get all -o name",
                "pod/nginx\nservice/kubernetes\ndeployment.apps/web",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn get_shows_whole_objects() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "create configmap app --from-literal=mode=slow",
                "configmap/app created",
            )
            .await;
        person
            .prints(
                "get configmap app -o yaml",
                "apiVersion: v1\n\
                 data:\n  \
                   mode: slow\n\
                 kind: ConfigMap\n\
                 metadata:\n  \
                   creationTimestamp: \"<time>\"\n  \
                   name: app\n  \
                   namespace: default\n  \
                   resourceVersion: <version>\n  \
                   uid: <uid>",
            )
            .await;
        person
            .prints("get configmap app -o jsonpath={.data.mode}", "slow")
            .await;
        person
            .prints(
                "get configmap app -o custom-columns=N:.metadata.name,M:.data.mode",
                "N     M\napp   slow",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn get_watches() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "create configmap first --from-literal=a=1",
                "configmap/first created",
            )
            .await;
        let mut watching = person.start("get configmaps -w -o name");
        let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        assert_eq!(
            lines.next_line().await.unwrap().as_deref(),
            Some("configmap/first")
        );
        person
            .prints(
                "create configmap second --from-literal=a=1",
                "configmap/second created",
            )
            .await;
        assert_eq!(
            lines.next_line().await.unwrap().as_deref(),
            Some("configmap/second")
        );
        person
            .prints("label configmap first a=b", "configmap/first labeled")
            .await;
        assert_eq!(
            lines.next_line().await.unwrap().as_deref(),
            Some("configmap/first")
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_and_discovery_know_every_kind() {
    with_each_kubectl_since(27, async |person| {
        person
            .shows(
                "explain pods.spec",
                &[
                    "KIND:       Pod",
                    "VERSION:    v1",
                    "FIELD: spec <PodSpec>",
                    "containers",
                    "-required-",
                ],
            )
            .await;
        person
            .shows(
                "explain deployment.spec.replicas",
                &["GROUP:      apps", "FIELD: replicas <integer>"],
            )
            .await;
        person
            .shows(
                "api-resources",
                &[
                    "pods",
                    "po",
                    "deployments",
                    "mutatingwebhookconfigurations",
                    "poddisruptionbudgets",
                ],
            )
            .await;
        person
            .shows(
                "api-versions",
                &[
                    "v1",
                    "apps/v1",
                    "batch/v1",
                    "admissionregistration.k8s.io/v1",
                ],
            )
            .await;
        person.shows("version", &["Server Version"]).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_tells_what_is_there() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "run nginx --image=nginx:1.27 --port=80",
                "pod/nginx created",
            )
            .await;
        person
            .shows(
                "describe pod nginx",
                &[
                    "Name:",
                    "nginx",
                    "Namespace:",
                    "default",
                    "Image:",
                    "nginx:1.27",
                    "Port:",
                    "80/TCP",
                    "QoS Class:",
                ],
            )
            .await;
        person
            .prints(
                "create deployment web --image=nginx",
                "deployment.apps/web created",
            )
            .await;
        person
            .shows(
                "describe deployment web",
                &[
                    "StrategyType:",
                    "RollingUpdate",
                    "25% max unavailable, 25% max surge",
                ],
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_administrator_may_do_everything() {
    with_each_kubectl(async |person| {
        person.prints("auth can-i create pods", "yes").await;
        person.prints("auth can-i '*' '*'", "yes").await;
        if person.minor() >= 28 {
            person
                .shows("auth whoami", &["Username", "Groups", "system:masters"])
                .await;
        }
    })
    .await;
}

//! Changing: create, patch, label, annotate, scale, set image, edit, expose, delete, wait.

use crate::session::{with_each_kubectl, with_each_kubectl_since};

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_created_by_name() {
    with_each_kubectl_since(27, async |person| {
        person
            .prints("create ns blue", "namespace/blue created")
            .await;
        person
            .prints(
                "create configmap app -n blue --from-literal=a=1",
                "configmap/app created",
            )
            .await;
        person
            .prints(
                "create secret generic key -n blue --from-literal=k=v",
                "secret/key created",
            )
            .await;
        person
            .prints(
                "create serviceaccount robot -n blue",
                "serviceaccount/robot created",
            )
            .await;
        person
            .prints(
                "create job once -n blue --image=busybox",
                "job.batch/once created",
            )
            .await;
        person
            .refuses(
                "create ns blue",
                "Error from server (AlreadyExists): namespaces \"blue\" already exists",
            )
            .await;
        person
            .refuses(
                "create configmap app -n red --from-literal=a=1",
                "error: failed to create configmap: namespaces \"red\" not found",
            )
            .await;
        person
            .shows(
                "get all,cm,secret,sa -n blue -o name",
                &["configmap/app", "secret/key", "job.batch/once"],
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_three_kinds_of_patch_work() {
    with_each_kubectl(async |person| {
        person.prints("create deployment web --image=nginx", "deployment.apps/web created").await;
        let replicas = "get deployment web -o jsonpath={.spec.replicas}";
        person
            .prints(r#"patch deployment web -p '{"spec":{"replicas":3}}'"#, "deployment.apps/web patched")
            .await;
        person.prints(replicas, "3").await;
        person
            .prints(
                r#"patch deployment web --type=merge -p '{"spec":{"replicas":4}}'"#,
                "deployment.apps/web patched",
            )
            .await;
        person.prints(replicas, "4").await;
        person
            .prints(
                r#"patch deployment web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'"#,
                "deployment.apps/web patched",
            )
            .await;
        person.prints(replicas, "5").await;
        person
            .prints(
                r#"patch deployment web -p '{"spec":{"replicas":5}}'"#,
                "deployment.apps/web patched (no change)",
            )
            .await;
        person
            .prints(
                r#"patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log"}]}}}}'"#,
                "deployment.apps/web patched",
            )
            .await;
        person
            .prints("get deployment web -o jsonpath={.spec.template.spec.containers[*].name}", "log nginx")
            .await;
        person
            .refuses(
                r#"patch deployment web -p '{"spec":{"replicas":-1}}'"#,
                "The Deployment \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_annotations_scale_and_images_change() {
    with_each_kubectl_since(27, async |person| {
        person.prints("create deployment web --image=nginx", "deployment.apps/web created").await;
        person.prints("label deployment web team=blue", "deployment.apps/web labeled").await;
        person.prints("label deployment web team=blue", "deployment.apps/web not labeled").await;
        person.prints("label deployment web team-", "deployment.apps/web unlabeled").await;
        let word = if person.minor() >= 28 { "annotated" } else { "annotate" };
        let answer = format!("deployment.apps/web {word}");
        person.prints("annotate deployment web note='a b'", &answer).await;
        person.prints("get deployment web -o jsonpath={.metadata.annotations.note}", "a b").await;
        person.prints("scale deployment web --replicas=2", "deployment.apps/web scaled").await;
        person
            .prints("scale deployment web --current-replicas=2 --replicas=6", "deployment.apps/web scaled")
            .await;
        person.prints("set image deployment/web nginx=nginx:1.28", "deployment.apps/web image updated").await;
        person
            .prints(
                "get deployment web -o jsonpath={.spec.replicas},{.spec.template.spec.containers[0].image},{.metadata.generation}",
                "6,nginx:1.28,5",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_edited_in_an_editor() {
    with_each_kubectl(async |person| {
        person
            .prints(
                "create configmap app --from-literal=mode=slow",
                "configmap/app created",
            )
            .await;
        person
            .edits("edit configmap app", "s/slow/fast/", "configmap/app edited")
            .await;
        person
            .prints("get configmap app -o jsonpath={.data.mode}", "fast")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_exposed() {
    with_each_kubectl(async |person| {
        person.prints("create deployment web --image=nginx --port=80", "deployment.apps/web created").await;
        person
            .prints("expose deployment web --port=8080 --target-port=80", "service/web exposed")
            .await;
        person
            .prints(
                "get service web -o jsonpath={.spec.type}/{.spec.ports[0].port}/{.spec.ports[0].targetPort}/{.spec.selector.app}",
                "ClusterIP/8080/80/web",
            )
            .await;
        person
            .prints("get service web -o jsonpath={.spec.ipFamilies[0]}{.spec.sessionAffinity}", "IPv4None")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_objects_are_gone() {
    with_each_kubectl(async |person| {
        for name in ["a", "b", "c"] {
            let command = format!("run {name} --image=nginx --labels=app=x");
            person.prints(&command, &format!("pod/{name} created")).await;
        }
        person.prints("delete pod a", &deleted(person.minor(), "pod \"a\"")).await;
        person
            .prints(
                "delete pods --selector app=x",
                &format!(
                    "{}\n{}",
                    deleted(person.minor(), "pod \"b\""),
                    deleted(person.minor(), "pod \"c\"")
                ),
            )
            .await;
        person.prints("get pods -o name", "").await;
        person
            .refuses("delete pod a", "Error from server (NotFound): pods \"a\" not found")
            .await;
        person
            .refuses(
                "delete namespace default",
                "Error from server (Forbidden): namespaces \"default\" is forbidden: this namespace may not be deleted",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_are_waited_for() {
    with_each_kubectl_since(27, async |person| {
        person
            .prints("run nginx --image=nginx", "pod/nginx created")
            .await;
        person
            .prints(
                "wait pod/nginx --for=jsonpath={.status.phase}=Pending --timeout=5s",
                "pod/nginx condition met",
            )
            .await;
        let mut waiting = person.start("wait pod/nginx --for=delete --timeout=20s");
        person
            .prints(
                "delete pod nginx",
                &deleted(person.minor(), "pod \"nginx\""),
            )
            .await;
        assert!(
            waiting.wait().await.unwrap().success(),
            "kubectl 1.{} wait",
            person.minor()
        );
    })
    .await;
}

/// Since 1.34, kubectl names the namespace.
pub(crate) fn deleted(minor: u32, what: &str) -> String {
    if minor >= 34 {
        format!("{what} deleted from default namespace")
    } else {
        format!("{what} deleted")
    }
}

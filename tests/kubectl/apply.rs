//! Declaring: apply once, twice, changed; diff; kustomize; what is refused.

use crate::session::{with_each_kubectl, with_each_kubectl_since};

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.27
        ports: [{containerPort: 80}]
";

#[tokio::test(flavor = "multi_thread")]
async fn applying_twice_changes_nothing() {
    with_each_kubectl(async |person| {
        person.file("web.yaml", DEPLOYMENT);
        person
            .prints("apply -f web.yaml", "deployment.apps/web created")
            .await;
        person
            .prints("apply -f web.yaml", "deployment.apps/web unchanged")
            .await;
        person
            .prints("get deployment web -o jsonpath={.metadata.generation}", "1")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_changes_the_object() {
    with_each_kubectl_since(27, async |person| {
        person.file("web.yaml", DEPLOYMENT);
        person.prints("apply -f web.yaml", "deployment.apps/web created").await;
        person.prints("scale deployment web --replicas=7", "deployment.apps/web scaled").await;
        person.file("web.yaml", &DEPLOYMENT.replace("nginx:1.27", "nginx:1.28").replace("  replicas: 2\n", ""));
        person
            .prints("apply -f web.yaml --dry-run=server", "deployment.apps/web configured (server dry run)")
            .await;
        person.prints("apply -f web.yaml", "deployment.apps/web configured").await;
        person
            .prints(
                "get deployment web -o jsonpath={.spec.template.spec.containers[0].image},{.spec.replicas}",
                "nginx:1.28,1",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_shows_what_would_change() {
    with_each_kubectl_since(27, async |person| {
        person.file("web.yaml", DEPLOYMENT);
        person
            .prints("apply -f web.yaml", "deployment.apps/web created")
            .await;
        person.prints("diff -f web.yaml", "").await;
        person.file("web.yaml", &DEPLOYMENT.replace("nginx:1.27", "nginx:1.28"));
        let printed = person.run("diff -f web.yaml").await;
        assert_eq!(printed.code, 1, "{printed:?}");
        assert!(
            printed.out.contains("-      - image: nginx:1.27"),
            "{printed:?}"
        );
        assert!(
            printed.out.contains("+      - image: nginx:1.28"),
            "{printed:?}"
        );
        person
            .prints(
                "get deployment web -o jsonpath={.spec.template.spec.containers[0].image}",
                "nginx:1.27",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_side_apply_names_the_owner_of_what_it_would_change() {
    with_each_kubectl(async |person| {
        person.file("web.yaml", DEPLOYMENT);
        let apply = "apply --server-side -f web.yaml";
        person
            .prints(apply, "deployment.apps/web serverside-applied")
            .await;
        person
            .prints(apply, "deployment.apps/web serverside-applied")
            .await;
        person
            .prints(
                "scale deployment web --replicas=5",
                "deployment.apps/web scaled",
            )
            .await;
        let refused = person.run(apply).await;
        assert_eq!(refused.code, 1, "{refused:?}");
        // The manager is named after the binary.
        for part in [
            "Apply failed with 1 conflict: conflict with \"kubectl",
            " with subresource \"scale\" using apps/v1: .spec.replicas",
        ] {
            assert!(refused.err.contains(part), "{refused:?}");
        }
        person
            .prints(
                "apply --server-side --force-conflicts -f web.yaml",
                "deployment.apps/web serverside-applied",
            )
            .await;
        person
            .prints("get deployment web -o jsonpath={.spec.replicas}", "2")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kustomization_is_applied() {
    with_each_kubectl_since(27, async |person| {
        person.file("app/web.yaml", DEPLOYMENT);
        person.file(
            "app/kustomization.yaml",
            "namespace: blue\nresources: [namespace.yaml, web.yaml]\nlabels: [{pairs: {team: blue}}]\n",
        );
        person.file("app/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: blue}\n");
        person.prints("apply -k app", "namespace/blue created\ndeployment.apps/web created").await;
        person.prints("apply -k app", "namespace/blue unchanged\ndeployment.apps/web unchanged").await;
        person.prints("get deployments -n blue -l team=blue -o name", "deployment.apps/web").await;
        person
            .prints("delete -k app --wait=false -o name", "namespace/blue\ndeployment.apps/web")
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_refused_by_name() {
    with_each_kubectl_since(27, async |person| {
        person.file("web.yaml", &DEPLOYMENT.replace("  replicas: 2\n", "  replicas: 2\n  replica: 3\n"));
        person
            .refuses(
                "apply -f web.yaml",
                "Error from server (BadRequest): error when creating \"web.yaml\": Deployment in version \"v1\" \
                 cannot be handled as a Deployment: strict decoding error: unknown field \"spec.replica\"",
            )
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_documents_are_applied_in_order() {
    with_each_kubectl(async |person| {
        let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n";
        person.file("all.yaml", &format!("{service}---\n{DEPLOYMENT}"));
        person.prints("apply -f all.yaml", "service/web created\ndeployment.apps/web created").await;
        person.prints("apply -f all.yaml", "service/web unchanged\ndeployment.apps/web unchanged").await;
        person.prints("delete -f all.yaml -o name", "service/web\ndeployment.apps/web").await;
    })
    .await;
}

//! `deploy`, `undeploy`, `install` and `uninstall` beside objects of other owners, which they leave as they are.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubewright_testing::{apply, eventually};
use serde_json::{Value, json};

use crate::install::World;
use crate::snapshot::{assert_same, settled, snapshot};

impl World {
    /// Moves the program to another namespace.
    fn move_to(&self, namespace: &str) {
        self.manifests(|objects| {
            let text = serde_json::to_string(objects).expect("JSON");
            let text = text.replace("\"green\"", &format!("\"{namespace}\""));
            *objects = serde_json::from_str(&text).expect("JSON");
        });
    }

    async fn namespace(&self, name: &str) -> Option<Namespace> {
        let namespaces: Api<Namespace> = Api::all(self.client());
        namespaces.get_opt(name).await.expect("an answer")
    }

    async fn apply(&self, object: &Value) {
        let applied = apply(&self.client(), "default", object).await;
        applied.expect("it is accepted");
    }
}

#[tokio::test]
async fn a_program_of_the_same_name_in_another_namespace_is_refused_and_changes_nothing() {
    let world = World::new().await;
    world.lines(&["deploy"]).await;
    let before = settled(&world.client()).await;
    world.move_to("blue");

    let refused = world.run(&["deploy"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    for text in [
        "CustomResourceDefinition gardens.example.com belongs to the program gardens in the namespace green",
        "ValidatingWebhookConfiguration gardens belongs to the program gardens in the namespace green",
        "nothing was changed",
        "hint: give this program another name, or run `kubewright undeploy --namespace green` first",
        "hint: pass --adopt CustomResourceDefinition/gardens.example.com,",
    ] {
        assert!(
            refused.err.contains(text),
            "{text:?} is not in\n{}",
            refused.err
        );
    }
    assert!(world.namespace("blue").await.is_none());

    let refused = world.run(&["install"]).await;
    assert_eq!(refused.code, Some(1), "{}", refused.err);
    let left = world.run(&["undeploy"]).await;
    assert_eq!(left.code, Some(0), "{}", left.err);
    let line = "ValidatingWebhookConfiguration gardens left as it is";
    assert!(left.out.contains(line), "{}", left.out);
    assert!(!left.out.contains("deleted"), "{}", left.out);
    let left = world.run(&["uninstall", "--with-objects"]).await;
    assert_eq!(
        left.out,
        "CustomResourceDefinition gardens.example.com left as it is\n"
    );
    let after = snapshot(&world.client()).await;
    assert_same(&before, &after, "after commands of the other program");
}

#[tokio::test]
async fn pruning_deletes_what_the_installation_made_and_nothing_that_looks_like_it() {
    let world = World::new().await;
    world.lines(&["deploy", "--wait=false"]).await;
    let roles: Api<ClusterRole> = Api::all(world.client());
    for (name, mark) in [
        ("gardens-old", Some("gardens/green")),
        ("gardens-blue", Some("gardens/blue")),
        ("roses", Some("roses/green")),
        ("gardens-by-hand", None),
    ] {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": name,
                "labels": {"app.kubernetes.io/name": "gardens"},
                "annotations": {"kubewright.dev/installation": mark},
            },
        });
        let ours = PatchParams::apply("kubewright");
        let applied = roles.patch(name, &ours, &Patch::Apply(&role)).await;
        applied.expect("it is accepted");
    }
    let lines = world.lines(&["deploy", "--wait=false", "--prune"]).await;
    let deleted = lines.iter().filter(|line| line.ends_with(" deleted"));
    assert_eq!(
        deleted.collect::<Vec<_>>(),
        ["ClusterRole gardens-old deleted"]
    );
}

#[tokio::test]
async fn a_namespace_that_exists_stays_as_it_is() {
    let world = World::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "green"}});
    world.apply(&namespace).await;
    let before = world.namespace("green").await;
    let lines = world.lines(&["deploy", "--wait=false"]).await;
    assert_eq!(lines[0], "Namespace green left as it is");
    assert!(lines.contains(&"Deployment green/gardens created".to_owned()));
    assert_eq!(world.namespace("green").await, before);

    let refused = world.run(&["undeploy", "--with-namespace"]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    let why = "the Namespace green exists and was not installed by kubewright";
    assert!(refused.err.contains(why), "{}", refused.err);
    let lines = world.lines(&["undeploy"]).await;
    assert!(lines.contains(&"Deployment green/gardens deleted".to_owned()));
    assert_eq!(world.namespace("green").await, before);
}

#[tokio::test]
async fn an_object_of_another_owner_is_taken_over_if_it_is_named() {
    let world = World::new().await;
    let definition = std::fs::read_to_string(world.path("package/crds.yaml")).expect("a file");
    let definition: Value = serde_json::from_str(&definition).expect("JSON");
    world.apply(&definition).await;
    let refused = world.run(&["install"]).await;
    assert_eq!(refused.code, Some(1));
    let why = "error: the CustomResourceDefinition gardens.example.com exists and was not installed by kubewright";
    assert!(refused.err.contains(why), "{}", refused.err);
    assert_eq!(
        world.lines(&["uninstall"]).await,
        ["CustomResourceDefinition gardens.example.com left as it is"]
    );
    let wrong = world.run(&["install", "--adopt", "ClusterRole/x"]).await;
    assert_eq!(wrong.code, Some(1));
    let why = "--adopt names ClusterRole/x, which is not an object of the program";
    assert!(wrong.err.contains(why), "{}", wrong.err);

    let name = "CustomResourceDefinition/gardens.example.com";
    assert_eq!(
        world.lines(&["install", "--adopt", name]).await,
        ["CustomResourceDefinition gardens.example.com adopted"]
    );
    assert_eq!(
        world.lines(&["install"]).await,
        ["CustomResourceDefinition gardens.example.com unchanged"]
    );
    // The namespace did not exist when it was installed.
    let lines = world.lines(&["deploy", "--wait=false"]).await;
    assert_eq!(
        lines[1],
        "CustomResourceDefinition gardens.example.com changed"
    );
}

#[tokio::test]
async fn a_namespace_that_was_created_anew_is_another_one() {
    let world = World::new().await;
    world.lines(&["deploy", "--wait=false"]).await;
    let namespaces: Api<Namespace> = Api::all(world.client());
    let gone = || {
        eventually("the end of the namespace", async || {
            world.namespace("green").await.is_none().then_some(())
        })
    };
    let delete = DeleteParams::default();
    namespaces
        .delete("green", &delete)
        .await
        .expect("it can go");
    gone().await;
    let refused = world.run(&["deploy", "--wait=false"]).await;
    assert_eq!(refused.code, Some(1));
    let why = "ValidatingWebhookConfiguration gardens belongs to the program gardens in the namespace green";
    assert!(refused.err.contains(why), "{}", refused.err);

    let hint = refused
        .err
        .lines()
        .find_map(|line| line.strip_prefix("hint: pass --adopt "));
    let names = hint.and_then(|hint| hint.split(' ').next()).expect("names");
    world
        .lines(&["deploy", "--wait=false", "--adopt", names])
        .await;
    // What the command itself leaves behind is taken by the next deployment.
    world.lines(&["undeploy", "--with-namespace"]).await;
    gone().await;
    world.lines(&["deploy", "--wait=false"]).await;
}

//! What `kubewright deploy` does once everything is applied: it waits for the program, and deletes what the program has no more.

use std::fs;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kubewright_testing::{apply, eventually};
use serde_json::{Value, json};

use crate::install::World;

impl World {
    /// Has the program print other manifests than it did.
    pub(crate) fn manifests(&self, change: impl FnOnce(&mut Vec<Value>)) {
        let path = self.path("package/manifests.yaml");
        let text = fs::read_to_string(&path).expect("manifests");
        let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
        change(&mut objects);
        let objects: Vec<String> = objects.iter().map(Value::to_string).collect();
        fs::write(path, objects.join("\n---\n")).expect("a file");
    }

    /// Sets the simulated behaviour of the program's pods.
    fn simulate(&self, what: &Value) {
        self.manifests(|objects| {
            let mut kinds = objects.iter_mut();
            let deployment = kinds.find(|object| object["kind"] == "Deployment");
            let deployment = deployment.expect("a Deployment");
            let annotations = json!({"kubewright.dev/simulate": what});
            deployment["spec"]["template"]["metadata"]["annotations"] = annotations;
        });
    }

    async fn is_called(&self) -> bool {
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client());
        configurations
            .get_opt("gardens")
            .await
            .expect("an answer")
            .is_some()
    }
}

#[tokio::test]
async fn a_program_is_called_only_when_it_runs_and_what_keeps_it_from_that_is_said() {
    let world = World::new().await;
    world.simulate(&"unready".into());
    let late = world.run(&["deploy", "--timeout", "1s"]).await;
    assert_eq!(late.code, Some(1), "{}", late.err);
    for text in [
        "error: the Deployment green/gardens is not rolled out: 0 of 2 new pods are available\n  Pod gardens-",
        " is not ready: container gardens runs\n",
        "hint: look at what its pods say: kubectl logs --namespace green deployment/gardens\n",
        "the webhook configurations were not applied",
    ] {
        assert!(late.err.contains(text), "{text:?} is not in\n{}", late.err);
    }
    assert!(
        late.out.contains("Deployment green/gardens created\n"),
        "{}",
        late.out
    );
    assert!(!world.is_called().await);

    world.simulate(&"failure".into());
    let late = world.run(&["deploy", "--timeout=1s", "--wait"]).await;
    assert_eq!(late.code, Some(1), "{}", late.err);
    assert!(
        late.err
            .contains(" crashes: container gardens ended with code "),
        "{}",
        late.err
    );
    assert!(!world.is_called().await);

    // Without waiting, `deploy` applies every object at once.
    let lines = world.lines(&["deploy", "--wait=false"]).await;
    assert_eq!(
        lines.last().expect("lines"),
        "ValidatingWebhookConfiguration gardens created"
    );

    world.simulate(&Value::Null);
    let ran = world.run(&["deploy"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err
            .contains("✓ the Deployment green/gardens is rolled out"),
        "{}",
        ran.err
    );
}

#[tokio::test]
async fn what_the_program_has_no_more_goes_if_that_is_asked_for() {
    let world = World::new().await;
    world.lines(&["deploy"]).await;
    let garden =
        json!({"apiVersion": "example.com/v1", "kind": "Garden", "metadata": {"name": "rose"}});
    apply(&world.client(), "default", &garden)
        .await
        .expect("it is accepted");
    // An object of another field manager, with the same label.
    let own = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "own", "namespace": "green", "labels": {"app.kubernetes.io/name": "gardens"}},
    });
    let maps: Api<ConfigMap> = Api::namespaced(world.client(), "green");
    let patch = Patch::Apply(&own);
    let theirs = PatchParams::apply("another-manager");
    maps.patch("own", &theirs, &patch)
        .await
        .expect("it is accepted");

    world.manifests(|objects| {
        let gone = [
            "Namespace",
            "PodDisruptionBudget",
            "ValidatingWebhookConfiguration",
            "CustomResourceDefinition",
        ];
        objects.retain(|object| !gone.iter().any(|kind| object["kind"] == *kind));
    });
    let lines = world.lines(&["deploy"]).await;
    assert!(
        lines.iter().all(|line| line.ends_with(" unchanged")),
        "{lines:#?}"
    );
    assert!(world.is_called().await);

    let ran = world.run(&["deploy", "--prune"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let deleted: Vec<&str> = ran
        .out
        .lines()
        .filter(|line| line.ends_with(" deleted"))
        .collect();
    assert_eq!(
        deleted,
        [
            "ValidatingWebhookConfiguration gardens deleted",
            "PodDisruptionBudget green/gardens deleted",
        ]
    );
    let stays = "the CustomResourceDefinition gardens.example.com stays: there are 1 objects of it";
    assert!(ran.err.contains(stays), "{}", ran.err);
    assert!(!world.is_called().await);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(world.client(), "green");
    assert!(
        budgets
            .get_opt("gardens")
            .await
            .expect("an answer")
            .is_none()
    );
    let namespaces: Api<Namespace> = Api::all(world.client());
    namespaces
        .get("green")
        .await
        .expect("a namespace never goes");
    maps.get("own").await.expect("what others have made stays");

    let delete = DeleteParams::default();
    world
        .gardens()
        .delete("rose", &delete)
        .await
        .expect("it can go");
    eventually("the end of the garden", async || {
        let rose = world.gardens().get_opt("rose").await.expect("an answer");
        rose.is_none().then_some(())
    })
    .await;
    let lines = world.lines(&["deploy", "--prune"]).await;
    let last = lines.last().expect("lines");
    assert_eq!(last, "CustomResourceDefinition gardens.example.com deleted");
}

#[tokio::test]
async fn a_time_that_is_none_is_a_mistake_on_the_command_line() {
    let world = World::new().await;
    for time in ["2", "m", "2d", "-1s", "99999999999999999h"] {
        let ran = world.run(&["deploy", &format!("--timeout={time}")]).await;
        assert_eq!(ran.code, Some(2), "{time}");
        assert!(ran.err.contains("such as 90s or 5m"), "{}", ran.err);
    }
}

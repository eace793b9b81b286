//! A program with handles of ownership and adoption may do what they do, and no more.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt};
use kubewright_controller::{Action, Adopter, Context, Controller, Error, Ownership, Reconcile};
use kubewright_manager::{App, Needs};
use kubewright_testing::{TestCluster, eventually, unique, yaml};
use serde_json::json;

struct Gardener {
    away: String,
    plots: Ownership<ConfigMap, Secret>,
    tools: Adopter<Secret>,
}

impl Reconcile<ConfigMap> for Gardener {
    async fn reconcile(&self, garden: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        if !garden.labels().contains_key("garden") {
            return Ok(Action::await_change());
        }
        let mode = garden.labels()["garden"].clone();
        let plot = format!(
            "{{metadata: {{name: plot, namespace: {}}}, stringData: {{mode: {mode}}}}}",
            self.away
        );
        self.plots.create_or_update(&context, yaml(&plot)).await?;
        let matches = |tool: &Secret| tool.labels().contains_key("tool");
        self.tools.claim(&context, matches).await?;
        Ok(Action::await_change())
    }
}

#[tokio::test]
async fn a_program_may_do_what_its_ownership_takes_and_nothing_else() {
    let away = unique("away");
    let app = |needs: &mut Needs| {
        let gardener = Gardener {
            away: away.clone(),
            plots: needs
                .in_namespace(&away)
                .ownership("gardens.example.com/owner"),
            tools: needs.adopter(),
        };
        let plots = gardener.plots.clone();
        App::new("gardens").controller(Controller::new("gardens", gardener).owns(&plots))
    };
    let cluster = TestCluster::builder()
        .app(app)
        .exact_permissions()
        .start()
        .await;
    let tool: Secret = yaml("metadata: {name: rake, labels: {tool: ''}}");
    cluster.create(&tool).await.expect_allowed();
    let garden: ConfigMap = yaml("metadata: {name: kitchen, labels: {garden: wild}}");
    cluster.create(&garden).await.expect_allowed();
    let plots: Api<Secret> = Api::namespaced(cluster.client(), &away);
    eventually("the plot", async || plots.get_opt("plot").await.unwrap()).await;
    eventually("the tool", async || {
        let tool: Secret = cluster.get("rake").await.unwrap();
        (tool.owner_references().first()?.name == "kitchen").then_some(())
    })
    .await;
    let tidy = json!({"metadata": {"labels": {"garden": "tidy"}}});
    cluster
        .merge::<ConfigMap>("kitchen", &tidy)
        .await
        .expect_allowed();
    eventually("a tidy plot", async || {
        let plot = plots.get("plot").await.unwrap();
        (plot.data?["mode"].0 == b"tidy").then_some(())
    })
    .await;
    cluster
        .delete::<ConfigMap>("kitchen")
        .await
        .expect_allowed();
    eventually("the end of the garden", async || {
        cluster
            .get::<ConfigMap>("kitchen")
            .await
            .is_none()
            .then_some(())
    })
    .await;
    assert!(plots.get_opt("plot").await.unwrap().is_none());
    assert!(cluster.unused_permissions().is_empty());
}

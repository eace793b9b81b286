//! Server-side apply by a controller, which needs an API server that does it.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{Action, Applier, Context, Controller, Error, Reconcile, owned};
use kubewright_manager::{App, Needs};
use kubewright_testing::{Server, TestCluster, eventually, yaml};
use serde_json::json;

/// Applies a ConfigMap for each Secret with a label.
struct Applied {
    applier: Applier<ConfigMap>,
}

impl Reconcile<Secret> for Applied {
    async fn reconcile(&self, secret: Arc<Secret>, context: Context) -> Result<Action, Error> {
        let Some(value) = secret.labels().get("applied") else {
            return Ok(Action::await_change());
        };
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("{}-applied", secret.name_any()));
        map.data = Some([("value".to_owned(), value.clone())].into());
        context.apply(&self.applier, map).await?;
        Ok(Action::await_change())
    }
}

#[tokio::test]
async fn what_is_applied_belongs_to_its_owner_and_leaves_the_fields_of_others_alone() {
    let app = |needs: &mut Needs| {
        let applied = Applied {
            applier: needs.applier(),
        };
        App::new("applied")
            .controller(Controller::new("secrets", applied).watch(owned::<ConfigMap>()))
    };
    let server = Server::Real;
    let cluster = TestCluster::builder().on(server).app(app).start().await;
    let secret: Secret = yaml("metadata: {name: a, labels: {applied: '1'}}");
    cluster.create(&secret).await.expect_allowed();
    let map = eventually("the map", async || {
        cluster.get::<ConfigMap>("a-applied").await
    })
    .await;
    assert_eq!(map.owner_references()[0].name, "a");
    assert_eq!(map.managed_fields()[0].manager.as_deref(), Some("applied"));

    // Another client adds one field and changes another: the first stays, and the controller restores the second.
    let change = json!({"data": {"value": "2", "other": "3"}});
    cluster
        .merge::<ConfigMap>("a-applied", &change)
        .await
        .expect_allowed();
    let map = eventually("the value", async || {
        let map = cluster.get::<ConfigMap>("a-applied").await?;
        (map.data.as_ref()?["value"] == "1").then_some(map)
    })
    .await;
    assert_eq!(map.data.unwrap()["other"], "3");
}

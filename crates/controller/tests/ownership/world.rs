//! Gardens, which are ConfigMaps of one namespace, own plots, which are Secrets of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kubewright_controller::{
    Action, AnyController, Connection, Context, Controller, Error, Informers, Ownership, Reconcile,
    Scope,
};
use kubewright_testing::{TestCluster, eventually, unique, yaml};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

pub(crate) const NAME: &str = "gardens.example.com/owner";

pub(crate) type Plots = Ownership<ConfigMap, Secret>;

/// Two namespaces of a cluster.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    pub(crate) home: String,
    pub(crate) away: String,
}

/// A program that has a plot for each bed of a garden. Dropping it is to kill it.
pub(crate) struct Program {
    pub(crate) reconciles: mpsc::UnboundedReceiver<(Arc<ConfigMap>, Context, Option<String>)>,
    _tasks: JoinSet<()>,
}

struct Gardener {
    plots: Plots,
    away: String,
    reports: mpsc::UnboundedSender<(Arc<ConfigMap>, Context, Option<String>)>,
}

impl Gardener {
    async fn plant(&self, garden: &ConfigMap, context: &Context) -> Result<(), Error> {
        let beds = garden.data.iter().flat_map(BTreeMap::keys);
        let wanted: Vec<String> = beds
            .map(|bed| format!("{}-{bed}", garden.name_any()))
            .collect();
        for name in &wanted {
            let plot = yaml(&format!(
                "metadata: {{namespace: {}, name: {name}}}",
                self.away
            ));
            self.plots.create_or_update(context, plot).await?;
        }
        for plot in self.plots.list(context).await? {
            if !wanted.contains(&plot.name_any()) {
                self.plots.delete(context, &plot).await?;
            }
        }
        Ok(())
    }
}

impl Reconcile<ConfigMap> for Gardener {
    async fn reconcile(&self, garden: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        let planted = self.plant(&garden, &context).await;
        let error = planted.as_ref().err().map(Error::to_string);
        drop(self.reports.send((garden, context, error)));
        planted.map(|()| Action::await_change())
    }
}

impl Program {
    /// Starts a program for the gardens of a namespace.
    pub(crate) fn start(world: &World, client: Client, home: &str) -> Self {
        let informers = Informers::new();
        let connection = Connection::with_informers(&informers);
        connection.open(client.clone(), "gardens");
        let plots: Plots = Ownership::new(&informers, &connection, NAME, Scope::all());
        let (reports, reconciles) = mpsc::unbounded_channel();
        let gardener = Gardener {
            plots: plots.clone(),
            away: world.away.clone(),
            reports,
        };
        let scope = Scope::all().in_namespace(home).labelled("garden");
        let controller = Controller::new("gardens", gardener)
            .within(scope)
            .owns(&plots);
        let running = AnyController::from(controller).attach(&informers);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { running.run(std::future::pending()).await });
        tasks.spawn(async move { informers.run(client).await });
        Self {
            reconciles,
            _tasks: tasks,
        }
    }

    /// Waits for the error of a reconcile.
    pub(crate) async fn error(&mut self) -> String {
        loop {
            let (.., error) = self.reconciles.recv().await.unwrap();
            if let Some(error) = error {
                return error;
            }
        }
    }
}

impl World {
    pub(crate) async fn new(cluster: TestCluster) -> Self {
        let away = unique("away");
        let namespace: Namespace = yaml(&format!("metadata: {{name: {away}}}"));
        cluster.create(&namespace).await.expect_allowed();
        let home = cluster.namespace().to_owned();
        Self {
            cluster,
            home,
            away,
        }
    }

    pub(crate) fn start(&self) -> Program {
        Program::start(self, self.cluster.client_under_test(), &self.home)
    }

    pub(crate) fn gardens(&self) -> Api<ConfigMap> {
        Api::namespaced(self.cluster.client(), &self.home)
    }

    pub(crate) fn plots(&self) -> Api<Secret> {
        Api::namespaced(self.cluster.client(), &self.away)
    }

    /// Creates a garden with these beds.
    pub(crate) async fn garden(&self, name: &str, beds: &[&str]) -> ConfigMap {
        let data: Value = beds
            .iter()
            .map(|bed| ((*bed).to_owned(), json!("")))
            .collect();
        let garden = json!({"metadata": {"name": name, "labels": {"garden": ""}}, "data": data});
        let garden = serde_json::from_value(garden).unwrap();
        let created = self.gardens().create(&PostParams::default(), &garden).await;
        created.unwrap()
    }

    pub(crate) async fn plot(&self, name: &str, metadata: Value) -> Secret {
        let mut plot = json!({"metadata": metadata});
        plot["metadata"]["name"] = name.into();
        let plot = serde_json::from_value(plot).unwrap();
        self.plots()
            .create(&PostParams::default(), &plot)
            .await
            .unwrap()
    }

    pub(crate) async fn merge(&self, plot: &str, patch: &Value) {
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
        self.plots().patch(plot, &parameters, &patch).await.unwrap();
    }

    pub(crate) async fn merge_garden(&self, garden: &str, patch: &Value) {
        let (gardens, parameters) = (self.gardens(), PatchParams::default());
        gardens
            .patch(garden, &parameters, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The names of all plots, with any owner and without.
    pub(crate) async fn all_plots(&self) -> Vec<String> {
        let list = self.plots().list(&ListParams::default()).await.unwrap();
        let plots = list
            .items
            .iter()
            .filter(|plot| plot.type_.as_deref() == Some("Opaque"));
        plots.map(ResourceExt::name_any).collect()
    }

    pub(crate) async fn has_plots(&self, expected: &[&str]) {
        eventually(&format!("the plots {expected:?}"), async || {
            (self.all_plots().await == expected).then_some(())
        })
        .await;
    }

    pub(crate) async fn has_gone(&self, garden: &str) {
        eventually("the end of a garden", async || {
            let found = self.gardens().get_opt(garden).await.unwrap();
            found.is_none().then_some(())
        })
        .await;
    }

    pub(crate) async fn delete(&self, garden: &str) {
        self.gardens()
            .delete(garden, &DeleteParams::default())
            .await
            .unwrap();
    }
}

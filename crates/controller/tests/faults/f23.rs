//! F23: finalizers, owners and conflicts in every order that chance has.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Applier, Context, Controller, Error, Finalizer, Reader, Reconcile, Scope, Writer,
    finalizer, owned,
};
use kubewright_manager::{App, Needs};
use kubewright_testing::{End, Faults, Refusal, Requests, TestCluster, eventually, yaml};
use serde_json::json;
use tokio::time::sleep;

use super::world::value;

/// Keeps a Secret for every ConfigMap with the label `copied`, which goes before the ConfigMap does.
struct Keeper {
    finalizer: Finalizer<ConfigMap>,
    applier: Applier<Secret>,
    reader: Reader<Secret>,
    writer: Writer<Secret>,
}

impl Reconcile<ConfigMap> for Keeper {
    async fn reconcile(&self, map: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        let run = self.finalizer.run(map, async |event| {
            match event {
                finalizer::Event::Apply(map) => {
                    let mut secret = Secret::default();
                    secret.metadata.name = Some(map.name_any());
                    secret.labels_mut().insert("value".to_owned(), value(&*map));
                    context.apply(&self.applier, secret).await?;
                }
                finalizer::Event::Cleanup(map) => {
                    let (name, namespace) = (map.name_any(), map.namespace().unwrap_or_default());
                    if let Some(secret) = self.reader.get((&*namespace, &*name)).await? {
                        self.writer.delete(&secret).await?;
                    }
                }
            }
            Ok(Action::await_change())
        });
        run.await
    }
}

fn keeper(needs: &mut Needs) -> App {
    let keeper = Keeper {
        finalizer: needs.finalizer("keeper.example.com/secret"),
        applier: needs.applier(),
        reader: needs.reader(),
        writer: needs.writer(),
    };
    let controller = Controller::new("keeper", keeper)
        .within(Scope::all().labelled("copied"))
        .watch(owned::<Secret>())
        .concurrency(3);
    App::new("keeper").controller(controller)
}

/// Makes a random change, or injects a random fault.
async fn something(cluster: &TestCluster, random: &mut fastrand::Rng) {
    let name = format!("map-{}", random.u8(..6));
    let faults = cluster.faults();
    let change = json!({"metadata": {"labels": {"value": random.u16(..).to_string()}}});
    match random.u8(..14) {
        0..3 => {
            let map: ConfigMap = yaml(&format!(
                "metadata: {{name: {name}, labels: {{copied: 'yes', value: new}}}}"
            ));
            // It may be there already, or be on its way out.
            drop(cluster.create(&map).await);
        }
        3..5 => drop(cluster.merge::<ConfigMap>(&name, &change).await),
        5 => drop(cluster.delete::<ConfigMap>(&name).await),
        6 => drop(cluster.merge::<Secret>(&name, &change).await),
        7 => drop(cluster.delete::<Secret>(&name).await),
        8 => faults.conflict_once::<ConfigMap>(),
        9 => faults.on(Requests::all().writes()).once().reset(),
        10 => {
            let failing = faults.on(Requests::all()).times(random.usize(1..5));
            failing.answer(Refusal::unavailable());
        }
        11 => faults.drop_watches(),
        12 => faults.end_watches(&Requests::of::<Secret>(), &End::Error(Refusal::gone())),
        _ => {
            let delay = Duration::from_millis(random.u64(..50));
            faults.on(Requests::all()).times(3).slow_answer(delay);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f23_whatever_happens_in_whatever_order_all_ends_as_it_is_wanted() {
    let is_thorough = std::env::var_os("KUBEWRIGHT_THOROUGH").is_some();
    for seed in 0..if is_thorough { 100_000 / STEPS } else { 4 } {
        let mut random = fastrand::Rng::with_seed(seed);
        let builder = TestCluster::builder().faults(&Faults::new());
        let cluster = builder.app(keeper).start().await;
        for _ in 0..STEPS {
            something(&cluster, &mut random).await;
            sleep(Duration::from_millis(random.u64(..20))).await;
        }
        cluster.faults().clear();
        for number in 0..6 {
            let name = format!("map-{number}");
            eventually(&format!("the end of {name} of seed {seed}"), async || {
                let map = cluster.get::<ConfigMap>(&name).await;
                let secret = cluster.get::<Secret>(&name).await;
                match (map, secret) {
                    (None, None) => Some(()),
                    (Some(map), Some(secret)) => {
                        let owner = &secret.owner_references().first()?.uid;
                        let is_good = map.metadata.deletion_timestamp.is_none()
                            && map.finalizers().len() == 1
                            && value(&map) == value(&secret)
                            && map.uid().as_ref() == Some(owner);
                        is_good.then_some(())
                    }
                    _ => None,
                }
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f23_what_came_and_went_while_no_watch_was_open_is_made_again() {
    let builder = TestCluster::builder().faults(&Faults::new());
    let cluster = builder.app(keeper).start().await;
    // The watch ends in a way after which everything is listed anew, and that has to wait.
    let secrets = Requests::of::<Secret>;
    for ask in [secrets().watches(), secrets().verb("list")] {
        let refused = cluster.faults().on(ask).lasting(Duration::from_secs(3));
        refused.answer(Refusal::unavailable());
    }
    let faults = cluster.faults();
    faults.end_watches(&secrets(), &End::Error(Refusal::gone()));
    let map: ConfigMap = yaml("metadata: {name: a, labels: {copied: 'yes', value: new}}");
    cluster.create(&map).await.expect_allowed();
    let there = async || cluster.get::<Secret>("a").await;
    eventually("the Secret", there).await;
    cluster.delete::<Secret>("a").await.expect_allowed();
    eventually("the Secret again", there).await;
}

const STEPS: u64 = 200;

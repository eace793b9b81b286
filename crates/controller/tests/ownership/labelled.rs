//! What an object owns by label: across namespaces, and nothing that belongs to others.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::ResourceExt;
use kube::api::DeleteParams;
use kubewright_testing::{Requests, Server, TestCluster, eventually, unique, yaml};
use serde_json::json;
use tokio::time::sleep;

use super::world::{NAME, World};

#[tokio::test]
async fn an_owner_is_reconciled_for_what_it_owns_in_another_namespace_and_takes_it_along() {
    let world = World::new(TestCluster::start().await).await;
    let _program = world.start();
    let garden = world.garden("kitchen", &["beans", "peas"]).await;
    world.has_plots(&["kitchen-beans", "kitchen-peas"]).await;
    let plot = world.plots().get("kitchen-peas").await.unwrap();
    assert_eq!(plot.labels()[NAME], garden.uid().unwrap());
    let place = format!("{}/kitchen", world.home);
    assert_eq!(plot.annotations()[NAME], place);
    let garden = world.gardens().get("kitchen").await.unwrap();
    assert_eq!(garden.finalizers(), [NAME]);

    let found = plot.uid();
    let deletion = DeleteParams::default();
    world
        .plots()
        .delete("kitchen-peas", &deletion)
        .await
        .unwrap();
    eventually("another plot", async || {
        let plot = world.plots().get_opt("kitchen-peas").await.unwrap()?;
        (plot.uid() != found).then_some(())
    })
    .await;
    world.delete("kitchen").await;
    world.has_gone("kitchen").await;
    assert!(world.all_plots().await.is_empty());
}

#[tokio::test]
async fn an_owner_deletes_what_it_does_not_want_any_more_and_owners_of_nothing_have_no_finalizer() {
    let world = World::new(TestCluster::start().await).await;
    let _program = world.start();
    world.garden("kitchen", &["beans", "peas"]).await;
    world.garden("lawn", &[]).await;
    world.has_plots(&["kitchen-beans", "kitchen-peas"]).await;
    let patch = json!({"data": {"peas": null}});
    world.merge_garden("kitchen", &patch).await;
    world.has_plots(&["kitchen-beans"]).await;
    let lawn = world.gardens().get("lawn").await.unwrap();
    assert!(lawn.finalizers().is_empty());
}

#[tokio::test]
async fn an_object_that_exists_without_the_label_is_not_taken_over() {
    let world = World::new(TestCluster::start().await).await;
    let foreign = world.plot("kitchen-beans", json!({})).await;
    let mut program = world.start();
    world.garden("kitchen", &["beans"]).await;
    assert_eq!(
        program.error().await,
        format!(
            "cannot create or update Secret {}/kitchen-beans: it exists without the label {NAME} of its owner: delete it, \
             or give the wanted object another name",
            world.away
        )
    );
    world.delete("kitchen").await;
    world.has_gone("kitchen").await;
    let found = world.plots().get("kitchen-beans").await.unwrap();
    assert_eq!(found.resource_version(), foreign.resource_version());
}

#[tokio::test]
async fn an_object_has_one_owner_by_label() {
    let world = World::new(TestCluster::start().await).await;
    let mut program = world.start();
    world.garden("kitchen", &["beans-wild"]).await;
    world.has_plots(&["kitchen-beans-wild"]).await;
    world.garden("kitchen-beans", &["wild"]).await;
    assert_eq!(
        program.error().await,
        format!(
            "cannot create or update Secret {}/kitchen-beans-wild: it belongs to ConfigMap {}/kitchen by the label {NAME}, \
             and such an object has one owner",
            world.away, world.home
        )
    );
    world.delete("kitchen-beans").await;
    world.has_gone("kitchen-beans").await;
    assert_eq!(world.all_plots().await, ["kitchen-beans-wild"]);
}

#[tokio::test]
async fn installations_in_two_namespaces_collect_what_their_own_owners_own() {
    let one = World::new(TestCluster::start().await).await;
    let home = unique("home");
    let namespace: Namespace = yaml(&format!("metadata: {{name: {home}}}"));
    one.cluster.create(&namespace).await.expect_allowed();
    let other = World {
        home,
        ..one.clone()
    };
    // The first one never had this garden, and has its plot in its cache.
    let foreign = json!({"labels": {NAME: "1"}, "annotations": {NAME: "elsewhere/garden"}});
    one.plot("elsewhere", foreign).await;
    let _programs = [one.start(), other.start()];
    one.garden("one", &["beans"]).await;
    other.garden("other", &["beans"]).await;
    one.has_plots(&["elsewhere", "one-beans", "other-beans"])
        .await;
    one.delete("one").await;
    one.has_gone("one").await;
    one.has_plots(&["elsewhere", "other-beans"]).await;
    other.delete("other").await;
    other.has_gone("other").await;
    one.has_plots(&["elsewhere"]).await;
}

#[tokio::test]
async fn what_is_created_for_an_owner_that_is_gone_is_collected_and_what_lives_stays() {
    let world = World::new(TestCluster::start().await).await;
    let _program = world.start();
    let garden = world.garden("kitchen", &["beans"]).await;
    world.has_plots(&["kitchen-beans"]).await;
    let place = |name: &str| format!("{}/{name}", world.home);
    let mark = |uid: &str, owner: &str| json!({"labels": {NAME: uid}, "annotations": {NAME: place(owner)}});
    let uid = garden.uid().unwrap();
    world.plot("a-living", mark(&uid, "kitchen")).await;
    world
        .plot(
            "b-earlier",
            mark("8b2f6f0e-37a1-4f6f-a9a0-3d1c6a3a9f6b", "kitchen"),
        )
        .await;
    world
        .plot(
            "c-gone",
            mark("8b2f6f0e-37a1-4f6f-a9a0-3d1c6a3a9f6b", "orchard"),
        )
        .await;
    world
        .plot("d-incomplete", json!({"labels": {NAME: "1"}}))
        .await;
    // The reconcile deletes what it does not want.
    world.has_plots(&["d-incomplete", "kitchen-beans"]).await;
}

#[tokio::test]
async fn an_owner_that_lost_its_finalizer_while_no_program_ran_leaves_nothing_behind() {
    let world = World::new(TestCluster::start().await).await;
    let program = world.start();
    world.garden("kitchen", &["beans"]).await;
    world.has_plots(&["kitchen-beans"]).await;
    drop(program);
    let patch = json!({"metadata": {"finalizers": null}});
    world.merge_garden("kitchen", &patch).await;
    world.delete("kitchen").await;
    assert_eq!(world.all_plots().await, ["kitchen-beans"]);
    let _program = world.start();
    world.has_plots(&[]).await;
}

#[tokio::test]
async fn what_an_earlier_owner_of_the_name_owned_is_collected_before_it_is_made_anew() {
    let world = World::new(TestCluster::start().await).await;
    let earlier =
        json!({"labels": {NAME: "1"}, "annotations": {NAME: format!("{}/kitchen", world.home)}});
    let earlier = world.plot("kitchen-beans", earlier).await;
    let _program = world.start();
    let garden = world.garden("kitchen", &["beans"]).await;
    eventually("a plot of the garden", async || {
        let plot = world.plots().get_opt("kitchen-beans").await.unwrap()?;
        (plot.labels()[NAME] == garden.uid()? && plot.uid() != earlier.uid()).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_label_changes_on_the_way_of_its_deletion_stays() {
    let world = World::new(TestCluster::builder().on(Server::Embedded).start().await).await;
    let _program = world.start();
    world.garden("kitchen", &["beans", "peas"]).await;
    world.has_plots(&["kitchen-beans", "kitchen-peas"]).await;
    let deletion = Requests::of::<Secret>()
        .verb("delete")
        .named("kitchen-peas");
    world
        .cluster
        .faults()
        .on(deletion.clone())
        .once()
        .slow(Duration::from_secs(5));
    world.delete("kitchen").await;
    eventually("the deletion", async || {
        (!world.cluster.sent(&deletion).is_empty()).then_some(())
    })
    .await;
    world
        .merge(
            "kitchen-peas",
            &json!({"metadata": {"labels": {NAME: null}}}),
        )
        .await;
    sleep(Duration::from_secs(5)).await;
    world.has_gone("kitchen").await;
    assert_eq!(world.all_plots().await, ["kitchen-peas"]);
}

#[tokio::test]
async fn an_owner_stays_as_long_as_something_that_it_owns_does() {
    let world = World::new(TestCluster::start().await).await;
    let mut program = world.start();
    world.garden("kitchen", &["beans"]).await;
    world.has_plots(&["kitchen-beans"]).await;
    let hold = json!({"metadata": {"finalizers": ["example.com/slow"]}});
    world.merge("kitchen-beans", &hold).await;
    world.delete("kitchen").await;
    loop {
        let (garden, ..) = program.reconciles.recv().await.unwrap();
        if garden.metadata.deletion_timestamp.is_some() {
            break;
        }
    }
    eventually("the end of the plot to begin", async || {
        let plot = world.plots().get("kitchen-beans").await.unwrap();
        plot.metadata.deletion_timestamp.map(drop)
    })
    .await;
    assert_eq!(
        world.gardens().get("kitchen").await.unwrap().finalizers(),
        [NAME]
    );
    world
        .merge("kitchen-beans", &json!({"metadata": {"finalizers": null}}))
        .await;
    world.has_gone("kitchen").await;
    assert!(world.all_plots().await.is_empty());
}

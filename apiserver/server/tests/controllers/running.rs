//! How controllers run beside a server, and end with it.

use kubewright_apiserver::{ApiServer, Controllers};
use tokio::runtime::Handle;

use super::{DEPLOYMENTS, PODS, all, deployment, settled};
use crate::cluster::Cluster;

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn they_end_when_the_server_is_stopped_or_gone() {
    let before = tasks();
    let server = ApiServer::builder().controllers(Controllers::all()).start();
    settled().await;
    assert_eq!(tasks(), before + 1);
    server.stop();
    settled().await;
    assert_eq!(tasks(), before);

    let gone = ApiServer::builder().controllers(Controllers::all()).start();
    settled().await;
    drop(gone);
    settled().await;
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_server_has_none_unless_it_is_asked_for_them() {
    let before = tasks();
    let cluster = Cluster::start();
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    assert_eq!(tasks(), before);
    assert!(cluster.names(PODS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn their_writes_are_theirs() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    let pods = cluster.read(PODS).await;
    let managed = pods["items"][0]["metadata"]["managedFields"]
        .as_array()
        .unwrap();
    let managers: Vec<_> = managed
        .iter()
        .map(|entry| entry["manager"].as_str().unwrap())
        .collect();
    assert_eq!(managers, ["kube-controller-manager", "kubelet"]);
}

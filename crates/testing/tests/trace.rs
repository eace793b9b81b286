//! What is left of a test cluster when it ends: nothing.

use k8s_openapi::api::core::v1::Pod;
use kubewright_testing::{Server, TestCluster};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use tokio::net::TcpStream;

async fn anything(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

fn address(kubeconfig: &str) -> String {
    let (_, rest) = kubeconfig
        .split_once("https://")
        .expect("the kubeconfig names a server");
    let end = rest.find(['\n', '"', '\'']).expect("the name ends");
    rest[..end].to_owned()
}

#[tokio::test]
async fn a_dropped_cluster_stops_listening() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .listen()
        .start()
        .await;
    let address = address(&cluster.kubeconfig());
    TcpStream::connect(&address)
        .await
        .expect("the cluster listens");
    drop(cluster);
    kubewright_testing::eventually("the end of the listener", async || {
        TcpStream::connect(&address).await.err()
    })
    .await;
}

#[test]
fn a_dropped_cluster_leaves_no_task_behind() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tasks = || {
            tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
        };
        let before = tasks();
        for _ in 0..20 {
            let webhooks =
                Webhooks::new("policy.example.com").with(validating("anything", anything));
            let cluster = TestCluster::builder()
                .on(Server::Embedded)
                .webhooks(webhooks)
                .listen()
                .start()
                .await;
            assert!(tasks() > before);
            drop(cluster);
        }
        kubewright_testing::eventually("the end of all tasks", async || {
            (tasks() == before).then_some(())
        })
        .await;
    });
}

#[test]
#[should_panic(expected = "the cluster has no socket: build it with `.listen()`")]
fn a_cluster_without_a_socket_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let cluster = runtime.block_on(TestCluster::builder().on(Server::Embedded).start());
    cluster.kubeconfig();
}

//! How aggregated API servers find out by what to know the clients of the cluster and its front proxy.

use kubewright_apiserver::{ApiServer, FileBackend, Snapshot};
use serde_json::{Value, json};

use super::extension::{CATS, Extension, configuration};
use super::register;
use crate::cluster::Cluster;

#[tokio::test]
async fn the_cluster_says_who_its_front_proxy_is() {
    let cluster = Cluster::start();
    let listening = cluster.server.listen(([127, 0, 0, 1], 0)).await.unwrap();
    let configuration = configuration(&cluster).await;
    let list = |key: &str| -> Value {
        serde_json::from_str(configuration[key].as_str().unwrap()).unwrap()
    };
    assert_eq!(
        configuration["client-ca-file"],
        listening.certificate_authority()
    );
    assert_eq!(
        list("requestheader-allowed-names"),
        json!(["front-proxy-client"])
    );
    assert_eq!(
        list("requestheader-username-headers"),
        json!(["X-Remote-User"])
    );
    assert_eq!(list("requestheader-uid-headers"), json!(["X-Remote-Uid"]));
    assert_eq!(
        list("requestheader-group-headers"),
        json!(["X-Remote-Group"])
    );
    assert_eq!(
        list("requestheader-extra-headers-prefix"),
        json!(["X-Remote-Extra-"])
    );
    assert_ne!(
        configuration["requestheader-client-ca-file"],
        configuration["client-ca-file"]
    );
}

#[tokio::test]
async fn a_server_that_starts_again_says_who_it_is_now_and_serves_its_api_services() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("objects.redb");
    let start = async || {
        // The checks of a server that is gone end with the next turn of the runtime.
        let backend = loop {
            match FileBackend::open(&path) {
                Ok(backend) => break backend,
                Err(error) => assert!(error.is_in_use(), "{error}"),
            }
            tokio::task::yield_now().await;
        };
        Cluster::of(ApiServer::builder().storage(backend).unwrap().start())
    };
    let cluster = start().await;
    let extension = Extension::start(&cluster).await;
    register(&cluster, &extension).await;
    let before = configuration(&cluster).await;
    let snapshot = cluster.server.snapshot();
    cluster.server.stop();
    drop(cluster);

    let key = "requestheader-client-ca-file";
    let again = start().await;
    assert_ne!(configuration(&again).await[key], before[key]);
    let copy = Snapshot::read(snapshot.into_bytes()).unwrap();
    let copy = Cluster::of(ApiServer::builder().snapshot(copy).start());
    assert_ne!(configuration(&copy).await[key], before[key]);
    // The old server's authority is trusted here, so that the new one is refused.
    let answer = again.get(CATS).await;
    assert_eq!(answer.code, 503);
}

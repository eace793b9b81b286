//! Deployments and ReplicaSets.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::json;

use super::{DEPLOYMENTS, PODS, SETS, all, condition, deployment, settled, with};

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_available_with_the_pods_that_it_wants() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 3)).await;
    let web = cluster.read(&format!("{DEPLOYMENTS}/web")).await;
    let status = &web["status"];
    for name in [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ] {
        assert_eq!(status[name], 3, "{name}");
    }
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(
        web["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    let available = condition(&web, "Available");
    assert_eq!(available["status"], "True");
    assert_eq!(available["reason"], "MinimumReplicasAvailable");

    let sets = cluster.names(SETS).await;
    let [set] = sets.as_slice() else {
        panic!("one set: {sets:?}")
    };
    let hash = set.strip_prefix("web-").unwrap();
    let progressing = condition(&web, "Progressing");
    assert_eq!(progressing["reason"], "NewReplicaSetAvailable");
    assert_eq!(
        progressing["message"],
        format!("ReplicaSet \"{set}\" has successfully progressed."),
    );
    let pods = cluster.read(PODS).await;
    for pod in pods["items"].as_array().unwrap() {
        let name = pod["metadata"]["name"].as_str().unwrap();
        assert_eq!(name.strip_prefix(&format!("{set}-")).unwrap().len(), 5);
        assert_eq!(pod["metadata"]["labels"]["pod-template-hash"], hash);
        assert_eq!(pod["status"]["phase"], "Running");
        assert_eq!(pod["spec"]["nodeName"], "simulated-0");
        assert_eq!(condition(pod, "Ready")["status"], "True");
        assert_eq!(pod["status"]["containerStatuses"][0]["ready"], true);
        assert!(pod["status"]["podIP"].is_string());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_when_nothing_changes() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 3)).await;
    let revision = cluster.read(PODS).await["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(std::time::Duration::from_hours(2)).await;
    assert_eq!(
        cluster.read(PODS).await["metadata"]["resourceVersion"],
        revision
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_is_made_again() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 2)).await;
    let before = cluster.names(PODS).await;
    cluster
        .delete(&format!("{PODS}/{}", before[0]))
        .await
        .expect(200);
    settled().await;
    let after = cluster.names(PODS).await;
    assert_eq!(after.len(), 2);
    assert!(after.contains(&before[1]));
    assert!(!after.contains(&before[0]));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_scales_up_and_down() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    let path = format!("{DEPLOYMENTS}/web");
    for replicas in [5, 0, 2] {
        let scaled = json!({"spec": {"replicas": replicas}});
        let patched = cluster
            .patch("merge", &format!("{path}/scale"), &scaled)
            .await;
        patched.expect(200);
        settled().await;
        assert_eq!(cluster.names(PODS).await.len(), replicas);
        assert_eq!(cluster.names(SETS).await.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn another_template_rolls_out_and_the_old_one_comes_back_with_the_next_revision() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 4)).await;
    let path = format!("{DEPLOYMENTS}/web");
    let first = cluster.names(SETS).await;
    let image = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}});
    for (tag, revision, sets) in [
        ("nginx:2", "2", 2),
        ("nginx:1", "3", 2),
        ("nginx:3", "4", 3),
    ] {
        let patched = cluster.patch("strategic", &path, &image(tag)).await;
        patched.expect(200);
        settled().await;
        let web = cluster.read(&path).await;
        assert_eq!(
            web["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
            revision
        );
        assert_eq!(web["status"]["updatedReplicas"], 4);
        assert_eq!(web["status"]["replicas"], 4);
        assert_eq!(cluster.names(SETS).await.len(), sets);
        let pods = cluster.read(PODS).await;
        for pod in pods["items"].as_array().unwrap() {
            assert_eq!(pod["spec"]["containers"][0]["image"], tag);
        }
    }
    let first = cluster.read(&format!("{SETS}/{}", first[0])).await;
    let annotations = &first["metadata"]["annotations"];
    assert_eq!(annotations["deployment.kubernetes.io/revision"], "3");
    assert_eq!(
        annotations["deployment.kubernetes.io/revision-history"],
        "1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rollout_never_misses_more_pods_than_it_may_and_never_has_more_than_its_surge() {
    let cluster = all();
    let mut web = deployment("web", 4);
    web["spec"]["strategy"] = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1},
    });
    cluster.made(DEPLOYMENTS, &web).await;
    let mut unready = super::template("web");
    unready["metadata"]["annotations"] = json!({"kubewright.dev/simulate": "unready"});
    let path = format!("{DEPLOYMENTS}/web");
    let patch = json!({"spec": {"template": unready, "progressDeadlineSeconds": 60}});
    cluster.patch("merge", &path, &patch).await.expect(200);
    settled().await;
    let web = cluster.read(&path).await;
    assert_eq!(web["status"]["replicas"], 5);
    assert_eq!(web["status"]["availableReplicas"], 3);
    assert_eq!(web["status"]["updatedReplicas"], 2);
    assert_eq!(
        condition(&web, "Progressing")["reason"],
        "ReplicaSetUpdated"
    );

    tokio::time::sleep(std::time::Duration::from_secs(62)).await;
    let web = cluster.read(&path).await;
    let progressing = condition(&web, "Progressing");
    assert_eq!(progressing["status"], "False");
    assert_eq!(progressing["reason"], "ProgressDeadlineExceeded");
}

#[tokio::test(start_paused = true)]
async fn recreating_ends_the_old_pods_first() {
    let slow = Workloads::default().stopped_after(Duration::from_secs(10));
    let cluster = with(Controllers::all().workloads(slow));
    let mut web = deployment("web", 2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    cluster.made(DEPLOYMENTS, &web).await;
    let pods = cluster.names(PODS).await;
    let path = format!("{DEPLOYMENTS}/web");
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]);
    cluster.patch("json", &path, &patch).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await, pods);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let new = cluster.names(PODS).await;
    assert_eq!(new.len(), 2);
    assert!(new.iter().all(|pod| !pods.contains(pod)));
    assert_eq!(cluster.read(&path).await["status"]["updatedReplicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_scales_and_does_not_roll() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    let path = format!("{DEPLOYMENTS}/web");
    let patch =
        json!({"spec": {"paused": true, "replicas": 3, "template": super::template("web")}});
    cluster.patch("merge", &path, &patch).await.expect(200);
    let other = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "nginx:2"}]);
    cluster.patch("json", &path, &other).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(SETS).await.len(), 1);
    assert_eq!(cluster.names(PODS).await.len(), 3);
    let web = cluster.read(&path).await;
    assert_eq!(condition(&web, "Progressing")["reason"], "DeploymentPaused");
    let resumed = json!({"spec": {"paused": false}});
    cluster.patch("merge", &path, &resumed).await.expect(200);
    settled().await;
    let web = cluster.read(&path).await;
    assert_eq!(web["status"]["updatedReplicas"], 3);
    assert_eq!(
        condition(&web, "Progressing")["reason"],
        "NewReplicaSetAvailable"
    );
}

#[tokio::test(start_paused = true)]
async fn only_so_many_old_sets_are_kept() {
    let cluster = all();
    let mut web = deployment("web", 1);
    web["spec"]["revisionHistoryLimit"] = 1.into();
    cluster.made(DEPLOYMENTS, &web).await;
    for tag in 2..6 {
        let image = format!("nginx:{tag}");
        let other = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]);
        cluster
            .patch("json", &format!("{DEPLOYMENTS}/web"), &other)
            .await
            .expect(200);
        settled().await;
    }
    assert_eq!(cluster.names(SETS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_deployment_takes_its_sets_and_pods_along() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 2)).await;
    cluster
        .delete(&format!("{DEPLOYMENTS}/web"))
        .await
        .expect(200);
    settled().await;
    assert!(cluster.names(SETS).await.is_empty());
    assert!(cluster.names(PODS).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_other_labels_is_let_go_and_one_that_fits_is_adopted() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 2)).await;
    let pods = cluster.names(PODS).await;
    let path = format!("{PODS}/{}", pods[0]);
    let other = json!({"metadata": {"labels": {"app": "debug"}}});
    cluster.patch("merge", &path, &other).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await.len(), 3);
    let freed = cluster.read(&path).await;
    assert_eq!(freed["metadata"].get("ownerReferences"), None);

    let again = json!({"metadata": {"labels": {"app": "web"}}});
    cluster.patch("merge", &path, &again).await.expect(200);
    settled().await;
    assert_eq!(cluster.names(PODS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_set_whose_name_is_taken_gets_another_hash() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    let name = cluster.names(SETS).await.remove(0);
    cluster
        .delete(&format!("{DEPLOYMENTS}/web"))
        .await
        .expect(200);
    settled().await;
    let stranger = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "stranger"}},
            "template": super::template("stranger"),
        },
    });
    cluster.made(SETS, &stranger).await;
    cluster.made(DEPLOYMENTS, &deployment("web", 1)).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let web = cluster.read(&format!("{DEPLOYMENTS}/web")).await;
    assert_eq!(web["status"]["collisionCount"], 1);
    assert_eq!(web["status"]["availableReplicas"], 1);
}

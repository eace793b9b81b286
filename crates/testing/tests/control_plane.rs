//! A real control plane: that it is one, and that nothing of it is left however it ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use kube::{Api, Client};
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::audit::{Audit, Event, Level};
use kubewright_testing::{ControlPlane, eventually, yaml};
use serde_json::Value;

fn settings() -> ConfigMap {
    yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: slow}}")
}

/// The processes whose working directory is in a folder, or was before it was removed.
fn processes_in(folder: &Path) -> Vec<String> {
    let is_inside = |process: &PathBuf| {
        fs::read_link(process.join("cwd")).is_ok_and(|current| current.starts_with(folder))
    };
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(is_inside)
        .map(|process| process.display().to_string())
        .collect()
}

#[tokio::test]
async fn it_is_the_kubernetes_that_is_emulated() {
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(
        (version.git_version.as_str(), version.minor.as_str()),
        ("v1.37.2", "37")
    );

    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let created = maps
        .create(&PostParams::default(), &settings())
        .await
        .unwrap();
    assert_eq!(created.data, settings().data);
    assert_eq!(maps.get("settings").await.unwrap(), created);
}

#[tokio::test]
async fn nothing_is_left_when_it_is_stopped() {
    let control_plane = ControlPlane::start().await.unwrap();
    let folder = control_plane.folder().to_owned();
    // Each of the two programs has a supervisor, which has a watcher.
    assert_eq!(
        processes_in(&folder).len(),
        6,
        "{:?}",
        processes_in(&folder)
    );
    control_plane.stop();
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(!folder.exists());
}

#[tokio::test]
async fn nothing_is_left_when_its_holder_is_killed() {
    let mut holder = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap()).lines();
    let place = output
        .find_map(|line| Some(line.unwrap().strip_prefix("# ")?.to_owned()))
        .expect("it says where its control plane is");
    let folder = Path::new(&place);
    assert_eq!(processes_in(folder).len(), 6, "{:?}", processes_in(folder));

    // SIGKILL: the holder has no chance to clean up.
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually("the end of all processes and files", async || {
        (processes_in(folder).is_empty() && !folder.exists()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn what_webhooks_annotate_is_in_the_audit_log() {
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
    let control_plane = ControlPlane::builder().audit(policy).start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(control_plane.client().await.unwrap());
    maps.create(&PostParams::default(), &settings())
        .await
        .unwrap();
    let event = eventually("the event of the creation", async || {
        let log = fs::read_to_string(control_plane.audit_log()).unwrap();
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|event| event["verb"] == "create" && event["objectRef"]["name"] == "settings")
    })
    .await;
    assert_eq!(event["user"]["username"], "kubernetes-admin");
    assert_eq!(
        event["annotations"]["authorization.k8s.io/decision"],
        "allow"
    );
}

#[tokio::test]
async fn the_embedded_servers_audit_log_tells_as_much_as_the_real_one_at_every_level() {
    for level in [Level::Metadata, Level::Request, Level::RequestResponse] {
        let policy = format!(
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{{level: {level:?}}}]\n"
        );
        let real = ControlPlane::builder().audit(policy).start().await.unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let events = seen.clone();
        let audit = Audit::to(move |event: &Event| events.lock().unwrap().push(event.to_value()));
        let embedded = ApiServer::builder().audit(audit.level(level)).start();

        use_settings(real.client().await.unwrap()).await;
        use_settings(Client::new(embedded.service(), "default")).await;

        let of_real = eventually("the event of the deletion", async || {
            let log = fs::read_to_string(real.audit_log()).unwrap();
            let events: Option<Vec<Value>> = log
                .lines()
                .map(|line| serde_json::from_str(line).ok())
                .collect();
            Some(shapes(&events?)).filter(|shapes| shapes.len() == 4)
        })
        .await;
        let of_embedded = shapes(&seen.lock().unwrap());
        assert_eq!(of_embedded, of_real, "{level:?}");
    }
}

/// Creates, patches, reads and deletes a config map.
async fn use_settings(client: Client) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let post = PostParams::default();
    maps.create(&post, &settings()).await.unwrap();
    let patch = serde_json::json!({"data": {"mode": "fast"}});
    let params = PatchParams::default();
    maps.patch("settings", &params, &Patch::Merge(patch))
        .await
        .unwrap();
    maps.get("settings").await.unwrap();
    let delete = DeleteParams::default();
    maps.delete("settings", &delete).await.unwrap();
}

/// Of the events about the settings: the verb, the level, the members, and the objects without what a server fills in.
fn shapes(events: &[Value]) -> Vec<Value> {
    let about_settings = |event: &&Value| {
        event["objectRef"]["name"] == "settings" && event["objectRef"]["resource"] == "configmaps"
    };
    let shape = |event: &Value| {
        // The real server is asked over a connection.
        let members = event.as_object().unwrap().keys();
        let members: Vec<&String> = members.filter(|name| *name != "sourceIPs").collect();
        serde_json::json!({
            "verb": event["verb"],
            "level": event["level"],
            "members": members,
            "reference": event["objectRef"]["name"],
            "sent": event["requestObject"]["data"],
            "answered": event["responseObject"]["data"],
            "annotations": event["annotations"],
            "status": event["responseStatus"]["code"],
        })
    };
    events.iter().filter(about_settings).map(shape).collect()
}

#[tokio::test]
async fn its_kubeconfig_has_what_a_client_needs() {
    let control_plane = ControlPlane::start().await.unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&control_plane.kubeconfig()).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
    assert_eq!(cluster.server.as_deref(), Some(control_plane.url()));
    assert!(
        control_plane
            .ca_pem()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert!(
        control_plane
            .client_certificate_pem()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert!(
        control_plane
            .client_key_pem()
            .starts_with("-----BEGIN EC PRIVATE KEY-----")
    );
}

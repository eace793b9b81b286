//! A project in a cluster: what installs it is applied to an API server that goes by roles, its program runs as its own service
//! account with the arguments of its Deployment, and is reached through its Service.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use kubewright_apiserver::admission::{Chain, ServiceTable};
use kubewright_apiserver::{ApiServer, Controllers, Listening};
use kubewright_testing::{eventually, yaml};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::command::{errors, prepared};

/// Deploys the project in this folder, whose program is built, and has its webhooks and a controller at work.
pub(crate) async fn works(project: &Path, program: &Path, name: &str) {
    let services = ServiceTable::new();
    let server = ApiServer::builder()
        .rbac()
        .controllers(Controllers::none().garbage_collection().service_accounts())
        .admission(Chain::builder().services(services.clone()))
        .start();
    let listening = server.listen(([127, 0, 0, 1], 0)).await;
    let listening = listening.expect("there is a free port");
    let admin = Client::new(server.service(), "default");
    deploy(project, &listening.kubeconfig());
    let namespace = format!("{name}-system");

    let access = kubeconfig(&listening, &admin, &namespace, name).await;
    let deployments: Api<Deployment> = Api::namespaced(admin.clone(), &namespace);
    let deployment = deployments.get(name).await.expect("it was deployed");
    let (_running, address) = run(program, &deployment, access.path()).await;
    services.set(&namespace, name, 443, address);

    // The API server does not trust the program before the program has published its CA.
    let pods = || Api::<DynamicObject>::default_namespaced_with(admin.clone(), &pod());
    eventually("a denial in the program's words", async || {
        match pods().create(&PostParams::default(), &a_pod("")).await {
            Err(Error::Api(status)) if status.message.contains("must not be empty") => Some(()),
            Err(Error::Api(status)) => {
                assert!(
                    status.message.contains("failed calling webhook"),
                    "{}",
                    status.message
                );
                None
            }
            other => panic!("it was to be denied: {other:?}"),
        }
    })
    .await;
    let stored = pods().create(&PostParams::default(), &a_pod("blue")).await;
    stored.expect("a team is named");

    let kind = GroupVersionKind::gvk("police.example.com", "v1beta1", "WhiteList");
    let lists = ApiResource::from_gvk_with_plural(&kind, "whitelists");
    let lists: Api<DynamicObject> = Api::default_namespaced_with(admin.clone(), &lists);
    let sample = std::fs::read_to_string(project.join("demo/white-list.yaml"));
    let list: DynamicObject = yaml(&sample.expect("there is a sample"));
    let stored = lists.create(&PostParams::default(), &list).await;
    let labels = stored.expect("the sample is a good one").metadata.labels;
    assert_eq!(
        labels.expect("it was completed")["example.com/team"],
        "unknown"
    );
    eventually("the condition Ready", async || {
        let list = lists.get("sample").await.expect("an answer");
        let ready = &list.data["status"]["conditions"][0];
        (ready["type"] == "Ready" && ready["status"] == "True").then_some(())
    })
    .await;
    let config_maps: Api<ConfigMap> = Api::default_namespaced(admin);
    let kept = eventually("the ConfigMap", async || {
        config_maps
            .get_opt("sample-white-list")
            .await
            .expect("an answer")
    });
    assert_eq!(
        kept.await.metadata.owner_references.expect("an owner")[0].kind,
        "WhiteList"
    );
}

fn deploy(project: &Path, kubeconfig: &str) {
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    std::fs::write(file.path(), kubeconfig).expect("a file can be written");
    // The second one changes nothing.
    for _ in 0..2 {
        // No controller of this API server makes pods: the program is run by the test, later.
        let mut command = prepared(project, &["deploy", "--wait=false"]);
        let done = command.env("KUBECONFIG", file.path()).output();
        let done = done.expect("the binary can be run");
        assert!(done.status.success(), "{}", errors(&done));
    }
}

/// What a pod of the program has: the token of its account, and its namespace.
async fn kubeconfig(
    listening: &Listening,
    admin: &Client,
    namespace: &str,
    account: &str,
) -> tempfile::NamedTempFile {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let asked = http::Request::post(path).body(json!({"spec": {}}).to_string().into_bytes());
    let answer: Value = admin
        .request(asked.expect("a request"))
        .await
        .expect("the account is there");
    let token = answer["status"]["token"].as_str().expect("a token");
    let mut kubeconfig: Value = yaml(&listening.kubeconfig_with_token(account, token));
    for context in kubeconfig["contexts"].as_array_mut().expect("contexts") {
        context["context"]["namespace"] = namespace.into();
    }
    let file = tempfile::NamedTempFile::new().expect("a file can be made");
    std::fs::write(file.path(), kubeconfig.to_string()).expect("a file can be written");
    file
}

/// Runs the program as its Deployment does, but for the ports: the test takes free ones.
async fn run(program: &Path, deployment: &Deployment, kubeconfig: &Path) -> (Child, SocketAddr) {
    let spec = deployment.spec.template.spec.as_ref();
    let arguments = spec.expect("a pod").containers[0].args.clone();
    let arguments = arguments.expect("arguments").into_iter();
    let arguments = arguments.map(|argument| match argument.split_once('=') {
        Some((name @ ("--listen" | "--metrics-bind-address"), _)) => format!("{name}=127.0.0.1:0"),
        _ => argument,
    });
    let mut child = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program was built");
    let output = child.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(output).lines();
    while let Some(line) = lines.next_line().await.expect("text") {
        if let Some(address) = line.strip_prefix("serving webhooks on https://") {
            return (child, address.parse().expect("an address"));
        }
    }
    panic!("the program has ended: {:?}", child.wait().await);
}

fn pod() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Pod"), "pods")
}

fn a_pod(team: &str) -> DynamicObject {
    yaml(&format!(
        "
        apiVersion: v1
        kind: Pod
        metadata: {{generateName: web-, labels: {{example.com/team: '{team}'}}}}
        spec: {{containers: [{{name: web, image: 'nginx:1.29'}}]}}
        "
    ))
}

//! Test clusters on a real API server: isolated, gone when they are dropped, shared by all processes of a run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use kubewright_testing::{ControlPlane, Server, TestCluster, eventually, unique, yaml};
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, deny, mutating, validating,
};
use serde_json::json;

async fn team(change: Change<ConfigMap>, _: Review) -> Mutated<ConfigMap> {
    let mut map = change.into_object();
    let data = map.data.get_or_insert_default();
    data.insert("team".to_owned(), "blue".to_owned());
    Ok(map)
}

async fn nothing_slow(change: Change<ConfigMap>, _: Review) -> Validated {
    let data = change.object().data.clone().unwrap_or_default();
    match data.get("mode").map(String::as_str) {
        Some("slow") => deny("slow is too slow"),
        _ => Ok(()),
    }
}

async fn nothing(_: Change<ConfigMap>, _: Review) -> Validated {
    deny("nothing is allowed")
}

fn settings(mode: &str) -> ConfigMap {
    yaml(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{mode: {mode}}}}}"
    ))
}

async fn policy(server: Server) -> TestCluster {
    let webhooks = Webhooks::new("policy.example.com")
        .with(mutating("team", team))
        .with(validating("nothing-slow", nothing_slow));
    TestCluster::builder()
        .on(server)
        .webhooks(webhooks)
        .start()
        .await
}

#[tokio::test]
async fn the_same_test_passes_on_either_server() {
    for server in [Server::Embedded, Server::Real] {
        let cluster = policy(server).await;
        let denied = cluster.create(&settings("slow")).await.expect_denied();
        assert_eq!(denied.by(), "nothing-slow.policy.example.com", "{server}");
        assert_eq!(denied.message(), "slow is too slow", "{server}");
        let stored = cluster.create(&settings("fast")).await.expect_allowed();
        assert_eq!(stored.data.unwrap()["team"], "blue", "{server}");
    }
}

#[tokio::test]
async fn webhooks_are_called_from_the_first_request_on() {
    for _ in 0..10 {
        let cluster = policy(Server::Real).await;
        cluster.create(&settings("slow")).await.expect_denied();
    }
}

#[tokio::test]
async fn clusters_on_one_server_keep_to_themselves() {
    let webhooks = Webhooks::new("policy.example.com").with(validating("nothing", nothing));
    let closed = TestCluster::builder().on(Server::Real).webhooks(webhooks);
    let (closed, open) = (closed.start().await, policy(Server::Real).await);
    assert_ne!(closed.namespace(), open.namespace());
    closed.create(&settings("fast")).await.expect_denied();
    open.create(&settings("fast")).await.expect_allowed();

    let (here, there) = (unique("here"), unique("there"));
    let here = closed.new_namespace(&here, &[]).await;
    here.create(&settings("fast")).await.expect_denied();
    let there = open.new_namespace(&there, &[]).await;
    there.create(&settings("fast")).await.expect_allowed();

    // However it is made, a namespace belongs to the cluster that makes it.
    let name = unique("typed");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    closed.create(&namespace).await.expect_allowed();
    let typed = closed.in_namespace(&name);
    typed.create(&settings("fast")).await.expect_denied();
}

/// The names of all webhook configurations.
async fn configurations(cluster: &TestCluster) -> Vec<String> {
    let all = ListParams::default();
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(cluster.client());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client());
    let mutating = mutating.list(&all).await.unwrap();
    let validating = validating.list(&all).await.unwrap();
    let mut names: Vec<String> = mutating.iter().map(ResourceExt::name_any).collect();
    names.extend(validating.iter().map(ResourceExt::name_any));
    names
}

#[tokio::test]
async fn what_a_cluster_installs_is_removed_with_it() {
    let observer = TestCluster::builder().on(Server::Real).start().await;
    let cluster = policy(Server::Real).await;
    let id = cluster
        .namespace()
        .strip_prefix("test-")
        .unwrap()
        .to_owned();
    let of_the_cluster = async || {
        let mut names = configurations(&observer).await;
        names.retain(|name| name.ends_with(&id));
        names
    };
    assert_eq!(of_the_cluster().await.len(), 2);
    let clone = cluster.clone();
    drop(cluster);
    assert_eq!(of_the_cluster().await.len(), 2, "a clone is left");
    drop(clone);
    assert_eq!(of_the_cluster().await, Vec::<String>::new());
}

#[tokio::test]
async fn users_have_the_permissions_that_they_are_given() {
    let cluster = policy(Server::Real).await;
    let admin = cluster.as_user("alice", &["system:masters"]);
    admin.create(&settings("fast")).await.expect_allowed();
    let unprivileged = cluster.as_user("alice", &["dev"]);
    let refused = unprivileged.create(&settings("fast")).await.expect_status();
    assert_eq!((refused.code, refused.reason.as_str()), (403, "Forbidden"));
    assert!(
        refused.message.contains("User \"alice\" cannot create"),
        "{}",
        refused.message
    );
}

#[tokio::test]
#[should_panic(
    expected = "the test cluster is `real`, and only an embedded one has its API server in the test"
)]
async fn what_only_an_embedded_cluster_has_says_so() {
    let cluster = TestCluster::builder().on(Server::Real).start().await;
    cluster.server();
}

#[tokio::test]
#[should_panic(
    expected = "exists already: on an API server that tests share, each needs names of its own"
)]
async fn a_name_that_another_test_may_have_is_refused() {
    let cluster = TestCluster::builder().on(Server::Real).start().await;
    cluster.new_namespace("default", &[]).await;
}

/// Runs tests of this binary in a process of their own.
fn tests(filter: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(filter).env("RUST_BACKTRACE", "0");
    command
}

fn output(command: &mut Command) -> (Output, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    (output.clone(), text + &errors)
}

#[test]
fn the_environment_chooses_the_server() {
    let (answer, text) = output(tests("cluster::objects").env("KUBEWRIGHT_TEST_CLUSTER", "kind"));
    assert!(!answer.status.success(), "{text}");
    let error = "KUBEWRIGHT_TEST_CLUSTER is \"kind\": it must be `embedded`, `real` or `existing`";
    assert!(text.contains(error), "{text}");
}

#[test]
fn the_environment_chooses_the_programs() {
    let (answer, text) =
        output(tests("control_plane::it_is").env("KUBEBUILDER_ASSETS", "/nowhere"));
    assert!(!answer.status.success(), "{text}");
    assert!(
        text.contains("NoPrograms { looked_in: [\"/nowhere\"] }"),
        "{text}"
    );
}

#[test]
fn the_other_tests_of_this_binary_pass_on_a_real_server() {
    for filter in ["cluster::", "faults::", "webhooks::"] {
        let (answer, text) = output(tests(filter).env("KUBEWRIGHT_TEST_CLUSTER", "real"));
        assert!(answer.status.success(), "{text}");
    }
}

#[tokio::test]
async fn they_pass_on_an_existing_one_and_leave_nothing_there() {
    let existing = ControlPlane::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, existing.kubeconfig()).unwrap();
    for filter in ["cluster::", "faults::", "webhooks::"] {
        let mut tests = tests(filter);
        tests.env("KUBEWRIGHT_TEST_CLUSTER", "existing");
        let (answer, text) = output(tests.env("KUBECONFIG", &kubeconfig));
        assert!(answer.status.success(), "{text}");
    }
    let namespaces: Api<Namespace> = Api::all(existing.client().await.unwrap());
    let left = namespaces.list(&ListParams::default()).await.unwrap();
    // Without a controller, namespaces that are deleted stay as they are.
    let alive = left
        .iter()
        .filter(|one| one.metadata.deletion_timestamp.is_none());
    let mut alive: Vec<String> = alive.map(ResourceExt::name_any).collect();
    alive.sort();
    assert_eq!(
        alive,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
}

#[tokio::test]
async fn the_processes_of_a_run_share_one_server_that_ends_with_it() {
    // What starts the processes of a run is known by its name.
    let folder = tempfile::tempdir().unwrap();
    let cargo = folder.path().join("cargo");
    let sh = ["/bin/sh", "/usr/bin/sh"]
        .iter()
        .find(|sh| Path::new(sh).exists());
    symlink(fs::canonicalize(sh.unwrap()).unwrap(), &cargo).unwrap();
    let script = r#"
        for base in /dev/shm "${TMPDIR:-/tmp}"; do set -- "$@" "$base/kubewright-run-$$-"; done
        found() { for start in "$@"; do for folder in "$start"*; do [ -d "$folder" ] && echo "$folder"; done; done; }
        "$TESTS" cluster::objects >&2 || exit 1
        found "$@"; grep server: "$(found "$@")/kube-apiserver/kubeconfig"
        "$TESTS" cluster::objects >&2 || exit 1
        found "$@"; grep server: "$(found "$@")/kube-apiserver/kubeconfig"
    "#;
    let mut run = Command::new(&cargo);
    run.args(["-c", script, "cargo"])
        .env("TESTS", std::env::current_exe().unwrap())
        .env("KUBEWRIGHT_TEST_CLUSTER", "real");
    let (answer, text) = output(&mut run);
    assert!(answer.status.success(), "{text}");
    let out = String::from_utf8(answer.stdout).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    let [folder, server, again, same] = lines[..] else {
        panic!("{out}\n{text}");
    };
    assert_eq!((folder, server), (again, same));
    eventually("the end of the server of the run", async || {
        (!Path::new(folder).exists()).then_some(())
    })
    .await;
}

//! `kubewright replay` on audit logs: of the embedded API server and, with the feature `real`, of a real one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::{Api, Client, Error};
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::audit::{Audit, Level};
use kubewright_testing::{acting_as, apply};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::command::{Ran, kubewright};

/// Two versions of a program, each a package of its own, and a folder for logs.
struct Guards {
    /// Tests share a target folder, where two packages of one name would be taken for each other.
    prefix: &'static str,
    folder: TempDir,
    target: PathBuf,
}

impl Guards {
    fn new(prefix: &'static str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().expect("the workspace is above");
        let folder = tempfile::tempdir().expect("a folder");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let target = target.parent().expect("the target").to_owned();
        let guards = Self {
            prefix,
            folder,
            target,
        };
        let later = GUARD
            .replace("\"nginx:latest\"", "\"nginx:latest\" | \"rogue.example/x\"")
            .replace(
                "validating(\"images\", images)",
                "validating(\"images\", images).shadow()",
            )
            .replace("const KEPT: bool = true", "const KEPT: bool = false")
            .replace("Some(\"fast\") => \"blue\"", "Some(\"fast\") => \"green\"");
        for (name, source) in [("before", GUARD), ("after", &later)] {
            guards.write_package(&root, name, source);
        }
        guards
    }

    /// A package with what the workspace has built of its dependencies.
    fn write_package(&self, root: &Path, name: &str, source: &str) {
        let workspace = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
        let profiles = &workspace[workspace.find("[profile.dev]").expect("profiles")..];
        let facade = root.join("crates/kubewright");
        let manifest = format!(
            "[package]\nname = \"{}-{name}\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
             k8s-openapi = {{ version = \"0.29\", default-features = false, features = [\"v1_36\"] }}\n\
             kubewright = {{ path = '{}' }}\n\n{profiles}",
            self.prefix,
            facade.display()
        );
        let package = self.folder.path().join(name);
        fs::create_dir_all(package.join("src")).expect("a folder");
        fs::write(package.join("Cargo.toml"), manifest).expect("a file");
        fs::write(package.join("src/main.rs"), source).expect("a file");
        fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock")).expect("a file");
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    async fn replay(&self, arguments: &[&str]) -> Ran {
        let arguments = [&["replay", "--audit-log", "audit.log"], arguments].concat();
        let mut command = kubewright(self.folder.path(), &arguments);
        Ran::of(command.env("CARGO_TARGET_DIR", &self.target)).await
    }

    /// Runs the earlier version, and makes an API server call it.
    async fn install(&self, client: &Client) -> Child {
        let package = self.folder.path().join("before");
        let mut build = Command::new("cargo");
        build.args(["build", "--quiet"]).current_dir(&package);
        build.env("CARGO_TARGET_DIR", &self.target);
        assert!(build.status().await.expect("cargo").success());
        let program = self.target.join(format!("debug/{}-before", self.prefix));
        let certs = ["certs", "127.0.0.1", "--out", "tls"];
        let ran = crate::command::run(self.folder.path(), &certs).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let mut child = Command::new(&program)
            .args(["run", "--listen", "127.0.0.1:0", "--certificates", "tls"])
            .current_dir(self.folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it runs");
        let mut lines = BufReader::new(child.stdout.take().expect("output")).lines();
        let url = loop {
            let line = lines.next_line().await.expect("output").expect("it serves");
            if let Some((_, url)) = line.split_once("serving webhooks on ") {
                break url.trim().to_owned();
            }
        };
        let manifests = Command::new(&program)
            .args(["manifests", "--url", &url, "--ca-file", "tls/ca.crt"])
            .current_dir(self.folder.path())
            .output()
            .await
            .expect("it prints");
        assert!(manifests.status.success(), "{manifests:?}");
        let text = String::from_utf8(manifests.stdout).expect("text");
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
        for object in objects.iter().filter(|object| object.is_object()) {
            apply(client, "default", object).await.expect("applied");
        }
        child
    }
}

/// What a user does with objects of a kind in a namespace.
struct User<'a>(&'a Client);

impl User<'_> {
    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("", "v1", kind);
        let resource = ApiResource::from_gvk(&kind);
        match namespace {
            "" => Api::all_with(self.0.clone(), &resource),
            namespace => Api::namespaced_with(self.0.clone(), namespace, &resource),
        }
    }

    async fn create(&self, namespace: &str, object: Value) -> Result<DynamicObject, Error> {
        let api = self.api(object["kind"].as_str().expect("a kind"), namespace);
        let object = serde_json::from_value(object).expect("an object");
        api.create(&PostParams::default(), &object).await
    }

    async fn pod(&self, namespace: &str, name: &str, image: &str) -> Result<DynamicObject, Error> {
        self.create(namespace, pod(name, image)).await
    }

    async fn patch(
        &self,
        namespace: &str,
        name: &str,
        patch: Value,
    ) -> Result<DynamicObject, Error> {
        let api = self.api("ConfigMap", namespace);
        let parameters = PatchParams::default();
        api.patch(name, &parameters, &Patch::Merge(patch)).await
    }
}

fn pod(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "web", "image": image}], "automountServiceAccountToken": false},
    })
}

fn map(name: &str, mode: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels}, "data": {"mode": mode},
    })
}

fn namespace(name: &str, tier: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tier": tier}},
    })
}

/// The requests of a day, with the earlier version installed.
async fn day(admin: &Client, robot: &Client) {
    let (admin, robot) = (User(admin), User(robot));
    for (name, tier) in [("shop", "web"), ("inner", "system")] {
        admin
            .create("", namespace(name, tier))
            .await
            .expect("a namespace");
    }
    admin
        .pod("shop", "web", "nginx:1.29")
        .await
        .expect("allowed");
    admin
        .pod("shop", "newest", "nginx:latest")
        .await
        .expect_err("denied");
    admin
        .pod("shop", "rogue", "rogue.example/x")
        .await
        .expect("allowed");
    admin
        .pod("inner", "rogue", "rogue.example/x")
        .await
        .expect("not asked");
    robot
        .pod("shop", "robots", "rogue.example/x")
        .await
        .expect("not asked");
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let rehearsed = serde_json::from_value(pod("rehearsed", "rogue.example/x")).expect("a pod");
    admin
        .api("Pod", "shop")
        .create(&dry, &rehearsed)
        .await
        .expect("allowed");
    admin
        .pod("nowhere", "lost", "rogue.example/x")
        .await
        .expect_err("no namespace");

    let slow = map("settings", "slow", &json!({}));
    admin.create("shop", slow).await.expect("allowed");
    admin
        .create("shop", map("quick", "fast", &json!({})))
        .await
        .expect("allowed");
    let faster = json!({"data": {"mode": "faster"}});
    admin
        .patch("shop", "settings", faster)
        .await
        .expect("allowed");
    let frozen = json!({"metadata": {"labels": {"frozen": "yes"}}});
    admin
        .patch("shop", "settings", frozen)
        .await
        .expect("allowed");
    let thawed = json!({"data": {"mode": "thawed"}});
    admin
        .patch("shop", "settings", thawed)
        .await
        .expect_err("denied");

    let maps = admin.api("ConfigMap", "shop");
    let mut replaced = maps.get("quick").await.expect("it is there");
    replaced.data["data"]["more"] = "yes".into();
    maps.replace("quick", &PostParams::default(), &replaced)
        .await
        .expect("allowed");

    let kept = json!({"keep": "yes"});
    admin
        .create("shop", map("treasure", "slow", &kept))
        .await
        .expect("allowed");
    let delete = DeleteParams::default();
    maps.delete("treasure", &delete).await.expect_err("denied");
    maps.delete("quick", &delete).await.expect("allowed");
    for name in ["one", "two"] {
        let labels = json!({"batch": "yes"});
        admin
            .create("shop", map(name, "slow", &labels))
            .await
            .expect("allowed");
    }
    let batch = ListParams::default().labels("batch=yes");
    maps.delete_collection(&delete, &batch)
        .await
        .expect("allowed");
}

/// What differs between the two versions on that day: operation, object, webhook, the decisions before and after.
const DIFFERENCES: [[&str; 5]; 7] = [
    ["CREATE", "shop/rogue", "images", "allowed", "denied"],
    ["CREATE", "shop/rehearsed", "images", "allowed", "denied"],
    ["CREATE", "shop/rogue", "watch", "allowed", "denied"],
    ["CREATE", "shop/rehearsed", "watch", "allowed", "denied"],
    ["CREATE", "shop/quick", "team", "changed", "changed"],
    ["UPDATE", "shop/quick", "team", "allowed", "changed"],
    ["DELETE", "shop/treasure", "keep", "denied", "allowed"],
];

fn differences(report: &Value) -> BTreeSet<[String; 5]> {
    let differences = report["differences"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    differences
        .iter()
        .map(|entry| {
            let place = [&entry["namespace"], &entry["name"]].map(text).join("/");
            let hook = text(&entry["hook"]).replace(".guard.example.com", "");
            let [before, after] = [&entry["before"], &entry["after"]];
            [
                text(&entry["operation"]),
                place,
                hook,
                text(&before["decision"]),
                text(&after["decision"]),
            ]
        })
        .collect()
}

fn expected() -> BTreeSet<[String; 5]> {
    DIFFERENCES.map(|row| row.map(str::to_owned)).into()
}

fn report(ran: &Ran) -> Value {
    let report = serde_json::from_str(&ran.out);
    assert!(report.is_ok(), "{}\n{}", ran.out, ran.err);
    report.expect("JSON")
}

/// Asserts what replays of the log of that day come to.
async fn replays_are_right(guards: &Guards) {
    let json = [
        "--package",
        "after",
        "--against",
        "before",
        "--output",
        "json",
    ];
    let ran = guards.replay(&json).await;
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let compared = report(&ran);
    assert_eq!(differences(&compared), expected(), "{compared:#}");
    let notes = compared["notes"].to_string();
    assert!(
        notes.contains("images.guard.example.com is in shadow mode"),
        "{notes}"
    );
    assert_eq!(compared["notReplayed"], json!([]), "{compared:#}");

    // The log itself says what the earlier version decided.
    let ran = guards
        .replay(&["--package", "before", "--output", "json"])
        .await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    let same = report(&ran);
    assert_eq!(differences(&same), BTreeSet::new());
    assert!(same["reviews"].as_u64() > Some(10), "{same:#}");
    let ran = guards
        .replay(&["--package", "after", "--output", "json"])
        .await;
    assert_eq!(differences(&report(&ran)), expected(), "{}", ran.out);

    let table = guards
        .replay(&["--package", "after", "--against", "before"])
        .await;
    assert_eq!(table.code, Some(1), "{}", table.err);
    let rows: Vec<&str> = table
        .out
        .lines()
        .filter(|line| line.starts_with('✗'))
        .collect();
    assert_eq!(rows.len(), DIFFERENCES.len(), "{}", table.out);
    let denied = rows
        .iter()
        .find(|row| row.contains("CREATE pods shop/rogue"));
    let denied = denied.expect("the planted change is there");
    assert!(denied.ends_with("allowed → denied (shadow)"), "{denied}");
    assert!(table.out.contains("the image is not ours"), "{}", table.out);
    assert!(table.err.contains("7 of "), "{}", table.err);
}

#[tokio::test]
async fn the_log_of_an_embedded_api_server_shows_what_a_new_version_decides_otherwise() {
    let guards = Guards::new("guard");
    let log = File::create(guards.log()).expect("a log");
    let audit = Audit::to_writer(log).level(Level::RequestResponse);
    let server = ApiServer::builder().audit(audit).start();
    let admin = Client::new(server.service(), "default");
    let robot = acting_as(server.service(), "robot", &["system:masters".to_owned()]);
    let robot = Client::new(robot, "default");
    let _guard = guards.install(&admin).await;
    day(&admin, &robot).await;
    server.stop();
    replays_are_right(&guards).await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn the_log_of_a_real_api_server_shows_what_a_new_version_decides_otherwise() {
    use kube::Config;
    use kube::config::{KubeConfigOptions, Kubeconfig};
    use kubewright_testing::{ControlPlane, eventually};

    let guards = Guards::new("real-guard");
    let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";
    let control_plane = ControlPlane::builder().audit(policy).start().await;
    let control_plane = control_plane.expect("a control plane");
    let kubeconfig = Kubeconfig::from_yaml(&control_plane.kubeconfig()).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.expect("a configuration");
    let admin = Client::try_from(config.clone()).expect("a client");
    config.auth_info.impersonate = Some("robot".to_owned());
    config.auth_info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
    let robot = Client::try_from(config).expect("a client");
    let _guard = guards.install(&admin).await;
    day(&admin, &robot).await;
    // Events are written after their requests are answered.
    eventually("the last event of the day", async || {
        let log = fs::read_to_string(control_plane.audit_log()).ok()?;
        let mut lines = log.lines();
        lines
            .find(|line| {
                line.contains(r#""verb":"deletecollection""#) && line.contains("ResponseComplete")
            })
            .map(drop)
    })
    .await;
    fs::copy(control_plane.audit_log(), guards.log()).expect("a log");
    replays_are_right(&guards).await;
}

const GUARD: &str = r#"//! Guards pods and settings.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright::prelude::*;

const KEPT: bool = true;

async fn images(change: Change<Pod>, _: Review) -> Validated {
    let spec = change.object().spec.clone().unwrap_or_default();
    for container in spec.containers {
        if let Some("nginx:latest") = container.image.as_deref() {
            return deny("the image is not ours");
        }
    }
    Ok(())
}

async fn team(change: Change<ConfigMap>, _: Review) -> Mutated<ConfigMap> {
    let mut map = change.into_object();
    let mode = map.data.as_ref().and_then(|data| data.get("mode"));
    let team = match mode.map(String::as_str) {
        Some("fast") => "blue",
        _ => "blue",
    };
    let labels = map.metadata.labels.get_or_insert_default();
    labels.insert("team".to_owned(), team.to_owned());
    Ok(map)
}

fn label(map: &ConfigMap, name: &str) -> bool {
    map.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(name))
}

async fn keep(change: Change<ConfigMap>, _: Review) -> Validated {
    match change {
        Change::Delete(map) if KEPT && label(&map, "keep") => deny("it is kept"),
        Change::Update { old, .. } if label(&old, "frozen") => deny("it is frozen"),
        _ => Ok(()),
    }
}

fn app(_: &mut Needs) -> App {
    let webhooks = Webhooks::new("guard.example.com")
        .with(
            validating("images", images)
                .in_namespaces(Selector::not_in("tier", ["system"]))
                .when("not-robot", "request.userInfo.username != 'robot'"),
        )
        .with(
            validating("watch", images)
                .shadow()
                .in_namespaces(Selector::not_in("tier", ["system"]))
                .when("not-robot", "request.userInfo.username != 'robot'"),
        )
        .with(mutating("team", team).in_namespaces(Selector::label("tier", "web")))
        .with(
            validating("keep", keep)
                .on([Update, Delete])
                .in_namespaces(Selector::label("tier", "web")),
        );
    App::new("guard").webhooks(webhooks)
}

fn main() -> std::process::ExitCode {
    kubewright::run(app)
}
"#;

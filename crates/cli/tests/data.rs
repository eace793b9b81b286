//! `kubewright apiserver --data`: what a cluster has after its server ended, killed while it was writing or not.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::WatchEvent;
use kube::{Api, Client, Config, ResourceExt as _};
use kubewright_etcd::LocalEtcd;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Child;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::command::{kubewright, run};

const ARGUMENTS: [&str; 5] = ["apiserver", "--kubeconfig", "access", "--data", "kept"];

/// A running server with its client; killed when it is dropped.
struct Server {
    child: Child,
    client: Client,
}

impl Server {
    async fn start(folder: &Path) -> Self {
        Self::start_with(folder, &ARGUMENTS).await
    }

    /// Starts a server with these arguments, of which the third is the kubeconfig.
    async fn start_with(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = kubewright(folder, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let ready = lines.next_line().await.expect("text");
        let ready = ready.expect("a line before it ends");
        assert!(ready.starts_with("ready: "), "{ready}");
        let kubeconfig = Kubeconfig::read_from(folder.join(arguments[2])).expect("a kubeconfig");
        let client = client_of(kubeconfig).await;
        Self { child, client }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client.clone())
    }

    /// Ends it with SIGKILL, as a crash does.
    async fn kill(mut self) {
        self.child.kill().await.expect("it ran");
    }
}

async fn client_of(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options);
    let config = config.await.expect("a usable kubeconfig");
    Client::try_from(config).expect("a client")
}

fn map(name: &str, value: u64) -> ConfigMap {
    let object = json!({"metadata": {"name": name}, "data": {"value": value.to_string()}});
    serde_json::from_value(object).expect("a ConfigMap")
}

fn value_of(map: &ConfigMap) -> u64 {
    let data = map.data.as_ref().expect("data");
    data["value"].parse().expect("a number")
}

fn revision_of(map: &ConfigMap) -> u64 {
    let revision = map.resource_version().expect("a stored object");
    revision.parse().expect("a number")
}

/// What an object is after a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Absent,
    Has(u64),
}

/// What a client was told of an object.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    acknowledged: State,
    /// What was asked for and not answered: it may have happened or not.
    asked: Option<State>,
    revision: u64,
}

type Ledger = Arc<Mutex<BTreeMap<String, Told>>>;

/// Creates, changes and deletes objects until the server is gone.
async fn write(maps: Api<ConfigMap>, ledger: Ledger, prefix: String) {
    for number in 0.. {
        let name = format!("{prefix}-{number}");
        for step in 0..3_u64 {
            let asked = match step {
                2 if number % 3 == 0 => State::Absent,
                value => State::Has(value),
            };
            ledger.lock().await.entry(name.clone()).or_default().asked = Some(asked);
            let revision = match asked {
                State::Has(0) => {
                    let created = maps.create(&PostParams::default(), &map(&name, 0)).await;
                    created.map(|created| revision_of(&created))
                }
                State::Has(value) => {
                    let patch = Patch::Merge(json!({"data": {"value": value.to_string()}}));
                    let patched = maps.patch(&name, &PatchParams::default(), &patch).await;
                    patched.map(|patched| revision_of(&patched))
                }
                State::Absent => {
                    let deleted = maps.delete(&name, &DeleteParams::default()).await;
                    deleted.map(|_| 0)
                }
            };
            let Ok(revision) = revision else { return };
            let mut ledger = ledger.lock().await;
            let told = ledger.get_mut(&name).expect("it was asked for");
            *told = Told {
                acknowledged: asked,
                asked: None,
                revision: revision.max(told.revision),
            };
        }
    }
}

/// What a client knows by list and watch, over all restarts.
#[derive(Default)]
struct Mirror {
    values: BTreeMap<String, u64>,
    revision: u64,
    lists: u64,
}

impl Mirror {
    /// Follows the server until it is gone, or until a revision is known. A revision that the server has forgotten makes it list
    /// again.
    async fn follow(&mut self, maps: Api<ConfigMap>, until: u64) {
        while self.revision < until {
            if self.revision == 0 {
                let Ok(list) = maps.list(&ListParams::default()).await else {
                    return;
                };
                self.lists += 1;
                let revision = list.metadata.resource_version.expect("a list");
                self.revision = revision.parse().expect("a number");
                let entries = list.items.iter();
                self.values = entries.map(|map| (map.name_any(), value_of(map))).collect();
                continue;
            }
            let version = self.revision.to_string();
            let Ok(stream) = maps.watch(&WatchParams::default(), &version).await else {
                return;
            };
            let mut stream = std::pin::pin!(stream);
            while let Some(event) = stream.next().await {
                let (map, is_there) = match event {
                    Ok(WatchEvent::Added(map) | WatchEvent::Modified(map)) => (map, true),
                    Ok(WatchEvent::Deleted(map)) => (map, false),
                    Ok(WatchEvent::Bookmark(_)) => continue,
                    Ok(WatchEvent::Error(gone)) => {
                        assert_eq!(gone.code, 410, "{gone:?}");
                        self.revision = 0;
                        break;
                    }
                    Err(_) => return,
                };
                let revision = revision_of(&map);
                assert!(
                    revision > self.revision,
                    "{revision} came after {}",
                    self.revision
                );
                self.revision = revision;
                if is_there {
                    self.values.insert(map.name_any(), value_of(&map));
                } else {
                    self.values.remove(&map.name_any());
                }
                if self.revision >= until {
                    return;
                }
            }
            if self.revision != 0 {
                return;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_write_is_there_after_a_kill_and_revisions_never_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let counted = crash(folder.path(), &ARGUMENTS, None, &mut None).await;
    println!("{counted}");
}

/// One server is killed over and over, and etcd every third time; another one, by which a client watches, stays.
#[tokio::test(flavor = "multi_thread")]
async fn in_etcd_every_acknowledged_write_is_there_after_a_kill_and_no_watch_of_another_server_misses_one()
 {
    let Some(etcd) = LocalEtcd::start() else {
        println!("there is no etcd: set KUBEBUILDER_ASSETS, or run tests/kube-apiserver/build");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let url = etcd.url().to_owned();
    let arguments = |kubeconfig| {
        let storage = ["--storage", "etcd", "--etcd-servers", &url];
        [
            &["apiserver", "--kubeconfig", kubeconfig, "--data", "kept"][..],
            &storage,
        ]
        .concat()
    };
    let steady = Server::start_with(folder.path(), &arguments("steady")).await;
    let counted = crash(
        folder.path(),
        &arguments("access"),
        Some(&steady),
        &mut Some(etcd),
    )
    .await;
    println!("{counted}");
    assert_eq!(
        counted.lists, 1,
        "the watch of the other server was never interrupted for good"
    );
}

/// What happened before the last kill.
struct Counted {
    kills: u64,
    /// The objects with an acknowledged write.
    acknowledged: u64,
    /// How often the client that watches had to list.
    lists: u64,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kills,
            acknowledged,
            lists,
        } = self;
        write!(
            f,
            "{kills} kills, {acknowledged} objects with acknowledged writes, {lists} lists of the client that watches"
        )
    }
}

/// Kills a server while clients write. `KUBEWRIGHT_CRASHES=100` kills it a hundred times.
async fn crash(
    folder: &Path,
    arguments: &[&str],
    steady: Option<&Server>,
    etcd: &mut Option<LocalEtcd>,
) -> Counted {
    let crashes: u64 =
        std::env::var("KUBEWRIGHT_CRASHES").map_or(4, |count| count.parse().expect("a number"));
    let ledger = Ledger::default();
    let mirror = Arc::new(Mutex::new(Mirror::default()));
    let mut last = 0;
    for crash in 0..=crashes {
        let server = Server::start_with(folder, arguments).await;
        let list = server
            .maps()
            .list(&ListParams::default())
            .await
            .expect("a list");
        let revision: u64 = list
            .metadata
            .resource_version
            .expect("a list")
            .parse()
            .expect("a number");
        assert!(revision >= last, "{revision} after {last}");
        let stored = list.items.iter();
        let stored: BTreeMap<String, u64> =
            stored.map(|map| (map.name_any(), value_of(map))).collect();
        for (name, told) in ledger.lock().await.iter_mut() {
            let found = stored
                .get(name)
                .map_or(State::Absent, |value| State::Has(*value));
            let expected = found == told.acknowledged || told.asked == Some(found);
            assert!(expected, "{name}: {found:?}, of which was told {told:?}");
            assert!(
                told.revision <= revision,
                "{name}: {told:?}, and now {revision}"
            );
            (told.acknowledged, told.asked) = (found, None);
        }
        last = revision;

        let following = {
            let (mirror, maps) = (Arc::clone(&mirror), steady.unwrap_or(&server).maps());
            tokio::spawn(async move { mirror.lock().await.follow(maps, u64::MAX).await })
        };
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let prefix = format!("c{crash}-{writer}");
                tokio::spawn(write(server.maps(), Arc::clone(&ledger), prefix))
            })
            .collect();
        sleep(Duration::from_millis(100 + 37 * (crash % 7))).await;
        if crash % 3 == 2
            && let Some(etcd) = etcd.as_mut()
        {
            tokio::task::block_in_place(|| etcd.crash());
        }
        server.kill().await;
        for writer in writers {
            writer.await.expect("a writer");
        }
        if steady.is_some() {
            following.abort();
        }
        let ended = following.await;
        assert!(ended.is_ok() || steady.is_some(), "{ended:?}");
    }
    let told: Vec<Told> = ledger.lock().await.values().copied().collect();
    let acknowledged: u64 = told.iter().map(|told| u64::from(told.revision > 0)).sum();
    assert!(
        acknowledged > crashes,
        "only {acknowledged} writes were acknowledged"
    );

    let server = Server::start_with(folder, arguments).await;
    let maps = server.maps();
    // The change by which the watching client knows that it has seen all others.
    let last = maps.create(&PostParams::default(), &map("last", 0)).await;
    let last = revision_of(&last.expect("a write"));
    let list = maps.list(&ListParams::default()).await.expect("a list");
    let stored = list.items.iter();
    let stored: BTreeMap<String, u64> = stored.map(|map| (map.name_any(), value_of(map))).collect();
    let mut mirror = mirror.lock().await;
    let maps = steady.map_or(maps, Server::maps);
    mirror.follow(maps, last).await;
    assert_eq!(mirror.values, stored);
    Counted {
        kills: crashes + 1,
        acknowledged,
        lists: mirror.lists,
    }
}

#[tokio::test]
async fn a_snapshot_of_a_server_or_of_its_directory_is_the_cluster_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = Server::start(folder).await;
    let created = server
        .maps()
        .create(&PostParams::default(), &map("a", 1))
        .await;
    let created = created.unwrap();
    let taken = run(
        folder,
        &[
            "apiserver",
            "snapshot",
            "of-server",
            "--kubeconfig",
            "access",
        ],
    )
    .await;
    assert_eq!(taken.code, Some(0), "{}", taken.err);
    let busy = run(folder, &["apiserver", "snapshot", "busy", "--data", "kept"]).await;
    assert_eq!(busy.code, Some(1), "{}", busy.err);
    server.kill().await;
    let taken = run(
        folder,
        &["apiserver", "snapshot", "of-directory", "--data", "kept"],
    )
    .await;
    assert_eq!(taken.code, Some(0), "{}", taken.err);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let objects = |text: String| {
        text.lines()
            .filter(|line| !line.contains("\tdefault/kubernetes\t"))
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(objects(read("of-server")), objects(read("of-directory")));

    let restored = run(
        folder,
        &["apiserver", "restore", "of-directory", "--data", "new"],
    )
    .await;
    assert_eq!(restored.code, Some(0), "{}", restored.err);
    let again = run(
        folder,
        &["apiserver", "restore", "of-directory", "--data", "new"],
    )
    .await;
    assert!(
        again.err.contains("the backend is not empty"),
        "{}",
        again.err
    );
    for place in [["--data", "new"], ["--snapshot", "of-server"]] {
        let arguments = [&["apiserver", "--kubeconfig", "access"][..], &place].concat();
        let server = Server::start_with(folder, &arguments).await;
        assert_eq!(server.maps().get("a").await.unwrap(), created);
        let next = server
            .maps()
            .create(&PostParams::default(), &map("b", 1))
            .await;
        assert!(revision_of(&next.unwrap()) > revision_of(&created));
        server.kill().await;
    }
    std::fs::write(folder.join("cut"), &read("of-server")[..2000]).unwrap();
    let damaged = run(folder, &["apiserver", "restore", "cut", "--data", "other"]).await;
    assert!(damaged.err.contains("it is damaged"), "{}", damaged.err);
    let missing = run(folder, &["apiserver", "snapshot", "x", "--data", "nowhere"]).await;
    assert!(
        missing.err.contains("there are no objects in nowhere"),
        "{}",
        missing.err
    );
}

#[tokio::test]
async fn a_cluster_is_the_same_after_a_restart_for_clients_that_knew_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path()).await;
    let maps = server.maps();
    let created = maps.create(&PostParams::default(), &map("a", 1)).await;
    let created = created.unwrap();
    let old = Kubeconfig::read_from(folder.path().join("access")).unwrap();
    server.kill().await;

    let server = Server::start(folder.path()).await;
    assert_eq!(server.maps().get("a").await.unwrap(), created);
    // The same client at the new address: it still trusts the server, and the server it.
    let now = Kubeconfig::read_from(folder.path().join("access")).unwrap();
    let mut old = old;
    let address = now.clusters[0].cluster.as_ref().unwrap().server.clone();
    old.clusters[0].cluster.as_mut().unwrap().server = address;
    let maps: Api<ConfigMap> = Api::default_namespaced(client_of(old).await);
    assert_eq!(maps.get("a").await.unwrap(), created);
}

#[tokio::test]
async fn a_directory_is_for_one_server_at_a_time_and_for_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path()).await;
    let second = run(folder.path(), &ARGUMENTS).await;
    assert_eq!(second.code, Some(1), "{}", second.err);
    assert!(second.err.contains("kept/objects.redb"), "{}", second.err);
    assert!(
        second.err.contains("choose another one with --data"),
        "{}",
        second.err
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| {
            let metadata = std::fs::metadata(folder.path().join(path)).unwrap();
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(mode("kept"), 0o700);
        assert_eq!(mode("kept/ca.key"), 0o600);
        assert_eq!(mode("kept/sa.key"), 0o600);
    }
}

#[tokio::test]
async fn a_directory_with_something_else_in_it_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    Server::start(folder.path()).await.kill().await;
    let kept = folder.path().join("kept");
    let key = std::fs::read_to_string(kept.join("ca.key")).unwrap();
    for (file, contents, expected) in [
        (
            "ca.key",
            "no key",
            "the private key of the authority is not valid PEM",
        ),
        (
            "ca.crt",
            "no certificate",
            "the certificate of the authority is not valid PEM",
        ),
        ("sa.key", "no key", "sa.key"),
        (
            "objects.redb",
            "no database",
            "remove this one to begin a new cluster in it",
        ),
    ] {
        let before = std::fs::read(kept.join(file)).unwrap();
        std::fs::write(kept.join(file), contents).unwrap();
        let ran = run(folder.path(), &ARGUMENTS).await;
        assert_eq!(ran.code, Some(1), "{file}: {}", ran.err);
        assert!(ran.err.contains(expected), "{file}: {}", ran.err);
        assert_eq!(std::fs::read_to_string(kept.join(file)).unwrap(), contents);
        std::fs::write(kept.join(file), before).unwrap();
    }
    assert_eq!(std::fs::read_to_string(kept.join("ca.key")).unwrap(), key);
    Server::start(folder.path()).await.kill().await;
}

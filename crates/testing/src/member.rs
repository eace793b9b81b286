//! Clusters that programs of another cluster reach by kubeconfigs, over links that tests break.

mod link;

use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_manager::Program;
use kubewright_manifests::Manifests;
use serde_json::{Map, Value, json};

pub use self::link::Link;
use crate::account;
use crate::server::Server;
use crate::{TestCluster, fail};

/// A cluster that programs of another cluster reach by a kubeconfig, over a [`Link`] that a test breaks.
///
/// # Example: a program that works in two other clusters
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::Cached;
/// use kubewright_manager::{App, Fleet, Members, Needs};
/// use kubewright_testing::{TestCluster, eventually, yaml};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let mut maps: Option<Fleet<Cached<ConfigMap>>> = None;
/// let app = |needs: &mut Needs| {
///     maps = Some(needs.fleet("all", Members::from_secrets("fleet=all"), |cluster| cluster.cached()));
///     App::new("census")
/// };
/// let hub = TestCluster::builder().app(app).start().await;
/// let fleet = TestCluster::fleet(2).await;
/// for (member, name) in fleet.iter().zip(["east", "west"]) {
///     member.create::<ConfigMap>(&yaml(&format!("metadata: {{name: of-{name}}}"))).await.expect_allowed();
///     hub.apply(&member.secret(name, &[("fleet", "all")])).await.expect_allowed();
/// }
/// let maps = maps.unwrap();
/// eventually("the members", async || (maps.names().len() == 2).then_some(())).await;
/// assert!(maps.get("west").unwrap().get(("default", "of-west")).await.unwrap().is_some());
/// assert!(maps.get("east").unwrap().get(("default", "of-west")).await.unwrap().is_none());
/// # });
/// ```
#[derive(Debug)]
pub struct TestMember {
    cluster: TestCluster,
    link: Link,
}

impl TestCluster {
    /// Starts clusters that programs of another cluster reach by kubeconfigs. Each one is an embedded API server with a socket.
    ///
    /// # Panics
    /// A socket cannot be opened.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends what has started.
    pub async fn fleet(size: usize) -> Vec<TestMember> {
        let mut members = Vec::new();
        for _ in 0..size {
            let cluster = Self::builder().on(Server::Embedded).listen().start().await;
            members.push(TestMember::before(cluster).await);
        }
        members
    }
}

impl TestMember {
    /// Puts a link before a cluster that has a socket: one on a real API server, or built with [`listen`](crate::Builder::listen).
    ///
    /// # Panics
    /// The cluster has no socket, or the socket of the link cannot be opened.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the cluster.
    pub async fn before(cluster: TestCluster) -> Self {
        let server = server(&cluster.kubeconfig()).to_owned();
        let link = match Link::to(server.trim_start_matches("https://")).await {
            Ok(link) => link,
            Err(error) => fail(format_args!("there is no link to {server}: {error}")),
        };
        Self { cluster, link }
    }

    /// The link between this cluster and the programs that have its kubeconfig.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// A kubeconfig of its administrator, over the link.
    pub fn kubeconfig(&self) -> String {
        self.over_the_link(&self.cluster.kubeconfig())
    }

    /// A kubeconfig with the token of a service account that has what `program` requests in the cluster or fleet of this name, and
    /// nothing else.
    ///
    /// # Panics
    /// The program has no such cluster or fleet.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may leave a part of the account in the cluster.
    pub async fn kubeconfig_for(&self, program: &Program, name: &str) -> String {
        let account = program.app().name();
        let namespace = self.namespace();
        let roles = program.cluster_permissions(name);
        let bindings = program.cluster_bindings(name, namespace, account);
        let (Some(roles), Some(bindings)) = (roles, bindings) else {
            fail(format_args!(
                "the program `{account}` has no cluster and no fleet `{name}`"
            ));
        };
        let token = self.token(account, roles, bindings).await;
        let admin = self.kubeconfig();
        let cluster = admin.split("contexts:").next().unwrap_or_default();
        format!(
            "{cluster}contexts:\n- name: kubewright\n  context: {{cluster: kubewright, user: account, namespace: {namespace}}}\n\
             users:\n- name: account\n  user: {{token: {token}}}\n"
        )
    }

    /// A Secret with the [kubeconfig](Self::kubeconfig), for the cluster that a program runs in.
    pub fn secret(&self, name: &str, labels: &[(&str, &str)]) -> Value {
        Self::secret_with(name, labels, &self.kubeconfig())
    }

    /// A Secret with a kubeconfig in its key `value`.
    pub fn secret_with(name: &str, labels: &[(&str, &str)], kubeconfig: &str) -> Value {
        let labels = labels.iter();
        let labels: Map<String, Value> = labels
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": labels},
            "data": {"value": STANDARD.encode(kubeconfig)},
        })
    }

    async fn token(&self, account: &str, roles: Manifests, bindings: Manifests) -> String {
        let host = self.cluster.host();
        account::with_roles(host, account, roles, bindings).await
    }

    fn over_the_link(&self, kubeconfig: &str) -> String {
        let link = format!("https://{}", self.link.address());
        kubeconfig.replace(server(kubeconfig), &link)
    }
}

impl Deref for TestMember {
    type Target = TestCluster;

    fn deref(&self) -> &TestCluster {
        &self.cluster
    }
}

/// The URL of the API server in a kubeconfig.
fn server(kubeconfig: &str) -> &str {
    let mut lines = kubeconfig.lines().map(str::trim);
    let server = lines.find_map(|line| line.strip_prefix("server:"));
    server.unwrap_or_default().trim().trim_end_matches('/')
}

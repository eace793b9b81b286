//! The connection to the cluster, which handles get before there is one.

use std::fmt;
use std::sync::Arc;

use kube::Client;
use tokio::sync::SetOnce;

use crate::Informers;

/// Connection to the cluster that handles share. Handles can be created before the program is connected, and wait for it.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Connection, Reader, Scope};
/// use kubewright_testing::TestCluster;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let connection = Connection::new();
/// let reader: Reader<ConfigMap> = Reader::new(&connection, Scope::all());
/// let reading = tokio::spawn(async move { reader.get(("default", "settings")).await });
///
/// let cluster = TestCluster::start().await;
/// connection.open(cluster.client(), "gardener");
/// assert!(reading.await??.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Connection {
    link: Arc<SetOnce<Link>>,
    informers: Informers,
}

#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) client: Client,
    /// The name under which fields are managed and events are reported.
    pub(crate) program: Arc<str>,
    /// The caches that show what is written.
    pub(crate) informers: Informers,
}

impl Connection {
    /// Creates a connection that is not open yet. [`with_informers`](Self::with_informers) has caches show its writes at once.
    ///
    /// ```
    /// let connection = kubewright_controller::Connection::new();
    /// assert_eq!(format!("{connection:?}"), "Connection { is_open: false, .. }");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a connection that is not open yet, whose writes the caches of `informers` show at once: they never read an older
    /// state of an object than a write through this connection has returned. The handles of a
    /// [`Needs`](https://docs.rs/kubewright-manager) are connected like this.
    ///
    /// Without a response, such as after a timeout, nothing is known of a write, and the caches show its outcome when their watch does.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Connection, Informers, Scope, Writer};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let connection = Connection::with_informers(&informers);
    /// connection.open(cluster.client(), "gardener");
    /// let (cached, writer): (Cached<ConfigMap>, Writer<ConfigMap>) =
    ///     (Cached::new(&informers, Scope::all()), Writer::new(&connection, Scope::all()));
    /// # let client = cluster.client();
    /// tokio::spawn(async move { informers.run(client).await });
    ///
    /// writer.create(&yaml("metadata: {namespace: default, name: settings}")).await?;
    /// let patch = serde_json::json!({"data": {"mode": "loud"}});
    /// writer.merge(("default", "settings"), &patch).await?;
    /// let settings = cached.get(("default", "settings")).await?.unwrap();
    /// assert_eq!(settings.data.unwrap()["mode"], "loud");
    /// writer.delete(&yaml("metadata: {namespace: default, name: settings}")).await?;
    /// assert!(cached.get(("default", "settings")).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_informers(informers: &Informers) -> Self {
        Self {
            link: Arc::default(),
            informers: informers.clone(),
        }
    }

    /// Connects all handles. The name of the program is the field manager of their writes.
    ///
    /// A connection is made once: a second call has no effect.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Applier, Connection, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let applier: Applier<ConfigMap> = Applier::new(&connection, Scope::all());
    /// let applied = applier.apply(&yaml("{metadata: {namespace: default, name: settings}, data: {mode: quiet}}")).await?;
    /// let fields = &applied.metadata.managed_fields.as_ref().unwrap()[0];
    /// assert_eq!(fields.manager.as_deref(), Some("gardener"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(&self, client: Client, program: impl Into<Arc<str>>) {
        let link = Link {
            client,
            program: program.into(),
            informers: self.informers.clone(),
        };
        // The first one holds, as promised.
        drop(self.link.set(link));
    }

    /// Returns the client, and waits until the connection is open.
    ///
    /// ```
    /// use kubewright_controller::Connection;
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let version = connection.client().await.apiserver_version().await?;
    /// assert_eq!(version.major, "1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn client(&self) -> Client {
        self.link().await.client.clone()
    }

    pub(crate) async fn link(&self) -> &Link {
        self.link.wait().await
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("is_open", &self.link.initialized())
            .finish_non_exhaustive()
    }
}

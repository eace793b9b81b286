//! The connection to the cluster, which handles get before there is one.

use std::fmt;
use std::sync::Arc;

use kube::Client;
use tokio::sync::SetOnce;

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
}

#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) client: Client,
    /// The name under which fields are managed and events are reported.
    pub(crate) program: Arc<str>,
}

impl Connection {
    /// Creates a connection that is not open yet.
    ///
    /// ```
    /// let connection = kubewright_controller::Connection::new();
    /// assert_eq!(format!("{connection:?}"), "Connection { is_open: false }");
    /// ```
    pub fn new() -> Self {
        Self::default()
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
            .finish()
    }
}

//! The connection to the cluster, which handles get before there is one.

use std::fmt;
use std::sync::Arc;

use kube::Client;
use tokio::sync::SetOnce;

/// The connection that handles share. They are handed out before a program is connected, and wait until it is.
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
    /// Makes a connection that is not there yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects all handles. The name of the program is the field manager of what they apply.
    ///
    /// A connection is made once: a second call has no effect.
    pub fn open(&self, client: Client, program: impl Into<Arc<str>>) {
        let link = Link {
            client,
            program: program.into(),
        };
        // The first one holds, as promised.
        drop(self.link.set(link));
    }

    /// Waits for the connection.
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

//! The network between a program and another cluster.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The network between a program and another cluster, as a test has it work or fail.
#[derive(Debug)]
pub struct Link {
    address: SocketAddr,
    flow: watch::Sender<Flow>,
    task: JoinHandle<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Through,
    Hangs,
    Cut,
}

impl Link {
    pub(super) async fn to(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let flow = watch::Sender::new(Flow::Through);
        let task = tokio::spawn(accept(listener, server.to_owned(), flow.subscribe()));
        Ok(Self {
            address,
            flow,
            task,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has nothing go through any more, in either direction, without an end of any connection: as where packets are lost.
    pub fn hang(&self) {
        self.flow.send_replace(Flow::Hangs);
    }

    /// Ends every connection, and each new one as soon as it is made.
    pub fn cut(&self) {
        self.flow.send_replace(Flow::Cut);
    }

    /// Has everything go through again. Connections that hung go on.
    pub fn mend(&self) {
        self.flow.send_replace(Flow::Through);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, server: String, flow: watch::Receiver<Flow>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((client, _)) = accepted {
                connections.spawn(carry(client, server.clone(), flow.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// An end of either side, or of the link, ends both connections.
async fn carry(mut client: TcpStream, server: String, mut flow: watch::Receiver<Flow>) {
    let carried = async {
        let mut server = TcpStream::connect(server).await?;
        copy_bidirectional(&mut client, &mut server).await
    };
    let mut carried = pin!(carried);
    loop {
        let now = *flow.borrow_and_update();
        tokio::select! {
            _ = &mut carried, if now == Flow::Through => return,
            changed = flow.changed(), if now != Flow::Cut => if changed.is_err() {
                return;
            },
            else => return,
        }
    }
}

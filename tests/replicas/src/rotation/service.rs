//! A Service of a cluster: one address, behind which connections go to the replicas that are ready.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How often a replica is asked whether it is ready.
const PERIOD: Duration = Duration::from_millis(20);
const TIMEOUT: Duration = Duration::from_mins(1);

/// A Service without anything of Kubernetes: what matters is that connections are spread, and replicas asked.
#[derive(Debug)]
pub(crate) struct Service {
    address: SocketAddr,
    endpoints: Endpoints,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Debug, Default)]
struct Endpoints(Arc<Mutex<Vec<Endpoint>>>);

#[derive(Clone, Debug)]
struct Endpoint {
    name: String,
    address: SocketAddr,
    probes: SocketAddr,
    is_ready: bool,
}

impl Service {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let endpoints = Endpoints::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, endpoints.clone()));
        tasks.spawn(probe(endpoints.clone()));
        Ok(Self {
            address,
            endpoints,
            _tasks: tasks,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn add(&self, name: &str, address: SocketAddr, probes: SocketAddr) {
        self.endpoints.with(|all| {
            all.push(Endpoint {
                name: name.to_owned(),
                address,
                probes,
                is_ready: false,
            });
        });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.endpoints
            .with(|all| all.retain(|endpoint| endpoint.name != name));
    }

    /// Waits until so many replicas are ready.
    pub(crate) async fn is_ready(&self, count: usize) -> Result<()> {
        let ready = async {
            while self
                .endpoints
                .with(|all| all.iter().filter(|one| one.is_ready).count())
                < count
            {
                sleep(PERIOD).await;
            }
        };
        timeout(TIMEOUT, ready)
            .await
            .with_context(|| format!("not all are ready: {:?}", self.endpoints))
    }
}

impl Endpoints {
    fn with<T>(&self, look: impl FnOnce(&mut Vec<Endpoint>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ready(&self) -> Vec<SocketAddr> {
        self.with(|all| {
            let ready = all.iter().filter(|endpoint| endpoint.is_ready);
            ready.map(|endpoint| endpoint.address).collect()
        })
    }
}

/// Passes connections on, to one replica after the other.
async fn accept(listener: TcpListener, endpoints: Endpoints) {
    let mut connections = JoinSet::new();
    let mut turn: usize = 0;
    while let Ok((mut client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        turn = turn.wrapping_add(1);
        let ready = endpoints.ready();
        connections.spawn(async move {
            for place in 0..ready.len() {
                let replica = ready[(turn + place) % ready.len()];
                if let Ok(mut server) = TcpStream::connect(replica).await {
                    // Either end may be killed.
                    drop(copy_bidirectional(&mut client, &mut server).await);
                    return;
                }
            }
        });
    }
}

async fn probe(endpoints: Endpoints) {
    loop {
        for endpoint in endpoints.with(|all| all.clone()) {
            let asked = timeout(Duration::from_secs(1), is_ready(endpoint.probes)).await;
            let is_ready = asked.is_ok_and(|answer| answer.is_ok_and(|is_ready| is_ready));
            endpoints.with(|all| {
                let known = all.iter_mut().find(|known| known.name == endpoint.name);
                if let Some(known) = known {
                    known.is_ready = is_ready;
                }
            });
        }
        sleep(PERIOD).await;
    }
}

async fn is_ready(probes: SocketAddr) -> Result<bool> {
    let mut connection = TcpStream::connect(probes).await?;
    connection
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: probe\r\nconnection: close\r\n\r\n")
        .await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}

//! A cluster to measure controllers on: an API server in a process of its own, its clients, and objects to fill it with.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::SendRequest;
use kube::Client;
use kubewright_certificates::TrustBundle;
use tokio::task::JoinSet;

use crate::load;
use crate::process::Process;

const STREAMS: usize = 16;

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Where an API server is, and what it wants to see.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Cluster {
    /// The server's address.
    pub(crate) address: SocketAddr,
    /// The file with the server's trust bundle.
    pub(crate) trust: PathBuf,
    /// The token to show.
    pub(crate) token: String,
}

impl Cluster {
    pub(crate) fn of(server: &Process) -> Result<Self> {
        Ok(Self {
            address: server.address,
            trust: server.trust.clone(),
            token: server.token.clone().context("a server without a token")?,
        })
    }

    fn trust(&self) -> Result<TrustBundle> {
        Ok(TrustBundle::from_pem(std::fs::read(&self.trust)?)?)
    }

    /// The client that programs use.
    pub(crate) fn client(&self) -> Result<Client> {
        let address = format!("https://localhost:{}", self.address.port());
        let mut config = kube::Config::new(address.parse()?);
        let trust = self.trust()?;
        let certificates = trust.certificates().iter();
        config.root_cert = Some(certificates.map(|one| one.to_vec()).collect());
        config.auth_info.token = Some(self.token.clone().into());
        Ok(Client::try_from(config)?)
    }

    /// A connection without anything around it.
    pub(crate) async fn connect(&self) -> Result<SendRequest<Full<Bytes>>> {
        let trust = self.trust()?;
        load::connect(self.address, &load::connector(&trust)?).await
    }

    pub(crate) fn get(&self, path: &str) -> Result<Request<Full<Bytes>>> {
        let request = Request::get(format!("https://localhost{path}"))
            .header("authorization", format!("Bearer {}", self.token));
        Ok(request.body(Full::default())?)
    }

    pub(crate) fn post(&self, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>> {
        let request = Request::post(format!("https://localhost{path}"))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        Ok(request.body(Full::new(body))?)
    }

    /// Creates one object.
    pub(crate) async fn create(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        path: &str,
        body: Bytes,
    ) -> Result<()> {
        let answer = sender.send_request(self.post(path, body)?).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(
            status.is_success(),
            "{status}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(())
    }

    /// Creates many objects, of the numbers from `first` to `end`.
    pub(crate) async fn fill(
        &self,
        path: &'static str,
        body: fn(usize) -> Bytes,
        first: usize,
        end: usize,
    ) -> Result<()> {
        let next = Arc::new(AtomicUsize::new(first));
        let sender = self.connect().await?;
        let mut streams = JoinSet::new();
        for _ in 0..STREAMS {
            let (cluster, next) = (self.clone(), Arc::clone(&next));
            let mut sender = sender.clone();
            streams.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return anyhow::Ok(());
                    }
                    cluster.create(&mut sender, path, body(number)).await?;
                }
            });
        }
        while let Some(stream) = streams.join_next().await {
            stream??;
        }
        Ok(())
    }
}

/// Reads a body line by line, and calls a function for each as soon as it is complete.
pub(crate) async fn lines(
    mut body: hyper::body::Incoming,
    mut each: impl FnMut(&[u8]),
) -> Result<()> {
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame?.data_ref() {
            rest.extend_from_slice(data);
        }
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            each(&rest[..end]);
            rest.drain(..=end);
        }
    }
    Ok(())
}

/// A small object.
pub(crate) fn config_map(number: usize) -> Bytes {
    serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("map-{number}"), "labels": {"app": "bench"}},
        "data": {"value": number.to_string(), "mode": "plain"},
    })
    .to_string()
    .into()
}

//! The server that a process is: it says where it listens, and serves for ever.

use std::io::Write as _;
use std::time::Duration;

use anyhow::Result;
use kubewright_apiserver::ApiServer;
use kubewright_certificates::Authority;
use kubewright_server::Server;
use tokio::net::TcpListener;

use crate::process::{Hello, Kind};
use crate::{echo, handshake, probes, subjects};

/// Is the server process: serves for ever.
pub(crate) async fn serve(kind: Kind) -> Result<()> {
    if kind == Kind::ApiServer {
        let server = ApiServer::start();
        let listening = server.listen(([127, 0, 0, 1], 0)).await?;
        say(&Hello {
            address: listening.local_addr(),
            trust: listening.certificate_authority().to_owned(),
            token: Some(listening.token().to_owned()),
        })?;
        return std::future::pending().await;
    }
    if kind == Kind::Diagnostics {
        let diagnostics = probes::diagnostics().bind(([127, 0, 0, 1], 0)).await?;
        say(&Hello {
            address: diagnostics.local_addr(),
            trust: String::new(),
            token: None,
        })?;
        diagnostics.run().await;
        return Ok(());
    }
    let authority = Authority::new("bench")?;
    let day = Duration::from_hours(24);
    let identity = authority.sign_server(["localhost"], day)?.identity()?;
    let trust = authority.certificate_pem();
    if kind != Kind::Webhooks {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        say(&Hello {
            address: listener.local_addr()?,
            trust,
            token: None,
        })?;
        return match kind {
            Kind::FixedCertificate => handshake::serve_fixed(listener, &identity).await,
            Kind::LiveCertificate => handshake::serve_live(listener, &authority).await,
            _ => echo::serve(listener, &identity).await,
        };
    }
    let server = Server::new(subjects::service(), vec![identity].into_iter())
        .listen(([127, 0, 0, 1], 0))
        .bind()
        .await?;
    say(&Hello {
        address: server.local_addr(),
        trust,
        token: None,
    })?;
    Ok(server.run(std::future::pending()).await?)
}

fn say(hello: &Hello) -> Result<()> {
    println!("{}", serde_json::to_string(hello)?);
    Ok(std::io::stdout().flush()?)
}

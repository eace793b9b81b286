//! What it costs that certificates are live: handshakes on a server whose certificate changes all the time, as a ratio to the
//! same server on one that never does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kubewright_certificates::{
    Authority, CertificateError, CertificateSource, Identity, TrustBundle,
};
use kubewright_server::Server;
use rustls::pki_types::ServerName;
use rustls::server::ResolvesServerCert;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::service_fn;

use crate::process::{Kind, Process, this_program};
use crate::{echo, load};

/// A live certificate may cost a twentieth of the handshakes.
const BAR: f64 = 0.95;
/// How often the live certificate changes: ten thousand times as often as in the life of a program.
const CHANGE: Duration = Duration::from_millis(100);
const CLIENTS: usize = 8;

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many pairs of runs there are.
    #[arg(long, default_value_t = 9)]
    pairs: usize,
    /// How many handshakes a run has.
    #[arg(long, default_value_t = 4_000)]
    handshakes: usize,
    /// Where every run is kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// What one run has come to.
#[derive(Debug, Serialize)]
struct Run {
    /// Handshakes for each second of the server's processor.
    rate: f64,
    /// Handshakes in a second, as the clients saw it.
    seen: f64,
}

#[derive(Debug, Serialize)]
struct Pair {
    fixed: Run,
    live: Run,
}

/// What the clients have to tell.
#[derive(Serialize, Deserialize)]
struct Told {
    seconds: f64,
}

/// Measures both servers in turns; the ratio of the medians counts.
pub(crate) fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    let fixed = Process::start(Kind::FixedCertificate, Some(0), &options.keep)?;
    let live = Process::start(Kind::LiveCertificate, Some(0), &options.keep)?;
    let count = options.handshakes;
    // The first run of each warms it up and does not count.
    measure(&fixed, count / 4)?;
    measure(&live, count / 4)?;
    println!(
        "{:<6} {:>12} {:>12} {:>7}  handshakes for a second of the server's processor",
        "pair", "fixed", "live", "ratio"
    );
    let mut pairs = Vec::new();
    for number in 1..=options.pairs {
        // Who goes first changes, so that a machine that slows down favours neither.
        let pair = if number % 2 == 0 {
            let live = measure(&live, count)?;
            let fixed = measure(&fixed, count)?;
            Pair { fixed, live }
        } else {
            let fixed = measure(&fixed, count)?;
            let live = measure(&live, count)?;
            Pair { fixed, live }
        };
        println!(
            "{number:<6} {:>12.0} {:>12.0} {:>7.3}",
            pair.fixed.rate,
            pair.live.rate,
            pair.live.rate / pair.fixed.rate
        );
        pairs.push(pair);
    }
    let ratio = median(&pairs, |pair| pair.live.rate) / median(&pairs, |pair| pair.fixed.rate);
    let verdict = if ratio >= BAR { "met" } else { "missed" };
    println!("ratio of the medians: {ratio:.3}, bar {BAR}: {verdict}");
    println!(
        "as the clients saw it: {:.0} handshakes in a second, {:.0} with a live certificate",
        median(&pairs, |pair| pair.fixed.seen),
        median(&pairs, |pair| pair.live.seen),
    );
    let path = options.keep.join("handshake.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&pairs)?)?;
    println!("every run is in {}", path.display());
    Ok(())
}

fn median(pairs: &[Pair], value: impl Fn(&Pair) -> f64) -> f64 {
    let mut values: Vec<f64> = pairs.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Lets clients connect from the second processor.
fn measure(server: &Process, count: usize) -> Result<Run> {
    let mut clients = this_program(Some(1));
    clients
        .arg("connect")
        .arg(server.address.to_string())
        .arg(&server.trust)
        .arg(count.to_string());
    let before = server.processor_time()?;
    let output = clients
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the clients")?;
    let cost = server.processor_time()?.saturating_sub(before);
    ensure!(output.status.success(), "the clients have failed");
    let told: Told = serde_json::from_slice(&output.stdout).context("the clients said nothing")?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand handshakes")]
    let count = count as f64;
    Ok(Run {
        rate: count / cost.as_secs_f64(),
        seen: count / told.seconds,
    })
}

/// Is the process of the clients: makes handshakes until there were enough, and says how long that took.
pub(crate) async fn connect(address: SocketAddr, trust: &Path, count: usize) -> Result<()> {
    let trust = TrustBundle::from_pem(std::fs::read(trust)?)?;
    let connector = load::connector(&trust)?;
    let begin = Instant::now();
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let connector = connector.clone();
        let mine = count / CLIENTS + usize::from(number < count % CLIENTS);
        clients.spawn(async move {
            for _ in 0..mine {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let name = ServerName::try_from("localhost")?;
                let mut tls = connector.connect(name, stream).await?;
                // The server closes once its side of the handshake is done.
                tls.read_to_end(&mut Vec::new()).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    let seconds = (Instant::now() - begin).as_secs_f64();
    println!("{}", serde_json::to_string(&Told { seconds })?);
    Ok(())
}

/// Is the server on a certificate that never changes.
pub(crate) async fn serve_fixed(listener: TcpListener, identity: &Identity) -> Result<()> {
    let key = identity.certified_key();
    serve(
        listener,
        Arc::new(rustls::sign::SingleCertAndKey::from(key)),
    )
    .await
}

/// Runs the same server on a certificate that changes all the time.
pub(crate) async fn serve_live(listener: TcpListener, authority: &Authority) -> Result<()> {
    let day = Duration::from_hours(24);
    let identities: Vec<Identity> = (0..10)
        .map(|_| authority.sign_server(["localhost"], day)?.identity())
        .collect::<Result<_, _>>()?;
    // No client connects to this server: it only follows its certificates.
    let follower = Server::new(
        service_fn(echo::answer),
        Changing {
            identities,
            next: 0,
        },
    )
    .listen(([127, 0, 0, 1], 0))
    .bind()
    .await?;
    let identity = follower.identity();
    let following = tokio::spawn(follower.run(std::future::pending()));
    let served = serve(listener, Arc::new(identity)).await;
    following.abort();
    served
}

async fn serve(listener: TcpListener, resolver: Arc<dyn ResolvesServerCert>) -> Result<()> {
    let acceptor = echo::acceptor(resolver)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            if let Ok(mut tls) = acceptor.accept(stream).await {
                let _ = tokio::io::AsyncWriteExt::shutdown(&mut tls).await;
            }
        });
    }
}

/// The same few identities over and over again.
struct Changing {
    identities: Vec<Identity>,
    next: usize,
}

impl CertificateSource for Changing {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        if self.next > 0 {
            tokio::time::sleep(CHANGE).await;
        }
        let identity = self.identities[self.next % self.identities.len()].clone();
        self.next += 1;
        Ok(identity)
    }
}

//! The embedded API server: how fast it starts, and what the creation of a pod costs it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use kubewright_apiserver::{ApiServer, Controllers};
use kubewright_certificates::TrustBundle;
use serde_json::json;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::drop_in;
use crate::measure;
use crate::payloads::Case;
use crate::process::{Kind, Process};
use crate::report::{self, Comparison};
use crate::scale::{self, Size};

/// How fast the first answer has to come.
const START: Duration = Duration::from_millis(3);

/// The same in process, with every controller.
const WITH_CONTROLLERS: Duration = Duration::from_millis(10);

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many pairs of runs the creation of a pod gets.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// How many times the server is started.
    #[arg(long, default_value_t = 20)]
    starts: usize,
    /// Measure a large cluster instead, and the same load on a real kube-apiserver with etcd, if there is one.
    #[arg(long)]
    scale: bool,
    /// The pods of the large cluster.
    #[arg(long, default_value_t = 100_000)]
    pods: usize,
    /// The watches of the large cluster.
    #[arg(long, default_value_t = 10_000)]
    watches: usize,
    /// The namespaces of the large cluster.
    #[arg(long, default_value_t = 200)]
    namespaces: usize,
    /// Where every run is kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// Measures the start and the creation of a pod.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    if options.scale {
        let size = Size {
            pods: options.pods,
            watches: options.watches,
            namespaces: options.namespaces,
        };
        return scale::run(size, &options.keep).await;
    }
    starts(options).await?;
    let starts = options.starts;
    // A runtime of its own is started and dropped, which no task of another one may do.
    tokio::task::spawn_blocking(move || in_process_starts(starts)).await??;
    drop_in_starts(options).await?;
    let echo = Process::start(Kind::Echo, Some(0), &options.keep)?;
    let server = Process::start(Kind::ApiServer, Some(0), &options.keep)?;
    let webhooks = Process::start(Kind::Webhooks, Some(1), &options.keep)?;
    install(&server, &webhooks).await?;
    Comparison::print_heading();
    let comparison = measure::compare(Case::Create, &echo, &server, options.pairs)?;
    comparison.print();
    report::keep(&options.keep.join("apiserver.json"), &[comparison])
}

/// How long it takes from the start of a process to the first answer over TLS, with reading its address and trust on the way:
/// the API server and, in turns, the constant answer, which is what processes, keys and handshakes take by themselves.
async fn starts(options: &Options) -> Result<()> {
    let (mut of_echo, mut of_server) = (Vec::new(), Vec::new());
    for _ in 0..options.starts {
        of_echo.push(start(Kind::Echo, options).await?);
        of_server.push(start(Kind::ApiServer, options).await?);
    }
    let (echo, best_echo) = middle_and_best(of_echo);
    let (server, best) = middle_and_best(of_server);
    let verdict = if server <= START { "met" } else { "missed" };
    println!(
        "start to first TLS answer: median {server:.1?}, best {best:.1?}, bar {START:?}: {verdict}; \
         the constant answer: median {echo:.1?}, best {best_echo:.1?}"
    );
    Ok(())
}

/// The controllers of a server that is measured.
type Chosen = fn() -> Controllers;

/// How long it takes from the start of a server in process to its first answer, alone and with every controller.
fn in_process_starts(starts: usize) -> Result<()> {
    let kinds: [(&str, Duration, Chosen); 2] = [
        ("alone", START, Controllers::none),
        ("with all controllers", WITH_CONTROLLERS, Controllers::all),
    ];
    for (name, bar, controllers) in kinds {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut times = Vec::new();
        for _ in 0..starts {
            let begin = Instant::now();
            let start = async {
                let server = ApiServer::builder().controllers(controllers()).start();
                let request = Request::get("/api/v1/namespaces/default");
                let request = request.body(Full::<Bytes>::default())?;
                let answer = server.service().oneshot(request).await?;
                ensure!(answer.status().is_success(), "{}", answer.status());
                let took = Instant::now() - begin;
                server.stop();
                Ok(took)
            };
            times.push(runtime.block_on(start)?);
        }
        let (middle, best) = middle_and_best(times);
        let verdict = if middle <= bar { "met" } else { "missed" };
        println!(
            "start in process, {name}, to the first answer: median {middle:.1?}, best {best:.1?}, bar {bar:?}: {verdict}"
        );
    }
    Ok(())
}

/// How long it takes from the start of the drop-in for envtest to the answer of `/readyz`.
async fn drop_in_starts(options: &Options) -> Result<()> {
    let prepared = drop_in::Prepared::new(&options.keep)?;
    let mut times = Vec::new();
    for _ in 0..options.starts {
        times.push(prepared.start().await?);
    }
    let (middle, best) = middle_and_best(times);
    let bar = drop_in::START;
    let verdict = if middle <= bar { "met" } else { "missed" };
    println!(
        "start of the drop-in for envtest to /readyz: median {middle:.1?}, best {best:.1?}, bar {bar:?}: {verdict}"
    );
    Ok(())
}

async fn start(kind: Kind, options: &Options) -> Result<Duration> {
    let begin = Instant::now();
    let server = Process::start(kind, None, &options.keep)?;
    send(
        &server,
        Request::get("https://localhost/version"),
        Bytes::new(),
    )
    .await?;
    Ok(Instant::now() - begin)
}

fn middle_and_best(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    (at(times.len() / 2), at(0))
}

/// Makes the API server call one of the webhooks for every pod.
async fn install(server: &Process, webhooks: &Process) -> Result<()> {
    let trust = TrustBundle::from_pem(std::fs::read(&webhooks.trust)?)?;
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "bench"},
        "webhooks": [{
            "name": "typed.bench.example.com",
            "clientConfig": {
                "url": format!("https://localhost:{}/typed", webhooks.address.port()),
                "caBundle": trust.to_ca_bundle()
            },
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"]
        }]
    });
    let uri =
        "https://localhost/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    send(server, Request::post(uri), configuration.to_string().into()).await
}

async fn send(server: &Process, request: http::request::Builder, body: Bytes) -> Result<()> {
    let connector = crate::load::connector(&read_trust(&server.trust)?)?;
    let mut sender = crate::load::connect(server.address, &connector).await?;
    let mut request = request.header("content-type", "application/json");
    if let Some(token) = &server.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(body))?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let answer = response.into_body().collect().await?.to_bytes();
    ensure!(
        status.is_success(),
        "{status}: {}",
        String::from_utf8_lossy(&answer)
    );
    Ok(())
}

fn read_trust(path: &Path) -> Result<TrustBundle> {
    Ok(TrustBundle::from_pem(std::fs::read(path)?)?)
}

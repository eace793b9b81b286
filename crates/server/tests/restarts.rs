//! Rolling restarts while calls are made, by clients whose list of endpoints lags behind.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use kubewright_certificates::SelfSigned;
use kubewright_server::{Body, Drain, Server};
use tokio::task::JoinSet;
use tower::service_fn;

use crate::client::{BoxError, Client, post};
use crate::running::{Running, answer, start};

/// How many calls are made at least.
const CALLS: usize = 20_000;
/// How many replicas are replaced while the calls are made.
const RESTARTS: usize = 100;
/// How long after the start of its drain a replica is still in the list that clients connect by, in turns.
const LAGS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(20),
    Duration::from_millis(60),
    Duration::from_millis(120),
    Duration::from_millis(300),
];
/// How much longer than the lag a replica accepts connections: what a busy machine may take to notice the time.
const MARGIN: Duration = Duration::from_secs(2);

/// What a client knows of the replicas: a list that lags behind.
type Endpoints = Arc<Mutex<Vec<(Client, Client)>>>;

/// The calls that were made, and those that got no right answer.
#[derive(Default)]
struct Tally {
    begun: AtomicUsize,
    /// The calls that have reached a replica.
    seen: Mutex<HashSet<usize>>,
    lost: Mutex<Vec<String>>,
    connections: AtomicUsize,
    restarts_done: AtomicBool,
}

impl Tally {
    fn next(&self) -> Option<usize> {
        let call = self.begun.fetch_add(1, Ordering::Relaxed);
        let is_over = call >= CALLS && self.restarts_done.load(Ordering::Relaxed);
        (!is_over).then_some(call)
    }

    fn judge(&self, call: usize, outcome: Result<(u16, Bytes), BoxError>) {
        match outcome {
            Ok((200, body)) if body == call.to_string() => {}
            other => self
                .lost
                .lock()
                .unwrap()
                .push(format!("call {call}: {other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_rolling_restarts_under_load_lose_none_of_twenty_thousand_calls() {
    let endpoints = Endpoints::default();
    let tally = Arc::new(Tally::default());
    let mut replicas = VecDeque::new();
    for lag in [LAGS[0], LAGS[1]] {
        replicas.push_back(replica(&endpoints, &tally, lag).await);
    }
    let mut clients = JoinSet::new();
    for number in 0..4 {
        clients.spawn(keep_calling_http1(
            number,
            Arc::clone(&endpoints),
            Arc::clone(&tally),
        ));
        clients.spawn(keep_calling_http2(
            number,
            Arc::clone(&endpoints),
            Arc::clone(&tally),
        ));
    }
    let mut draining = JoinSet::new();
    for restart in 0..RESTARTS {
        let lag = LAGS[(restart + replicas.len()) % LAGS.len()];
        replicas.push_back(replica(&endpoints, &tally, lag).await);
        let mut oldest = replicas.pop_front().unwrap();
        oldest.stop();
        tokio::time::sleep(LAGS[restart % LAGS.len()]).await;
        endpoints.lock().unwrap().remove(0);
        draining.spawn(async move { oldest.stopped().await });
    }
    tally.restarts_done.store(true, Ordering::Relaxed);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    while let Some(replica) = draining.join_next().await {
        replica.unwrap().unwrap();
    }
    let lost = tally.lost.lock().unwrap();
    assert!(
        lost.is_empty(),
        "{} lost: {:#?}",
        lost.len(),
        &lost[..lost.len().min(10)]
    );
    let connections = tally.connections.load(Ordering::Relaxed);
    assert!(connections > RESTARTS, "no client had to connect again");
}

/// Starts a replica that takes a moment for one call in eight, and lets the clients know.
async fn replica(endpoints: &Endpoints, tally: &Arc<Tally>, lag: Duration) -> Running {
    let tally = Arc::clone(tally);
    let service = service_fn(move |request: Request<Body>| {
        let tally = Arc::clone(&tally);
        async move {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let call = String::from_utf8_lossy(&body).parse().unwrap();
            tally.seen.lock().unwrap().insert(call);
            if call % 8 == 7 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            answer(body)
        }
    });
    let drain = Drain::default().propagation(lag + MARGIN);
    let server = Server::new(service, SelfSigned::for_names(["localhost"])).drain(drain);
    let running = start(server).await;
    endpoints
        .lock()
        .unwrap()
        .push((running.http1(), running.http2()));
    running
}

fn pick(endpoints: &Endpoints, number: usize) -> (Client, Client) {
    let endpoints = endpoints.lock().unwrap();
    endpoints[number % endpoints.len()].clone()
}

async fn keep_calling_http1(number: usize, endpoints: Endpoints, tally: Arc<Tally>) {
    let mut kept: Option<hyper::client::conn::http1::SendRequest<Full<Bytes>>> = None;
    while let Some(call) = tally.next() {
        let attempt = async {
            if let Some(sender) = &mut kept
                && sender.ready().await.is_err()
            {
                kept = None;
            }
            let sender = if let Some(sender) = &mut kept {
                sender
            } else {
                tally.connections.fetch_add(1, Ordering::Relaxed);
                kept.insert(pick(&endpoints, number).0.http1().await?)
            };
            whole(sender.send_request(post("/", call.to_string())).await?).await
        };
        let outcome = attempt.await;
        tally.judge(call, outcome);
    }
}

async fn keep_calling_http2(number: usize, endpoints: Endpoints, tally: Arc<Tally>) {
    let mut kept: Option<Http2Sender> = None;
    while let Some(call) = tally.next() {
        let attempt = async {
            loop {
                let mut sender = if let Some(sender) = open(kept.take()).await {
                    sender
                } else {
                    tally.connections.fetch_add(1, Ordering::Relaxed);
                    pick(&endpoints, number).1.http2().await?
                };
                match sender.send_request(post("/", call.to_string())).await {
                    Ok(response) => {
                        kept = Some(sender);
                        return whole(response).await;
                    }
                    // The connection was told to go away before the call was sent: clients try again by themselves.
                    Err(_) if !tally.seen.lock().unwrap().contains(&call) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let outcome = attempt.await;
        tally.judge(call, outcome);
    }
}

/// The sender, if its connection still takes calls.
async fn open(sender: Option<Http2Sender>) -> Option<Http2Sender> {
    let mut sender = sender?;
    sender.ready().await.ok()?;
    Some(sender)
}

type Http2Sender = hyper::client::conn::http2::SendRequest<Full<Bytes>>;

async fn whole(response: Response<hyper::body::Incoming>) -> Result<(u16, Bytes), BoxError> {
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await?.to_bytes()))
}

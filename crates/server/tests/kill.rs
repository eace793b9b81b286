//! A replica that is killed under load.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::{BoxError, Client, HTTP1, HTTP2, post, text};
use crate::process::{Process, serve_if_told};
use crate::running::within;

/// How many calls are answered before the kill, and how many more after it.
const CALLS: usize = 1000;

/// Passes connections on to the replicas in turns, and to the other one where one cannot be reached.
struct Balancer {
    address: SocketAddr,
    /// Which replica the connection of each client leads to.
    led: Arc<Mutex<HashMap<SocketAddr, usize>>>,
    _tasks: JoinSet<()>,
}

impl Balancer {
    async fn start(replicas: [SocketAddr; 2]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let led = Arc::<Mutex<HashMap<_, _>>>::default();
        let seen = Arc::clone(&led);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            for turn in 0.. {
                let (mut client, from) = listener.accept().await.unwrap();
                for replica in [turn % 2, (turn + 1) % 2] {
                    let Ok(mut server) = TcpStream::connect(replicas[replica]).await else {
                        continue;
                    };
                    seen.lock().unwrap().insert(from, replica);
                    connections.spawn(async move {
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    });
                    break;
                }
            }
        });
        Self {
            address,
            led,
            _tasks: tasks,
        }
    }
}

/// What the calls have come to.
struct Tally {
    balancer: Balancer,
    answered: AtomicUsize,
    /// The replicas of the calls that failed.
    failed: Mutex<Vec<usize>>,
    /// Calls that failed again on a fresh connection.
    lost: Mutex<Vec<String>>,
    phase: watch::Sender<Phase>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    BothLive,
    OneIsDead,
    Over,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// A connection through the balancer and the replica that it leads to.
struct Connection {
    sender: Sender,
    replica: usize,
}

impl Connection {
    /// Connects; the error comes with the replica where the attempt has ended.
    async fn open(client: &Client, tally: &Tally) -> Result<Self, (usize, BoxError)> {
        let stream = TcpStream::connect(tally.balancer.address).await.unwrap();
        let from = stream.local_addr().unwrap();
        let sender = async {
            let tls = client.secure(stream).await?;
            Ok(if client.is_http2() {
                Sender::Http2(Client::http2_over(tls).await?)
            } else {
                Sender::Http1(Client::http1_over(tls).await?)
            })
        };
        let sender = sender.await;
        let replica = tally.balancer.led.lock().unwrap()[&from];
        match sender {
            Ok(sender) => Ok(Self { sender, replica }),
            Err(error) => Err((replica, error)),
        }
    }

    async fn call(&mut self, path: &str, body: &'static str) -> Result<(u16, String), BoxError> {
        let request = post(path, body);
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let status = response.status().as_u16();
        let body = http_body_util::BodyExt::collect(response.into_body()).await?;
        Ok((status, String::from_utf8(body.to_bytes().to_vec())?))
    }
}

async fn call(
    kept: &mut Option<Connection>,
    client: &Client,
    tally: &Tally,
) -> Result<(), (usize, BoxError)> {
    let mut connection = match kept.take() {
        Some(connection) => connection,
        None => Connection::open(client, tally).await?,
    };
    let replica = connection.replica;
    let answer = connection.call("/", "four").await;
    let answer = answer.map_err(|error| (replica, error))?;
    assert_eq!(answer, (200, "4".to_owned()), "of replica {replica}");
    tally.answered.fetch_add(1, Ordering::Relaxed);
    *kept = Some(connection);
    Ok(())
}

async fn keep_calling(client: Client, tally: Arc<Tally>) {
    let mut phase = tally.phase.subscribe();
    let mut kept = None;
    while *phase.borrow() < Phase::Over {
        let Err((replica, _)) = call(&mut kept, &client, &tally).await else {
            continue;
        };
        tally.failed.lock().unwrap().push(replica);
        // The system may close connections before it has ended the whole process.
        phase
            .wait_for(|phase| *phase > Phase::BothLive)
            .await
            .unwrap();
        if let Err(again) = call(&mut kept, &client, &tally).await {
            tally.lost.lock().unwrap().push(format!("{again:?}"));
        }
    }
}

#[test]
fn a_killed_replica_fails_the_calls_on_its_own_connections_alone() {
    if serve_if_told() {
        return;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(kill_one_of_two());
}

async fn kill_one_of_two() {
    const TEST: &str = "kill::a_killed_replica_fails_the_calls_on_its_own_connections_alone";
    let mut replicas = [Process::start(TEST).await, Process::start(TEST).await];
    let balancer = Balancer::start([replicas[0].address, replicas[1].address]).await;
    let trust = replicas[0].trust.and(&replicas[1].trust);
    let [http1, http2] =
        [HTTP1, HTTP2].map(|protocol| Client::new(balancer.address, &trust, protocol));
    let (phase, _) = watch::channel(Phase::BothLive);
    let tally = Arc::new(Tally {
        balancer,
        answered: AtomicUsize::new(0),
        failed: Mutex::default(),
        lost: Mutex::default(),
        phase,
    });

    let mut held = [None, None];
    while held.iter().any(Option::is_none) {
        let connection = Connection::open(&http2, &tally).await.unwrap();
        let replica = connection.replica;
        held[replica] = Some(hold(connection).await);
    }
    let mut load = JoinSet::new();
    for _ in 0..4 {
        load.spawn(keep_calling(http1.clone(), Arc::clone(&tally)));
        load.spawn(keep_calling(http2.clone(), Arc::clone(&tally)));
    }
    answered(&tally, CALLS).await;
    replicas[0].kill().await;
    tally.phase.send_replace(Phase::OneIsDead);
    answered(&tally, CALLS).await;
    tally.phase.send_replace(Phase::Over);
    while let Some(client) = load.join_next().await {
        client.unwrap();
    }

    let lost = std::mem::take(&mut *tally.lost.lock().unwrap());
    assert!(lost.is_empty(), "failed again: {lost:?}");
    let failed = std::mem::take(&mut *tally.failed.lock().unwrap());
    assert!(
        failed.iter().all(|replica| *replica == 0),
        "calls on the other replica have failed: {failed:?}"
    );
    let [dead, live] = held.map(Option::unwrap);
    within(dead.call, "the end of the held call")
        .await
        .unwrap()
        .unwrap_err();
    let mut live_sender = live.sender;
    let released = live_sender.send_request(post("/release", "")).await;
    assert_eq!(text(released.unwrap()).await, (200, "released".into()));
    let answer = within(live.call, "the held call").await.unwrap().unwrap();
    assert_eq!(text(answer).await, (200, "held".into()));
}

/// A call that is in flight until it is released.
struct Held {
    sender: http2::SendRequest<Full<Bytes>>,
    call: tokio::task::JoinHandle<hyper::Result<http::Response<hyper::body::Incoming>>>,
}

async fn hold(connection: Connection) -> Held {
    let Sender::Http2(mut sender) = connection.sender else {
        unreachable!("it was opened as HTTP/2");
    };
    let call = tokio::spawn(sender.send_request(post("/hold", "")));
    // Streams begin in order: once a later call is answered, the one that is held has arrived.
    let later = sender.send_request(post("/", "four")).await.unwrap();
    assert_eq!(text(later).await, (200, "4".into()));
    Held { sender, call }
}

/// Waits for so many more answers.
async fn answered(tally: &Tally, more: usize) {
    let goal = tally.answered.load(Ordering::Relaxed) + more;
    let enough = async {
        while tally.answered.load(Ordering::Relaxed) < goal {
            tokio::task::yield_now().await;
        }
    };
    within(enough, "calls to be answered").await;
}

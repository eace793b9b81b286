//! Certificates that are swapped while clients connect.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kubewright_certificates::{
    Authority, CertificateError, CertificateSource, Files, Identity, Issued,
};
use kubewright_server::Server;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower::service_fn;

use crate::client::{Client, post, text};
use crate::running::{Running, length, quick, start, within};

const SWAPS: usize = 1000;
const DAY: Duration = Duration::from_hours(24);

/// A source that yields what a test sends.
struct Sent(mpsc::UnboundedReceiver<Result<Identity, CertificateError>>);

impl CertificateSource for Sent {
    async fn next(&mut self) -> Result<Identity, CertificateError> {
        match self.0.recv().await {
            Some(next) => next,
            None => std::future::pending().await,
        }
    }
}

/// Clients that connect again and again, and verify what they are shown.
struct Load {
    clients: JoinSet<()>,
    handshakes: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Load {
    fn on(running: &Running) -> Self {
        let handshakes = Arc::new(AtomicU64::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for client in [running.http1(), running.http2()] {
            let (handshakes, is_over) = (Arc::clone(&handshakes), Arc::clone(&is_over));
            clients.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    client.connect().await.expect("no handshake fails");
                    handshakes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self {
            clients,
            handshakes,
            is_over,
        }
    }

    /// Waits until another handshake was made.
    async fn goes_on(&self) {
        let before = self.handshakes.load(Ordering::Relaxed);
        while self.handshakes.load(Ordering::Relaxed) == before {
            assert_eq!(self.clients.len(), 2);
            tokio::task::yield_now().await;
        }
    }

    async fn end(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        while let Some(client) = self.clients.join_next().await {
            client.expect("no client has failed");
        }
    }
}

/// The leaf that a new connection is shown.
async fn leaf(client: &Client) -> Vec<u8> {
    let stream = client.connect().await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_swaps_under_load_fail_no_handshake_and_no_call() {
    let authority = Authority::new("test").unwrap();
    let issue = || {
        authority
            .sign_server(["localhost"], DAY)
            .unwrap()
            .identity()
            .unwrap()
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(Ok(issue())).unwrap();
    let running = start(Server::new(service_fn(length), Sent(receiver)).drain(quick())).await;
    let mut kept = running.http2().http2().await.unwrap();
    let load = Load::on(&running);
    for swap in 1..=SWAPS as u64 {
        let identity = issue();
        let expected = identity.chain()[0].to_vec();
        sender.send(Ok(identity)).unwrap();
        running
            .until("the swap", |counts| counts.identities_replaced == swap)
            .await;
        within(load.goes_on(), "a handshake").await;
        if swap % 100 == 0 {
            assert_eq!(leaf(&running.http1()).await, expected);
            let response = kept.send_request(post("/", "abc")).await.unwrap();
            assert_eq!(text(response).await, (200, "3".into()));
        }
    }
    load.end().await;
    assert_eq!(running.counts().handshakes_failed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_swaps_of_a_mounted_secret_under_load_fail_no_handshake() {
    let mount = tempfile::tempdir().unwrap();
    let authority = Authority::new("test").unwrap();
    let issue = || authority.sign_server(["localhost"], DAY).unwrap();
    swap_as_kubelet(mount.path(), 0, &issue(), &authority);
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        std::os::unix::fs::symlink(Path::new("..data").join(name), mount.path().join(name))
            .unwrap();
    }
    let source = Files::in_dir(mount.path()).poll_every(Duration::from_mins(10));
    let running = start(Server::new(service_fn(length), source).drain(quick())).await;
    assert_eq!(running.trust, authority.trust());
    let load = Load::on(&running);
    for swap in 1..=SWAPS {
        let issued = issue();
        swap_as_kubelet(mount.path(), swap, &issued, &authority);
        let expected = issued.identity().unwrap();
        let served = async {
            while running.identity.current().chain() != expected.chain() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(served, "the swap").await;
        if swap % 100 == 0 {
            assert_eq!(leaf(&running.http1()).await, expected.chain()[0].to_vec());
        }
    }
    load.end().await;
    assert_eq!(running.counts().handshakes_failed, 0);
}

/// Writes a new directory and renames the link to it, as the kubelet's atomic writer does.
fn swap_as_kubelet(mount: &Path, generation: usize, issued: &Issued, authority: &Authority) {
    let target = mount.join(format!("..2026_{generation}"));
    fs::create_dir(&target).unwrap();
    fs::write(target.join("tls.crt"), issued.certificate_pem()).unwrap();
    fs::write(target.join("tls.key"), issued.key_pem()).unwrap();
    fs::write(target.join("ca.crt"), authority.certificate_pem()).unwrap();
    let last = fs::read_link(mount.join("..data")).ok();
    std::os::unix::fs::symlink(target.file_name().unwrap(), mount.join("..data_tmp")).unwrap();
    fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
    if let Some(last) = last {
        fs::remove_dir_all(mount.join(last)).unwrap();
    }
}

#[tokio::test]
async fn files_in_every_broken_state_leave_the_old_pair_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let authority = Authority::new("test").unwrap();
    let issue = || authority.sign_server(["localhost"], DAY).unwrap();
    let (certificate, key) = (dir.path().join("tls.crt"), dir.path().join("tls.key"));
    let trust = authority.trust();
    let mut served = issue();
    fs::write(&certificate, served.certificate_pem()).unwrap();
    fs::write(&key, served.key_pem()).unwrap();
    let source = Files::in_dir(dir.path()).poll_every(Duration::from_millis(100));
    let mut running = start(Server::new(service_fn(length), source).drain(quick())).await;
    running.trust = trust;
    for broken in [
        "",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "no certificate at all",
    ] {
        let next = issue();
        fs::write(&certificate, broken).unwrap();
        assert_serves(&running, &served).await;
        fs::write(&certificate, next.certificate_pem()).unwrap();
        assert_serves(&running, &served).await;
        fs::remove_file(&key).unwrap();
        assert_serves(&running, &served).await;
        fs::write(&key, next.key_pem()).unwrap();
        let chain = next.identity().unwrap().chain().to_vec();
        let swapped = async {
            while running.identity.current().chain() != chain {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(swapped, "the whole pair").await;
        served = next;
        assert_serves(&running, &served).await;
    }
    assert_eq!(running.counts().identity_failures, 0);
}

/// Gives the server a moment to make a mistake, and asserts that it made none.
async fn assert_serves(running: &Running, issued: &Issued) {
    let expected = issued.identity().unwrap().chain()[0].to_vec();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(leaf(&running.http1()).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_leaves_the_last_identity_in_use_and_is_asked_again() {
    let authority = Authority::new("test").unwrap();
    let issue = || {
        authority
            .sign_server(["localhost"], DAY)
            .unwrap()
            .identity()
            .unwrap()
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let (first, second) = (issue(), issue());
    sender.send(Ok(first.clone())).unwrap();
    let running = start(Server::new(service_fn(length), Sent(receiver)).drain(quick())).await;
    for _ in 0..3 {
        sender.send(Err(CertificateError::KeyMismatch)).unwrap();
    }
    running
        .until("the failures", |counts| counts.identity_failures == 3)
        .await;
    assert_eq!(running.identity.current().chain(), first.chain());
    sender.send(Ok(second.clone())).unwrap();
    running
        .until("the second identity", |counts| {
            counts.identities_replaced == 1
        })
        .await;
    assert_eq!(running.identity.current().chain(), second.chain());
}

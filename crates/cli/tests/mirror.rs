//! A mirror on a port of the loopback interface: what it has, how it fails, and what it was asked.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA512, digest};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A mirror that ends with the test.
#[derive(Debug)]
pub(crate) struct Mirror {
    url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answers: BTreeMap<String, Answer>,
    asked: Vec<String>,
}

/// What there is at a path.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Bytes(Vec<u8>),
    /// The connection ends after this many bytes of each answer.
    Breaking(Vec<u8>, usize),
    /// As if it had never heard of ranges, and its connection broke the first time.
    WithoutRanges(Vec<u8>, usize),
    Status(u16),
    Redirect(String),
    /// A head, and then nothing.
    Silence,
    /// The head of an answer of this length.
    Announced(u64),
}

impl Mirror {
    pub(crate) async fn start() -> Self {
        Self::serve("http", None).await
    }

    /// A mirror with TLS.
    pub(crate) async fn encrypted(tls: tokio_rustls::TlsAcceptor) -> Self {
        Self::serve("https", Some(tls)).await
    }

    async fn serve(scheme: &str, tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("the mirror of the test works");
        let url = format!(
            "{scheme}://{}",
            listener.local_addr().expect("the mirror of the test works")
        );
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, tls) = (Arc::clone(&shared), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, &shared).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => answer(stream, &shared).await,
                            Err(_) => Some(()),
                        },
                    }
                });
            }
        });
        Self { url, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) fn has(&self, path: &str, answer: Answer) {
        let mut state = self.state.lock().expect("the mirror of the test works");
        state.answers.insert(path.to_owned(), answer);
    }

    /// Has an index at `/index.yaml` with these archives, which lie beside it.
    pub(crate) fn publishes(&self, archives: &[(&str, &[u8])]) {
        let mut index = "releases:\n".to_owned();
        for (name, bytes) in archives {
            let version = name
                .split('-')
                .nth(1)
                .expect("the mirror of the test works");
            // Two versions of one name would be two keys of one map.
            writeln!(index, "  {version}-{name}:\n    {name}:")
                .expect("the mirror of the test works");
            writeln!(
                index,
                "      hash: {}\n      selfLink: {}",
                sha512(bytes),
                self.url(&format!("/{name}"))
            )
            .expect("the mirror of the test works");
            self.has(&format!("/{name}"), Answer::Bytes(bytes.to_vec()));
        }
        self.has("/index.yaml", Answer::Bytes(index.into_bytes()));
    }

    pub(crate) fn index(&self) -> String {
        self.url("/index.yaml")
    }

    /// What it was asked since the last time: paths, and where ranges begin.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .state
                .lock()
                .expect("the mirror of the test works")
                .asked,
        )
    }
}

async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    shared: &Mutex<State>,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let range = head.to_lowercase();
    let range = range.lines().find_map(|line| {
        line.strip_prefix("range: bytes=")?
            .strip_suffix('-')?
            .parse::<usize>()
            .ok()
    });
    let found = {
        let mut state = shared.lock().expect("the mirror of the test works");
        let asked = range.map_or_else(|| path.clone(), |from| format!("{path} from {from}"));
        state.asked.push(asked);
        let found = state.answers.get(&path).cloned();
        if let Some(Answer::WithoutRanges(_, breaks)) = state.answers.get_mut(&path) {
            *breaks = usize::MAX;
        }
        found
    };
    let (status, fields, body, breaks) = match found {
        None => (404, String::new(), Vec::new(), usize::MAX),
        Some(Answer::Status(status)) => (status, String::new(), Vec::new(), usize::MAX),
        Some(Answer::Redirect(to)) => (302, format!("location: {to}\r\n"), Vec::new(), usize::MAX),
        Some(Answer::WithoutRanges(bytes, breaks)) => (200, String::new(), bytes, breaks),
        Some(Answer::Silence) => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")
                .await
                .ok()?;
            return std::future::pending().await;
        }
        Some(Answer::Announced(length)) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.ok()?;
            return std::future::pending().await;
        }
        Some(Answer::Bytes(bytes)) => ranged(bytes, range, usize::MAX),
        Some(Answer::Breaking(bytes, breaks)) => ranged(bytes, range, breaks),
    };
    let head = format!(
        "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n{fields}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream
        .write_all(&body[..breaks.min(body.len())])
        .await
        .ok()?;
    stream.shutdown().await.ok()
}

fn ranged(bytes: Vec<u8>, range: Option<usize>, breaks: usize) -> (u16, String, Vec<u8>, usize) {
    match range {
        None => (200, String::new(), bytes, breaks),
        Some(from) if from >= bytes.len() => (416, String::new(), Vec::new(), breaks),
        Some(from) => {
            let fields = format!(
                "content-range: bytes {from}-{}/{}\r\n",
                bytes.len() - 1,
                bytes.len()
            );
            (206, fields, bytes[from..].to_vec(), breaks)
        }
    }
}

/// An archive with these files.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        // Set by hand: what checks a path on the way in would refuse the ones that lead out.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        archive
            .append(&header, text.as_bytes())
            .expect("the mirror of the test works");
    }
    let mut encoder = archive.into_inner().expect("the mirror of the test works");
    encoder.flush().expect("the mirror of the test works");
    encoder.finish().expect("the mirror of the test works")
}

/// The programs of a version, as controller-tools packs them.
pub(crate) fn programs(version: &str) -> Vec<u8> {
    let script =
        |name: &str| format!("#!/bin/sh\necho this is the {name} of {version} >&2\nexit 3\n");
    archive(&[
        (
            "controller-tools/envtest/kube-apiserver",
            &script("kube-apiserver"),
        ),
        ("controller-tools/envtest/etcd", &script("etcd")),
        ("controller-tools/envtest/kubectl", &script("kubectl")),
    ])
}

/// The SHA-512 hash in hexadecimal.
pub(crate) fn sha512(bytes: &[u8]) -> String {
    let hex = |byte: &u8| format!("{byte:02x}");
    digest(&SHA512, bytes).as_ref().iter().map(hex).collect()
}

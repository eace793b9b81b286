//! Called as `etcd`: answers to health checks, and nothing else, since the API server beside it keeps its objects itself.

use std::convert::Infallible;
use std::fmt::Write as _;

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::failed::{Failed, runtime};
use super::flags::{CommandLine, Dialect, Given, Known};
use crate::cluster::Interrupt;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

const KNOWN: Known = Known {
    dialect: Dialect::Flag,
    table: include_str!("etcd.tsv"),
};

pub(super) fn run(ui: &Ui, arguments: impl IntoIterator<Item = String>) -> Result<(), Failed> {
    const NO_SENSE: u8 = 2;
    match KNOWN.parse(arguments) {
        Err(message) => Err(Failed {
            message,
            code: NO_SENSE,
        }),
        Ok(CommandLine::Help) => {
            ui.line(help());
            Ok(())
        }
        Ok(CommandLine::Version) => {
            ui.line(format!("etcd Version: {VERSION}"));
            Ok(())
        }
        Ok(CommandLine::Flags(given)) => serve(ui, &given).map_err(|failure| Failed::of(&failure)),
    }
}

fn serve(ui: &Ui, given: &Given) -> Outcome {
    let mut urls: Vec<&str> = given.elements("listen-client-urls").collect();
    if urls.is_empty() {
        urls.push("http://localhost:2379");
    }
    runtime(1)?.block_on(async {
        let mut interrupt = Interrupt::listen()?;
        let mut listeners = JoinSet::new();
        for url in urls {
            let listener = bind(url).await?;
            ui.note(format!(
                "etcd: answers health checks at http://{}; kube-apiserver beside it keeps objects in memory",
                listener.local_addr()?
            ));
            listeners.spawn(accept(listener));
        }
        interrupt.wait().await;
        Ok(())
    })
}

async fn bind(url: &str) -> Outcome<TcpListener> {
    const PORT: u16 = 2379;
    let uri: Uri = url
        .parse()
        .with_context(|| format!("reading --listen-client-urls {url}"))?;
    let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
        return Err(Failure::new(format!("cannot listen on {url}")).hint("pass an http:// URL"));
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let bound = TcpListener::bind((host, uri.port_u16().unwrap_or(PORT))).await;
    Ok(bound.with_context(|| format!("cannot listen on {url}"))?)
}

async fn accept(listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((socket, _)) = accepted {
                    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
                    connections.spawn(
                        hyper::server::conn::http1::Builder::new()
                            .serve_connection(TokioIo::new(socket), service),
                    );
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

fn answer<B>(request: &Request<B>) -> Response<Full<Bytes>> {
    let (status, body) = match request.uri().path() {
        "/health" => (
            StatusCode::OK,
            r#"{"health":"true","reason":""}"#.to_owned(),
        ),
        "/livez" | "/readyz" => (StatusCode::OK, "ok\n".to_owned()),
        "/version" => {
            let body =
                format!(r#"{{"etcdserver":"{VERSION}","etcdcluster":"3.6.0","storage":"3.6.0"}}"#);
            (StatusCode::OK, body)
        }
        _ => (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response
}

/// The help: envtest looks for flags in it, each at the beginning of a line.
fn help() -> String {
    let mut help = "Answers health checks in place of etcd, beside kubewright's embedded API server, for tests.\n\n\
         Usage:\n  etcd [flags]\n\nFlags:\n\n  \
         --listen-client-urls value\n    Answer health checks at these URLs (default http://localhost:2379).\n  \
         --help\n    Print this help.\n  \
         --version\n    Print the version.\n\n\
         Flags without effect:\n\n"
        .to_owned();
    for (name, kind) in KNOWN.iter() {
        if name != "listen-client-urls" {
            let kind = if kind == "bool" { "" } else { kind };
            let _ = writeln!(help, "{}", format!("  --{name} {kind}").trim_end());
        }
    }
    help
}

/// The version that the health checks of Kubernetes v1.36 see on a cluster.
const VERSION: &str = "3.6.8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_health_checks_and_has_nothing_else() {
        let status = |path: &str| answer(&Request::get(path).body(()).unwrap()).status();
        for path in ["/health", "/livez", "/readyz", "/version"] {
            assert_eq!(status(path), StatusCode::OK, "{path}");
        }
        assert_eq!(status("/v3/kv/range"), StatusCode::NOT_FOUND);
    }

    #[test]
    fn the_help_lists_the_flag_that_envtest_looks_for() {
        assert!(
            help()
                .lines()
                .any(|line| line.trim() == "--unsafe-no-fsync")
        );
    }
}

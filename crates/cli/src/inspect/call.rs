//! One request to a program, over TLS.

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use super::PATH;
use super::trust::Verification;
use crate::failure::{Failure, Outcome};

/// What a program answers.
pub(crate) enum Told {
    Page(Value),
    /// It does not know the token.
    Unauthenticated,
    /// The owner of the token may not look inside.
    Forbidden,
}

/// Asks a program at the other end of a stream for its page.
pub(crate) async fn call(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    verification: &Verification,
    token: &str,
) -> Outcome<Told> {
    let stream = verification.connect(stream).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .context("cannot speak HTTP with the program")?;
    let request = Request::get(PATH)
        .header(header::HOST, verification.host())
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(Empty::<Bytes>::new())
        .context("the token cannot be sent: it is no header value")?;
    let answered = async {
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
        Ok::<_, anyhow::Error>((status, body))
    };
    let mut connection = std::pin::pin!(connection);
    let mut answered = std::pin::pin!(answered);
    let answered = tokio::select! {
        answered = &mut answered => answered,
        // An answer may still be read from what has arrived.
        _ = &mut connection => answered.await,
    };
    let (status, body) = answered.context("the program does not answer")?;
    match status {
        StatusCode::OK => {
            let page = serde_json::from_slice(&body);
            Ok(Told::Page(page.context("the answer of the program is not JSON")?))
        }
        StatusCode::UNAUTHORIZED => Ok(Told::Unauthenticated),
        StatusCode::FORBIDDEN => Ok(Told::Forbidden),
        StatusCode::NOT_FOUND => Err(Failure::new(format!("the program has no page {PATH}"))
            .hint("build it with a version of the library that has the page, and call `App::secure_metrics` in its code")),
        StatusCode::SERVICE_UNAVAILABLE => Err(Failure::new(
            "the program cannot ask the API server whether the token is valid",
        )
        .hint("try again; its log says why")),
        other => Err(Failure::new(format!("the program answers {other}"))),
    }
}

/// Of each list a page has a hundred objects, so that none is as long as this.
const LARGEST: usize = 64 << 20;

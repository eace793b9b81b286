//! A connection of bytes inside of a WebSocket: each message is a part of it.

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio_tungstenite::tungstenite::Message;

use super::websocket::{accept, closing};

/// How many bytes wait between the two.
const WAITING: usize = 64 << 10;

/// Returns the connection inside, and the future that carries its bytes until either side ends it.
pub(super) async fn tunnel<S>(stream: S) -> (DuplexStream, impl Future<Output = ()> + Send)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (inner, outer) = tokio::io::duplex(WAITING);
    let (mut write, mut read) = accept(stream).await.split();
    let (mut from, mut to) = tokio::io::split(outer);
    let incoming = async move {
        while let Some(Ok(message)) = read.next().await {
            let bytes: Bytes = match message {
                Message::Binary(bytes) => bytes,
                Message::Text(text) => text.into(),
                Message::Close(_) => break,
                _ => continue,
            };
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        // The inner connection ends as it would without a tunnel.
        drop(to.shutdown().await);
    };
    let outgoing = async move {
        let mut part = vec![0; WAITING];
        while let Ok(read @ 1..) = from.read(&mut part).await {
            let message = Message::Binary(Bytes::copy_from_slice(&part[..read]));
            if write.send(message).await.is_err() {
                return;
            }
        }
        drop(write.send(closing()).await);
    };
    let carried = async {
        futures::future::join(incoming, outgoing).await;
    };
    (inner, carried)
}

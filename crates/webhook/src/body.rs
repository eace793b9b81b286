//! Reads a request's body: bounded in size and time, into one piece.

use std::error::Error;
use std::pin::pin;

use bytes::Buf;
use http_body::Body;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use crate::refusal::Refusal;

/// How much is set aside for a body before any of it has arrived.
const FIRST: usize = 64 * 1024;

/// Reads a whole body.
pub(crate) async fn read<B>(body: B, limit: usize, deadline: Instant) -> Result<Vec<u8>, Refusal>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let promised = body.size_hint().lower();
    if promised > limit as u64 {
        return Err(Refusal::too_large(limit));
    }
    // A promise is only believed in part: memory is taken as the bytes arrive.
    let promised = usize::try_from(promised).unwrap_or(limit).min(limit);
    let mut bytes = Vec::with_capacity(promised.min(FIRST));
    let mut body = pin!(body);
    let read = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::broken_body(&*error.into()))?;
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            if data.remaining() > limit - bytes.len() {
                return Err(Refusal::too_large(limit));
            }
            if bytes.len() + data.remaining() > bytes.capacity() && bytes.len() >= FIRST / 2 {
                bytes.reserve_exact(promised.saturating_sub(bytes.len()));
            }
            while data.has_remaining() {
                let chunk = data.chunk();
                bytes.extend_from_slice(chunk);
                let length = chunk.len();
                data.advance(length);
            }
        }
        Ok(bytes)
    };
    match timeout_at(deadline, read).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::slow_body()),
    }
}

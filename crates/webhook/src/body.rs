//! Reads a request's body: bounded in size and time, into one piece.

use std::error::Error;
use std::pin::pin;

use bytes::Buf;
use http_body::Body;
use http_body_util::BodyExt;
use kubewright_review::{Body as ReviewBody, PartialBody};
use tokio::time::{Instant, timeout_at};

use crate::refusal::Refusal;

/// How much is set aside for a body before any of it has arrived.
const FIRST: usize = 64 * 1024;

/// The least that is allocated for a larger body. mimalloc keeps a page of 4 MiB for allocations of up to 512 KiB, and returns a
/// larger one to the system when it is freed. The part that is never written takes no memory.
const WHOLE: usize = 520 * 1024;

/// Reads a whole body.
pub(crate) async fn read<B>(body: B, limit: usize, deadline: Instant) -> Result<ReviewBody, Refusal>
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
    let mut text = PartialBody::with_capacity(promised.min(FIRST));
    let mut received = 0;
    let mut body = pin!(body);
    let read = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::broken_body(&*error.into()))?;
            let Ok(mut data) = frame.into_data() else {
                continue;
            };
            let length = data.remaining();
            if length > limit - received {
                return Err(Refusal::too_large(limit));
            }
            if received + length > text.capacity() && received >= FIRST / 2 {
                text.grow_to(promised.max(WHOLE));
            }
            received += length;
            while data.has_remaining() {
                let chunk = data.chunk();
                text.push(chunk);
                let length = chunk.len();
                data.advance(length);
            }
        }
        if received == 0 {
            return Err(Refusal::empty());
        }
        text.finish().map_err(|error| Refusal::unreadable(&error))
    };
    match timeout_at(deadline, read).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::slow_body()),
    }
}

//! An answer's body, cut into lines as they come.

use std::error::Error as StdError;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;

/// The lines of a body. What comes behind the last line break is no line.
pub(crate) struct Lines<B> {
    body: B,
    chunk: Bytes,
    begun: Vec<u8>,
}

/// Why there is no further line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("the connection broke")]
    Broken(#[source] Box<dyn StdError + Send + Sync>),
    #[error("a line is longer than {LONGEST} bytes")]
    TooLong,
    #[error("a line is not UTF-8 text")]
    NotText(#[source] std::str::Utf8Error),
}

impl<B> Lines<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn StdError + Send + Sync>>> + Unpin,
{
    pub(crate) fn new(body: B) -> Self {
        Self {
            body,
            chunk: Bytes::new(),
            begun: Vec::new(),
        }
    }

    /// Hands the next line to a function. `None` is the end of the body.
    ///
    /// Dropping the future loses nothing.
    pub(crate) async fn next<T>(
        &mut self,
        read: impl FnOnce(&str) -> T,
    ) -> Result<Option<T>, LineError> {
        loop {
            if let Some(end) = self.chunk.iter().position(|byte| *byte == b'\n') {
                let line = self.chunk.split_to(end + 1);
                let line = &line[..end];
                if self.begun.is_empty() {
                    return text(line).map(|line| Some(read(line)));
                }
                self.begun.extend_from_slice(line);
                let whole = std::mem::take(&mut self.begun);
                return text(&whole).map(|line| Some(read(line)));
            }
            if self.begun.len() + self.chunk.len() > LONGEST {
                return Err(LineError::TooLong);
            }
            self.begun
                .extend_from_slice(&std::mem::take(&mut self.chunk));
            match self.body.frame().await {
                Some(Ok(frame)) => self.chunk = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Err(LineError::Broken(error.into())),
                None => return Ok(None),
            }
        }
    }
}

fn text(line: &[u8]) -> Result<&str, LineError> {
    std::str::from_utf8(line).map_err(LineError::NotText)
}

/// Far more than an object with all its metadata can take.
const LONGEST: usize = 32 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    async fn all(chunks: &[&'static str]) -> Vec<String> {
        let frames = chunks
            .iter()
            .map(|chunk| Ok::<_, Infallible>(Frame::data(Bytes::from_static(chunk.as_bytes()))));
        let frames: Vec<_> = frames.collect();
        let mut lines = Lines::new(StreamBody::new(stream::iter(frames)));
        let mut all = Vec::new();
        while let Some(line) = lines.next(str::to_owned).await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_body_is_cut() {
        for chunks in [
            &["one\ntwo\n\nthree\n"][..],
            &["o", "ne", "\n", "two\n\nth", "ree\n"],
            &["one\nt", "wo\n\nthree", "", "\n"],
        ] {
            assert_eq!(all(chunks).await, ["one", "two", "", "three"]);
        }
    }

    #[tokio::test]
    async fn half_a_line_at_the_end_is_no_line() {
        assert_eq!(all(&["one\ntw", "o"]).await, ["one"]);
        assert_eq!(all(&[]).await, [""; 0]);
    }
}

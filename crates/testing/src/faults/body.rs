//! An answer's body, which ends as a test wants it to.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::BoxError;

use super::refusal::Refusal;

/// How the body of a response ends before its time.
///
/// ```
/// use futures::StreamExt as _;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_testing::{End, Requests, TestCluster};
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::start().await;
/// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
/// let mut watch = maps.watch(&Default::default(), "0").await.unwrap().boxed();
/// cluster.faults().end_watches(&Requests::all(), &End::Broken);
/// assert!(watch.next().await.unwrap().is_err());
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// As if there were no more.
    Clean,
    /// The connection breaks.
    Broken,
    /// The connection stays, and nothing comes any more.
    Silent,
    /// An `ERROR` event comes last: for watches.
    Error(Refusal),
}

/// What an end comes to, once it is known which request it is for.
#[derive(Debug)]
pub(crate) enum Last {
    Clean,
    Broken,
    Silent,
    Line(String),
}

/// A body that a test can end.
pub(crate) struct Mortal {
    inner: UnsyncBoxBody<Bytes, BoxError>,
    state: State,
    /// After so many bytes it ends by itself.
    limit: Option<(usize, Last)>,
    /// What a test says about it while it flows.
    orders: Option<oneshot::Receiver<Last>>,
    ordered: Option<Last>,
    is_within_line: bool,
    pace: Option<Pace>,
}

#[derive(Debug)]
enum State {
    Flowing,
    Silent,
    Over,
}

/// A slow connection: so many bytes, and then a pause.
struct Pace {
    bytes: usize,
    pause: Pin<Box<Sleep>>,
    rest: Bytes,
}

impl Mortal {
    pub(crate) fn new<B>(inner: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            inner: inner.map_err(Into::into).boxed_unsync(),
            state: State::Flowing,
            limit: None,
            orders: None,
            ordered: None,
            is_within_line: false,
            pace: None,
        }
    }

    pub(crate) fn ends_after(mut self, bytes: usize, last: Last) -> Self {
        self.limit = Some((bytes, last));
        self
    }

    pub(crate) fn ends_on(mut self, orders: oneshot::Receiver<Last>) -> Self {
        self.orders = Some(orders);
        self
    }

    /// Lets no more than so many bytes through in a second.
    pub(crate) fn paced(mut self, bytes: usize) -> Self {
        self.pace = Some(Pace {
            bytes: bytes.max(1),
            pause: Box::pin(sleep_until(Instant::now())),
            rest: Bytes::new(),
        });
        self
    }

    fn end(&mut self, last: Last) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.state = State::Over;
        match last {
            Last::Clean => Poll::Ready(None),
            Last::Broken => Poll::Ready(Some(Err(
                io::Error::from(io::ErrorKind::ConnectionReset).into()
            ))),
            Last::Silent => {
                self.state = State::Silent;
                Poll::Pending
            }
            Last::Line(line) => Poll::Ready(Some(Ok(Frame::data(line.into())))),
        }
    }

    fn hear(&mut self, context: &mut Context<'_>) {
        if let Some(orders) = &mut self.orders
            && let Poll::Ready(heard) = Pin::new(orders).poll(context)
        {
            self.orders = None;
            self.ordered = heard.ok();
        }
    }

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(pace) = &mut self.pace else {
            return Pin::new(&mut self.inner).poll_frame(context);
        };
        ready!(pace.pause.as_mut().poll(context));
        if pace.rest.is_empty() {
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => pace.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            }
        }
        let part = pace.rest.split_to(pace.bytes.min(pace.rest.len()));
        pace.pause.as_mut().reset(Instant::now() + SECOND);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}

impl Body for Mortal {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = &mut *self;
        match body.state {
            State::Flowing => {}
            State::Silent => return Poll::Pending,
            State::Over => return Poll::Ready(None),
        }
        body.hear(context);
        // An event is not cut in two by an order: that is for a number of bytes to say.
        if !body.is_within_line
            && let Some(last) = body.ordered.take()
        {
            return body.end(last);
        }
        if matches!(body.limit, Some((0, _)))
            && let Some((_, last)) = body.limit.take()
        {
            return body.end(last);
        }
        let Some(frame) = ready!(body.poll_data(context)) else {
            body.state = State::Over;
            return Poll::Ready(None);
        };
        let mut data = match frame?.into_data() {
            Ok(data) => data,
            Err(other) => return Poll::Ready(Some(Ok(other))),
        };
        if let Some((left, _)) = &mut body.limit {
            data.truncate(*left);
            *left -= data.len();
        }
        body.is_within_line = data.last().is_some_and(|last| *last != b'\n');
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use tower::BoxError;

    use super::*;

    fn body() -> Mortal {
        Mortal::new(Full::new(Bytes::from_static(b"one\ntwo\n")))
    }

    async fn read(mut body: Mortal) -> (String, Option<BoxError>) {
        let mut text = String::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => text += std::str::from_utf8(&frame.into_data().unwrap()).unwrap(),
                Err(error) => return (text, Some(error)),
            }
        }
        (text, None)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_ends_where_and_how_it_is_told() {
        let (text, error) = read(body().ends_after(5, Last::Clean)).await;
        assert_eq!((text.as_str(), error.is_some()), ("one\nt", false));
        let (text, error) = read(body().ends_after(5, Last::Broken)).await;
        assert_eq!((text.as_str(), error.is_some()), ("one\nt", true));
        let silent = read(body().ends_after(0, Last::Silent));
        let waited = tokio::time::timeout(Duration::from_hours(1), silent).await;
        assert!(waited.is_err());
        let line = Last::Line("three\n".to_owned());
        assert_eq!(read(body().ends_after(4, line)).await.0, "one\nthree\n");
    }

    #[tokio::test(start_paused = true)]
    async fn an_order_ends_a_body_at_the_end_of_a_line() {
        let (order, orders) = oneshot::channel();
        order.send(Last::Line("three\n".to_owned())).unwrap();
        let body = body().paced(2).ends_on(orders);
        assert_eq!(read(body).await.0, "three\n");

        let (order, orders) = oneshot::channel();
        let mut body = Mortal::new(Full::new(Bytes::from_static(b"one\ntwo\n")))
            .paced(2)
            .ends_on(orders);
        let first = body.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "on");
        order.send(Last::Line("three\n".to_owned())).unwrap();
        assert_eq!(read(body).await.0, "e\nthree\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_takes_its_time_and_comes_whole() {
        let start = Instant::now();
        assert_eq!(read(body().paced(3)).await.0, "one\ntwo\n");
        assert_eq!((Instant::now() - start).as_secs(), 3);
    }
}

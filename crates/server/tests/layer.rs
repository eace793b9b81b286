//! The limits as a layer around a service that another server serves.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::channel::Channel;
use http_body_util::{BodyExt as _, Full};
use kubewright_server::{Body, BodyError, LimitLayer, Limits};
use tokio::sync::oneshot;
use tower::{BoxError, Layer as _, Service, ServiceExt as _, service_fn};

async fn echo<B>(request: Request<Body<B>>) -> Result<Response<Full<Bytes>>, BodyError>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    let bytes = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::from(bytes)))
}

async fn text<B>(response: Response<B>) -> (StatusCode, String)
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn two_services_of_one_layer_share_its_calls() {
    let layer = LimitLayer::new(Limits::default().calls(1));
    let (release, released) = oneshot::channel::<()>();
    let released = std::sync::Arc::new(tokio::sync::Mutex::new(Some(released)));
    let waiting = layer.layer(service_fn(move |request| {
        let released = std::sync::Arc::clone(&released);
        async move {
            let released = released.lock().await.take();
            released.unwrap().await.unwrap();
            echo(request).await
        }
    }));
    let other = layer.layer(service_fn(echo::<Full<Bytes>>));
    let first = tokio::spawn(waiting.oneshot(Request::new(Full::from("first"))));
    while layer.counters().read().calls_in_flight == 0 {
        tokio::task::yield_now().await;
    }
    let second = other.clone().oneshot(Request::new(Full::from("second")));
    let (status, sentence) = text(second.await.unwrap()).await;
    assert_eq!(
        (status.as_u16(), sentence.as_str()),
        (503, "too many calls are in flight")
    );
    assert_eq!(layer.counters().read().calls_refused, 1);

    release.send(()).unwrap();
    let first = text(first.await.unwrap().unwrap()).await;
    assert_eq!(first, (StatusCode::OK, "first".to_owned()));
    let third = other.oneshot(Request::new(Full::from("third"))).await;
    assert_eq!(text(third.unwrap()).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_cut_at_its_deadline() {
    let limits = Limits::default().body_time(Duration::from_secs(3));
    let mut service = LimitLayer::new(limits).layer(service_fn(echo));
    let (_sender, stalled) = Channel::<Bytes>::new(1);
    let answer = service.call(Request::new(stalled));
    let (status, sentence) = text(answer.await.unwrap()).await;
    assert_eq!(status, 408);
    assert_eq!(sentence, "the request's body did not arrive within 3 s");
}

#[tokio::test]
async fn an_error_of_the_service_itself_is_passed_on() {
    let failing = service_fn(async |_: Request<Body<Full<Bytes>>>| {
        Err::<Response<Full<Bytes>>, _>("the database is gone")
    });
    let service = LimitLayer::new(Limits::default()).layer(failing);
    let error = service.oneshot(Request::new(Full::from(""))).await;
    assert_eq!(error.unwrap_err().to_string(), "the database is gone");
}

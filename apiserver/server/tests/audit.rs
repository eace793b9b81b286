//! The audit log, where it needs no comparison with the real one's: `tests/conformance` has the rest.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use http::Method;
use kubewright_apiserver::ApiServer;
use kubewright_apiserver::audit::{Audit, Event, Level};
use serde_json::{Value, json};

use crate::cluster::Cluster;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A cluster whose audit log is kept.
pub(crate) fn audited(level: Level) -> (Cluster, Log) {
    let log = Log::default();
    let events = log.0.clone();
    let audit = Audit::to(move |event: &Event| events.lock().unwrap().push(event.to_value()));
    let server = ApiServer::builder().audit(audit.level(level)).start();
    (Cluster::of(server), log)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    pub(crate) fn events(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    #[track_caller]
    pub(crate) fn only(&self) -> Value {
        let mut events = self.events();
        assert_eq!(events.len(), 1, "{events:#?}");
        events.remove(0)
    }
}

fn secret() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"password": "aHVudGVyMg=="},
    })
}

#[tokio::test]
async fn the_level_decides_whether_the_contents_of_a_secret_are_written() {
    for (level, has_request, has_answer) in [
        (Level::Metadata, false, false),
        (Level::Request, true, false),
        (Level::RequestResponse, true, true),
    ] {
        let (cluster, log) = audited(level);
        let path = "/api/v1/namespaces/default/secrets";
        cluster.post(path, &secret()).await.expect(201);
        let event = log.only();
        assert_eq!(event["level"], format!("{level:?}"));
        let password = |object: &str| event[object]["data"]["password"] == "aHVudGVyMg==";
        assert_eq!(password("requestObject"), has_request, "{event:#}");
        assert_eq!(password("responseObject"), has_answer, "{event:#}");
        let written = event.to_string().contains("aHVudGVyMg");
        assert_eq!(written, has_request || has_answer);
        // What the object says of itself is no content.
        assert_eq!(event["objectRef"]["name"], "s");
        cluster
            .patch(
                "merge",
                &format!("{path}/s"),
                &json!({"data": {"a": "aHVudGVyMg=="}}),
            )
            .await
            .expect(200);
        let written = log.only().to_string().contains("aHVudGVyMg");
        assert_eq!(written, has_request || has_answer);
    }
}

#[tokio::test]
async fn a_watch_has_an_event_at_its_start_and_one_at_its_end() {
    let (cluster, log) = audited(Level::Metadata);
    let watch = cluster.watch(&format!("{MAPS}?watch=true")).await;
    let started = log.only();
    assert_eq!(started["stage"], "ResponseStarted");
    assert_eq!(started["verb"], "watch");
    drop(watch);
    let complete = log.only();
    assert_eq!(complete["stage"], "ResponseComplete");
    assert_eq!(complete["auditID"], started["auditID"]);
}

#[tokio::test]
async fn an_answer_has_the_name_of_its_event() {
    let (cluster, log) = audited(Level::Metadata);
    let answer = cluster.get(MAPS).await;
    assert_eq!(log.only()["auditID"], answer.header("audit-id"));
    let answer = cluster
        .send(Method::GET, MAPS, &[("audit-id", "mine")], "")
        .await;
    assert_eq!(answer.header("audit-id"), "mine");
    assert_eq!(log.only()["auditID"], "mine");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_fails_no_request() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("no space left"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let server = ApiServer::builder().audit(Audit::to_writer(Full)).start();
    Cluster::of(server).get(MAPS).await.expect(200);
}

#[tokio::test]
async fn a_writer_gets_a_line_an_event() {
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let text = Shared::default();
    let audit = Audit::to_writer(text.clone());
    let cluster = Cluster::of(ApiServer::builder().audit(audit).start());
    cluster.get(MAPS).await.expect(200);
    cluster.get(&format!("{MAPS}/x")).await.expect(404);
    let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    let codes: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["responseStatus"]["code"].take())
        .collect();
    assert_eq!(codes, [200, 404]);
    assert!(text.ends_with('\n'));
}

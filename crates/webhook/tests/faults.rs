//! Handlers that panic, hang or block: the call fails, and nothing else does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{
    Change, Mutated, Review, Validate, Validated, Webhooks, mutating, validating,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use tokio::sync::Notify;

use crate::calls::{Answer, create, pod, review};

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

async fn allow(_: Change<Pod>, _: Review) -> Validated {
    Ok(())
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

/// Panics before there is a future.
struct Sync;

impl Validate<Pod> for Sync {
    fn validate(&self, _: Change<Pod>, _: Review) -> impl Future<Output = Validated> + Send {
        panic!("before the first await");
        #[expect(
            unreachable_code,
            reason = "the compiler wants to know the type of the future"
        )]
        async {
            Ok(())
        }
    }
}

fn panicked(answer: &Answer) {
    assert_eq!(answer.code, 500);
    assert_eq!(
        answer.message(),
        format!("the webhook panicked on request {UID}; its log says why")
    );
    assert_eq!(answer.body["details"]["uid"], UID);
}

#[tokio::test]
async fn a_panic_is_a_failure_of_that_call_alone() {
    async fn late(_: Change<Pod>, _: Review) -> Validated {
        tokio::task::yield_now().await;
        panic!("after an await");
    }
    async fn in_drop(_: Change<Pod>, _: Review) -> Validated {
        let _bomb = Bomb;
        Ok(())
    }
    async fn with_a_bomb(_: Change<Pod>, _: Review) -> Validated {
        std::panic::panic_any(Bomb);
    }
    let webhooks = Webhooks::new("example.com")
        .with(validating::<Pod, _>("sync", Sync))
        .with(validating("late", late))
        .with(validating("in-drop", in_drop))
        .with(validating("bomb", with_a_bomb))
        .with(validating("allow", allow));
    for path in ["/sync", "/late", "/in-drop", "/bomb"] {
        // More calls than a hook needs to leave its own thread.
        for _ in 0..20 {
            panicked(&review(&webhooks, path, create(pod())).await);
        }
        assert!(review(&webhooks, "/allow", create(pod())).await.allowed());
    }
    let counts: Vec<_> = webhooks
        .outcomes()
        .iter()
        .map(|(_, outcomes)| outcomes.panicked)
        .collect();
    assert_eq!(counts, [20, 20, 20, 20, 0]);
}

/// A pod that panics when it is read with labels, or written with annotations.
#[derive(Clone, Debug)]
pub(crate) struct Explosive(Pod);

impl<'de> Deserialize<'de> for Explosive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pod = Pod::deserialize(deserializer)?;
        assert!(pod.metadata.labels.is_none(), "labels explode");
        Ok(Self(pod))
    }
}
impl Serialize for Explosive {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(self.0.metadata.annotations.is_none(), "annotations explode");
        self.0.serialize(serializer)
    }
}
crate::kinds::as_pod!(Explosive, 0);

pub(crate) async fn explosive(_: Change<Explosive>, _: Review) -> Validated {
    Ok(())
}

#[tokio::test]
async fn a_type_whose_reading_or_writing_panics_fails_that_call_alone() {
    async fn same(change: Change<Explosive>, _: Review) -> Mutated<Explosive> {
        Ok(change.into_object())
    }
    let webhooks = Webhooks::new("example.com").with(mutating("same", same));
    for field in ["labels", "annotations"] {
        let mut object = pod();
        object["metadata"][field] = json!({"a": "b"});
        panicked(&review(&webhooks, "/same", create(object)).await);
    }
    assert!(review(&webhooks, "/same", create(pod())).await.allowed());
}

#[tokio::test]
async fn ten_thousand_panics_leave_the_webhook_alive() {
    async fn bad(_: Change<Pod>, _: Review) -> Validated {
        std::panic::resume_unwind(Box::new("without a message"))
    }
    let webhooks = Webhooks::new("example.com")
        .with(validating("bad", bad))
        .with(validating("allow", allow));
    for _ in 0..10_000 {
        assert_eq!(review(&webhooks, "/bad", create(pod())).await.code, 500);
    }
    assert!(review(&webhooks, "/allow", create(pod())).await.allowed());
    assert_eq!(webhooks.outcomes()[0].1.panicked, 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_is_stopped_at_its_deadline_and_says_so() {
    struct Stopped(Arc<AtomicBool>);
    impl Drop for Stopped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stopped);
    let never = move |_: Change<Pod>, _: Review| {
        let stopped = Stopped(Arc::clone(&seen));
        async move {
            let _stopped = stopped;
            std::future::pending::<Validated>().await
        }
    };
    let webhooks = Webhooks::new("example.com").with(validating("never", never));
    let start = tokio::time::Instant::now();
    // The API server waits 10 s, as the query says.
    let answer = review(&webhooks, "/never", create(pod())).await;
    let waited = tokio::time::Instant::now() - start;
    assert_eq!(answer.code, 504);
    assert_eq!(
        answer.message(),
        format!("the webhook did not answer request {UID} before its deadline and was stopped")
    );
    assert!(
        waited < Duration::from_secs(10) && waited > Duration::from_secs(9),
        "{waited:?}"
    );
    while !stopped.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    assert_eq!(webhooks.outcomes()[0].1.stopped, 1);
}

/// A handler that blocks its thread until the test lets it go.
struct Blocking {
    entered: Arc<Notify>,
    released: Mutex<mpsc::Receiver<()>>,
    skip: AtomicUsize,
}

impl Validate<Pod> for Blocking {
    async fn validate(&self, _: Change<Pod>, _: Review) -> Validated {
        if self.skip.load(Ordering::SeqCst) > 0 {
            self.skip.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        self.entered.notify_one();
        let released = self.released.lock().unwrap();
        released.recv().unwrap();
        Ok(())
    }
}

fn blocking(skip: usize) -> (Webhooks, Arc<Notify>, mpsc::Sender<()>) {
    let entered = Arc::new(Notify::new());
    let (release, released) = mpsc::channel();
    let handler = Blocking {
        entered: Arc::clone(&entered),
        released: Mutex::new(released),
        skip: AtomicUsize::new(skip),
    };
    let webhooks = Webhooks::new("example.com")
        .with(validating::<Pod, _>("blocking", handler))
        .with(validating("allow", allow));
    (webhooks, entered, release)
}

/// The runtime has one thread: a blocked one would answer nothing.
#[tokio::test]
async fn a_blocking_handler_does_not_starve_the_others() {
    let (webhooks, entered, release) = blocking(0);
    let blocked = tokio::spawn({
        let webhooks = webhooks.clone();
        async move { review(&webhooks, "/blocking", create(pod())).await }
    });
    entered.notified().await;
    for _ in 0..20 {
        assert!(review(&webhooks, "/allow", create(pod())).await.allowed());
    }
    release.send(()).unwrap();
    assert!(blocked.await.unwrap().allowed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_begins_to_block_later_holds_one_thread_and_no_more() {
    // Quick long enough to run beside the server's own work.
    let (webhooks, entered, release) = blocking(50);
    for _ in 0..50 {
        assert!(
            review(&webhooks, "/blocking", create(pod()))
                .await
                .allowed()
        );
    }
    let mut blocked = Vec::new();
    for _ in 0..3 {
        let webhooks = webhooks.clone();
        blocked.push(tokio::spawn(async move {
            review(&webhooks, "/blocking", create(pod())).await
        }));
        if blocked.len() == 1 {
            entered.notified().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(review(&webhooks, "/allow", create(pod())).await.allowed());
    for _ in &blocked {
        release.send(()).unwrap();
    }
    for answer in blocked {
        assert!(answer.await.unwrap().allowed());
    }
}

/// Tells when it is dropped.
struct Tell(Arc<Notify>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_handler_is_dropped_when_the_caller_goes_away() {
    let entered = Arc::new(Notify::new());
    let dropped = Arc::new(Notify::new());
    let handler = {
        let (entered, dropped) = (Arc::clone(&entered), Arc::clone(&dropped));
        move |_: Change<Pod>, _: Review| {
            let (entered, tell) = (Arc::clone(&entered), Tell(Arc::clone(&dropped)));
            async move {
                let _tell = tell;
                entered.notify_one();
                std::future::pending::<Validated>().await
            }
        }
    };
    let webhooks = Webhooks::new("example.com").with(validating("never", handler));
    let call = tokio::spawn(async move { review(&webhooks, "/never", create(pod())).await });
    entered.notified().await;
    call.abort();
    dropped.notified().await;
}

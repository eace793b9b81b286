//! A queue with a rate limit, under virtual time.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::super::{Priority, Queue};
use crate::RateLimit;
use crate::rate_limit::Bucket;
use crate::sync::{Mutex, locked};

type Limited = (Arc<Queue<u32>>, Arc<Mutex<Bucket>>);

fn limited(limit: RateLimit) -> Limited {
    let bucket = Arc::new(Mutex::new(Bucket::new(limit)));
    let queue = Queue::new(None, Some(Arc::clone(&bucket)));
    (Arc::new(queue), bucket)
}

#[tokio::test(start_paused = true)]
async fn a_burst_begins_at_once_and_the_rest_at_the_rate_however_many_workers_there_are() {
    let (queue, _) = limited(RateLimit::per_second(10).burst(5));
    let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let mut workers = JoinSet::new();
    for worker in 0..4 {
        let (queue, sender) = (Arc::clone(&queue), sender.clone());
        workers.spawn(async move {
            while let Some((key, ..)) = queue.take(worker).await {
                sender.send(Instant::now()).unwrap();
                queue.done(&key, None, Priority::LOW);
            }
        });
    }
    // Workers that wait for keys hold no tokens.
    sleep(Duration::from_mins(1)).await;
    let start = Instant::now();
    for key in 0..25 {
        queue.add(&key, Priority::NORMAL, start);
    }
    for number in 0..25_u32 {
        let waited = begun.recv().await.unwrap() - start;
        let expected = Duration::from_millis(100) * number.saturating_sub(4);
        assert_eq!(waited, expected, "{number}");
    }
    queue.close();
    workers.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_token_is_there_once_and_is_overtaken_by_what_is_urgent() {
    let (queue, _) = limited(RateLimit::per_second(1));
    for key in [1, 2, 3, 3] {
        queue.add(&key, Priority::LOW, Instant::now());
    }
    assert_eq!(queue.take(0).await.unwrap().0, 1);
    let waiting = tokio::spawn({
        let queue = Arc::clone(&queue);
        async move { queue.take(0).await.unwrap() }
    });
    sleep(Duration::from_millis(500)).await;
    queue.add(&9, Priority::NORMAL, Instant::now());
    let (key, waited, _) = waiting.await.unwrap();
    assert_eq!((key, waited), (9, Duration::from_millis(500)));
    assert_eq!(queue.take(0).await.unwrap().0, 2);
    assert_eq!(queue.take(0).await.unwrap().0, 3);
    let next = timeout(Duration::from_mins(1), queue.take(0)).await;
    assert!(next.is_err(), "{next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_waits_for_a_token_hears_of_the_end() {
    let (queue, _) = limited(RateLimit::per_minute(1));
    queue.add(&1, Priority::LOW, Instant::now());
    queue.add(&2, Priority::LOW, Instant::now());
    assert_eq!(queue.take(0).await.unwrap().0, 1);
    let start = Instant::now();
    let (taken, ()) = tokio::join!(queue.take(0), async {
        sleep(Duration::from_secs(1)).await;
        queue.close();
    });
    assert_eq!(taken, None);
    assert_eq!((Instant::now() - start).as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_for_nothing_is_there_for_the_next() {
    let (queue, _) = limited(RateLimit::per_minute(1));
    let start = Instant::now();
    for key in 0..100 {
        queue.add(&key, Priority::LOW, start);
    }
    for key in 0..100 {
        assert_eq!(queue.take(0).await.unwrap().0, key);
        queue.give_back_token();
        queue.done(&key, None, Priority::LOW);
    }
    assert_eq!(Instant::now(), start);
}

#[tokio::test(start_paused = true)]
async fn the_limit_is_to_blame_only_while_it_alone_keeps_something_waiting() {
    let (queue, bucket) = limited(RateLimit::per_second(1));
    let held = || locked(bucket.lock()).held(Instant::now()).as_millis();
    queue.add(&1, Priority::LOW, Instant::now());
    queue.add(&2, Priority::LOW, Instant::now());
    assert_eq!(queue.take(0).await.unwrap().0, 1);
    // No worker asks for more.
    sleep(Duration::from_millis(400)).await;
    assert_eq!(held(), 0);
    let (taken, ()) = tokio::join!(queue.take(0), async {
        sleep(Duration::from_millis(100)).await;
        assert_eq!(held(), 100);
    });
    assert_eq!(taken.unwrap().0, 2);
    assert_eq!(held(), 600);
    // Nothing waits.
    let next = timeout(Duration::from_mins(1), queue.take(0)).await;
    assert!(next.is_err(), "{next:?}");
    assert_eq!(held(), 600);
}

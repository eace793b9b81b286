//! Rows of the list of faults that are about what an informer tells, on an embedded API server whose history is known.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use kube::ResourceExt;
use kube::client::Body;
use kubewright_testing::{End, Faults, Refusal, Requests, yaml};
use tokio::time::timeout;

use super::*;

/// An API server, and an informer that follows a namespace of it.
struct World {
    cluster: TestCluster,
    faults: Faults,
    /// What was done, as the informer is to tell it.
    log: Vec<String>,
}

fn maps() -> Requests {
    Requests::of::<ConfigMap>()
}

impl World {
    async fn new() -> Self {
        let faults = Faults::new();
        let cluster = TestCluster::builder().faults(&faults).start().await;
        let log = Vec::new();
        Self {
            cluster,
            faults,
            log,
        }
    }

    fn follow(&self) -> Following {
        self.follow_by(self.cluster.client_under(&self.faults))
    }

    fn follow_by(&self, client: kube::Client) -> Following {
        Following::within(Scope::all().in_namespace(self.cluster.namespace()), client)
    }

    async fn set(&mut self, name: &str) {
        let map: ConfigMap = yaml(&format!("metadata: {{name: {name}}}"));
        let value = json!({"data": {"value": fastrand::u64(..).to_string()}});
        let (sign, map) = if self.cluster.get::<ConfigMap>(name).await.is_some() {
            ('~', self.cluster.merge::<ConfigMap>(name, &value).await)
        } else {
            ('+', self.cluster.create(&map).await)
        };
        let map = map.expect_allowed();
        self.log
            .push(format!("{sign}{name}@{}", map.resource_version().unwrap()));
    }

    async fn delete(&mut self, name: &str) {
        self.cluster
            .delete::<ConfigMap>(name)
            .await
            .expect_allowed();
        self.log.push(format!("-{name}"));
    }

    async fn stored(&self) -> BTreeMap<String, String> {
        let api: kube::Api<ConfigMap> =
            kube::Api::namespaced(self.cluster.client(), self.cluster.namespace());
        let list = api.list(&kube::api::ListParams::default()).await.unwrap();
        let version = |map: ConfigMap| (map.name_any(), map.resource_version().unwrap());
        list.items.into_iter().map(version).collect()
    }

    async fn is_told(&self, following: &Following) {
        let stored = self.stored().await;
        eventually("the state of the store", async || {
            (following.versions() == stored).then_some(())
        })
        .await;
    }

    fn lists(&self) -> usize {
        let count = |requests: Requests| self.faults.sent(&requests).len();
        count(maps().verb("list")) + count(maps().streamed_lists())
    }
}

#[tokio::test(start_paused = true)]
async fn f17_wherever_a_watch_is_cut_no_event_is_lost_and_none_comes_twice() {
    let mut longest = 0;
    // Usually every thirteenth byte, a prime number, so that the cuts fall everywhere.
    let stride = thorough(13, 1);
    for step in 0..2340 / stride {
        let bytes = step * stride;
        let end = [End::Clean, End::Broken][step % 2].clone();
        let mut world = World::new().await;
        world.set("a").await;
        world.set("b").await;
        world
            .faults
            .on(maps())
            .times(3)
            .end_after(bytes, end.clone());
        let following = world.follow();
        following.informer.synced().await;
        world.set("c").await;
        world.set("a").await;
        world.delete("b").await;
        world.set("b").await;
        world.is_told(&following).await;
        assert_eq!(following.told(), world.log, "{end:?} after {bytes}");
        longest = longest.max(world.faults.sent(&maps()).len());
    }
    assert!(longest > 3, "some were cut again and again: {longest}");
}

#[tokio::test(start_paused = true)]
async fn f17_a_connection_of_a_kilobyte_a_second_brings_everything_in_the_end() {
    let mut world = World::new().await;
    for number in 10..60 {
        world.set(&format!("map-{number}")).await;
    }
    world.faults.on(maps()).trickle(1024);
    let following = world.follow();
    let start = Instant::now();
    following.informer.synced().await;
    assert!(start.elapsed() > Duration::from_secs(5), "it was slow");
    world.set("map-10").await;
    world.delete("map-11").await;
    world.is_told(&following).await;
    assert_eq!(following.told(), world.log);
    assert_eq!(world.lists(), 1);
}

#[tokio::test(start_paused = true)]
async fn f17_a_socket_that_says_nothing_any_more_is_left() {
    for open in [false, true] {
        let mut world = World::new().await;
        world.set("a").await;
        if !open {
            world.faults.on(maps()).once().end_after(100, End::Silent);
        }
        let following = world.follow();
        following.informer.synced().await;
        world.faults.end_watches(&maps(), &End::Silent);
        world.set("b").await;
        world.delete("a").await;
        sleep(Duration::from_mins(5)).await;
        assert_eq!(following.versions(), world.stored().await);
        assert_eq!(following.told(), world.log);
    }
}

#[tokio::test(start_paused = true)]
async fn f18_whatever_is_refused_at_the_start_ends_in_a_list_within_two_seconds() {
    for (is_within, refusal) in [
        (false, Refusal::streamed_lists_forbidden()),
        (false, Refusal::new(400, "BadRequest", "unknown parameter")),
        (true, Refusal::no_watch_progress()),
    ] {
        let mut world = World::new().await;
        world.set("a").await;
        let lists = world.faults.on(maps().streamed_lists());
        if is_within {
            lists.answer_within(refusal.clone());
        } else {
            lists.answer(refusal.clone());
        }
        let following = world.follow();
        let synced = timeout(Duration::from_secs(2), following.informer.synced());
        synced.await.unwrap_or_else(|_| panic!("{refusal:?}"));
        world.set("b").await;
        world.is_told(&following).await;
        // An API server that cannot stream is not asked to again.
        world
            .faults
            .end_watches(&maps(), &End::Error(Refusal::gone()));
        world.set("c").await;
        world.is_told(&following).await;
        assert_eq!(following.told(), world.log);
        assert_eq!(
            world.faults.sent(&maps().streamed_lists()).len(),
            1,
            "{refusal:?}"
        );
        assert_eq!(
            world.faults.sent(&maps().verb("list")).len(),
            2,
            "{refusal:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn f18_whatever_a_watch_is_refused_with_it_goes_on_with_at_most_one_list() {
    let refusals = [
        (Refusal::gone(), 1),
        (Refusal::too_new(), 1),
        (Refusal::new(500, "InternalError", "etcd has no leader"), 0),
        (Refusal::new(403, "Forbidden", "not yet"), 0),
        (Refusal::too_many_requests(), 0),
        (Refusal::unavailable(), 0),
    ];
    for (refusal, lists) in refusals {
        for place in ["start", "within", "midstream"] {
            let mut world = World::new().await;
            world.set("a").await;
            let following = world.follow();
            following.informer.synced().await;
            world.faults.forget_sent();
            let next = || world.faults.on(maps().watches()).once();
            match place {
                "start" => next().answer(refusal.clone()),
                "within" => next().answer_within(refusal.clone()),
                _ => {}
            }
            let end = if place == "midstream" {
                End::Error(refusal.clone())
            } else {
                End::Clean
            };
            world.faults.end_watches(&maps(), &end);
            world.set("b").await;
            world.delete("a").await;
            world.is_told(&following).await;
            let mut told = following.told();
            let mut log = world.log.clone();
            // A new list delivers its objects in another order.
            if lists > 0 {
                told.sort();
                log.sort();
            }
            assert_eq!(told, log, "{place}: {refusal:?}");
            assert!(
                world.lists() <= lists,
                "{place}: {refusal:?}: {} lists",
                world.lists()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f18_pages_that_expire_amid_a_list_are_read_anew_and_nothing_is_told_twice() {
    let mut world = World::new().await;
    for number in 1000..2100 {
        world.set(&format!("map-{number}")).await;
    }
    world
        .faults
        .on(maps().streamed_lists())
        .answer(Refusal::streamed_lists_forbidden());
    let pages = maps().verb("list");
    world
        .faults
        .on(pages.clone())
        .after(1)
        .once()
        .answer(Refusal::gone());
    let following = world.follow();
    following.informer.synced().await;
    assert_eq!(following.told(), world.log);
    assert_eq!(world.faults.sent(&pages).len(), 2 + 3);
}

/// A client that reaches one API server at first, and another one once that was restored from a backup.
fn restored(before: &World, after: &World) -> (kube::Client, Arc<AtomicBool>) {
    let is_restored = Arc::new(AtomicBool::new(false));
    let clients = [before, after].map(|world| world.cluster.client_under(&world.faults));
    let namespace = before.cluster.namespace().to_owned();
    let service = {
        let is_restored = Arc::clone(&is_restored);
        tower::service_fn(move |request: http::Request<Body>| {
            let client = clients[usize::from(is_restored.load(Ordering::SeqCst))].clone();
            async move { client.send(request).await }
        })
    };
    (kube::Client::new(service, namespace), is_restored)
}

#[tokio::test(start_paused = true)]
async fn f19_what_a_backup_has_undone_is_found() {
    let (mut before, mut after) = (World::new().await, World::new().await);
    for world in [&mut before, &mut after] {
        world.set("kept").await;
    }
    for name in ["lost", "changed", "kept"] {
        before.set(name).await;
    }
    after.set("changed").await;
    let (client, is_restored) = restored(&before, &after);
    let following = before.follow_by(client);
    following.informer.synced().await;
    is_restored.store(true, Ordering::SeqCst);
    before.faults.end_watches(&maps(), &End::Broken);
    // A watch from a version in the future is granted, and silent to its end: an API server says no more than that.
    sleep(Duration::from_mins(5)).await;
    after.is_told(&following).await;
    after.set("new").await;
    after.is_told(&following).await;
    assert!(following.told().contains(&"-lost".to_owned()));
    assert_eq!(after.faults.sent(&maps().streamed_lists()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn f21_an_hour_of_bookmarks_moves_the_place_from_which_a_watch_goes_on() {
    let mut world = World::new().await;
    world.set("a").await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let client = {
        let (client, asked) = (
            world.cluster.client_under(&world.faults),
            Arc::clone(&asked),
        );
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let client = client.clone();
            let query = request.uri().query().unwrap_or_default();
            let version = query
                .split('&')
                .find_map(|pair| pair.strip_prefix("resourceVersion="));
            locked(asked.lock()).extend(version.and_then(|version| version.parse::<u64>().ok()));
            async move { client.send(request).await }
        });
        kube::Client::new(service, world.cluster.namespace().to_owned())
    };
    let following = world.follow_by(client);
    following.informer.synced().await;
    following.told();
    // Others are busy, which moves the version of the store.
    let mut version = 0;
    for minute in 0..60 {
        let secret: k8s_openapi::api::core::v1::Secret =
            yaml(&format!("metadata: {{name: s-{minute}}}"));
        let secret = world.cluster.create(&secret).await.expect_allowed();
        version = secret.resource_version().unwrap().parse().unwrap();
        sleep(Duration::from_mins(1)).await;
    }
    locked(asked.lock()).clear();
    world.faults.drop_watches();
    sleep(Duration::from_secs(1)).await;
    let first = locked(asked.lock()).first().copied().expect("a watch");
    assert!(
        first + 5 >= version,
        "from {first} on, where the store is at {version}"
    );
    assert_eq!(following.told(), [""; 0]);
    assert_eq!(world.lists(), 1);
}

#[tokio::test(start_paused = true)]
async fn f22_a_long_list_of_what_changes_meanwhile_comes_to_what_is_stored() {
    let many = thorough(1_100, 50_000);
    for is_streamed in [true, false] {
        let mut world = World::new().await;
        for number in 0..many {
            world.set(&format!("map-{number}")).await;
        }
        if !is_streamed {
            world.faults.refuse_streamed_lists();
        }
        // A list that takes a while, so that much changes in between.
        world
            .faults
            .on(maps().verb("list"))
            .slow_answer(Duration::from_millis(50));
        world.faults.on(maps().streamed_lists()).trickle(1 << 20);
        let following = world.follow();
        let mut random = fastrand::Rng::with_seed(22);
        for _ in 0..400 {
            let name = format!("map-{}", random.usize(..many));
            match random.u8(..3) {
                0 if world.cluster.get::<ConfigMap>(&name).await.is_some() => {
                    world.delete(&name).await;
                }
                _ => world.set(&name).await,
            }
            sleep(Duration::from_millis(1)).await;
        }
        following.informer.synced().await;
        world.is_told(&following).await;
        assert_eq!(
            world.lists(),
            if is_streamed {
                1
            } else {
                1 + many.div_ceil(500)
            }
        );
        // A list that is read anew shares what is known: memory holds every object once.
        let known = following.informer.select(|_| true);
        world
            .faults
            .end_watches(&maps(), &End::Error(Refusal::gone()));
        sleep(Duration::from_secs(10)).await;
        let again = following.informer.select(|_| true);
        let shared = known
            .iter()
            .zip(&again)
            .filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), known.len());
    }
}

/// A size that a test usually has, or with `KUBEWRIGHT_THOROUGH` the whole one.
fn thorough(usual: usize, whole: usize) -> usize {
    match std::env::var_os("KUBEWRIGHT_THOROUGH") {
        Some(_) => whole,
        None => usual,
    }
}

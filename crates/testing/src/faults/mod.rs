//! What goes wrong between programs under test and their API server.

mod body;
mod layer;
mod refusal;
mod requests;
mod rules;
mod sent;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::core::Resource;
use tokio::sync::oneshot;
use tokio::time::Instant;

pub use body::End;
use body::Last;
pub(crate) use layer::WayLayer;
pub use refusal::Refusal;
use requests::Asked;
pub use requests::Requests;
use rules::{Effect, Fate, Instead, Rule};
pub use sent::Sent;

/// Injects faults between the programs under test and their API server. There are none until a test adds them. Clones share
/// their faults.
///
/// Faults affect the programs under test and [`TestCluster::client_under_test`](crate::TestCluster::client_under_test), never
/// the test's own requests. They happen on the way to the API server, so that they are the same on an embedded and on a real
/// one. To add faults before the programs start, create this first and pass it to
/// [`Builder::faults`](crate::Builder::faults).
///
/// # Example: a program that survives faults
///
/// ```
/// use std::time::Duration;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::{Refusal, Requests, TestCluster};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let cluster = TestCluster::builder().start().await;
/// let faults = cluster.faults();
///
/// faults.drop_watches();                                   // all open watches end
/// faults.conflict_once::<ConfigMap>();                     // another client was faster
/// faults.outage(Duration::from_secs(600));                 // the API server is down for ten minutes
/// faults.refuse_streamed_lists();                          // as with an old etcd
///
/// let updates = Requests::of::<ConfigMap>().verb("update").named("web");
/// faults.on(updates).once().answer(Refusal::unavailable());
/// faults.on(Requests::all().watches()).once().answer_within(Refusal::gone());
/// faults.on(Requests::all().writes()).slow(Duration::from_secs(3));
///
/// faults.clear();                                          // all is well again
/// # }
/// ```
///
/// # Time
///
/// Delays and times keep tokio's time. In a test whose time is paused (`#[tokio::test(start_paused = true)]`) an outage of
/// ten minutes takes microseconds, together with back-off, leases and [`eventually`](crate::eventually), as long as all of it
/// is in the test's process: an embedded API server, controllers and caches. It cannot be paused where bytes go through a
/// socket, since tokio lets time go on while nothing but a socket is waited for: webhooks behind HTTPS,
/// [`Builder::listen`](crate::Builder::listen), a real API server. The times of day that the API server writes into objects
/// are always those of the machine.
#[derive(Clone, Default)]
pub struct Faults {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    open: Vec<(Asked, oneshot::Sender<Last>)>,
    sent: VecDeque<Sent>,
    /// The number of the first request that is still remembered.
    first: usize,
}

/// A fault in the making: which requests it is for, how often and how long. Its last method, such as
/// [`answer`](Self::answer), says what goes wrong and adds it.
///
/// ```
/// use std::time::Duration;
///
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Api;
/// use kubewright_testing::{Refusal, Requests, TestCluster};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let cluster = TestCluster::start().await;
/// let gets = Requests::of::<ConfigMap>().verb("get");
/// let minute = Duration::from_secs(60);
/// cluster.faults().on(gets).after(1).lasting(minute).answer(Refusal::unavailable());
///
/// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
/// assert!(maps.get_opt("web").await.is_ok());
/// assert!(maps.get_opt("web").await.is_err());
/// tokio::time::sleep(minute).await;
/// assert!(maps.get_opt("web").await.is_ok());
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing goes wrong until it is said what, as by `.answer(Refusal::unavailable())`"]
pub struct Fault<'a> {
    faults: &'a Faults,
    requests: Requests,
    spared: usize,
    times: Option<usize>,
    time: Option<Duration>,
}

impl Faults {
    /// Returns faults without an API server, for [`Builder::faults`](crate::Builder::faults) or
    /// [`TestCluster::client_under`](crate::TestCluster::client_under). A running cluster has
    /// [its own](crate::TestCluster::faults).
    ///
    /// ```
    /// use kube::Client;
    /// use kubewright_testing::{Faults, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let faults = Faults::new();
    /// faults.on(Requests::all()).once().unreachable();
    /// let replica: Client = cluster.client_under(&faults);
    /// assert!(replica.list_api_groups().await.is_err());
    /// assert!(replica.list_api_groups().await.is_ok());
    /// # });
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a fault of these requests: of all of them, from now on, until its methods narrow it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube::Api;
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::of::<Secret>()).answer(Refusal::unavailable());
    ///
    /// let (client, namespace) = (cluster.client_under_test(), cluster.namespace());
    /// let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    /// let maps: Api<ConfigMap> = Api::namespaced(client, namespace);
    /// assert!(secrets.get_opt("web").await.is_err());
    /// assert!(maps.get_opt("web").await.is_ok());
    /// # });
    /// ```
    pub fn on(&self, requests: Requests) -> Fault<'_> {
        Fault {
            faults: self,
            requests,
            spared: 0,
            times: None,
            time: None,
        }
    }

    /// Ends all open watches, as an API server does that restarts.
    ///
    /// ```
    /// use futures::StreamExt as _;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let mut watch = maps.watch(&Default::default(), "0").await.unwrap().boxed();
    /// cluster.faults().drop_watches();
    /// assert!(watch.next().await.is_none());
    /// # });
    /// ```
    pub fn drop_watches(&self) {
        self.end_watches(&Requests::all(), &End::Clean);
    }

    /// Ends the open watches of these requests, in this way.
    ///
    /// ```
    /// use futures::StreamExt as _;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::WatchEvent;
    /// use kubewright_testing::{End, Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let mut watch = maps.watch(&Default::default(), "0").await.unwrap().boxed();
    /// let end = End::Error(Refusal::unavailable());
    /// cluster.faults().end_watches(&Requests::of::<ConfigMap>(), &end);
    /// let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { panic!("no error") };
    /// assert_eq!(status.code, 503);
    /// # });
    /// ```
    pub fn end_watches(&self, watches: &Requests, end: &End) {
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        for (asked, order) in open {
            if watches.include(&asked) {
                // A client that has closed the watch meanwhile does not receive its end.
                drop(order.send(end.last(&asked.info)));
            } else {
                state.open.push((asked, order));
            }
        }
    }

    /// Answers the next update or patch of an object of a kind with 409 Conflict.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::PostParams;
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let map: ConfigMap = yaml("metadata: {name: web}");
    /// let map = cluster.create(&map).await.expect_allowed();
    /// cluster.faults().conflict_once::<ConfigMap>();
    ///
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let conflict = maps.replace("web", &PostParams::default(), &map).await.unwrap_err();
    /// assert!(matches!(conflict, kube::Error::Api(status) if status.is_conflict()));
    /// assert!(maps.replace("web", &PostParams::default(), &map).await.is_ok());
    /// # });
    /// ```
    pub fn conflict_once<K: Resource<DynamicType = ()>>(&self) {
        self.on(Requests::of::<K>().changes())
            .once()
            .answer(Refusal::conflict());
    }

    /// Delays every request by a time. The default is none.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::TestCluster;
    /// use tokio::time::Instant;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let minute = Duration::from_secs(60);
    /// cluster.faults().slow(minute);
    /// let start = Instant::now();
    /// cluster.client_under_test().list_api_groups().await.unwrap();
    /// assert!(start.elapsed() >= minute);
    /// # }
    /// ```
    pub fn slow(&self, delay: Duration) {
        self.on(Requests::all()).slow(delay);
    }

    /// Ends every open watch with a 410 Expired event, after which clients list anew.
    ///
    /// ```
    /// use futures::StreamExt as _;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::WatchEvent;
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let mut watch = maps.watch(&Default::default(), "0").await.unwrap().boxed();
    /// cluster.faults().gone();
    /// let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { panic!("no error") };
    /// assert_eq!(status.code, 410);
    /// # });
    /// ```
    pub fn gone(&self) {
        self.end_watches(&Requests::all(), &End::Error(Refusal::gone()));
    }

    /// Answers every request with 503 for a time, and ends the open watches.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let minute = Duration::from_secs(60);
    /// cluster.faults().unavailable(minute);
    /// let client = cluster.client_under_test();
    /// let error = client.list_api_groups().await.unwrap_err();
    /// assert!(matches!(error, kube::Error::Api(status) if status.code == 503));
    /// tokio::time::sleep(minute).await;
    /// assert!(client.list_api_groups().await.is_ok());
    /// # }
    /// ```
    pub fn unavailable(&self, time: Duration) {
        self.on(Requests::all())
            .lasting(time)
            .answer(Refusal::unavailable());
        self.drop_watches();
    }

    /// Refuses every connection for a time, and breaks those that are open.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().outage(Duration::from_secs(600));
    /// let client = cluster.client_under_test();
    /// assert!(matches!(client.list_api_groups().await, Err(kube::Error::Service(_))));
    /// // Time is paused: the ten minutes pass at once.
    /// tokio::time::sleep(Duration::from_secs(600)).await;
    /// assert!(client.list_api_groups().await.is_ok());
    /// # }
    /// ```
    pub fn outage(&self, time: Duration) {
        self.on(Requests::all()).lasting(time).unreachable();
        self.end_watches(&Requests::all(), &End::Broken);
    }

    /// Refuses streamed lists as an API server on an old etcd does: it grants the watch and ends it with an `ERROR` event.
    ///
    /// An API server that does not know streamed lists refuses them in other words: [`Refusal::streamed_lists_forbidden`].
    ///
    /// ```
    /// use futures::StreamExt as _;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::{WatchEvent, WatchParams};
    /// use kubewright_testing::TestCluster;
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().refuse_streamed_lists();
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let streamed = WatchParams::default().initial_events();
    /// let mut watch = maps.watch(&streamed, "0").await.unwrap().boxed();
    /// let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { panic!("no error") };
    /// assert!(status.message.contains("RequestWatchProgress"));
    /// # });
    /// ```
    pub fn refuse_streamed_lists(&self) {
        let lists = Requests::all().streamed_lists();
        self.on(lists).answer_within(Refusal::no_watch_progress());
    }

    /// Removes all faults. Watches that a fault made silent stay silent.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).answer(Refusal::unavailable());
    /// let client = cluster.client_under_test();
    /// assert!(client.list_api_groups().await.is_err());
    /// cluster.faults().clear();
    /// assert!(client.list_api_groups().await.is_ok());
    /// # });
    /// ```
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// Returns these requests in the order in which clients under these faults sent them, with those that a fault stopped.
    pub fn sent(&self, requests: &Requests) -> Vec<Sent> {
        let state = self.state();
        let sent = state
            .sent
            .iter()
            .filter(|sent| requests.include(&sent.asked));
        sent.cloned().collect()
    }

    /// Forgets the requests that were sent until now, so that a test counts from here.
    pub fn forget_sent(&self) {
        let mut state = self.state();
        state.first += state.sent.len();
        state.sent.clear();
    }

    fn takes_down(&self, asked: &Asked) -> usize {
        let mut state = self.state();
        state.sent.push_back(Sent {
            asked: asked.clone(),
            status: None,
        });
        if state.sent.len() > MOST_REMEMBERED {
            state.sent.pop_front();
            state.first += 1;
        }
        state.first + state.sent.len() - 1
    }

    fn is_answered(&self, number: usize, status: u16) {
        let mut state = self.state();
        let place = number.checked_sub(state.first);
        if let Some(sent) = place.and_then(|place| state.sent.get_mut(place)) {
            sent.status = Some(status);
        }
    }

    fn fate(&self, asked: &Asked) -> Fate {
        Fate::by(&mut self.state().rules, asked, Instant::now())
    }

    fn opens(&self, asked: &Asked) -> oneshot::Receiver<Last> {
        let (order, orders) = oneshot::channel();
        let mut state = self.state();
        state.open.retain(|(_, order)| !order.is_closed());
        state.open.push((asked.clone(), order));
        orders
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fault<'_> {
    /// Affects only the next matching request.
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Affects only the next `times` matching requests. The default is all of them.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).times(2).answer(Refusal::unavailable());
    /// let client = cluster.client_under_test();
    /// assert!(client.apiserver_version().await.is_err());
    /// assert!(client.apiserver_version().await.is_err());
    /// assert!(client.apiserver_version().await.is_ok());
    /// # });
    /// ```
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Lets the first `requests` matching requests pass. The default is 0.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).after(1).answer(Refusal::unavailable());
    /// let client = cluster.client_under_test();
    /// assert!(client.apiserver_version().await.is_ok());
    /// assert!(client.apiserver_version().await.is_err());
    /// # });
    /// ```
    pub fn after(mut self, requests: usize) -> Self {
        self.spared = requests;
        self
    }

    /// Ends the fault after a time. The default is that it lasts until [`Faults::clear`].
    pub fn lasting(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Answers with a refusal; the request does not reach the API server.
    ///
    /// ```
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).once().answer(Refusal::too_many_requests());
    /// let error = cluster.client_under_test().apiserver_version().await.unwrap_err();
    /// assert!(matches!(error, kube::Error::Api(status) if status.code == 429));
    /// # });
    /// ```
    pub fn answer(self, refusal: Refusal) {
        self.add(Effect::Instead(Instead::Refusal(refusal)));
    }

    /// Grants a watch and ends it with an `ERROR` event before any other event.
    ///
    /// ```
    /// use futures::StreamExt as _;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::WatchEvent;
    /// use kubewright_testing::{Refusal, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all().watches()).once().answer_within(Refusal::gone());
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let mut watch = maps.watch(&Default::default(), "0").await.unwrap().boxed();
    /// let Some(Ok(WatchEvent::Error(status))) = watch.next().await else { panic!("no error") };
    /// assert_eq!(status.reason, "Expired");
    /// # });
    /// ```
    pub fn answer_within(self, refusal: Refusal) {
        self.add(Effect::Instead(Instead::RefusalWithin(refusal)));
    }

    /// Refuses the connection.
    ///
    /// ```
    /// use kubewright_testing::{Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).once().unreachable();
    /// let client = cluster.client_under_test();
    /// assert!(matches!(client.apiserver_version().await, Err(kube::Error::Service(_))));
    /// assert_eq!(cluster.sent(&Requests::all())[0].status(), None);
    /// # });
    /// ```
    pub fn unreachable(self) {
        self.add(Effect::Instead(Instead::Unreachable));
    }

    /// Lets the API server serve the request, and breaks the connection before the response arrives.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::PostParams;
    /// use kubewright_testing::{Requests, TestCluster, yaml};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all().verb("create")).once().reset();
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let map = yaml("metadata: {name: web}");
    /// assert!(maps.create(&PostParams::default(), &map).await.is_err());
    /// assert!(cluster.get::<ConfigMap>("web").await.is_some(), "the object exists all the same");
    /// # });
    /// ```
    pub fn reset(self) {
        self.add(Effect::Instead(Instead::Reset));
    }

    /// Holds the request back for a time before the API server gets to see it.
    pub fn slow(self, delay: Duration) {
        self.add(Effect::Slow(delay));
    }

    /// Lets the API server serve the request at once, and delays the response by a time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube::Api;
    /// use kube::api::PostParams;
    /// use kubewright_testing::{Requests, TestCluster, eventually, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let hour = Duration::from_secs(3600);
    /// cluster.faults().on(Requests::all().writes()).slow_answer(hour);
    /// let maps: Api<ConfigMap> = Api::namespaced(cluster.client_under_test(), cluster.namespace());
    /// let writing = tokio::spawn(async move {
    ///     let map = yaml("metadata: {name: web}");
    ///     maps.create(&PostParams::default(), &map).await
    /// });
    /// eventually("the object", async || cluster.get::<ConfigMap>("web").await).await;
    /// assert!(!writing.is_finished(), "the client does not know yet");
    /// assert!(writing.await.unwrap().is_ok());
    /// # }
    /// ```
    pub fn slow_answer(self, delay: Duration) {
        self.add(Effect::SlowAnswer(delay));
    }

    /// Limits the response to this many bytes per second.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use kubewright_testing::{Requests, TestCluster};
    /// use tokio::time::Instant;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).trickle(10);
    /// let start = Instant::now();
    /// cluster.client_under_test().apiserver_version().await.unwrap();
    /// assert!(start.elapsed() > Duration::from_secs(5), "its JSON has more than 50 bytes");
    /// # }
    /// ```
    pub fn trickle(self, bytes: usize) {
        self.add(Effect::Pace(bytes));
    }

    /// Ends the body of the response after this many bytes, even amid an object.
    ///
    /// ```
    /// use kubewright_testing::{End, Requests, TestCluster};
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let cluster = TestCluster::start().await;
    /// cluster.faults().on(Requests::all()).once().end_after(10, End::Clean);
    /// let client = cluster.client_under_test();
    /// let error = client.apiserver_version().await.unwrap_err();
    /// assert!(matches!(error, kube::Error::SerdeError(_)), "{error}");
    /// # });
    /// ```
    pub fn end_after(self, bytes: usize, end: End) {
        self.add(Effect::Cut(bytes, end));
    }

    fn add(self, effect: Effect) {
        let rule = Rule {
            requests: self.requests,
            spared: self.spared,
            left: self.times,
            until: self.time.map(|time| Instant::now() + time),
            effect,
        };
        self.faults.state().rules.push(rule);
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Faults")
            .field("rules", &state.rules)
            .field("open_watches", &state.open.len())
            .field("sent", &state.sent.len())
            .finish()
    }
}

/// A program that asks without end must not take all memory: the oldest requests are forgotten.
const MOST_REMEMBERED: usize = 1 << 20;

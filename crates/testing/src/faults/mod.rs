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

/// What goes wrong between the programs under test and their API server: nothing, until a test says so. Clones are the same
/// faults.
///
/// Faults hold for the programs under test and for [`TestCluster::client_under_test`](crate::TestCluster::client_under_test),
/// never for the test's own requests. They happen on the way to the API server, so that they are the same on an embedded and
/// on a real one. Those that have to be there when the programs start are made first and handed to
/// [`Builder::faults`](crate::Builder::faults).
///
/// # Example: a program that outlives what goes wrong
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
/// faults.drop_watches();                                   // those that are open end
/// faults.conflict_once::<ConfigMap>();                     // somebody was faster
/// faults.outage(Duration::from_secs(600));                 // nobody is there for ten minutes
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

/// Something that is about to go wrong with requests. What exactly is for its last method to say.
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
    /// Makes faults to hand to [`Builder::faults`](crate::Builder::faults); a cluster that is running has
    /// [its own](crate::TestCluster::faults).
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to say what goes wrong with requests: with all of them, from now on, unless more is said.
    pub fn on(&self, requests: Requests) -> Fault<'_> {
        Fault {
            faults: self,
            requests,
            spared: 0,
            times: None,
            time: None,
        }
    }

    /// Ends all watches that are open, as an API server does that restarts.
    pub fn drop_watches(&self) {
        self.end_watches(&Requests::all(), &End::Clean);
    }

    /// Ends watches that are open.
    pub fn end_watches(&self, watches: &Requests, end: &End) {
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        for (asked, order) in open {
            if watches.include(&asked) {
                // Whoever has left the watch meanwhile does not hear of its end.
                drop(order.send(end.last(&asked.info)));
            } else {
                state.open.push((asked, order));
            }
        }
    }

    /// Answers the next update or patch of an object of a kind with a conflict.
    pub fn conflict_once<K: Resource<DynamicType = ()>>(&self) {
        self.on(Requests::of::<K>().changes())
            .once()
            .answer(Refusal::conflict());
    }

    /// Holds every request back for a time.
    pub fn slow(&self, delay: Duration) {
        self.on(Requests::all()).slow(delay);
    }

    /// Answers the next request of each watch that is open with 410, and ends it: all is listed anew.
    pub fn gone(&self) {
        self.end_watches(&Requests::all(), &End::Error(Refusal::gone()));
    }

    /// Answers every request with 503 for a time, and ends the watches that are open.
    pub fn unavailable(&self, time: Duration) {
        self.on(Requests::all())
            .lasting(time)
            .answer(Refusal::unavailable());
        self.drop_watches();
    }

    /// Refuses every connection for a time, and breaks those that are open.
    pub fn outage(&self, time: Duration) {
        self.on(Requests::all()).lasting(time).unreachable();
        self.end_watches(&Requests::all(), &End::Broken);
    }

    /// Refuses streamed lists as an API server on an old etcd does, which grants the watch and then says `ERROR` within it.
    /// One that does not know of them refuses in other words: [`Refusal::streamed_lists_forbidden`].
    pub fn refuse_streamed_lists(&self) {
        let lists = Requests::all().streamed_lists();
        self.on(lists).answer_within(Refusal::no_watch_progress());
    }

    /// Lets nothing go wrong any more. Watches that were made silent stay so.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// Returns what was sent of these requests by whoever these faults are for, in order, those included that something befell
    /// on the way.
    pub fn sent(&self, requests: &Requests) -> Vec<Sent> {
        let state = self.state();
        let sent = state
            .sent
            .iter()
            .filter(|sent| requests.include(&sent.asked));
        sent.cloned().collect()
    }

    /// Forgets what was sent until now, so that a test counts from here.
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
    /// Befalls only the next one.
    pub fn once(self) -> Self {
        self.times(1)
    }

    /// Befalls only the next ones.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// Lets so many pass first.
    pub fn after(mut self, requests: usize) -> Self {
        self.spared = requests;
        self
    }

    /// Ends by itself after a time.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Answers with a refusal; the API server does not get to see the request.
    pub fn answer(self, refusal: Refusal) {
        self.add(Effect::Instead(Instead::Refusal(refusal)));
    }

    /// Grants a watch and refuses it within, by an `ERROR` event, before anything else is told.
    pub fn answer_within(self, refusal: Refusal) {
        self.add(Effect::Instead(Instead::RefusalWithin(refusal)));
    }

    /// Refuses the connection.
    pub fn unreachable(self) {
        self.add(Effect::Instead(Instead::Unreachable));
    }

    /// Has the API server do what it is asked, and breaks the connection before the answer comes.
    pub fn reset(self) {
        self.add(Effect::Instead(Instead::Reset));
    }

    /// Holds the request back for a time before the API server gets to see it.
    pub fn slow(self, delay: Duration) {
        self.add(Effect::Slow(delay));
    }

    /// Has the API server do what it is asked at once, and holds the answer back for a time.
    pub fn slow_answer(self, delay: Duration) {
        self.add(Effect::SlowAnswer(delay));
    }

    /// Lets no more bytes of the answer through in a second.
    pub fn trickle(self, bytes: usize) {
        self.add(Effect::Pace(bytes));
    }

    /// Ends the body of the answer after so many bytes, be it amid an object.
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

//! Replicas beside an embedded API server, with what goes wrong between them.

use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::TryStreamExt as _;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::{Client, ResourceExt as _};
use kubewright_apiserver::ApiServer;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{ServerName, UnixTime};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::ServiceExt as _;

use crate::shared::clock::Clock;
use crate::shared::record::{Content, ROTATE, Record};
use crate::shared::root::Root;
use crate::shared::state::State;
use crate::{
    CertificateSource as _, Identity, Phase, Publication, RotationEvent, SharedAuthority, Status,
    Timing, Trust, TrustBundle,
};

pub(super) const SECRET: &str = "policy-certs";
pub(super) const NAME: &str = "policy.default.svc";

/// An API server, and the way to it.
#[derive(Clone)]
pub(super) struct Cluster {
    server: ApiServer,
    way: Arc<Mutex<Way>>,
    /// The `caBundle` of the one object that refers to the program.
    bundle: Arc<Mutex<TrustBundle>>,
}

#[derive(Default)]
struct Way {
    is_down: bool,
    is_forbidden: bool,
    /// By how much the API server's clock is ahead of the test's; without it, the API server sends no `Date`.
    ahead: Option<Duration>,
    /// Has so many creations wait for each other.
    race: Option<Arc<Barrier>>,
    sent: Vec<Method>,
    /// The UID of the service account by which the program is known; it is an administrator if there is none.
    account: Option<String>,
}

/// A replica that runs until it is dropped.
pub(super) struct Running {
    task: JoinHandle<()>,
    identities: Arc<Mutex<Vec<Identity>>>,
    pub(super) events: Arc<Mutex<Vec<RotationEvent>>>,
    pub(super) status: tokio::sync::watch::Receiver<Status>,
    pub(super) trust: tokio::sync::watch::Receiver<Option<Trust>>,
}

/// The phases that the Secret went through, and when each began.
pub(super) struct Phases {
    seen: Arc<Mutex<Vec<(Phase, Instant)>>>,
    task: JoinHandle<()>,
}

impl Phases {
    pub(super) fn seen(&self) -> Vec<Phase> {
        locked(&self.seen).iter().map(|(phase, _)| *phase).collect()
    }

    /// Waits until there were that many, and returns when the last of them began.
    pub(super) async fn began(&self, count: usize) -> Instant {
        let phase = format!("phase {count}");
        eventually(&phase, async || {
            locked(&self.seen).get(count - 1).map(|(_, began)| *began)
        })
        .await
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn phase(secret: Secret) -> Phase {
    match Record::of(secret).content() {
        Content::State(state) => state.phase(),
        other => panic!("no state: {other:?}"),
    }
}

struct OneObject(Arc<Mutex<TrustBundle>>);

impl Publication for OneObject {
    async fn is_published(
        &self,
        trust: &TrustBundle,
    ) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let bundle = locked(&self.0);
        let mut wanted = trust.certificates().iter();
        Ok(wanted.all(|certificate| bundle.certificates().contains(certificate)))
    }
}

/// Short enough to see all of it, long enough for the dates of certificates.
pub(super) fn short() -> Timing {
    Timing::new()
        .leaf(Duration::from_hours(1))
        .authority(Duration::from_hours(12))
}

impl Cluster {
    pub(super) fn start() -> Self {
        real_time();
        Self {
            server: ApiServer::start(),
            way: Arc::default(),
            bundle: Arc::default(),
        }
    }

    pub(super) fn client(&self) -> Client {
        let (server, way) = (self.server.clone(), Arc::clone(&self.way));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (server, way) = (server.clone(), Arc::clone(&way));
            async move {
                let (is_down, is_forbidden, ahead, race, account) = {
                    let mut way = locked(&way);
                    // A replica that creates the Secret sends a SelfSubjectReview first, which writes nothing.
                    let is_about_the_secret = request.uri().path().contains("/secrets");
                    if is_about_the_secret {
                        way.sent.push(request.method().clone());
                    }
                    let race = way.race.clone().filter(|_| is_about_the_secret);
                    let account = way.account.clone();
                    (way.is_down, way.is_forbidden, way.ahead, race, account)
                };
                if let Some(race) = race.filter(|_| request.method() == Method::POST) {
                    race.wait().await;
                }
                if is_down {
                    return Err::<_, Box<dyn Error + Send + Sync>>("connection refused".into());
                }
                if is_forbidden {
                    return Ok(refused());
                }
                if let Some(uid) = &account {
                    act_as_account(&mut request, uid)?;
                }
                let answer = server.service().oneshot(request).await?;
                let mut answer = answer.map(Either::Left);
                if let Some(ahead) = ahead {
                    let date = jiff::Timestamp::try_from(real_time() + ahead)?;
                    let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
                    let date = HeaderValue::from_str(&date)?;
                    answer.headers_mut().insert(http::header::DATE, date);
                }
                Ok(answer)
            }
        });
        Client::new(service, "default")
    }

    pub(super) fn replica(&self, timing: Timing) -> Running {
        self.replica_by(timing, Clock::of(real_time))
    }

    /// Starts a replica that publishes, too.
    pub(super) fn replica_by(&self, timing: Timing, clock: Clock) -> Running {
        let authority = SharedAuthority::in_secret(SECRET).for_service("policy");
        self.replica_of(&authority.timing(timing), clock)
    }

    pub(super) fn replica_of(&self, authority: &SharedAuthority, clock: Clock) -> Running {
        let (mut source, rotation) = authority.connect_by(clock, self.client(), "default");
        let identities: Arc<Mutex<Vec<Identity>>> = Arc::default();
        let events: Arc<Mutex<Vec<RotationEvent>>> = Arc::default();
        let told = Arc::clone(&events);
        let rotation = rotation.on_event(move |event| locked(&told).push(event.clone()));
        let (status, trust) = (rotation.status(), rotation.trust());
        let (served, bundle) = (Arc::clone(&identities), Arc::clone(&self.bundle));
        let mut published = trust.clone();
        let task = tokio::spawn(async move {
            let serving = async {
                loop {
                    let identity = source.next().await.unwrap();
                    locked(&served).push(identity);
                }
            };
            let object = OneObject(Arc::clone(&bundle));
            let publishing = async {
                while published.changed().await.is_ok() {
                    if let Some(trust) = published.borrow_and_update().clone() {
                        let mut bundle = locked(&bundle);
                        *bundle = trust.merged_into(&bundle, SystemTime::now());
                    }
                }
            };
            tokio::join!(serving, rotation.run(object), publishing);
        });
        Running {
            task,
            identities,
            events,
            status,
            trust,
        }
    }

    /// Follows the Secret from the state that it has now.
    pub(super) async fn follow_phases(&self) -> Phases {
        let (secrets, now) = (self.secrets(), self.secret().await);
        let mut version = now.metadata.resource_version.clone().unwrap();
        let seen = Arc::new(Mutex::new(vec![(phase(now), Instant::now())]));
        let phases = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            loop {
                let events = secrets.watch(&WatchParams::default(), &version).await;
                let mut events = std::pin::pin!(events.unwrap());
                while let Some(WatchEvent::Modified(secret)) = events.try_next().await.unwrap() {
                    version = secret.metadata.resource_version.clone().unwrap();
                    let mut phases = locked(&phases);
                    phases.push((phase(secret), Instant::now()));
                    phases.dedup_by_key(|(phase, _)| *phase);
                }
            }
        });
        Phases { seen, task }
    }

    pub(super) fn secrets(&self) -> Api<Secret> {
        Api::default_namespaced(Client::new(self.server.service(), "default"))
    }

    pub(super) async fn secret(&self) -> Secret {
        self.secrets().get(SECRET).await.unwrap()
    }

    pub(super) async fn state(&self) -> State<Root> {
        match Record::of(self.secret().await).content() {
            Content::State(state) => *state,
            other => panic!("no state: {other:?}"),
        }
    }

    pub(super) async fn state_if_any(&self) -> Option<State<Root>> {
        let secret = self.secrets().get_opt(SECRET).await.unwrap()?;
        match Record::of(secret).content() {
            Content::State(state) => Some(*state),
            _ => None,
        }
    }

    /// Writes the Secret as another field manager.
    pub(super) async fn patch(&self, by: &str, patch: &serde_json::Value) {
        let parameters = PatchParams {
            field_manager: Some(by.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        self.secrets()
            .patch(SECRET, &parameters, &patch)
            .await
            .unwrap();
    }

    pub(super) async fn ask_for_rotation(&self) {
        let patch = json!({"metadata": {"annotations": {ROTATE: "now"}}});
        self.patch("kubectl", &patch).await;
    }

    pub(super) async fn delete(&self) {
        let parameters = kube::api::DeleteParams::default();
        self.secrets().delete(SECRET, &parameters).await.unwrap();
    }

    /// Puts an earlier state of the Secret back, as a backup does.
    pub(super) async fn restore(&self, earlier: &Secret) {
        let mut secret = earlier.clone();
        secret.metadata.resource_version = None;
        secret.metadata.managed_fields = None;
        let name = secret.name_any();
        let parameters = kube::api::PostParams {
            field_manager: Some("velero".to_owned()),
            ..kube::api::PostParams::default()
        };
        let secrets = self.secrets();
        secrets.replace(&name, &parameters, &secret).await.unwrap();
    }

    pub(super) fn bundle(&self) -> TrustBundle {
        locked(&self.bundle).clone()
    }

    /// Overwrites what is trusted, as a person or another program does.
    pub(super) fn overwrite(&self, bundle: &TrustBundle) {
        *locked(&self.bundle) = bundle.clone();
    }

    pub(super) fn is_down(&self, is_down: bool) {
        locked(&self.way).is_down = is_down;
    }

    pub(super) fn is_forbidden(&self, is_forbidden: bool) {
        locked(&self.way).is_forbidden = is_forbidden;
    }

    /// Makes two creations arrive together.
    pub(super) fn races(&self) {
        locked(&self.way).race = Some(Arc::new(Barrier::new(2)));
    }

    pub(super) fn tells_time(&self, ahead: Duration) {
        locked(&self.way).ahead = Some(ahead);
    }

    /// Authenticates replicas as a service account with this UID, which may do everything.
    pub(super) fn known_as_account(&self, uid: &str) {
        locked(&self.way).account = Some(uid.to_owned());
    }

    /// How many requests about the Secret were sent by this method.
    pub(super) fn sent(&self, method: &Method) -> usize {
        let way = locked(&self.way);
        way.sent.iter().filter(|sent| *sent == method).count()
    }

    pub(super) fn writes(&self) -> usize {
        self.sent(&Method::POST) + self.sent(&Method::PUT)
    }

    pub(super) fn forget_sent(&self) {
        locked(&self.way).sent.clear();
    }
}

impl Running {
    pub(super) fn served(&self) -> Option<Identity> {
        locked(&self.identities).last().cloned()
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.identities).len()
    }

    pub(super) async fn serves(&self) -> Identity {
        eventually("an identity", async || self.served()).await
    }

    pub(super) fn reasons(&self) -> Vec<&'static str> {
        let events = locked(&self.events);
        events.iter().map(RotationEvent::reason).collect()
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.status.borrow().trouble.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for something, in virtual time.
pub(super) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_mins(30);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < end, "not within half an hour: {what}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// Whether a strict client that trusts a bundle believes an identity, at a time.
pub(super) fn is_believed(identity: &Identity, bundle: &TrustBundle, now: SystemTime) -> bool {
    let mut roots = RootCertStore::empty();
    for certificate in bundle.certificates() {
        roots.add(certificate.clone()).unwrap();
    }
    if roots.is_empty() {
        return false;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let name = ServerName::try_from(NAME).unwrap();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let now = UnixTime::since_unix_epoch(since);
    let chain = identity.chain();
    let verifier = verifier.build().unwrap();
    verifier
        .verify_server_cert(&chain[0], &chain[1..], &name, &[], now)
        .is_ok()
}

/// The time of day as the virtual time has it, from when it was asked for first.
pub(super) fn real_time() -> SystemTime {
    thread_local! {
        static CLOCK: Clock = Clock::system();
    }
    CLOCK.with(|clock| clock.moment().now)
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

fn act_as_account(
    request: &mut Request<Body>,
    uid: &str,
) -> Result<(), http::header::InvalidHeaderValue> {
    for (name, value) in [
        ("impersonate-user", "system:serviceaccount:default:policy"),
        ("impersonate-group", "system:masters"),
        ("impersonate-uid", uid),
    ] {
        let value = HeaderValue::from_str(value)?;
        request.headers_mut().append(name, value);
    }
    Ok(())
}

fn refused<B>() -> Response<Either<B, Full<Bytes>>> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "secrets \"policy-certs\" is forbidden", "metadata": {},
    });
    let mut answer = Response::new(Either::Right(Full::from(status.to_string())));
    *answer.status_mut() = StatusCode::FORBIDDEN;
    answer
}

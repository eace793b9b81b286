//! Listing, watching, and carrying on after whatever goes wrong.

use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::value::RawValue;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tracing::Instrument as _;

use super::ahead::Behind;
use super::cache::Informer;
use super::entry::Entry;
use super::lines::{LineError, Lines};
use super::request::Ask;
use super::store::Snapshot;
use super::text::Packer;
use super::wire::{self, Bookmark, Line, Page, Refusal, Resources};
use crate::Backoff;
use crate::handles::Undecodable;
use crate::versions::is_newer;

/// Keeps an informer up to date until it is dropped.
///
/// On the heap: the code of a future is in every crate that polls it, that of a box only here.
pub(crate) fn follow(client: Client, informer: Informer) -> BoxFuture<'static, ()> {
    keep(client, informer).in_current_span().boxed()
}

async fn keep(client: Client, informer: Informer) {
    let mut follower = Follower {
        client,
        informer,
        position: None,
        is_doubtful: false,
        is_another: false,
        behind: 0,
        has_heard: false,
        listing: Listing::Streamed,
        failures: 0,
        packer: Packer::default(),
        absence: Absence::None,
    };
    loop {
        let (start, position) = (Instant::now(), follower.position.clone());
        follower.has_heard = false;
        let ended = follower.advance().await;
        let is_brief = start.elapsed() < BRIEF && follower.position == position;
        match ended {
            Ok(()) if is_brief => follower.pause(Failure::Brief).await,
            // Not even a bookmark: so is a watch from a version that the API server has not reached yet.
            Ok(()) => {
                follower.is_doubtful = !follower.has_heard && start.elapsed() >= QUIET;
            }
            Err(failure) if follower.is_absent(&failure).await => follower.wait_for_kind().await,
            Err(failure) => follower.pause(failure).await,
        }
    }
}

struct Follower {
    client: Client,
    informer: Informer,
    /// The resource version up to which everything is known. Without one, everything is listed.
    position: Option<String>,
    /// Whether the API server may be behind the position, as it is after it was restored from a backup.
    is_doubtful: bool,
    /// Whether a watch has shown that the API server is behind: the cache then belongs to another history.
    is_another: bool,
    /// Number of responses in a row that were older than what the API server had said before.
    behind: u32,
    /// Whether the current request has received anything.
    has_heard: bool,
    listing: Listing,
    failures: u32,
    packer: Packer,
    absence: Absence,
}

/// Whether the API server serves the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    None,
    /// It says that it does not, but objects are known. It may be one of several API servers that has just started.
    Suspected,
    Certain {
        since: Instant,
    },
}

/// How a list is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    /// As the first events of a watch, which takes the least memory on both sides.
    Streamed,
    /// Page by page, once: a streamed one has ended before it was complete.
    PagedOnce,
    /// Page by page: this API server does not stream lists.
    Paged,
}

/// Why a request came to its end, unless it ended as they all do.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the request cannot be made")]
    Request(#[source] kube::core::request::Error),
    #[error("the API server cannot be reached")]
    Unreachable(#[source] kube::Error),
    #[error(transparent)]
    Refused(Refusal),
    #[error("it says nothing for {} s", .0.as_secs())]
    Silent(Duration),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("a page of the list cannot be read")]
    Page(#[source] Box<dyn StdError + Send + Sync>),
    #[error("an object cannot be read")]
    Object(#[source] Undecodable),
    #[error("the list ended before it was complete")]
    Incomplete,
    #[error("the watch ended as soon as it was open")]
    Brief,
    #[error("the API server has gone back in time, from version {from} to {to}")]
    Backwards { from: String, to: String },
    #[error("the API server answers with version {to}, although it was at {from} before")]
    Behind { from: String, to: String },
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::Object(error.into())
    }
}

impl From<Behind> for Failure {
    fn from(Behind { from, to }: Behind) -> Self {
        Self::Behind { from, to }
    }
}

/// What the lines of a watch are for.
enum Phase {
    Listing(Snapshot),
    Following,
}

impl Follower {
    /// Sends one request and takes in what it answers, to its end.
    async fn advance(&mut self) -> Result<(), Failure> {
        let seconds = fastrand::u32(SHORTEST_WATCH..=LONGEST_WATCH);
        match (self.position.clone(), self.listing) {
            (Some(since), _) => {
                if self.is_doubtful || self.informer.store().is_ahead() {
                    self.check_version().await?;
                }
                let since = &since;
                let answer = self.ask(&Ask::Watch { since, seconds }).await?;
                self.informer.watches_on();
                self.read(answer, Phase::Following, seconds).await
            }
            (None, Listing::Streamed) => {
                let listing = Phase::Listing(self.snapshot());
                let answer = self.ask(&Ask::StreamedList { seconds }).await?;
                self.read(answer, listing, seconds).await
            }
            (None, Listing::PagedOnce | Listing::Paged) => self.list().await,
        }
    }

    async fn ask(&self, ask: &Ask<'_>) -> Result<Response<Body>, Failure> {
        let request = self.informer.request(ask).map_err(Failure::Request)?;
        let answer = timeout(RESPONSE_TIMEOUT, self.client.send(request))
            .await
            .map_err(|_| Failure::Silent(RESPONSE_TIMEOUT))?
            .map_err(Failure::Unreachable)?;
        if answer.status() == StatusCode::OK {
            Ok(answer)
        } else {
            Err(Failure::Refused(Refusal::of(answer).await))
        }
    }

    /// Asks where the API server is, which must not be behind the position, nor behind what it has stored for this program.
    async fn check_version(&mut self) -> Result<(), Failure> {
        let check = self.informer.store().begin_check();
        let answer = self.ask(&Ask::Version).await?;
        let body = Self::page(answer).await?;
        let page: Page<'_> = serde_json::from_slice(&body)?;
        let version = &page.metadata.resource_version;
        if std::mem::take(&mut self.is_doubtful) {
            self.reaches(version)?;
        }
        Ok(self.informer.store().check(&check, version)?)
    }

    /// Whether a failure says that the kind is not served. A 404 alone may be that of a proxy: discovery has to agree.
    async fn is_absent(&self, failure: &Failure) -> bool {
        let Failure::Refused(refusal) = failure else {
            return false;
        };
        if !refusal.is_not_found() {
            return false;
        }
        if matches!(self.absence, Absence::Certain { .. }) {
            return true;
        }
        match self.ask(&Ask::Resources).await {
            Ok(answer) => {
                let Ok(body) = Self::page(answer).await else {
                    return false;
                };
                let resources = serde_json::from_slice::<Resources<'_>>(&body);
                resources.is_ok_and(|resources| !resources.have(self.informer.kind().plural()))
            }
            Err(Failure::Refused(refusal)) => refusal.is_not_found(),
            Err(_) => false,
        }
    }

    /// Waits before the API server is asked again for a kind that it does not serve. Its objects are gone.
    async fn wait_for_kind(&mut self) {
        let since = match self.absence {
            Absence::None if self.informer.has_objects() => {
                self.absence = Absence::Suspected;
                return sleep(CONFIRMATION).await;
            }
            Absence::None | Absence::Suspected => {
                self.forget();
                self.tell_of_absence();
                Instant::now()
            }
            Absence::Certain { since } => since,
        };
        self.absence = Absence::Certain { since };
        let pause = (since.elapsed() / 20).clamp(SHORTEST_POLL, LONGEST_POLL);
        sleep(pause.mul_f64(0.75 + 0.25 * fastrand::f64())).await;
    }

    fn forget(&mut self) {
        self.informer.becomes_absent();
        self.position = None;
        self.is_doubtful = false;
        self.is_another = false;
        self.failures = 0;
        self.packer = Packer::default();
    }

    /// Says once what would otherwise be said with every request.
    fn tell_of_absence(&self) {
        let (kind, version) = (self.informer.kind(), self.informer.kind().api_version());
        if self.informer.is_required() {
            tracing::warn!(
                %kind, version, "the API server does not serve this kind: what needs it waits until it does"
            );
        } else {
            tracing::info!(
                %kind, version, "the API server does not serve this kind, which is optional: it has no objects until it does"
            );
        }
    }

    async fn page(answer: Response<Body>) -> Result<Bytes, Failure> {
        timeout(RESPONSE_TIMEOUT, wire::page(answer))
            .await
            .map_err(|_| Failure::Silent(RESPONSE_TIMEOUT))?
            .map_err(Failure::Page)
    }

    async fn list(&mut self) -> Result<(), Failure> {
        let mut snapshot = self.snapshot();
        let mut token: Option<String> = None;
        loop {
            let page = Ask::Page {
                token: token.as_deref(),
            };
            let answer = self.ask(&page).await?;
            let body = Self::page(answer).await?;
            let page: Page<'_> = serde_json::from_slice(&body)?;
            for object in page.items.unwrap_or_default() {
                self.collect(&mut snapshot, object)?;
            }
            token = page.metadata.token.filter(|token| !token.is_empty());
            if token.is_none() {
                return self.complete(snapshot, page.metadata.resource_version);
            }
        }
    }

    /// Takes in the lines of a watch.
    async fn read(
        &mut self,
        answer: Response<Body>,
        mut phase: Phase,
        seconds: u32,
    ) -> Result<(), Failure> {
        let mut lines = Lines::new(answer.into_body());
        // The API server ends a watch after the time that it was asked for; if it has not, it is gone.
        let overdue = Duration::from_secs(seconds.into()) + RESPONSE_TIMEOUT;
        let end = Instant::now() + overdue;
        let mut silence: Pin<Box<Sleep>> = Box::pin(sleep_until(match phase {
            Phase::Listing(_) => Instant::now() + RESPONSE_TIMEOUT,
            Phase::Following => end,
        }));
        loop {
            let line = tokio::select! {
                // Dropping it loses nothing: the sleep is kept.
                biased;
                line = lines.next(|line| self.take(line, &mut phase)) => line?,
                () = &mut silence => {
                    return Err(Failure::Silent(match phase {
                        Phase::Listing(_) => RESPONSE_TIMEOUT,
                        Phase::Following => overdue,
                    }));
                }
            };
            match (line, &phase) {
                (Some(taken), phase) => {
                    taken?;
                    silence.as_mut().reset(match phase {
                        Phase::Listing(_) => Instant::now() + RESPONSE_TIMEOUT,
                        Phase::Following => end,
                    });
                }
                (None, Phase::Listing(_)) => return Err(Failure::Incomplete),
                (None, Phase::Following) => return Ok(()),
            }
        }
    }

    fn take(&mut self, line: &str, phase: &mut Phase) -> Result<(), Failure> {
        let line: Line<'_> = serde_json::from_str(line)?;
        self.has_heard = true;
        match &*line.kind {
            "ADDED" | "MODIFIED" => match phase {
                Phase::Listing(snapshot) => self.collect(snapshot, line.object)?,
                Phase::Following => {
                    let entry = Entry::read(line.object.get())?;
                    let position = entry.metadata().resource_version().to_owned();
                    self.reaches(&position)?;
                    let entry = self.informer.held(entry);
                    let entry = Arc::new(entry.packed(&mut self.packer));
                    self.informer.store().set(entry);
                    self.reached(position);
                }
            },
            "DELETED" => {
                let entry = Entry::read(line.object.get())?;
                match phase {
                    Phase::Listing(snapshot) => snapshot.remove(entry.key()),
                    Phase::Following => {
                        self.reaches(entry.metadata().resource_version())?;
                        self.informer.store().remove(&entry);
                        self.reached(entry.metadata().resource_version().to_owned());
                    }
                }
            }
            "BOOKMARK" => {
                let Bookmark { metadata } = serde_json::from_str(line.object.get())?;
                match std::mem::replace(phase, Phase::Following) {
                    Phase::Listing(snapshot) if metadata.ends_the_list() => {
                        self.complete(snapshot, metadata.resource_version)?;
                    }
                    Phase::Listing(snapshot) => *phase = Phase::Listing(snapshot),
                    Phase::Following => {
                        self.reaches(&metadata.resource_version)?;
                        self.reaches_writes(&metadata.resource_version)?;
                        self.reached(metadata.resource_version);
                    }
                }
            }
            "ERROR" => return Err(Failure::Refused(Refusal::within(line.object.get()))),
            // What later versions may add says nothing about objects.
            other => tracing::debug!(kind = other, "a watch says what is not known here"),
        }
        Ok(())
    }

    fn collect(&mut self, snapshot: &mut Snapshot, object: &RawValue) -> Result<(), Failure> {
        let entry = Entry::read(object.get())?;
        let (informer, packer) = (&self.informer, &mut self.packer);
        let pack = |entry: Entry| informer.held(entry).packed(packer);
        informer.store().collect(snapshot, entry, pack);
        Ok(())
    }

    fn snapshot(&self) -> Snapshot {
        self.informer.store().begin_list(self.is_another)
    }

    fn complete(&mut self, snapshot: Snapshot, position: String) -> Result<(), Failure> {
        self.informer.store().replace(snapshot, &position)?;
        self.informer.is_known();
        self.behind = 0;
        self.is_another = false;
        if self.listing == Listing::PagedOnce {
            self.listing = Listing::Streamed;
        }
        self.reached(position);
        Ok(())
    }

    /// Checks that a watch goes forward. If it does not, the API server was restored from a backup, and the cache cannot be
    /// relied on: no event reports the changes that the restore has undone.
    fn reaches(&self, position: &str) -> Result<(), Failure> {
        let known = self.position.as_deref().unwrap_or_default();
        if is_newer(known, position) == Some(true) {
            return Err(Failure::Backwards {
                from: known.to_owned(),
                to: position.to_owned(),
            });
        }
        Ok(())
    }

    /// Checks that a watch has shown what this program has written. An API server that was restored from a backup has not.
    fn reaches_writes(&self, position: &str) -> Result<(), Failure> {
        self.informer.store().reach(position).map_err(|lost| {
            let (from, to) = (lost.version, position.to_owned());
            if lost.is_certain {
                Failure::Backwards { from, to }
            } else {
                Failure::Behind { from, to }
            }
        })
    }

    fn reached(&mut self, position: String) {
        self.informer.position().reaches(&position);
        self.position = Some(position);
        self.has_heard = true;
        if let Absence::Certain { since } = std::mem::replace(&mut self.absence, Absence::None) {
            tracing::info!(
                kind = %self.informer.kind(), version = self.informer.kind().api_version(),
                after = ?since.elapsed(), "the API server serves this kind now"
            );
        }
        if std::mem::take(&mut self.failures) > 0 {
            tracing::info!(kind = %self.informer.kind(), "the watch goes on");
        }
    }

    /// Draws the lesson from how a request has failed, and waits before the next.
    async fn pause(&mut self, failure: Failure) {
        let was_listing = self.position.is_none();
        self.failures += 1;
        self.informer.has_failed();
        let mut pause = BACKOFF.pause(self.failures);
        match &failure {
            Failure::Refused(refusal) => {
                if let Some(wanted) = refusal.pause() {
                    pause = pause.max(wanted);
                }
                if refusal.is_out_of_time() {
                    self.position = None;
                    if self.failures == 1 {
                        pause = Duration::ZERO;
                    }
                } else if !refusal.passes() {
                    if was_listing {
                        self.listing = Listing::Paged;
                    } else if !refusal.is_the_servers_fault() {
                        self.position = None;
                    }
                }
            }
            // What cannot be read now could not be read a second time.
            Failure::Object(_) => self.position = None,
            Failure::Backwards { .. } => {
                self.position = None;
                self.is_another = true;
            }
            Failure::Behind { .. } => {
                self.position = None;
                self.behind += 1;
                self.is_another |= self.behind >= PROOFS;
            }
            Failure::Line(_) | Failure::Silent(_) | Failure::Incomplete
                if was_listing && self.listing == Listing::Streamed =>
            {
                self.listing = Listing::PagedOnce;
            }
            _ => {}
        }
        // One line for each doubling: an API server that is away for long does not fill the log.
        if self.failures.is_power_of_two() {
            let cause = failure.source().map(ToString::to_string);
            tracing::warn!(
                kind = %self.informer.kind(), error = %failure, cause, failures = self.failures,
                "cannot follow the objects of the cluster; trying again"
            );
        }
        sleep(pause).await;
    }
}

/// How long objects stay known after the API server has said for the first time that it does not serve their kind.
const CONFIRMATION: Duration = Duration::from_secs(1);
/// A kind that is not served is asked for again after a twentieth of the time that it has been missing, within these bounds.
const SHORTEST_POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(2);
/// So many old answers in a row are no accident of a replica that lags behind: the API server was restored from a backup.
const PROOFS: u32 = 3;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(4));
/// How long to wait for an answer to begin, and for a list to go on.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// The timeout that a watch asks for, in seconds: long enough to be cheap, short enough to notice a dead API server.
const SHORTEST_WATCH: u32 = 120;
const LONGEST_WATCH: u32 = 240;
/// A watch that is closed sooner, and without news, is not asked for again without a pause.
const BRIEF: Duration = Duration::from_secs(1);
/// An API server sends a bookmark every minute or so: a watch without any that lasted as long as this is odd.
const QUIET: Duration = Duration::from_secs(100);

//! GET and LIST.

use std::cmp::Reverse;
use std::sync::Arc;

use http::{Response, StatusCode};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Verb;
use kubewright_storage::{At, Object, OutOfRange};

use super::answer::{self, ListMeta, Shown};
use super::call::Call;
use super::page::Page;
use super::query::{Query, go_words};
use super::selection::Selection;
use super::{component_statuses, corrupt};
use crate::body::Body;

/// The options of a list or a watch.
#[derive(Debug)]
pub(crate) struct ListOptions {
    /// How long a watch lasts, in seconds.
    pub(crate) timeout: Option<i64>,
    pub(crate) limit: Option<i64>,
    pub(crate) selection: Selection,
    pub(crate) version: Version,
}

/// Which state a list or a watch is about.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) text: String,
    pub(crate) number: u64,
    /// Whether a watch begins with the objects that there are; none if the client leaves it open.
    pub(crate) initial_events: Option<bool>,
    exact: bool,
    given_match: bool,
}

/// Answers the object that the path names.
pub(crate) async fn get(call: &Call) -> Result<Response<Body>> {
    if !call.resource.allows(Verb::Get) {
        return Err(Status::method_not_allowed());
    }
    refuse_export(&call.query)?;
    let wanted = number(call.query.text("resourceVersion")).map_err(Status::plain)?;
    let current = call.shared.store.revision();
    if wanted > current {
        return Err(too_new(wanted, current));
    }
    let object = if call.resource.kind == component_statuses::KIND {
        let name = &call.path.name;
        component_statuses::find(name).ok_or_else(|| call.not_found(name))?
    } else {
        call.stored()?
    };
    let answered = answer::object(call, StatusCode::OK, &Shown::from(&*object)).await;
    answered.map_err(|failure| corrupt::got(&call.resource, &call.key(&call.path.name), failure))
}

/// Objects without what the server gave them are not to be had any more.
fn refuse_export(query: &Query) -> Result<()> {
    if query.flag("export") {
        let why = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(why));
    }
    Ok(())
}

/// Answers the objects of the resource that the selectors mean.
pub(crate) async fn list(call: &Call) -> Result<Response<Body>> {
    if !call.resource.allows(Verb::List) {
        return Err(Status::method_not_allowed());
    }
    let (objects, meta) = collect(call).await?;
    answer::list(call, objects, &meta).await
}

/// Finds the objects of one page of a list.
pub(crate) async fn collect(call: &Call) -> Result<(Vec<Arc<Object>>, ListMeta)> {
    let query = &call.query;
    let ListOptions {
        limit,
        selection,
        version,
        ..
    } = ListOptions::read(call, false)?;
    // An object that is read by its key is no page of others.
    let by_key = selection.names_one()
        && query.text("continue").is_empty()
        && call.resource.namespaced != call.path.namespace.is_empty();
    // A cache that may answer with any state answers with all of it.
    let limit = limit.filter(|limit| *limit > 0 && version.text != "0");
    let is_limited = limit.is_some();
    let limit = match limit {
        Some(limit) if !by_key => usize::try_from(limit).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    // The keys of a token begin behind the namespace of the list.
    let prefix = match &*call.path.namespace {
        namespace if call.resource.namespaced && !namespace.is_empty() => format!("{namespace}/"),
        _ => String::new(),
    };
    let token = query.text("continue");
    let mut start = String::new();
    let mut inconsistent = false;
    let at = if token.is_empty() {
        version.at(limit != usize::MAX)
    } else {
        let page = Page::parse(token)?;
        if !matches!(version.text.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        start = prefix.clone() + &page.start;
        if let Ok(revision) = u64::try_from(page.revision) {
            At::Exactly(revision)
        } else {
            inconsistent = true;
            At::Now
        }
    };
    let fetch = if selection.is_empty() {
        limit
    } else {
        usize::MAX
    };
    let namespace = &call.path.namespace;
    let namespace = if call.resource.namespaced {
        namespace
    } else {
        ""
    };
    let listed = call
        .shared
        .store
        .list(&call.table, namespace, &start, fetch, at)
        .map_err(|error| {
            let rest = start.strip_prefix(&prefix).filter(|_| !token.is_empty());
            let mut status = out_of_range(error, at, rest);
            let is_exact = matches!(at, At::Exactly(_)) || (is_limited && !version.given_match);
            if by_key && is_exact {
                // The real server does not tell clients to ask again for one object at a future revision.
                status.details_mut().remove("retryAfterSeconds");
            }
            status
        })?;
    let is_stored = call.resource.kind != component_statuses::KIND;
    let mut objects = if is_stored {
        let mut objects = listed.objects;
        if limit == usize::MAX {
            by_own_names(&mut objects);
        }
        objects
    } else {
        component_statuses::all()
    };
    let mut more = listed.remaining > 0;
    if !selection.is_empty() {
        let mut meant = Vec::with_capacity(objects.len().min(limit));
        let mut looked_at = 0;
        for object in &objects {
            if meant.len() == limit {
                break;
            }
            looked_at += 1;
            if selection.matches(call, object).await {
                meant.push(object.clone());
            }
        }
        // What follows a full page was not looked at: the next page may turn out to be empty. An index leaves out what does not
        // fit it; it has the newest state only, and from its beginning.
        let is_indexed = token.is_empty() && !matches!(at, At::Exactly(_));
        let index = selection.indexed(&call.resource).filter(|_| is_indexed);
        let following = &objects[looked_at..];
        more = match index {
            Some(index) => index.matches_any(call, following).await,
            None => !following.is_empty(),
        };
        objects = meant;
    }
    let next = objects.last().filter(|_| more).map(|last| {
        let revision = if inconsistent {
            -1
        } else {
            i64::try_from(listed.revision).unwrap_or(i64::MAX)
        };
        let key = last.path.strip_prefix(&prefix).unwrap_or(&last.path);
        Page::after(revision, key).token()
    });
    // The real server does not count behind a selector: it would have to read everything.
    let remaining = (more && selection.is_empty()).then_some(listed.remaining);
    let meta = ListMeta {
        revision: is_stored.then_some(listed.revision),
        next,
        remaining,
    };
    Ok((objects, meta))
}

/// Puts the objects of a list where the real server's watch cache has them: by the names that they have, of several with one name
/// the last.
fn by_own_names(objects: &mut Vec<Arc<Object>>) {
    if objects.iter().all(|object| object.own_name().is_none()) {
        return;
    }
    let place = |object: &Object| {
        let name = object.own_name().unwrap_or(object.name());
        object.path[..object.path.len() - object.name().len()].to_owned() + name
    };
    objects.sort_by_cached_key(|object| (place(object), Reverse(object.revision)));
    objects.dedup_by_key(|object| place(object));
}

impl ListOptions {
    /// Reads and checks the options in the order of the real server, which decides what a client hears of several mistakes.
    ///
    /// # Errors
    /// 400 for what cannot be read, 422 for combinations that mean nothing.
    pub(crate) fn read(call: &Call, watch: bool) -> Result<Self> {
        let query = &call.query;
        let timeout = query.number("timeoutSeconds")?;
        let limit = query.number("limit")?;
        let selection = Selection::read(query)?;
        let version = Unread::check(query, watch)?;
        selection.check(&call.resource)?;
        Ok(Self {
            timeout,
            limit,
            selection,
            version: version.read(watch, !watch && !query.text("continue").is_empty())?,
        })
    }
}

/// The options about the state, before the revision was read.
struct Unread<'q> {
    text: &'q str,
    word: &'q str,
    initial_events: Option<bool>,
}

impl<'q> Unread<'q> {
    /// Checks `resourceVersion`, `resourceVersionMatch` and `sendInitialEvents`.
    ///
    /// # Errors
    /// 422 for combinations that mean nothing.
    fn check(query: &'q Query, watch: bool) -> Result<Self> {
        let mut unread = Self {
            text: query.text("resourceVersion"),
            word: query.text("resourceVersionMatch"),
            initial_events: query
                .get("sendInitialEvents")
                .map(|_| query.flag("sendInitialEvents")),
        };
        // A watch from no state in particular is one with initial events; those of the old paths are not.
        let open = unread.word.is_empty() && unread.initial_events.is_none();
        if watch && open && query.flag("watch") && matches!(unread.text, "" | "0") {
            unread.initial_events = Some(true);
            unread.word = "NotOlderThan";
        }
        let mut errors = Vec::new();
        if watch {
            unread.check_watch(query, &mut errors);
        } else {
            check_match(query, unread.text, unread.word, &mut errors);
            if unread.initial_events.is_some() {
                errors.push(FieldError::forbidden(
                    &Path::new("sendInitialEvents"),
                    "sendInitialEvents is forbidden for list",
                ));
            }
        }
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors));
        }
        Ok(unread)
    }

    fn check_watch(&self, query: &Query, errors: &mut Vec<FieldError>) {
        let path = Path::new("resourceVersionMatch");
        let mut forbid = |detail| errors.push(FieldError::forbidden(&path, detail));
        if self.initial_events.is_some() && self.word != "NotOlderThan" {
            forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if self.word.is_empty() {
            return;
        }
        if self.initial_events.is_none() {
            forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        if self.word != "NotOlderThan" {
            let supported = ["NotOlderThan"];
            errors.push(FieldError::not_supported(&path, self.word, &supported));
        }
        if !query.text("continue").is_empty() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }

    /// Reads the revision.
    ///
    /// # Errors
    /// 400, of a watch 500, for a revision that is no number.
    fn read(self, watch: bool, goes_on: bool) -> Result<Version> {
        // Where a list goes on, its token says of which state it is, and nothing else may.
        let text = if goes_on { "" } else { self.text };
        let number = number(text).map_err(|why| {
            if watch {
                Status::plain(why)
            } else {
                Status::bad_request(format!("invalid resource version: {why}"))
            }
        })?;
        Ok(Version {
            text: self.text.to_owned(),
            number,
            initial_events: self.initial_events,
            exact: self.word == "Exact",
            given_match: !self.word.is_empty(),
        })
    }
}

impl Version {
    fn at(&self, limited: bool) -> At {
        // With a limit, a revision alone means exactly that one: the rule from before resourceVersionMatch.
        let legacy = limited && !self.given_match;
        match self.number {
            0 => At::Now,
            number if self.exact || legacy => At::Exactly(number),
            number => At::NotOlderThan(number),
        }
    }
}

/// The failure for a revision in the future.
pub(crate) fn too_new(wanted: u64, current: u64) -> Status {
    let why = format!("Too large resource version: {wanted}, current: {current}");
    let mut status = Status::timeout(&why);
    let details = status.details_mut();
    details.insert(
        "causes".to_owned(),
        serde_json::json!([{
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        }]),
    );
    details.insert("retryAfterSeconds".to_owned(), 1.into());
    status
}

fn check_match(query: &Query, text: &str, word: &str, errors: &mut Vec<FieldError>) {
    if word.is_empty() {
        return;
    }
    let path = Path::new("resourceVersionMatch");
    if text.is_empty() {
        let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        errors.push(FieldError::forbidden(&path, detail));
    }
    if !query.text("continue").is_empty() {
        let detail = "resourceVersionMatch is forbidden when continue is provided";
        errors.push(FieldError::forbidden(&path, detail));
    }
    if !matches!(word, "Exact" | "NotOlderThan") {
        let supported = ["Exact", "NotOlderThan", ""];
        errors.push(FieldError::not_supported(&path, word, &supported));
    }
    if word == "Exact" && text == "0" {
        let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        errors.push(FieldError::forbidden(&path, detail));
    }
}

fn number(text: &str) -> std::result::Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let unsigned = text.strip_prefix('+').map_or(text, |_| "+");
    unsigned.parse().map_err(|error| {
        let (text, why) = (quoted(text), go_words(&error));
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: {why}")
    })
}

fn out_of_range(error: OutOfRange, at: At, start: Option<&str>) -> Status {
    match (error, start) {
        (OutOfRange::TooNew { current }, _) => {
            let (At::Exactly(wanted) | At::NotOlderThan(wanted)) = at else {
                return too_new(current, current);
            };
            too_new(wanted, current)
        }
        (OutOfRange::TooOld { .. }, None) => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        (OutOfRange::TooOld { .. }, Some(start)) => {
            let mut status = Status::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 You can start a new list without the continue parameter, or use the continue \
                 token in this response to retrieve the remainder of the results. Continuing with \
                 the provided token results in an inconsistent list - objects that were created, \
                 modified, or deleted between the time the first chunk was returned and now may \
                 show up in the list.",
            );
            let page = Page {
                revision: -1,
                start: start.to_owned(),
            };
            let metadata = status.metadata_mut();
            metadata.insert("continue".to_owned(), page.token().into());
            status
        }
    }
}

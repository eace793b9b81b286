//! What this program has written, and its watch has not shown yet.
//!
//! The response of a write is put into a cache as the event of the watch would be (see decision 0063). From then on until the
//! watch has passed it, the cache is ahead of its watch, and a mark keeps it from going back: to an event or a list that is
//! older than the write.
//!
//! This file is compiled a second time by the loom model in `tests/`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Key;
use super::versions::is_newer;

/// The marks of a cache, and how far its watch has got.
#[derive(Default)]
pub(crate) struct Ahead {
    marks: BTreeMap<Key, Mark>,
    /// The version up to which the cache has everything. Empty before the first list.
    position: String,
    /// Number of lists and checks that have begun: it tells whether a write came before one of them.
    begun: u64,
}

/// What a write has made of an object.
struct Mark {
    uid: Box<str>,
    state: State,
    begun: u64,
    /// Whether an object is hidden of which the watch therefore has yet to report the end.
    hides: bool,
}

enum State {
    /// The object is in the cache in this version.
    Present(Box<str>),
    /// In this version, the object is not in the scope of the cache.
    Outside(Box<str>),
    /// The object is gone for good. Responses to deletions do not say by which version.
    Deleted {
        /// A version in which the object existed; empty: none is known.
        seen: Box<str>,
        /// A version by which it was gone.
        until: Option<Box<str>>,
    },
}

/// UID and version of an object.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
}

/// What an event of the watch is to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A change.
    News,
    /// The state that a write has shown before.
    Confirmed,
    /// A state that a write has overtaken.
    Overtaken,
}

/// What a write changes in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Sets,
    Removes,
}

/// What becomes of an object that a write has changed since a list began.
pub(crate) enum Kept {
    AsWritten(Key),
    Absent(Key),
}

/// The beginning of a list, or of a check of the version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begun {
    number: u64,
    /// The highest version that the cache has shown.
    floor: String,
}

/// The API server is behind what it has said before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A write that the watch has passed without showing it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) version: String,
    /// Whether this proves that the API server has another history now.
    pub(crate) is_certain: bool,
}

impl Ahead {
    /// Whether there is a list to which a write has to be added. A list that has yet to begin has it.
    pub(crate) fn is_following(&self) -> bool {
        self.begun > 0
    }

    /// Whether the watch has yet to show a write.
    pub(crate) fn is_ahead(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Begins a list or a check, to whose request the API server responds with everything that was written before.
    pub(crate) fn begin(&mut self) -> Begun {
        self.begun += 1;
        let mut floor = &*self.position;
        for mark in self.marks.values() {
            let (State::Present(version)
            | State::Outside(version)
            | State::Deleted { seen: version, .. }) = &mark.state;
            if newer(version, floor) {
                floor = version;
            }
        }
        Begun {
            number: self.begun,
            floor: floor.to_owned(),
        }
    }

    /// Takes an object that the watch shows.
    pub(crate) fn hear(&mut self, key: &Key, object: Seen<'_>) -> Heard {
        self.moves_to(object.version);
        if self.marks.is_empty() {
            return Heard::News;
        }
        let Some(mark) = self.marks.get_mut(key) else {
            return Heard::News;
        };
        let heard = match &mark.state {
            State::Present(version) => match order(object.version, version) {
                Ordering::Less => Heard::Overtaken,
                Ordering::Equal => Heard::Confirmed,
                Ordering::Greater => Heard::News,
            },
            // In the very version the API server knows better what its selector selects.
            State::Outside(version) => match order(object.version, version) {
                Ordering::Less => Heard::Overtaken,
                Ordering::Equal | Ordering::Greater => Heard::News,
            },
            State::Deleted { seen, .. } => {
                if *mark.uid == *object.uid || !newer(object.version, seen) {
                    Heard::Overtaken
                } else {
                    Heard::News
                }
            }
        };
        if heard == Heard::Overtaken {
            mark.hides |= !matches!(mark.state, State::Present(_));
        } else {
            self.marks.remove(key);
        }
        heard
    }

    /// Takes the end of an object that the watch shows. An object may leave a scope `by_labels` and come back.
    pub(crate) fn hear_end(&mut self, key: &Key, object: Seen<'_>, by_labels: bool) -> Heard {
        self.moves_to(object.version);
        if self.marks.is_empty() {
            return Heard::News;
        }
        let Some(mark) = self.marks.get_mut(key) else {
            return Heard::News;
        };
        let is_over = match &mark.state {
            State::Present(version) => {
                if order(object.version, version) == Ordering::Less {
                    return Heard::Overtaken;
                }
                true
            }
            State::Outside(version) => order(object.version, version) != Ordering::Less,
            State::Deleted { .. } if *mark.uid == *object.uid => !by_labels,
            State::Deleted { seen, .. } => newer(object.version, seen),
        };
        mark.hides = false;
        if is_over {
            self.marks.remove(key);
        }
        Heard::News
    }

    /// Takes a bookmark: the watch has shown everything up to this version. What was written by then and not shown is not
    /// what the API server has stored: it was restored from a backup.
    pub(crate) fn reach(&mut self, version: &str) -> Result<(), Lost> {
        self.moves_to(version);
        let mut lost: Option<Lost> = None;
        self.marks.retain(|_, mark| {
            let (end, is_certain) = match &mark.state {
                State::Present(version) | State::Outside(version) => (Some(version), true),
                // The version was told by a list, which a bad replica may have answered.
                State::Deleted { until, .. } => (until.as_ref(), false),
            };
            let Some(end) = end.filter(|end| !newer(end, version)) else {
                return true;
            };
            if !mark.hides && !matches!(mark.state, State::Present(_)) {
                return false;
            }
            if lost.as_ref().is_none_or(|lost| !lost.is_certain) {
                lost = Some(Lost {
                    version: end.to_string(),
                    is_certain,
                });
            }
            // The next list says what has become of the object.
            true
        });
        lost.map_or(Ok(()), Err)
    }

    /// Takes the version that the API server has told in response to a check.
    pub(crate) fn check(&mut self, check: &Begun, version: &str) -> Result<(), Behind> {
        if is_newer(&check.floor, version) == Some(true) {
            return Err(Behind {
                from: check.floor.clone(),
                to: version.to_owned(),
            });
        }
        for mark in self.marks.values_mut() {
            if let State::Deleted { until, .. } = &mut mark.state
                && mark.begun < check.number
            {
                until.get_or_insert_with(|| version.into());
            }
        }
        Ok(())
    }

    /// Takes an object as a response to a write shows it, where the cache knows another state. `is_within` is whether it is in the
    /// scope of the cache.
    pub(crate) fn write(
        &mut self,
        key: &Key,
        object: Seen<'_>,
        known: Option<Seen<'_>>,
        is_within: bool,
    ) -> Option<Effect> {
        let is_old = |version: &str| !newer(object.version, version);
        if !self.is_following()
            || is_old(&self.position)
            || known.is_some_and(|known| is_old(known.version))
        {
            return None;
        }
        let mut hides = known.is_some();
        if let Some(mark) = self.marks.get(key) {
            let is_overtaken = match &mark.state {
                State::Present(version) | State::Outside(version) => is_old(version),
                State::Deleted { seen, .. } => *mark.uid == *object.uid || is_old(seen),
            };
            if is_overtaken {
                return None;
            }
            hides |= mark.hides;
        }
        let version = object.version.into();
        let (state, effect) = if is_within {
            (State::Present(version), Effect::Sets)
        } else {
            (State::Outside(version), Effect::Removes)
        };
        self.mark(key, object.uid, state, hides);
        Some(effect)
    }

    /// Takes a deletion that a response has confirmed, of an object that existed in this version (empty: in an unknown one). Returns
    /// whether the cache has to remove what it knows.
    pub(crate) fn delete(
        &mut self,
        key: &Key,
        object: Seen<'_>,
        known: Option<Seen<'_>>,
        by_labels: bool,
    ) -> bool {
        if !self.is_following() {
            return false;
        }
        let mut seen = object.version;
        let mut hides = known.is_some();
        let mark = self.marks.get(key);
        if let Some(mark) = mark {
            let (State::Present(version)
            | State::Outside(version)
            | State::Deleted { seen: version, .. }) = &mark.state;
            if newer(version, seen) {
                if *mark.uid != *object.uid {
                    return false;
                }
                seen = version;
            }
            hides |= mark.hides;
        }
        match known {
            Some(known) if known.uid == object.uid => {
                let is_later = newer(known.version, seen);
                seen = if is_later { known.version } else { seen };
            }
            // Another object of this name, that came later.
            Some(known) if seen.is_empty() || !newer(seen, known.version) => return false,
            // The watch has passed the version in which the object existed, and also its end.
            None if mark.is_none()
                && !by_labels
                && !seen.is_empty()
                && !newer(seen, &self.position) =>
            {
                return false;
            }
            Some(_) | None => {}
        }
        let state = State::Deleted {
            seen: seen.into(),
            until: None,
        };
        self.mark(key, object.uid, state, hides);
        known.is_some()
    }

    /// Takes a complete list of this version, or refuses it because it is older than what the API server has said before.
    /// Returns the objects that were written after the list had begun, which it must not undo.
    pub(crate) fn list<'a>(
        &mut self,
        list: &Begun,
        is_another: bool,
        version: &str,
        listed: impl Fn(&Key) -> Option<Seen<'a>>,
    ) -> Result<Vec<Kept>, Behind> {
        if !is_another {
            let is_undone = |(key, mark): (&Key, &Mark)| {
                let is_deleted = matches!(mark.state, State::Deleted { .. });
                let is_before = mark.begun < list.number;
                is_deleted
                    && is_before
                    && listed(key).is_some_and(|listed| listed.uid == &*mark.uid)
            };
            if is_newer(&list.floor, version) == Some(true) || self.marks.iter().any(is_undone) {
                return Err(Behind {
                    from: list.floor.clone(),
                    to: version.to_owned(),
                });
            }
        }
        let mut kept = Vec::new();
        self.marks.retain(|key, mark| {
            let found = listed(key);
            if mark.begun < list.number {
                // The list may come from a replica that lags behind, from before the object entered the scope.
                return match &mut mark.state {
                    State::Deleted { until, .. } if found.is_none() && !is_another => {
                        until.get_or_insert_with(|| version.into());
                        mark.hides = false;
                        true
                    }
                    _ => false,
                };
            }
            let stays = match &mark.state {
                State::Present(written) | State::Outside(written) => newer(written, version),
                State::Deleted { seen, .. } => {
                    found.is_none_or(|found| found.uid == &*mark.uid || !newer(found.version, seen))
                }
            };
            if stays {
                let is_present = matches!(mark.state, State::Present(_));
                mark.hides = !is_present && found.is_some();
                let kept_as = if is_present {
                    Kept::AsWritten
                } else {
                    Kept::Absent
                };
                kept.push(kept_as(key.clone()));
            }
            stays
        });
        version.clone_into(&mut self.position);
        Ok(kept)
    }

    fn mark(&mut self, key: &Key, uid: &str, state: State, hides: bool) {
        let mark = Mark {
            uid: uid.into(),
            state,
            begun: self.begun,
            hides,
        };
        self.marks.insert(key.clone(), mark);
    }

    fn moves_to(&mut self, version: &str) {
        self.position.clear();
        self.position.push_str(version);
    }

    /// Forgets the marks that a function picks, as a cache without this rule would.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, mut is_deletion: impl FnMut(bool) -> bool) {
        self.marks
            .retain(|_, mark| !is_deletion(matches!(mark.state, State::Deleted { .. })));
    }
}

/// Whether a version came after another one, where that is known. Every version comes after none.
fn newer(new: &str, old: &str) -> bool {
    is_newer(new, if old.is_empty() { "0" } else { old }) == Some(true)
}

/// The order of two versions of which one is that of a mark, and therefore a number. Something else has to be believed.
fn order(one: &str, other: &str) -> Ordering {
    match is_newer(one, other) {
        Some(false) if one == other => Ordering::Equal,
        Some(false) => Ordering::Less,
        Some(true) | None => Ordering::Greater,
    }
}

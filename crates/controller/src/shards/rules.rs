//! The rules by which replicas share objects, as a value: what one replica knows, and what it does next. It has no clock, no
//! network and no reconciles.
//!
//! All replicas write into one [`Roster`], each time only if it is still as they saw it. A replica that renews writes another
//! beat beside its name. Three rules keep two replicas from holding one shard at once, whichever requests and responses are lost:
//!
//! * A replica holds the shards beside its name until its *renew deadline* has passed since it **sent** the last roster of its own
//!   that was stored.
//! * It strikes another replica off, and takes a shard of it, only after that replica's *lease duration*, which is longer, has
//!   passed since it **saw** the last beat, and only if the roster is still the one with that beat when the API server stores the new
//!   one.
//! * What it gives away it stops holding before it sends the roster that says so, and not while a reconcile is at work. A reconcile that
//!   was cut off because the deadline had passed may have sent a last write: then nothing is given away for the time that the others
//!   would still have waited.
//!
//! Each replica measures by its own monotonic clock, as in a leader election.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::roster::{Member, Roster};
use crate::election::{Moment, Timing};

/// What one replica knows.
#[derive(Clone, Debug)]
pub(crate) struct Rules<V> {
    name: String,
    split: String,
    /// The number of shards.
    count: usize,
    timing: Timing,
    /// The last known roster; `None` if there is none.
    known: Option<Seen<V>>,
    /// Whether it has to read the roster before it relies on `known`.
    is_doubtful: bool,
    /// Since when it knows the beat of each other replica.
    beats: BTreeMap<String, (u64, Moment)>,
    /// The last one of its own. It grows, also when the replica was struck off meanwhile.
    beat: u64,
    held: BTreeMap<usize, Hold>,
    /// Until when it holds them.
    ends: Moment,
    /// What it held when the deadline passed, and is still beside its name.
    lapsed: BTreeSet<usize>,
    /// It gives nothing away before.
    gives_from: Moment,
    next_beat: Moment,
    /// No attempt before.
    pause: Moment,
    /// It takes nothing before: the holders of a roster that is lost may not know yet.
    takes_from: Moment,
    is_leaving: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hold {
    Open,
    /// To be given away as soon as nothing of it is at work.
    Draining,
}

/// A state of the roster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<V> {
    pub(crate) version: V,
    /// What is another when the roster was lost and begun anew; `None`: it has not begun.
    pub(crate) era: Option<String>,
    pub(crate) roster: Roster,
}

/// What a replica does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next<V> {
    /// It looks the roster up.
    Look,
    /// It writes a roster, if there is still that version; `None`: if there is none.
    Write(Option<V>, Roster),
    /// It waits: for news of the roster, the end of its reconciles, and at most until then.
    Wait(Moment),
    /// It has left.
    Leave,
}

impl<V: Clone + PartialEq> Rules<V> {
    /// `beat` is a number that the name has never had: not even in an earlier process.
    pub(crate) fn new(
        name: String,
        split: String,
        count: usize,
        timing: Timing,
        beat: u64,
    ) -> Self {
        Self {
            name,
            split,
            count,
            timing,
            known: None,
            is_doubtful: true,
            beats: BTreeMap::new(),
            beat,
            held: BTreeMap::new(),
            ends: Moment::ZERO,
            lapsed: BTreeSet::new(),
            gives_from: Moment::ZERO,
            next_beat: Moment::ZERO,
            pause: Moment::ZERO,
            takes_from: Moment::ZERO,
            is_leaving: false,
        }
    }

    /// Returns until when it holds a shard and may write for the objects in it, if it does.
    pub(crate) fn holds_until(&self, shard: usize, now: Moment) -> Option<Moment> {
        let is_held = self.held.contains_key(&shard) && now < self.ends;
        is_held.then_some(self.ends)
    }

    /// Until when it holds what it holds.
    pub(crate) fn ends(&self, now: Moment) -> Option<Moment> {
        (!self.held.is_empty() && now < self.ends).then_some(self.ends)
    }

    /// Whether it begins reconciles of the objects in a shard.
    pub(crate) fn begins(&self, shard: usize, now: Moment) -> bool {
        self.held.get(&shard) == Some(&Hold::Open) && now < self.ends
    }

    /// The last known roster.
    pub(crate) fn roster(&self) -> Option<&Roster> {
        self.known.as_ref().map(|known| &known.roster)
    }

    /// Whether replicas with other shards hold the objects.
    pub(crate) fn is_blocked(&self) -> bool {
        let mut others = self.roster().into_iter().flat_map(Roster::values);
        others.any(|other| other.split != self.split && !other.shards.is_empty())
    }

    /// Decides what to do. `is_busy` says of a shard whether a reconcile in it is at work.
    pub(crate) fn next(&mut self, now: Moment, is_busy: &dyn Fn(usize) -> bool) -> Next<V> {
        self.lapse(now);
        self.balance(now);
        if self.pause > now {
            return Next::Wait(self.pause);
        }
        if self.is_doubtful {
            return Next::Look;
        }
        let is_in = self.mine().is_some();
        if self.is_leaving && !is_in {
            return Next::Leave;
        }
        let mut wanted = self.wanted(now, is_busy);
        if self.roster() == Some(&wanted) && now < self.next_beat {
            return Next::Wait(self.next_beat.min(self.next_loss(now)));
        }
        if let Some(mine) = wanted.get_mut(&self.name) {
            self.beat = self.beat.max(mine.beat) + 1;
            mine.beat = self.beat;
        }
        let mine = wanted.get(&self.name);
        self.held
            .retain(|shard, _| mine.is_some_and(|mine| mine.shards.contains(shard)));
        let version = self.known.as_ref().map(|known| known.version.clone());
        Next::Write(version, wanted)
    }

    /// Learns the state of the roster from the answer to a request.
    pub(crate) fn sees(&mut self, seen: Option<Seen<V>>, now: Moment) {
        self.is_doubtful = false;
        let era = self.known.as_ref().and_then(|known| known.era.as_deref());
        let is_lost = match (era, &seen) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(era), Some(seen)) => seen.era.as_deref() != Some(era),
        };
        if is_lost {
            let members = self.roster().into_iter().flat_map(Roster::values);
            let longest = members.map(Member::lease).max().unwrap_or_default();
            self.takes_from = now.saturating_add(longest.max(self.timing.lease));
            self.beats.clear();
        }
        self.known = seen;
        let known = self.known.as_ref().map(|known| &known.roster);
        self.beats
            .retain(|name, _| known.is_some_and(|roster| roster.contains_key(name)));
        for (name, member) in known.into_iter().flatten() {
            let known = self.beats.entry(name.clone()).or_insert((member.beat, now));
            if known.0 != member.beat {
                *known = (member.beat, now);
            }
        }
        let mine = known.and_then(|roster| roster.get(&self.name));
        let is_mine =
            |shard: &usize| !is_lost && mine.is_some_and(|mine| mine.shards.contains(shard));
        self.held.retain(|shard, _| is_mine(shard));
        self.lapsed.retain(is_mine);
    }

    /// Learns the state of the roster from a watch, which may tell of a state that is over.
    ///
    /// `is_newer` says whether a version came after another. Returns whether it was news.
    pub(crate) fn hears(
        &mut self,
        heard: Option<Seen<V>>,
        now: Moment,
        is_newer: impl FnOnce(&V, &V) -> bool,
    ) -> bool {
        let is_news = match (&heard, &self.known) {
            (Some(heard), Some(known)) => is_newer(&heard.version, &known.version),
            (Some(_), None) => true,
            // It may have been created again meanwhile.
            (None, _) => {
                self.is_doubtful = true;
                false
            }
        };
        if is_news {
            self.sees(heard, now);
        }
        is_news
    }

    /// Learns that its roster was stored, which it sent at a moment.
    pub(crate) fn wins(&mut self, stored: Seen<V>, sent: Moment, now: Moment) {
        let mine = stored.roster.get(&self.name);
        let shards = mine.map(|mine| mine.shards.clone()).unwrap_or_default();
        self.lapse(now);
        self.sees(Some(stored), now);
        self.lapsed.clear();
        self.ends = sent.saturating_add(self.timing.renew_deadline);
        self.next_beat = sent.saturating_add(self.timing.retry).max(now);
        for shard in shards {
            self.held.entry(shard).or_insert(Hold::Open);
        }
        if now >= self.ends {
            self.next_beat = now;
        }
    }

    /// Learns that the roster was not in the state that it wrote over.
    pub(crate) fn is_outrun(&mut self) {
        self.is_doubtful = true;
    }

    /// Learns that a request failed. What it asked for may have been done all the same.
    pub(crate) fn fails(&mut self, now: Moment, pause: Duration) {
        self.is_doubtful = true;
        self.pause = now.saturating_add(pause);
    }

    /// Gives everything away, as soon as no reconcile is at work, and takes nothing more.
    pub(crate) fn leaves(&mut self) {
        self.is_leaving = true;
    }

    /// Holds nothing any more when the deadline has passed.
    fn lapse(&mut self, now: Moment) {
        if now >= self.ends && !self.held.is_empty() {
            let Timing {
                lease,
                renew_deadline,
                ..
            } = self.timing;
            self.gives_from = self
                .ends
                .saturating_add(lease.saturating_sub(renew_deadline));
            let held = std::mem::take(&mut self.held);
            self.lapsed.extend(held.into_keys());
        }
    }

    fn mine(&self) -> Option<&Member> {
        self.roster()?.get(&self.name)
    }

    /// Whether another replica is to be struck off.
    fn is_lost(&self, name: &str, member: &Member, now: Moment) -> bool {
        let since = self.beats.get(name).map_or(now, |(_, since)| *since);
        name != self.name && now >= since.saturating_add(member.lease())
    }

    /// When the next of the others would be, if it does not renew.
    fn next_loss(&self, now: Moment) -> Moment {
        let others = self.roster().into_iter().flatten();
        let others = others.filter(|(name, _)| **name != self.name);
        let loss = |(name, member): (&String, &Member)| {
            let since = self.beats.get(name).map_or(now, |(_, since)| *since);
            since.saturating_add(member.lease())
        };
        others.map(loss).min().unwrap_or(Moment::MAX)
    }

    /// How many shards are its own: all replicas have as many, and the first ones one more if that does not come out even.
    fn quota(&self, now: Moment) -> usize {
        if self.is_leaving {
            return 0;
        }
        let others = self.roster().into_iter().flatten();
        let others = others.filter(|(name, member)| {
            **name != self.name && member.split == self.split && !self.is_lost(name, member, now)
        });
        let (before, after): (Vec<_>, Vec<_>) = others.partition(|(name, _)| **name < self.name);
        let replicas = before.len() + after.len() + 1;
        self.count / replicas + usize::from(before.len() < self.count % replicas)
    }

    /// Decides which shards to give away. Those that it is about to give away go first.
    fn balance(&mut self, now: Moment) {
        let quota = self.quota(now);
        let mut order: Vec<_> = self.held.iter_mut().collect();
        order.sort_by_key(|(shard, hold)| (**hold, **shard));
        for (place, (_, hold)) in order.into_iter().enumerate() {
            *hold = if place < quota {
                Hold::Open
            } else {
                Hold::Draining
            };
        }
    }

    /// The roster that it writes next.
    fn wanted(&self, now: Moment, is_busy: &dyn Fn(usize) -> bool) -> Roster {
        let mut roster = self.roster().cloned().unwrap_or_default();
        let mine = roster.remove(&self.name);
        roster.retain(|name, member| !self.is_lost(name, member, now));
        let (beat, named) = mine.map_or((0, BTreeSet::new()), |mine| (mine.beat, mine.shards));
        let is_kept = |shard: &usize| match self.held.get(shard) {
            Some(Hold::Open) => true,
            Some(Hold::Draining) => is_busy(*shard) || now < self.gives_from,
            None => self.lapsed.contains(shard),
        };
        let mut shards: BTreeSet<usize> = named.iter().copied().filter(is_kept).collect();
        let has_other_shards =
            |other: &Member| other.split != self.split && !other.shards.is_empty();
        if now >= self.takes_from && !roster.values().any(has_other_shards) {
            let taken: BTreeSet<usize> = roster
                .values()
                .filter(|other| other.split == self.split)
                .flat_map(|other| other.shards.iter().copied())
                .collect();
            let room = self.quota(now).saturating_sub(shards.len());
            // A reconcile that began before the shard was lost must not write as if it never had been.
            let is_free = |shard: &usize| {
                !taken.contains(shard) && !self.held.contains_key(shard) && !is_busy(*shard)
            };
            let free: Vec<usize> = (0..self.count).filter(is_free).take(room).collect();
            shards.extend(free);
        }
        if !self.is_leaving || !shards.is_empty() {
            let mine = Member::new(beat, self.timing.lease, self.split.clone(), shards);
            roster.insert(self.name.clone(), mine);
        }
        roster
    }
}

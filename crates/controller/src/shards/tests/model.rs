//! What is simulated: replicas that follow the rules, and an API server with one Lease.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::roster::Roster;
use super::super::rules::Rules;
use crate::election::{Moment, Timing};

/// What goes wrong in a schedule on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planted {
    Nothing,
    /// A reconcile writes whether or not its replica still holds the shard.
    NoFence,
    /// A replica holds its shards for longer than others wait.
    LongHold,
    /// A shard is given away while a reconcile is at work.
    NoWait,
    /// A replica that may have lost a shard forgets its reconciles that are still at work.
    NoMemory,
    /// One replica finds other shards for the objects.
    OtherHash,
    /// What was drained is never given away.
    NoRelease,
    /// A shard that is won is not looked through.
    NoLook,
    /// A roster that was deleted is begun anew at once.
    NoQuarantine,
    /// A version with another number of shards does not wait.
    OtherNumber,
}

/// In milliseconds.
pub(super) type Time = u64;

#[derive(Default)]
pub(super) struct Server {
    pub(super) stored: Option<Stored>,
    /// Every state that there was.
    pub(super) past: Vec<Option<Stored>>,
    pub(super) version: u64,
    pub(super) eras: u64,
    /// Since which version each replica has had each shard without a gap.
    pub(super) tenures: BTreeMap<(String, usize), u64>,
}

#[derive(Clone)]
pub(super) struct Stored {
    pub(super) version: u64,
    pub(super) era: u64,
    pub(super) roster: Roster,
}

/// A process.
pub(super) struct Replica {
    pub(super) name: String,
    pub(super) rules: Rules<u64>,
    pub(super) count: usize,
    pub(super) salt: usize,
    /// What its clock shows at 0, and how fast it is, in thousandths.
    pub(super) offset: u64,
    pub(super) rate: u64,
    pub(super) is_alive: bool,
    pub(super) paused_until: Time,
    /// The request that it waits for: its number, and when it was sent.
    pub(super) request: Option<(u64, Moment)>,
    pub(super) alarm: u64,
    pub(super) cache: Vec<u64>,
    pub(super) waiting: BTreeSet<usize>,
    /// The objects at work, with the numbers of their reconciles.
    pub(super) working: BTreeMap<usize, Reconcile>,
    pub(super) open: BTreeSet<usize>,
}

#[derive(Clone, Copy)]
pub(super) struct Reconcile {
    pub(super) number: u64,
    pub(super) generation: u64,
    pub(super) writes: u8,
    pub(super) tenure: Option<u64>,
    /// The shard was lost meanwhile, and the reconcile does not know it yet.
    pub(super) is_cut: bool,
}

pub(super) enum Wish {
    Look,
    Write(Option<u64>, Roster),
}

pub(super) enum Answer {
    Looked(Option<Stored>),
    Stored(Stored),
    Outrun,
}

impl Server {
    /// Stores a roster, if there is still that version, and returns what it has stored and whether shards have moved.
    pub(super) fn store(
        &mut self,
        expected: Option<u64>,
        roster: Roster,
    ) -> Option<(Stored, bool)> {
        let known = self.stored.as_ref().map(|stored| stored.version);
        if known != expected {
            return None;
        }
        self.version += 1;
        let version = self.version;
        let named: BTreeSet<(String, usize)> = roster
            .iter()
            .flat_map(|(name, member)| member.shards.iter().map(|shard| (name.clone(), *shard)))
            .collect();
        let before = self.tenures.len();
        self.tenures.retain(|holder, _| named.contains(holder));
        let is_moved = self.tenures.len() < before || self.tenures.len() < named.len();
        for holder in named {
            self.tenures.entry(holder).or_insert(version);
        }
        let era = self.stored.take().map(|before| before.era);
        self.eras += u64::from(era.is_none());
        let stored = Stored {
            version,
            era: era.unwrap_or(self.eras),
            roster,
        };
        self.stored = Some(stored.clone());
        self.past.push(Some(stored.clone()));
        Some((stored, is_moved))
    }
}

impl Replica {
    pub(super) fn moment(&self, now: Time) -> Moment {
        Duration::from_millis(self.offset + now * self.rate / 1000)
    }

    /// When its clock shows a moment.
    pub(super) fn time(&self, moment: Moment) -> Time {
        let shown = u64::try_from(moment.as_millis()).unwrap_or(u64::MAX / 2000);
        (shown.saturating_sub(self.offset).min(u64::MAX / 2000) * 1000).div_ceil(self.rate) + 1
    }

    pub(super) fn shard(&self, object: usize) -> usize {
        (object * 7 + object / 5 + self.salt) % self.count
    }

    pub(super) fn may_write(&self, object: usize, now: Time) -> bool {
        let shard = self.shard(object);
        self.rules.holds_until(shard, self.moment(now)).is_some()
    }

    pub(super) fn is_busy(&self, shard: usize) -> bool {
        let mut working = self.working.keys();
        working.any(|object| self.shard(*object) == shard)
    }
}

pub(super) fn timing(planted: Planted) -> Timing {
    Timing {
        lease: Duration::from_secs(LEASE),
        renew_deadline: Duration::from_secs(match planted {
            Planted::LongHold => 3 * LEASE,
            _ => HOLD,
        }),
        retry: Duration::from_secs(2),
    }
}

pub(super) const OBJECTS: usize = 12;
pub(super) const WORKERS: usize = 2;
pub(super) const TROUBLE: Time = 240_000;
pub(super) const CALM: Time = 180_000;
pub(super) const LEASE: u64 = 15;
pub(super) const HOLD: u64 = 10;

//! A world in which replicas, publishers, API servers and people do what they do in any order.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use crate::shared::fingerprint::Fingerprint;
use crate::shared::replica::{Found, Leaf, Replica, Serve, Wish};
use crate::shared::state::{Ca, Due, Moment, Phase, State};
use crate::shared::timing::Timing;
use crate::shared::trust::merged;

/// How long an API server may go by a bundle that was changed.
const LAG: u64 = 2;

/// How long a write may be on its way.
const LONGEST_WAY: u64 = 3;

/// By how much the clock of a replica may be wrong.
const SKEW: i64 = 1;

const LEAF: u64 = 6;

/// A rule that is left out, so that a model that holds without it would be found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    Nothing,
    /// A rotation does not check what is published.
    Publication,
    /// API servers are given no time to notice a bundle.
    Settling,
    /// A replaced authority is retired at once.
    Expiry,
    /// Certificates live from when they are signed, not from when the Secret was read.
    FreshRead,
    /// A publisher removes the certificates that it does not know.
    Merging,
    /// A replica with a valid certificate replaces it by one of an unconfirmed authority.
    Proof,
    /// A replica that remembers a newer state accepts an older Secret.
    Memory,
}

/// How hard the world is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) replicas: usize,
    pub(super) objects: usize,
    /// How long authorities live.
    pub(super) authority: u64,
    /// Whether the Secret is deleted and set back.
    pub(super) has_losses: bool,
    pub(super) without: Without,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fake {
    id: u8,
    created: u64,
    expires: u64,
    has_key: bool,
}

impl Ca for Fake {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&[self.id])
    }
    fn created(&self) -> SystemTime {
        time(self.created.cast_signed())
    }
    fn expires(&self) -> SystemTime {
        time(self.expires.cast_signed())
    }
    fn without_key(&self) -> Self {
        Self {
            has_key: false,
            ..*self
        }
    }
}

struct Node {
    replica: Replica<Fake>,
    skew: i64,
    /// It stands still until then, as a process that is stopped.
    sleeps_until: u64,
    /// The authority of what is served, and the last moment at which that is valid.
    served: Option<(Fake, u64)>,
    /// Whether calls come here: once what is served could be verified everywhere.
    is_ready: bool,
    /// What it has decided to sign from what it has read, and when it read that.
    unsigned: Option<(Fake, u64)>,
    /// The states that its publisher may still go by.
    known: Vec<State<Fake>>,
}

#[derive(Clone)]
struct Write {
    over: Option<u64>,
    state: State<Fake>,
    takes_request: bool,
    sent: u64,
}

pub(super) struct World {
    bounds: Bounds,
    rng: Rng,
    timing: Timing,
    now: u64,
    secret: Option<(u64, State<Fake>, bool)>,
    versions: u64,
    ids: u8,
    older: Vec<State<Fake>>,
    /// All that was ever retired.
    retired: BTreeSet<Fingerprint>,
    nodes: Vec<Node>,
    writes: Vec<Write>,
    /// The bundle of each object as it has been, each with the moment at which it was replaced; the last one is live.
    objects: Vec<Vec<(u64, Vec<u8>)>>,
    /// What has been seen on the way, so that a test can see that something happens at all.
    pub(super) switches: u64,
    pub(super) retirements: u64,
}

impl World {
    pub(super) fn new(bounds: Bounds, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let seconds = Duration::from_secs;
        let without = bounds.without;
        let mut timing = Timing::new();
        timing.leaf = match without {
            Without::Expiry => seconds(0),
            _ => seconds(LEAF),
        };
        timing.authority = seconds(bounds.authority);
        timing.settle = match without {
            Without::Settling => seconds(0),
            _ => seconds(LAG + 1),
        };
        timing.skew = match without {
            Without::Expiry => seconds(0),
            _ => seconds(LONGEST_WAY + 2 * SKEW.unsigned_abs()),
        };
        let nodes = (0..bounds.replicas).map(|_| Node::new(timing, &mut rng));
        Self {
            nodes: nodes.collect(),
            bounds,
            timing,
            rng,
            now: 1000,
            secret: None,
            versions: 0,
            ids: 0,
            older: Vec::new(),
            retired: BTreeSet::new(),
            writes: Vec::new(),
            objects: vec![vec![(u64::MAX, Vec::new())]; bounds.objects],
            switches: 0,
            retirements: 0,
        }
    }

    /// Lets something happen; returns what is wrong then.
    pub(super) fn step(&mut self) -> Result<(), String> {
        let node = self.rng.usize(..self.nodes.len());
        let happens = self.rng.u8(..100);
        let is_awake = self.nodes[node].sleeps_until <= self.now;
        match happens {
            0..15 => self.now += 1,
            15..60 | 77..94 if !is_awake => {}
            15..50 => self.looks(node),
            50..60 => self.signs(node),
            60..75 => self.arrives(),
            75..77 if !self.writes.is_empty() => {
                let lost = self.rng.usize(..self.writes.len());
                self.writes.swap_remove(lost);
            }
            77..94 => self.publishes(node, true),
            94..96 => self.nodes[node] = Node::new(self.timing, &mut self.rng),
            96 => {
                if let Some((_, _, is_asked)) = &mut self.secret {
                    *is_asked = true;
                }
            }
            97 if self.bounds.has_losses => self.secret = None,
            98 if self.bounds.has_losses && !self.older.is_empty() => {
                let state = self.older[self.rng.usize(..self.older.len())].clone();
                self.versions += 1;
                self.secret = Some((self.versions, state, false));
            }
            99 => self.nodes[node].sleeps_until = self.now + self.rng.u64(..20),
            _ => {}
        }
        self.writes
            .retain(|write| write.sent + LONGEST_WAY >= self.now);
        self.verify()
    }

    /// Goes on for a time in which nothing fails.
    pub(super) fn calm(&mut self, ticks: u64) -> Result<(), String> {
        for _ in 0..ticks {
            self.now += 1;
            for node in 0..self.nodes.len() {
                self.looks(node);
                self.signs(node);
                while !self.writes.is_empty() {
                    self.arrives();
                }
                self.publishes(node, false);
                self.verify()?;
            }
        }
        Ok(())
    }

    /// Whether all has come to the end that it should.
    pub(super) fn is_settled(&self) -> bool {
        let Some((_, state, _)) = &self.secret else {
            return false;
        };
        let nodes = self.nodes.iter().all(|node| {
            node.is_ready && node.served.is_some_and(|(ca, _)| ca.id == state.current.id)
        });
        let objects = (0..self.objects.len()).all(|object| {
            let live = self.live(object);
            live.contains(&state.current.id)
                && !live.iter().any(|id| {
                    let fingerprint = Fingerprint::of(&[*id]);
                    state.retired.contains(&fingerprint)
                })
        });
        state.phase() == Phase::Stable && nodes && objects
    }

    fn looks(&mut self, number: usize) {
        let at = self.moment(number);
        let found = match &self.secret {
            None => Found::Nothing,
            Some((_, state, is_asked)) => Found::State {
                state: state.clone(),
                is_asked: *is_asked,
            },
        };
        let over = self.secret.as_ref().map(|(version, ..)| *version);
        if let (Without::Memory, Some((_, found, _))) = (self.bounds.without, &self.secret) {
            let node = &mut self.nodes[number];
            if node
                .replica
                .state()
                .is_some_and(|known| known.supersedes(found))
            {
                let leaf = node.replica.leaf().cloned();
                node.replica = Replica::new(self.timing);
                if let Some(leaf) = leaf {
                    node.replica.serves(leaf);
                }
            }
        }
        self.nodes[number].replica.sees(&found, &at);
        let Some(state) = self.nodes[number].replica.state().cloned() else {
            if let Ok(Wish::Make) = self.nodes[number].replica.wish(&found, &at) {
                let state = State::first(self.new_ca());
                self.sends(over, state, false);
            }
            return;
        };
        let node = &mut self.nodes[number];
        if node.known.last() != Some(&state) {
            node.known.push(state.clone());
        }
        let to_sign = match node.replica.serve(&at) {
            Serve::Keep => false,
            Serve::Sign => true,
            Serve::SignOnceProven => self.is_proven(number, &state, &at),
        };
        if to_sign {
            self.nodes[number].unsigned = Some((state.current, self.now));
            if self.rng.bool() {
                self.signs(number);
            }
        }
        let Ok(wish) = self.nodes[number].replica.wish(&found, &at) else {
            return;
        };
        let due = match wish {
            Wish::Restore(state) => {
                let state = state.restored(at.now);
                return self.sends(over, state, false);
            }
            Wish::Make => Due::Replace,
            Wish::Step(due) => due,
        };
        let is_published = self.is_published(state.trusted());
        let wanted = match due {
            Due::Replace => {
                let new = self.new_ca();
                state.replaced(at.now, || new)
            }
            Due::Stage => {
                let new = self.new_ca();
                state.staged(new)
            }
            Due::Publish if !is_published => return,
            Due::Publish => state.published(Some(at.now)),
            Due::Switch if !is_published => state.published(None),
            Due::Switch => state.switched(at.now),
            Due::Retire => state.retired(at.now, &self.timing),
            Due::Wait(..) => return,
        };
        self.sends(over, wanted, due == Due::Stage);
    }

    fn is_proven(&mut self, number: usize, state: &State<Fake>, at: &Moment) -> bool {
        if self.bounds.without == Without::Proof {
            return true;
        }
        let new = self.is_published([&state.current].into_iter());
        let served = self.nodes[number].served.map(|(ca, _)| ca);
        let is_served_in_vain = !self.is_published(served.iter());
        self.nodes[number].replica.proves(new, at) || new && is_served_in_vain
    }

    fn signs(&mut self, number: usize) {
        let Some((ca, read)) = self.nodes[number].unsigned.take() else {
            return;
        };
        let read = match self.bounds.without {
            Without::FreshRead => self.now,
            _ => read,
        };
        let node = &mut self.nodes[number];
        let local = read.saturating_add_signed(node.skew);
        let end = (local + LEAF).min(ca.expires);
        node.served = Some((ca, end));
        node.replica.serves(Leaf {
            authority: ca.fingerprint(),
            not_before: time(0),
            not_after: time(end.cast_signed()),
            renew_at: time((local + LEAF * 2 / 3).cast_signed()),
        });
    }

    fn sends(&mut self, over: Option<u64>, state: State<Fake>, takes_request: bool) {
        let sent = self.now;
        self.writes.push(Write {
            over,
            state,
            takes_request,
            sent,
        });
    }

    /// One of the writes that are on their way comes to the API server.
    fn arrives(&mut self) {
        if self.writes.is_empty() {
            return;
        }
        let write = self.writes.swap_remove(self.rng.usize(..self.writes.len()));
        let version = self.secret.as_ref().map(|(version, ..)| *version);
        if version != write.over {
            return;
        }
        let was_asked = self
            .secret
            .as_ref()
            .is_some_and(|(_, _, is_asked)| *is_asked);
        if let Some((_, before, _)) = &self.secret {
            self.switches += u64::from(write.state.generation > before.generation);
            self.retirements += u64::from(write.state.retired.len() > before.retired.len());
        }
        self.versions += 1;
        self.retired.extend(&write.state.retired);
        self.older.push(write.state.clone());
        let is_asked = was_asked && !write.takes_request;
        self.secret = Some((self.versions, write.state, is_asked));
    }

    /// The publisher of a replica writes an object, by what it knows or, if it is late, has known.
    fn publishes(&mut self, number: usize, is_late: bool) {
        let known = &self.nodes[number].known;
        if known.is_empty() {
            return;
        }
        let last = known.len() - 1;
        let index = if is_late {
            last.saturating_sub(self.rng.usize(..3))
        } else {
            last
        };
        let state = &known[index];
        let trusted: Vec<u8> = state.trusted().map(|ca| ca.id).collect();
        let retired = state.retired.clone();
        let objects = if is_late {
            let object = self.rng.usize(..self.objects.len());
            object..object + 1
        } else {
            0..self.objects.len()
        };
        for object in objects {
            let live = self.live(object);
            let bundle = match self.bounds.without {
                Without::Merging => trusted.clone(),
                _ => merged(live, &trusted, |id| {
                    retired.contains(&Fingerprint::of(&[*id]))
                }),
            };
            if bundle != live {
                let now = self.now;
                let history = &mut self.objects[object];
                if let Some(last) = history.last_mut() {
                    last.0 = now;
                }
                history.push((u64::MAX, bundle));
            }
        }
    }

    /// What must hold whatever happens: a call to a replica that is ready is believed by every API server.
    fn verify(&mut self) -> Result<(), String> {
        let now = self.now;
        for history in &mut self.objects {
            history.retain(|(until, _)| until.saturating_add(LAG) > now);
        }
        for (number, node) in self.nodes.iter_mut().enumerate() {
            // By its own clock, too, it has something to serve.
            let local = now.saturating_add_signed(node.skew);
            let is_valid = |end: u64| now <= end && local < end;
            let Some((ca, _)) = node.served.filter(|(_, end)| is_valid(*end)) else {
                node.is_ready = false;
                continue;
            };
            let views = || self.objects.iter().flatten();
            let is_believed = views().all(|(_, bundle)| bundle.contains(&ca.id));
            if node.is_ready && !is_believed {
                return Err(format!(
                    "at {now} replica {number} serves {ca:?}, and the objects carry {:?}; the Secret: {:?}",
                    self.objects, self.secret
                ));
            }
            // A replica that starts with a Secret from before a retirement has a certificate that no replica may rely on.
            let is_retired = self.retired.contains(&ca.fingerprint());
            node.is_ready |= is_believed && !is_retired;
        }
        Ok(())
    }

    fn is_published<'a>(&self, cas: impl Iterator<Item = &'a Fake>) -> bool {
        if self.bounds.without == Without::Publication {
            return true;
        }
        let wanted: Vec<u8> = cas.map(|ca| ca.id).collect();
        (0..self.objects.len()).all(|object| {
            let live = self.live(object);
            wanted.iter().all(|id| live.contains(id))
        })
    }

    fn live(&self, object: usize) -> &[u8] {
        &self.objects[object].last().expect("there is a live one").1
    }

    fn new_ca(&mut self) -> Fake {
        self.ids = self.ids.wrapping_add(1);
        Fake {
            id: self.ids,
            created: self.now,
            expires: self.now + self.bounds.authority,
            has_key: true,
        }
    }

    fn moment(&self, number: usize) -> Moment {
        let local = time(self.now.cast_signed() + self.nodes[number].skew);
        Moment {
            now: local,
            local,
            passed: Duration::from_secs(self.now),
        }
    }
}

impl Node {
    fn new(timing: Timing, rng: &mut Rng) -> Self {
        Self {
            replica: Replica::new(timing),
            skew: rng.i64(-SKEW..=SKEW),
            sleeps_until: 0,
            served: None,
            is_ready: false,
            unsigned: None,
            known: Vec::new(),
        }
    }
}

fn time(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs())
}

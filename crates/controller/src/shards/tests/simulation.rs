//! Sharded controllers in simulated clusters: replicas with clocks of their own start, stop, are killed and stand still; requests and
//! responses are late or lost, watches tell of the past, the roster is deleted, and a new version has another number of shards. A
//! seed is a schedule, and the same seed is the same schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::roster::Roster;
use super::super::rules::{Next, Rules, Seen};
use super::model::{
    Answer, CALM, OBJECTS, Planted, Reconcile, Replica, Server, Stored, TROUBLE, Time, WORKERS,
    Wish, timing,
};

pub(super) struct World {
    now: Time,
    random: fastrand::Rng,
    planted: Planted,
    has_faults: bool,
    events: BTreeMap<(Time, u64), Event>,
    sequence: u64,
    server: Server,
    replicas: Vec<Replica>,
    /// The generation of each object.
    objects: Vec<u64>,
    /// The generation of each object that a reconcile has come to the end of.
    done: Vec<u64>,
    /// Before when no replica starts.
    starts_from: Time,
    pub(super) writes: u64,
    pub(super) moves: u64,
    pub(super) wrong: Vec<String>,
}

enum Event {
    Acts(usize, u64),
    Serves(usize, u64, Wish),
    Answers(usize, u64, Option<Answer>),
    Hears(usize, Option<Stored>),
    /// A reconcile goes on.
    Works(usize, usize, u64),
    /// A write of a reconcile reaches the API server.
    Writes(usize, usize),
    Ends(usize, usize, u64),
    Changes,
    Learns(usize, usize, u64),
    Fault,
}

impl World {
    pub(super) fn new(seed: u64, planted: Planted) -> Self {
        let mut world = Self {
            now: 0,
            random: fastrand::Rng::with_seed(seed),
            planted,
            has_faults: true,
            events: BTreeMap::new(),
            sequence: 0,
            server: Server::default(),
            replicas: Vec::new(),
            objects: vec![1; OBJECTS],
            done: vec![0; OBJECTS],
            starts_from: 0,
            writes: 0,
            moves: 0,
            wrong: Vec::new(),
        };
        world.server.past.push(None);
        let count = world.random.usize(2..8);
        for _ in 0..world.random.usize(2..4) {
            world.start(count);
        }
        world.after(500, Event::Changes);
        world.after(3_000, Event::Fault);
        world
    }

    fn after(&mut self, delay: Time, event: Event) {
        self.at(self.now + delay, event);
    }

    fn at(&mut self, time: Time, event: Event) {
        self.sequence += 1;
        let at = (time.max(self.now), self.sequence);
        self.events.insert(at, event);
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn start(&mut self, count: usize) {
        let number = self.replicas.len();
        let name = format!("{}-{number}", ["a", "m", "z"][self.random.usize(..3)]);
        let salt = usize::from(self.planted == Planted::OtherHash && number == 1);
        let split = match self.planted {
            Planted::OtherNumber => "objects".to_owned(),
            _ => format!("objects/{count}"),
        };
        let beat = self.now * 1000;
        let rules = Rules::new(name.clone(), split, count, timing(self.planted), beat);
        self.replicas.push(Replica {
            name,
            rules,
            count,
            salt,
            offset: self.random.u64(..1_000_000),
            rate: self.random.u64(920..=1080),
            is_alive: true,
            paused_until: 0,
            request: None,
            alarm: 0,
            cache: self.objects.clone(),
            waiting: BTreeSet::new(),
            working: BTreeMap::new(),
            open: BTreeSet::new(),
        });
        self.wake(number, 0);
    }

    fn wake(&mut self, replica: usize, delay: Time) {
        let number = self.number();
        self.replicas[replica].alarm = number;
        self.after(delay, Event::Acts(replica, number));
    }

    fn object(&mut self, what: &str) {
        let text = format!("{} ms: {what}", self.now);
        self.wrong.push(text);
    }

    pub(super) fn run(mut self) -> Self {
        while let Some(((time, _), event)) = self.events.pop_first() {
            if time > TROUBLE + CALM {
                break;
            }
            self.now = time;
            if time > TROUBLE && self.has_faults {
                self.calm_down();
            }
            if let Some(event) = self.delayed(event) {
                self.happen(event);
            }
            if self.wrong.len() > 3 {
                return self;
            }
        }
        self.judge();
        self
    }

    /// What would happen to a process that stands still happens when it goes on; to one that is dead, never.
    fn delayed(&mut self, event: Event) -> Option<Event> {
        let replica = match &event {
            Event::Acts(replica, _)
            | Event::Answers(replica, ..)
            | Event::Hears(replica, _)
            | Event::Works(replica, ..)
            | Event::Ends(replica, ..)
            | Event::Learns(replica, ..) => &self.replicas[*replica],
            _ => return Some(event),
        };
        if !replica.is_alive {
            return None;
        }
        if replica.paused_until > self.now {
            let until = replica.paused_until;
            self.at(until, event);
            return None;
        }
        Some(event)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Acts(replica, alarm) if self.replicas[replica].alarm == alarm => {
                self.act(replica);
            }
            Event::Acts(..) => {}
            Event::Serves(replica, number, wish) => self.serve(replica, number, wish),
            Event::Answers(replica, number, answer) => self.answer(replica, number, answer),
            Event::Hears(replica, heard) => {
                let now = self.replicas[replica].moment(self.now);
                // One request at a time, and the watch between them.
                if self.replicas[replica].request.is_some() {
                    self.after(50, Event::Hears(replica, heard));
                    return;
                }
                let heard = heard.map(|stored| self.seen(stored));
                let rules = &mut self.replicas[replica].rules;
                rules.hears(heard, now, |new, old| new > old);
                self.act(replica);
            }
            Event::Works(replica, object, number) => self.work(replica, object, number),
            Event::Writes(replica, object) => self.write(replica, object),
            Event::Ends(replica, object, number) => {
                let may_write = self.replicas[replica].may_write(object, self.now);
                match self.replicas[replica].working.get_mut(&object) {
                    // Its replica renewed before it was cancelled.
                    Some(work) if may_write => work.is_cut = false,
                    Some(work) if work.is_cut => self.end(replica, object, number),
                    _ => {}
                }
            }
            Event::Changes => {
                let object = self.random.usize(..OBJECTS);
                self.objects[object] += 1;
                let generation = self.objects[object];
                for replica in 0..self.replicas.len() {
                    let delay = self.random.u64(1..400);
                    self.after(delay, Event::Learns(replica, object, generation));
                }
                if self.has_faults {
                    let next = self.random.u64(1..2_000);
                    self.after(next, Event::Changes);
                }
            }
            Event::Learns(replica, object, generation) => {
                let known = &mut self.replicas[replica].cache[object];
                *known = generation.max(*known);
                self.want(replica, object);
                self.begin(replica);
            }
            Event::Fault => self.fault(),
        }
    }

    fn fault(&mut self) {
        if !self.has_faults {
            return;
        }
        let alive: Vec<usize> = (0..self.replicas.len())
            .filter(|replica| self.replicas[*replica].is_alive)
            .collect();
        let one = (!alive.is_empty()).then(|| alive[self.random.usize(..alive.len())]);
        match (self.random.u8(..12), one) {
            (0..3, Some(replica)) if alive.len() > 1 => self.replicas[replica].is_alive = false,
            (3..5, Some(replica)) if alive.len() > 1 => self.leave(replica),
            (5..8, _) if alive.len() < 5 && self.now >= self.starts_from => {
                let newest = self.replicas.last().map_or(3, |newest| newest.count);
                let count = match self.random.u8(..8) {
                    0 => self.random.usize(2..8),
                    _ => newest,
                };
                self.start(count);
            }
            (8..10, Some(replica)) => {
                let long = self.random.u64(500..30_000);
                self.replicas[replica].paused_until = self.now + long;
            }
            (10, _) if self.random.u8(..4) == 0 && self.knows_the_roster() => self.delete(),
            _ => {}
        }
        let next = self.random.u64(500..12_000);
        self.after(next, Event::Fault);
    }

    fn leave(&mut self, replica: usize) {
        self.replicas[replica].rules.leaves();
        if self.replicas[replica].request.is_none() {
            self.wake(replica, 0);
        }
    }

    /// Whether no replica is so new that it cannot know what is deleted: a first one does not wait.
    fn knows_the_roster(&self) -> bool {
        let Some(stored) = &self.server.stored else {
            return false;
        };
        let mut alive = self.replicas.iter().filter(|replica| replica.is_alive);
        alive.all(|replica| {
            let known = replica.rules.roster();
            known.is_some_and(|known| !known.is_empty())
                && stored.roster.contains_key(&replica.name)
        })
    }

    fn delete(&mut self) {
        self.server.stored = None;
        self.server.past.push(None);
        self.tell();
        // A replica that has never seen a roster takes it for a new installation, and does not wait for holders that have not heard of
        // the deletion. Neither does a leader election.
        self.starts_from = self.now + 12_000;
        for replica in 0..self.replicas.len() {
            self.after(1, Event::Hears(replica, None));
        }
    }

    /// No more faults: all have the newest version, and everything answers.
    fn calm_down(&mut self) {
        if self.now < self.starts_from {
            return;
        }
        self.has_faults = false;
        let newest = self.replicas.last().map_or(3, |newest| newest.count);
        for replica in 0..self.replicas.len() {
            self.replicas[replica].paused_until = 0;
            if self.replicas[replica].is_alive && self.replicas[replica].count != newest {
                self.leave(replica);
            }
        }
        self.start(newest);
    }

    fn act(&mut self, number: usize) {
        if self.replicas[number].request.is_some() {
            return;
        }
        let planted = self.planted;
        let replica = &mut self.replicas[number];
        let now = replica.moment(self.now);
        let busy: BTreeSet<usize> = (0..replica.count)
            .filter(|shard| replica.is_busy(*shard))
            .collect();
        let cut: BTreeSet<usize> = replica
            .working
            .iter()
            .filter(|(_, work)| !work.is_cut)
            .map(|(object, _)| replica.shard(*object))
            .collect();
        let is_busy = move |shard: usize| match planted {
            Planted::NoWait => false,
            Planted::NoRelease => true,
            Planted::NoMemory => busy.contains(&shard) && cut.contains(&shard),
            _ => busy.contains(&shard),
        };
        let held: Vec<usize> = (0..replica.count)
            .filter(|shard| replica.rules.holds_until(*shard, now).is_some())
            .collect();
        let next = replica.rules.next(now, &is_busy);
        let given_away: Vec<usize> = held
            .into_iter()
            .filter(|shard| replica.rules.holds_until(*shard, now).is_none())
            .filter(|shard| replica.is_busy(*shard))
            .collect();
        if !given_away.is_empty() {
            self.object(&format!(
                "{number} gives {given_away:?} away under a reconcile"
            ));
        }
        self.follow(number);
        match next {
            Next::Look => self.send(number, Wish::Look),
            Next::Write(version, roster) => self.send(number, Wish::Write(version, roster)),
            Next::Wait(until) => {
                let replica = &self.replicas[number];
                let at = replica.time(until).max(self.now + 1);
                let delay = at - self.now;
                if delay < 1_000_000 {
                    self.wake(number, delay);
                }
            }
            Next::Leave => self.replicas[number].is_alive = false,
        }
    }

    fn send(&mut self, replica: usize, wish: Wish) {
        let number = self.number();
        let sent = self.replicas[replica].moment(self.now);
        self.replicas[replica].request = Some((number, sent));
        let (there, patience) = (self.delay(), 5_000);
        if !self.is_lost() {
            self.after(there, Event::Serves(replica, number, wish));
        }
        self.after(patience, Event::Answers(replica, number, None));
    }

    fn delay(&mut self) -> Time {
        if self.has_faults && self.random.u8(..20) == 0 {
            self.random.u64(1_000..9_000)
        } else {
            self.random.u64(1..60)
        }
    }

    fn is_lost(&mut self) -> bool {
        self.has_faults && self.random.u8(..15) == 0
    }

    fn serve(&mut self, replica: usize, number: u64, wish: Wish) {
        let repeats = self.has_faults && self.random.u8(..30) == 0;
        let answer = match wish {
            Wish::Look => Answer::Looked(self.server.stored.clone()),
            Wish::Write(expected, roster) => {
                if repeats {
                    let again = Wish::Write(expected, roster.clone());
                    self.after(200, Event::Serves(replica, 0, again));
                }
                self.store(expected, roster)
            }
        };
        if number == 0 || self.is_lost() {
            return;
        }
        let back = self.delay();
        self.after(back, Event::Answers(replica, number, Some(answer)));
    }

    fn store(&mut self, expected: Option<u64>, roster: Roster) -> Answer {
        let holders = roster.iter().flat_map(|(name, member)| {
            let holder = move |shard: &usize| (member.split.clone(), *shard, name.clone());
            member.shards.iter().map(holder)
        });
        let mut known = BTreeMap::new();
        for (split, shard, name) in holders {
            if let Some(other) = known.insert((split, shard), name.clone()) {
                self.object(&format!("{other} and {name} hold shard {shard}"));
            }
        }
        match self.server.store(expected, roster) {
            None => Answer::Outrun,
            Some((stored, is_moved)) => {
                self.moves += u64::from(is_moved);
                self.tell();
                Answer::Stored(stored)
            }
        }
    }

    /// Lets the watches tell of the latest state, and sometimes of an earlier one.
    fn tell(&mut self) {
        for replica in 0..self.replicas.len() {
            if self.is_lost() {
                continue;
            }
            let state = if self.has_faults && self.random.u8(..10) == 0 {
                let past = &self.server.past;
                let since = past.len().saturating_sub(6);
                past[self.random.usize(since..past.len())].clone()
            } else {
                self.server.stored.clone()
            };
            let delay = self.delay();
            self.after(delay, Event::Hears(replica, state));
        }
    }

    fn answer(&mut self, number: usize, request: u64, answer: Option<Answer>) {
        let replica = &mut self.replicas[number];
        let waited = replica.request.filter(|(waited, _)| *waited == request);
        let Some((_, sent)) = waited else {
            return;
        };
        replica.request = None;
        let now = replica.moment(self.now);
        match answer {
            None => replica.rules.fails(now, Duration::from_secs(2)),
            Some(Answer::Outrun) => replica.rules.is_outrun(),
            Some(Answer::Looked(stored)) => {
                let seen = stored.map(|stored| self.seen(stored));
                self.replicas[number].rules.sees(seen, now);
            }
            Some(Answer::Stored(stored)) => {
                let seen = self.seen(stored);
                self.replicas[number].rules.wins(seen, sent, now);
            }
        }
        self.act(number);
    }

    /// Does what a change of what is held takes.
    fn follow(&mut self, number: usize) {
        let replica = &mut self.replicas[number];
        let now = replica.moment(self.now);
        let shards = 0..replica.count;
        let open: BTreeSet<usize> = shards
            .filter(|shard| replica.rules.begins(*shard, now))
            .collect();
        let won: Vec<usize> = open.difference(&replica.open).copied().collect();
        replica.open = open;
        let (waiting, working) = (replica.waiting.clone(), replica.working.clone());
        for object in waiting {
            let shard = replica.shard(object);
            if !replica.open.contains(&shard) {
                replica.waiting.remove(&object);
            }
        }
        for (object, work) in working {
            let replica = &mut self.replicas[number];
            let is_held = replica.may_write(object, self.now);
            if !is_held && !work.is_cut {
                let reconcile = work.number;
                let work = replica.working.entry(object);
                work.and_modify(|work| work.is_cut = true);
                // A task that is cancelled is not gone at once: it may be blocked.
                let late = match self.random.u8(..4) {
                    0 => self.random.u64(..20_000),
                    _ => self.random.u64(..600),
                };
                self.after(late, Event::Ends(number, object, reconcile));
            }
        }
        if self.planted == Planted::NoLook {
            return;
        }
        for object in 0..OBJECTS {
            if won.contains(&self.replicas[number].shard(object)) {
                self.want(number, object);
            }
        }
        self.begin(number);
    }

    fn want(&mut self, number: usize, object: usize) {
        let replica = &mut self.replicas[number];
        if replica.open.contains(&replica.shard(object)) {
            replica.waiting.insert(object);
        }
    }

    fn begin(&mut self, number: usize) {
        loop {
            let replica = &self.replicas[number];
            let now = replica.moment(self.now);
            let mut ready = replica.waiting.iter().copied();
            let ready = ready.find(|object| {
                !replica.working.contains_key(object)
                    && replica.rules.begins(replica.shard(*object), now)
            });
            let Some(object) = ready.filter(|_| replica.working.len() < WORKERS) else {
                return;
            };
            self.check_alone(number, object, "reconciles");
            let work = Reconcile {
                number: self.number(),
                generation: self.replicas[number].cache[object],
                writes: self.random.u8(..4),
                tenure: self.tenure(number, object),
                is_cut: false,
            };
            let replica = &mut self.replicas[number];
            replica.waiting.remove(&object);
            replica.working.insert(object, work);
            let delay = self.random.u64(1..1_500);
            self.after(delay, Event::Works(number, object, work.number));
        }
    }

    /// Checks that no other replica may write for an object, or has it beside its name.
    fn check_alone(&mut self, number: usize, object: usize, what: &str) {
        let others = self.replicas.iter().enumerate();
        let others: Vec<usize> = others
            .filter(|(other, replica)| *other != number && replica.is_alive)
            .filter(|(_, replica)| replica.may_write(object, self.now))
            .map(|(other, _)| other)
            .collect();
        if !others.is_empty() {
            self.object(&format!(
                "{number} {what} {object}, which {others:?} may write"
            ));
        }
        let Some(stored) = &self.server.stored else {
            return;
        };
        let others: Vec<&String> = self
            .replicas
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .filter(|(_, replica)| {
                let named = stored.roster.get(&replica.name);
                named.is_some_and(|named| named.shards.contains(&replica.shard(object)))
            })
            .map(|(_, replica)| &replica.name)
            .collect();
        if !others.is_empty() {
            let text = format!("{number} {what} {object}, which {others:?} has");
            self.object(&text);
        }
    }

    fn tenure(&self, number: usize, object: usize) -> Option<u64> {
        let replica = &self.replicas[number];
        let holder = (replica.name.clone(), replica.shard(object));
        self.server.tenures.get(&holder).copied()
    }

    fn work(&mut self, number: usize, object: usize, reconcile: u64) {
        let now = self.now;
        let planted = self.planted;
        let tenure = self.tenure(number, object);
        let replica = &mut self.replicas[number];
        let may_write = replica.may_write(object, now) || planted == Planted::NoFence;
        let Some(work) = replica.working.get_mut(&object) else {
            return;
        };
        if work.number != reconcile {
            return;
        }
        if work.writes == 0 {
            self.end(number, object, reconcile);
            return;
        }
        work.writes -= 1;
        work.is_cut &= !may_write;
        let is_late =
            may_write && tenure.is_some() && work.tenure != tenure && planted != Planted::NoFence;
        if is_late {
            self.object(&format!(
                "{number} goes on with {object}, which it has lost since"
            ));
        }
        if may_write {
            // Less than the time for which others wait after the deadline, by any two clocks.
            let there = if self.has_faults && self.random.u8(..8) == 0 {
                self.random.u64(1..2_500)
            } else {
                self.random.u64(1..300)
            };
            self.after(there, Event::Writes(number, object));
            let next = there + self.random.u64(1..900);
            self.after(next, Event::Works(number, object, reconcile));
        } else {
            // It is refused, and the reconcile ends with the error.
            self.end(number, object, reconcile);
        }
    }

    fn write(&mut self, number: usize, object: usize) {
        self.writes += 1;
        self.check_alone(number, object, "writes");
    }

    fn end(&mut self, number: usize, object: usize, reconcile: u64) {
        let replica = &mut self.replicas[number];
        let Some(work) = replica.working.get(&object).copied() else {
            return;
        };
        if work.number != reconcile {
            return;
        }
        replica.working.remove(&object);
        if !work.is_cut && work.writes == 0 {
            self.done[object] = self.done[object].max(work.generation);
        } else {
            self.want(number, object);
        }
        self.begin(number);
        self.act(number);
    }

    fn seen(&self, stored: Stored) -> Seen<u64> {
        let is_new = self.planted == Planted::NoQuarantine;
        Seen {
            version: stored.version,
            era: (!is_new).then(|| stored.era.to_string()),
            roster: stored.roster,
        }
    }

    /// At the end each object is reconciled, and each replica has its share.
    fn judge(&mut self) {
        if self.done != self.objects {
            self.object(&format!("{:?} of {:?} are done", self.done, self.objects));
        }
        let alive = self.replicas.iter().filter(|one| one.is_alive);
        let shares: Vec<usize> = alive.map(|replica| replica.open.len()).collect();
        let count = self.replicas.last().map_or(0, |newest| newest.count);
        let (most, least) = (shares.iter().max(), shares.iter().min());
        let is_fair = most
            .zip(least)
            .is_some_and(|(most, least)| most - least <= 1);
        if !is_fair || shares.iter().sum::<usize>() != count {
            self.object(&format!("the shares of {count} are {shares:?}"));
        }
        let stored = self.server.stored.as_ref();
        let named = stored.map_or(0, |stored| stored.roster.len());
        if named != shares.len() {
            self.object(&format!("{named} replicas are known of {}", shares.len()));
        }
    }
}

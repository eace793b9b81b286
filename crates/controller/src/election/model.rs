//! Every interleaving of an election: requests and answers that are late, lost or stored behind a candidate's back, news that
//! are old, candidates that stand still, releases and crashes.

use std::collections::HashSet;

use super::*;

/// How far time goes, and who takes part.
#[derive(Clone, Copy)]
struct Bounds {
    ticks: u64,
    writes: u8,
    timing: Timing,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    now: u64,
    stored: Option<Stored>,
    /// The state before, which a late watch may still tell of.
    before: Option<Stored>,
    writes: u8,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Stored {
    version: u8,
    holder: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Candidate {
    rules: Rules<u8>,
    request: Option<Request>,
    /// A request that it has given up, and that the API server may yet come to.
    forgotten: Option<Wish>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Request {
    wish: Wish,
    sent: u64,
    answer: Option<Answer>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Wish {
    Look,
    Claim(Option<u8>),
    Release(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Answer {
    Looked(Option<Stored>),
    Done(u8),
    Outrun,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    TimePasses,
    Acts(usize),
    Releases(usize),
    Serves(usize),
    Answers(usize),
    Loses(usize),
    Forgets(usize),
    ServesForgotten(usize),
    Hears(usize),
    HearsOld(usize),
}

impl World {
    fn new(candidates: usize, timing: Timing) -> Self {
        Self {
            now: 0,
            stored: None,
            before: None,
            writes: 0,
            candidates: vec![
                Candidate {
                    rules: Rules::new(timing),
                    request: None,
                    forgotten: None,
                };
                candidates
            ],
        }
    }

    fn events(&self, bounds: Bounds) -> Vec<Event> {
        let mut events = Vec::new();
        if self.now < bounds.ticks {
            events.push(Event::TimePasses);
        }
        for (number, candidate) in self.candidates.iter().enumerate() {
            match candidate.request {
                None => {
                    events.push(Event::Acts(number));
                    events.push(Event::Releases(number));
                }
                Some(Request { answer: None, .. }) => {
                    events.push(Event::Serves(number));
                    events.push(Event::Loses(number));
                    events.push(Event::Forgets(number));
                }
                Some(Request {
                    answer: Some(_), ..
                }) => {
                    events.push(Event::Answers(number));
                    events.push(Event::Loses(number));
                }
            }
            if candidate.forgotten.is_some() {
                events.push(Event::ServesForgotten(number));
            }
            events.extend([Event::Hears(number), Event::HearsOld(number)]);
        }
        events
    }

    /// The world after an event; `None` if it cannot happen now.
    fn after(&self, event: Event, bounds: Bounds) -> Option<Self> {
        let mut world = self.clone();
        match event {
            Event::TimePasses => world.now += 1,
            Event::Acts(number) => {
                let wish = match world.candidates[number].rules.next(self.moment(number)) {
                    Next::Look => Wish::Look,
                    Next::Claim(version) => Wish::Claim(version),
                    Next::Wait(_) => return None,
                };
                world.send(number, wish);
            }
            Event::Releases(number) => {
                if !self.leads(number) {
                    return None;
                }
                let version = world.candidates[number].rules.lease.version?;
                world.candidates[number].rules.steps_down();
                world.send(number, Wish::Release(version));
            }
            Event::Serves(number) => {
                let wish = self.candidates[number].request?.wish;
                if self.writes == bounds.writes && wish != Wish::Look {
                    return None;
                }
                let answer = world.serve(number, wish);
                world.candidates[number].request.as_mut()?.answer = Some(answer);
            }
            Event::Answers(number) => {
                let request = world.candidates[number].request.take()?;
                world.answer(number, request);
            }
            Event::Loses(number) => {
                world.candidates[number].request.take()?;
                world.fail(number, bounds);
            }
            Event::Forgets(number) => {
                let request = world.candidates[number].request.take()?;
                if request.wish == Wish::Look || self.candidates[number].forgotten.is_some() {
                    return None;
                }
                world.candidates[number].forgotten = Some(request.wish);
                world.fail(number, bounds);
            }
            Event::ServesForgotten(number) => {
                let wish = world.candidates[number].forgotten.take()?;
                if self.writes == bounds.writes {
                    return None;
                }
                world.serve(number, wish);
            }
            Event::Hears(number) => world.hear(number, self.stored?),
            Event::HearsOld(number) => world.hear(number, self.before?),
        }
        (world != *self).then_some(world)
    }

    fn send(&mut self, number: usize, wish: Wish) {
        self.candidates[number].request = Some(Request {
            wish,
            sent: self.now,
            answer: None,
        });
    }

    fn serve(&mut self, number: usize, wish: Wish) -> Answer {
        let (expected, holder) = match wish {
            Wish::Look => return Answer::Looked(self.stored),
            Wish::Claim(version) => (version, Some(number)),
            Wish::Release(version) => (Some(version), None),
        };
        if self.stored.map(|stored| stored.version) != expected {
            return Answer::Outrun;
        }
        self.writes += 1;
        self.before = self.stored;
        self.stored = Some(Stored {
            version: self.writes,
            holder,
        });
        Answer::Done(self.writes)
    }

    fn answer(&mut self, number: usize, request: Request) {
        let now = self.moment(number);
        let sent = moment(number, request.sent);
        let seen = |stored: Option<Stored>| stored.map(|stored| seen(number, stored));
        let rules = &mut self.candidates[number].rules;
        match (request.answer, request.wish) {
            (Some(Answer::Looked(stored)), _) => rules.sees(seen(stored), now),
            (Some(Answer::Done(version)), Wish::Claim(_)) => rules.wins(version, sent, now),
            // Who releases does not stand again, or looks first.
            (Some(Answer::Done(_) | Answer::Outrun), _) => rules.is_outrun(),
            (None, _) => unreachable!("only what was served is answered"),
        }
    }

    fn fail(&mut self, number: usize, bounds: Bounds) {
        let now = self.moment(number);
        self.candidates[number]
            .rules
            .fails(now, bounds.timing.retry);
    }

    fn hear(&mut self, number: usize, stored: Stored) {
        let now = self.moment(number);
        let heard = Some(seen(number, stored));
        self.candidates[number]
            .rules
            .hears(heard, now, |new, old| new > old);
    }

    fn leads(&self, number: usize) -> bool {
        let rules = &self.candidates[number].rules;
        rules.leads_until(self.moment(number)).is_some()
    }

    fn leaders(&self) -> usize {
        (0..self.candidates.len())
            .filter(|number| self.leads(*number))
            .count()
    }

    fn moment(&self, number: usize) -> Moment {
        moment(number, self.now)
    }
}

/// No two candidates' clocks show the same.
fn moment(number: usize, ticks: u64) -> Moment {
    Duration::from_secs(ticks + 100 * number as u64)
}

fn seen(number: usize, stored: Stored) -> Seen<u8> {
    Seen {
        version: stored.version,
        holder: match stored.holder {
            None => Holder::Vacant,
            Some(holder) if holder == number => Holder::Myself,
            Some(_) => Holder::Other,
        },
        lease: None,
    }
}

fn timing(lease: u64, renew_deadline: u64) -> Timing {
    Timing {
        lease: Duration::from_secs(lease),
        renew_deadline: Duration::from_secs(renew_deadline),
        retry: Duration::from_secs(1),
    }
}

/// Goes through every world that two candidates can come to by so many events, once one leads and the other knows, and returns the most leaders at once, how many
/// worlds there were, and in how many each of the candidates led.
fn explore(bounds: Bounds, events: usize) -> (usize, usize, [usize; 2]) {
    let mut first = World::new(2, bounds.timing);
    let request = |number| {
        [
            Event::Acts(number),
            Event::Serves(number),
            Event::Answers(number),
        ]
    };
    for event in [request(0), request(0), request(1)].concat() {
        first = first.after(event, bounds).expect("it can happen");
    }
    assert!(first.leads(0));
    let mut known = HashSet::from([first.clone()]);
    let mut latest = vec![first];
    let (mut most, mut led) = (0, [0, 0]);
    for _ in 0..events {
        let mut next = Vec::new();
        for world in latest {
            for event in world.events(bounds) {
                if let Some(world) = world.after(event, bounds)
                    && known.insert(world.clone())
                {
                    most = most.max(world.leaders());
                    for (number, led) in led.iter_mut().enumerate() {
                        *led += usize::from(world.leads(number));
                    }
                    next.push(world);
                }
            }
        }
        latest = next;
    }
    (most, known.len(), led)
}

#[test]
fn two_never_lead_at_once_whatever_happens() {
    let bounds = Bounds {
        ticks: 4,
        writes: 4,
        timing: timing(2, 1),
    };
    let (most, worlds, led) = explore(bounds, 10);
    assert_eq!(most, 1, "of {worlds} worlds");
    assert!(led.iter().all(|led| *led > 0), "{led:?} of {worlds} worlds");
}

#[test]
fn two_would_lead_at_once_if_a_leader_led_longer_than_others_wait() {
    let bounds = Bounds {
        ticks: 3,
        writes: 3,
        timing: timing(1, 2),
    };
    assert_eq!(explore(bounds, 10).0, 2);
}

#[test]
fn three_never_lead_at_once_in_long_campaigns_by_chance() {
    let bounds = Bounds {
        ticks: u64::MAX,
        writes: u8::MAX,
        timing: timing(3, 2),
    };
    let mut changes = 0;
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World::new(3, bounds.timing);
        let mut last = None;
        for _ in 0..2_000 {
            let events = world.events(bounds);
            let event = events[random.usize(..events.len())];
            if let Some(next) = world.after(event, bounds) {
                world = next;
            }
            assert!(world.leaders() <= 1, "seed {seed}, after {event:?}");
            let leader = (0..3).find(|number| world.leads(*number));
            changes += usize::from(leader.is_some() && leader != last);
            last = leader.or(last);
        }
    }
    assert!(changes > 300, "hardly anybody led: {changes} changes");
}

//! Rules that few schedules come to.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::roster::{Member, Roster};
use super::super::rules::{Next, Rules, Seen};
use crate::election::{Moment, Timing};

const LEASE: Duration = Duration::from_secs(15);
const DEADLINE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_secs(2);

fn member(beat: u64, shards: impl IntoIterator<Item = usize>) -> Member {
    Member::new(
        beat,
        LEASE,
        "objects/4".to_owned(),
        BTreeSet::from_iter(shards),
    )
}

fn seen(version: u64, roster: Roster) -> Seen<u64> {
    Seen {
        version,
        era: Some("era".to_owned()),
        roster,
    }
}

/// Has a replica write what it wants, and returns the shards beside its name.
fn renew(rules: &mut Rules<u64>, version: u64, now: Moment) -> BTreeSet<usize> {
    match rules.next(now, &|_| false) {
        Next::Write(_, roster) => {
            let mine = roster["a"].shards.clone();
            rules.wins(seen(version, roster), now, now);
            mine
        }
        next => panic!("{next:?} instead of a write"),
    }
}

#[test]
fn after_its_deadline_a_replica_gives_nothing_away_for_as_long_as_others_would_have_waited() {
    let timing = Timing {
        lease: LEASE,
        renew_deadline: DEADLINE,
        retry: RETRY,
    };
    let mut rules = Rules::new("a".to_owned(), "objects/4".to_owned(), 4, timing, 0);
    let start = Duration::from_secs(100);
    rules.sees(None, start);
    assert_eq!(renew(&mut rules, 1, start).len(), 4);

    // Another replica comes while this one cannot renew: a reconcile may have sent a write just before the deadline.
    let late = start + DEADLINE + Duration::from_secs(1);
    assert_eq!(rules.holds_until(0, late), None);
    let both = [
        ("a".to_owned(), member(1, 0..4)),
        ("b".to_owned(), member(1, [])),
    ];
    rules.sees(Some(seen(2, both.into())), late);
    assert_eq!(renew(&mut rules, 3, late).len(), 4);
    let early = late + Duration::from_secs(3);
    assert_eq!(renew(&mut rules, 4, early).len(), 4);
    assert_eq!(renew(&mut rules, 5, start + LEASE).len(), 2);

    // A replica that has renewed in time waits for nothing.
    rules = Rules::new("a".to_owned(), "objects/4".to_owned(), 4, timing, 0);
    rules.sees(None, start);
    assert_eq!(renew(&mut rules, 1, start).len(), 4);
    let both = [
        ("a".to_owned(), member(1, 0..4)),
        ("b".to_owned(), member(1, [])),
    ];
    rules.sees(Some(seen(2, both.into())), start + RETRY);
    assert_eq!(renew(&mut rules, 3, start + RETRY).len(), 2);
}

//! A Deployment with another number of replicas: its sets keep their shares.

use super::super::super::client::{Failure, REPLICA_SETS};
use super::super::super::object::{flag, number, text};
use super::super::super::recorder::Kind;
use super::annotations::{DESIRED, MOST, annotation};
use super::replica_set::ReplicaSet;
use super::{Rollout, WHO};

/// Which set: the new one, or an old one by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    New,
    Old(usize),
}

impl Rollout<'_> {
    /// Whether the sets do not know yet how many replicas are wanted.
    pub(super) fn is_scaled(&self) -> bool {
        let wanted = self.wanted();
        self.sets().filter(|set| set.wanted() > 0).any(|set| {
            let known = annotation(&set.value, DESIRED).parse::<i64>();
            known.is_ok_and(|known| known != wanted)
        })
    }

    fn set(&self, which: Which) -> Option<&ReplicaSet> {
        match which {
            Which::New => self.new.as_ref(),
            Which::Old(at) => self.old.get(at),
        }
    }

    /// The sets that want pods.
    pub(super) fn active(&self) -> Vec<Which> {
        let mut active: Vec<Which> = (0..self.old.len())
            .map(Which::Old)
            .chain(self.new.is_some().then_some(Which::New))
            .collect();
        active.retain(|which| self.set(*which).is_some_and(|set| set.wanted() > 0));
        active
    }

    /// Gives one set another size; says whether it had another one.
    pub(super) async fn resize(&mut self, which: Which, size: i64) -> Result<bool, Failure> {
        let wanted = self.wanted();
        let (cx, posts) = (self.cx, self.posts);
        let set = match which {
            Which::New => self.new.as_mut(),
            Which::Old(at) => self.old.get_mut(at),
        };
        let Some(set) = set else {
            return Ok(false);
        };
        let had = set.wanted();
        let mut changed = set.value.clone();
        changed["spec"]["replicas"] = size.into();
        posts.annotate(&mut changed, wanted);
        if changed == set.value {
            return Ok(false);
        }
        set.write(cx, WHO, changed).await?;
        if had == size {
            return Ok(false);
        }
        let way = if had < size { "up" } else { "down" };
        let name = set.name();
        let message = format!("Scaled {way} replica set {name} from {had} to {size}");
        self.tell(Kind::Normal, "ScalingReplicaSet", &message).await;
        Ok(true)
    }

    /// Brings the sets to the wanted number of replicas, in proportion to what they have.
    pub(super) async fn scale(&mut self) -> Result<(), Failure> {
        let wanted = self.wanted();
        let active = self.active();
        let only = match (active.as_slice(), &self.new) {
            ([which], _) => Some(*which),
            ([], Some(_)) => Some(Which::New),
            // The youngest of the old ones.
            ([], None) => self.old.len().checked_sub(1).map(Which::Old),
            _ => None,
        };
        if let Some(which) = only {
            if self.set(which).is_some_and(|set| set.wanted() != wanted) {
                self.resize(which, wanted).await?;
            }
            return Ok(());
        }
        if self.is_saturated() {
            for which in active {
                if which != Which::New {
                    self.resize(which, 0).await?;
                }
            }
            return Ok(());
        }
        if !self.posts.rolls() {
            return Ok(());
        }
        for (which, size) in self.shares(active) {
            self.resize(which, size).await?;
        }
        Ok(())
    }

    /// Whether the new set has all pods that are wanted.
    fn is_saturated(&self) -> bool {
        let wanted = self.wanted();
        self.new.as_ref().is_some_and(|set| {
            let known = annotation(&set.value, DESIRED).parse::<i64>();
            set.wanted() == wanted && known == Ok(wanted) && set.available() == wanted
        })
    }

    /// What each set gets of what is to be added or taken; the first one gets what is left.
    fn shares(&self, mut active: Vec<Which>) -> Vec<(Which, i64)> {
        let wanted = self.wanted();
        let most = if wanted > 0 {
            wanted + self.posts.surge
        } else {
            0
        };
        let total: i64 = active
            .iter()
            .filter_map(|which| self.set(*which))
            .map(ReplicaSet::wanted)
            .sum();
        let change = most - total;
        active.sort_by_key(|which| {
            let size = self.set(*which).map_or(0, ReplicaSet::wanted);
            let age = match which {
                Which::New => usize::MAX,
                Which::Old(at) => *at,
            };
            // The larger first; of two equals the newer grows and the older shrinks.
            let age = if change > 0 { usize::MAX - age } else { age };
            (-size, age)
        });
        let mut given = 0;
        let mut shares: Vec<(Which, i64)> = active
            .into_iter()
            .filter_map(|which| {
                let set = self.set(which)?;
                let share = self.share(set, change, given);
                given += share;
                Some((which, set.wanted() + share))
            })
            .collect();
        if let Some((_, first)) = shares.first_mut() {
            *first = (*first + change - given).max(0);
        }
        shares
    }

    fn share(&self, set: &ReplicaSet, change: i64, given: i64) -> i64 {
        if set.wanted() == 0 || change == 0 || change == given {
            return 0;
        }
        let wanted = self.wanted();
        if wanted == 0 {
            return (-set.wanted()).max(change - given);
        }
        let before = annotation(&set.value, MOST).parse().unwrap_or_default();
        let before = if before == 0 {
            number(&self.deployment, "/status/replicas")
        } else {
            before
        };
        if before == 0 {
            return 0;
        }
        let size = rounded(set.wanted() * (wanted + self.posts.surge), before) - set.wanted();
        if change > 0 {
            size.min(change - given)
        } else {
            size.max(change - given)
        }
    }

    /// Deletes old sets that no history limit keeps.
    pub(super) async fn clean_up(&mut self) -> Result<(), Failure> {
        let limit = &self.deployment["spec"]["revisionHistoryLimit"];
        let Some(limit) = limit.as_u64().and_then(|limit| usize::try_from(limit).ok()) else {
            return Ok(());
        };
        let mut old: Vec<&ReplicaSet> = self
            .old
            .iter()
            .filter(|set| set.value["metadata"]["deletionTimestamp"].is_null())
            .collect();
        old.sort_by_key(|set| set.revision());
        let surplus = old.len().saturating_sub(limit);
        for set in old.into_iter().take(surplus) {
            let observed = number(&set.value, "/status/observedGeneration");
            let settled = number(&set.value, "/metadata/generation") <= observed;
            if set.replicas() != 0 || set.wanted() != 0 || !settled {
                continue;
            }
            let path = REPLICA_SETS.path(self.namespace(), set.name());
            let options = serde_json::json!({
                "preconditions": {"uid": text(&set.value, "/metadata/uid")},
            });
            self.cx.client.delete(WHO, &path, &options).await?;
        }
        Ok(())
    }

    pub(super) fn is_paused(&self) -> bool {
        flag(&self.deployment, "/spec/paused")
    }
}

/// A quotient, rounded to the nearest whole number.
fn rounded(dividend: i64, divisor: i64) -> i64 {
    (dividend + divisor / 2) / divisor
}

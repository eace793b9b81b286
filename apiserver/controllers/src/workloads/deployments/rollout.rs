//! From the old sets to the new one: step by step, or all at once.

use super::super::super::client::Failure;
use super::super::super::object::text;
use super::Rollout;
use super::replica_set::ReplicaSet;
use super::scale::Which;

impl Rollout<'_> {
    /// Lets the new set grow and the old ones shrink, within what may be too many and too few.
    pub(super) async fn roll(&mut self) -> Result<(), Failure> {
        self.make_new().await?;
        let wanted = self.wanted();
        let own = self.new.as_ref().map_or(0, ReplicaSet::wanted);
        let size = if own > wanted {
            wanted
        } else {
            self.posts.new_replicas(wanted, own, self.total())
        };
        if size != own && self.resize(Which::New, size).await? {
            return Ok(());
        }
        if self.shrink_old().await? {
            return Ok(());
        }
        if self.is_complete() {
            self.clean_up().await?;
        }
        Ok(())
    }

    /// Takes pods from the old sets: first those that are of no use, then as many as may be missing.
    async fn shrink_old(&mut self) -> Result<bool, Failure> {
        let old: i64 = self.old.iter().map(ReplicaSet::wanted).sum();
        if old == 0 {
            return Ok(false);
        }
        let least = self.wanted() - self.posts.unavailable;
        let missing = self
            .new
            .as_ref()
            .map_or(0, |set| set.wanted() - set.available());
        let most = self.total() - least - missing;
        if most <= 0 {
            return Ok(false);
        }
        let mut taken = 0;
        for at in 0..self.old.len() {
            let set = &self.old[at];
            let useless = (set.wanted() - set.available()).min(most - taken);
            if useless > 0 {
                let size = set.wanted() - useless;
                self.resize(Which::Old(at), size).await?;
                taken += useless;
            }
        }
        let available: i64 = self.sets().map(ReplicaSet::available).sum();
        let mut left = available - least;
        for at in 0..self.old.len() {
            let had = self.old[at].wanted();
            let surplus = had.min(left);
            if surplus > 0 {
                self.resize(Which::Old(at), had - surplus).await?;
                left -= surplus;
                taken += surplus;
            }
        }
        Ok(taken > 0)
    }

    /// Ends all old pods before it makes new ones.
    pub(super) async fn recreate(&mut self) -> Result<(), Failure> {
        self.adopt_revision().await?;
        let mut shrunk = false;
        for at in 0..self.old.len() {
            if self.old[at].wanted() > 0 {
                shrunk |= self.resize(Which::Old(at), 0).await?;
            }
        }
        if shrunk || self.has_old_pods() {
            return Ok(());
        }
        if self.new.is_none() {
            self.make_new().await?;
        }
        let wanted = self.wanted();
        if self.new.as_ref().is_some_and(|set| set.wanted() != wanted) {
            self.resize(Which::New, wanted).await?;
        }
        if self.is_complete() {
            self.clean_up().await?;
        }
        Ok(())
    }

    fn has_old_pods(&self) -> bool {
        self.cx.look(|graph| {
            self.old.iter().any(|set| {
                let pods = graph.controlled(text(&set.value, "/metadata/uid"), "pods");
                pods.iter().any(|pod| !pod.has_finished())
            })
        })
    }
}

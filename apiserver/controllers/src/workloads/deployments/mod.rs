//! Deployments: a ReplicaSet for each template, and the way from the old ones to the new one.

mod annotations;
mod fenceposts;
mod replica_set;
mod rollout;
mod scale;
mod status;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::super::client::{DEPLOYMENTS, Failure, REPLICA_SETS, Who};
use super::super::graph::{Change, Graph};
use super::super::object::{Item, controlled_by, flag, map, number, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Controller, Key, Keys, Outcome};
use super::hash::template_hash;
use super::status::{condition, set_condition};
use super::{claims, replica_sets};
use annotations::{HASH_LABEL, set_annotation};
use fenceposts::Fenceposts;
pub(crate) use fenceposts::share;
use replica_set::{REVISION, ReplicaSet};

/// The Deployment controller.
#[derive(Debug)]
pub(crate) struct Deployments;

const TABLE: &str = "deployments.apps";
const NAME: &str = "deployment-controller";
const WHO: Who<'static> = Who::Controller(NAME);

/// A Deployment with what it manages, as one reconcile sees and changes it.
#[derive(Debug)]
struct Rollout<'a> {
    cx: &'a Context,
    /// The object; its status and annotations are changed here, and written at the end.
    deployment: Value,
    /// As it was read.
    before: Value,
    posts: Fenceposts,
    /// The set of the present template.
    new: Option<ReplicaSet>,
    old: Vec<ReplicaSet>,
}

impl Controller for Deployments {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE) {
            change.after.iter().for_each(|item| keys.add(item));
        } else if change.is_in(replica_sets::TABLE) {
            for set in [&change.before, &change.after].into_iter().flatten() {
                keys.add_controller_of(set, graph, TABLE);
            }
            if let Some(set) = &change.after
                && set.controller().is_none()
            {
                for item in graph.list(TABLE, set.namespace()) {
                    keys.add(&item);
                }
            }
        } else if change.is_in("pods")
            && change.after.as_ref().is_none_or(|pod| pod.has_finished())
            && let Some(pod) = &change.before
            && let Some(set) = pod.controller().and_then(|set| graph.by_uid(&set.uid))
        {
            // One that recreates its pods waits for the end of the old ones.
            keys.add_controller_of(&set, graph, TABLE);
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(item) => reconcile(cx, &item).await,
                None => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

async fn reconcile(cx: &Context, item: &Item) -> Outcome {
    let deployment = item.object.value();
    let table = (&REPLICA_SETS, replica_sets::TABLE);
    let sets = claims::claim(cx, WHO, &deployment, table, |_| true).await?;
    let mut sets: Vec<ReplicaSet> = sets.iter().map(|item| ReplicaSet::of(item)).collect();
    sets.sort_by(ReplicaSet::by_age);
    let template = &deployment["spec"]["template"];
    let new = sets
        .iter()
        .position(|set| set.is_of(template))
        .map(|at| sets.remove(at));
    let mut rollout = Rollout {
        cx,
        posts: Fenceposts::of(&deployment),
        before: deployment.clone(),
        deployment,
        new,
        old: sets,
    };
    if item.is_deleting() {
        rollout.adopt_revision().await?;
        return rollout.write_status(false).await;
    }
    rollout.note_pause();
    let outcome = if flag(&rollout.deployment, "/spec/paused") || rollout.is_scaled() {
        rollout.adopt_revision().await?;
        let outcome = rollout.scale().await;
        if outcome.is_ok() && flag(&rollout.deployment, "/spec/paused") {
            rollout.clean_up().await?;
        }
        outcome.map(|()| false)
    } else if text(&rollout.deployment, "/spec/strategy/type") == "Recreate" {
        rollout.recreate().await.map(|()| true)
    } else {
        rollout.roll().await.map(|()| true)
    };
    // The status reports the error, so it is written before the error is returned.
    let progress = *outcome.as_ref().unwrap_or(&true);
    let written = rollout.write_status(progress).await;
    outcome?;
    written
}

impl Rollout<'_> {
    fn wanted(&self) -> i64 {
        number(&self.deployment, "/spec/replicas")
    }

    fn name(&self) -> &str {
        text(&self.deployment, "/metadata/name")
    }

    fn namespace(&self) -> &str {
        text(&self.deployment, "/metadata/namespace")
    }

    fn has_deadline(&self) -> bool {
        let deadline = &self.deployment["spec"]["progressDeadlineSeconds"];
        deadline
            .as_i64()
            .is_some_and(|deadline| deadline != i64::from(i32::MAX))
    }

    fn status(&mut self) -> &mut Map<String, Value> {
        let status = &mut self.deployment["status"];
        if !status.is_object() {
            *status = json!({});
        }
        status.as_object_mut().expect("it was just made an object")
    }

    fn progress(&mut self, is: &str, reason: &str, message: &str) {
        let clock = &self.cx.clock;
        set_condition(clock, self.status(), "Progressing", (is, reason, message));
    }

    /// All sets, the new one last.
    fn sets(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    /// A rollout that pauses or goes on is not late.
    fn note_pause(&mut self) {
        if !self.has_deadline() {
            return;
        }
        let current = condition(self.status(), "Progressing");
        let reason = current.map_or("", |current| text(current, "/reason"));
        let noted = reason == "DeploymentPaused";
        if reason == "ProgressDeadlineExceeded" {
            return;
        }
        match flag(&self.deployment, "/spec/paused") {
            true if !noted => {
                self.progress("Unknown", "DeploymentPaused", "Deployment is paused");
            }
            false if noted => {
                self.progress("Unknown", "DeploymentResumed", "Deployment is resumed");
            }
            _ => {}
        }
    }

    /// Gives the new set the highest revision, and the Deployment the revision of the new set.
    async fn adopt_revision(&mut self) -> Result<(), Failure> {
        let highest = self.old.iter().map(ReplicaSet::revision).max();
        let revision = highest.unwrap_or_default() + 1;
        let Some(set) = &mut self.new else {
            return Ok(());
        };
        let mut changed = set.value.clone();
        replica_set::annotate(&mut changed, &self.deployment, revision);
        changed["spec"]["minReadySeconds"] = self.deployment["spec"]["minReadySeconds"].take();
        self.deployment["spec"]["minReadySeconds"] = changed["spec"]["minReadySeconds"].clone();
        if changed["spec"]["minReadySeconds"].is_null() {
            replica_set::forget(&mut changed["spec"], "minReadySeconds");
        }
        if changed != set.value {
            set.write(self.cx, WHO, changed).await?;
        }
        let revision = set.revision();
        let found = format!("Found new replica set \"{}\"", set.name());
        set_annotation(&mut self.deployment, REVISION, &revision.to_string());
        if self.has_deadline() && condition(self.status(), "Progressing").is_none() {
            self.progress("True", "FoundNewReplicaSet", &found);
        }
        Ok(())
    }

    /// Makes the set of the present template, if there is none.
    async fn make_new(&mut self) -> Result<(), Failure> {
        const LONGEST: usize = 253;
        if self.new.is_some() {
            return self.adopt_revision().await;
        }
        let collisions = number(&self.deployment, "/status/collisionCount");
        let template = &self.deployment["spec"]["template"];
        let hash = template_hash(template, collisions);
        let highest = self.old.iter().map(ReplicaSet::revision).max();
        let revision = highest.unwrap_or_default() + 1;
        let mut labels = map(template, "/metadata/labels");
        labels.insert(HASH_LABEL.to_owned(), hash.as_str().into());
        let mut template = template.clone();
        template["metadata"]["labels"] = Value::Object(labels.clone());
        let mut selector = self.deployment["spec"]["selector"].clone();
        selector["matchLabels"][HASH_LABEL] = hash.as_str().into();
        let replicas = self.posts.new_replicas(self.wanted(), 0, self.total());
        let mut name = self.name().to_owned();
        name.truncate(LONGEST - 1 - hash.len());
        let name = format!("{name}-{hash}");
        let mut set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": self.namespace(),
                "labels": labels,
                "ownerReferences": [controlled_by(&self.deployment)],
            },
            "spec": {
                "replicas": replicas,
                "minReadySeconds": number(&self.deployment, "/spec/minReadySeconds"),
                "selector": selector,
                "template": template,
            },
        });
        replica_set::annotate(&mut set, &self.deployment, revision);
        self.posts.annotate(&mut set, self.wanted());
        let namespace = self.namespace().to_owned();
        let client = &self.cx.client;
        match client.create(WHO, &REPLICA_SETS, &namespace, &set).await {
            Ok(made) => self.new = Some(ReplicaSet::new(made)),
            Err(failure) if failure.already_exists() => {
                return self.collide(&name, collisions, failure);
            }
            Err(failure) if failure.is_for_terminating_namespace() => return Err(failure),
            Err(failure) => {
                let message = format!("Failed to create new replica set \"{name}\": {failure}");
                let reason = "ReplicaSetCreateError";
                if self.has_deadline() {
                    self.progress("False", reason, &message);
                }
                self.tell(Kind::Warning, reason, &message).await;
                return Err(failure);
            }
        }
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.tell(Kind::Normal, "ScalingReplicaSet", &message).await;
        }
        set_annotation(&mut self.deployment, REVISION, &revision.to_string());
        if self.has_deadline() {
            let message = format!("Created new replica set \"{name}\"");
            self.progress("True", "NewReplicaSetCreated", &message);
        }
        Ok(())
    }

    /// Another set has the name: the next try has another hash.
    fn collide(&mut self, name: &str, collisions: i64, failure: Failure) -> Result<(), Failure> {
        let path = format!("{}/{name}", self.namespace());
        let there = self.cx.look(|graph| graph.get(replica_sets::TABLE, &path));
        let uid = text(&self.deployment, "/metadata/uid");
        let ours = there.filter(|item| item.is_controlled_by(uid));
        let ours = ours.map(|item| ReplicaSet::of(&item));
        let ours = ours.filter(|set| set.is_of(&self.deployment["spec"]["template"]));
        if ours.is_some() {
            self.new = ours;
            return Ok(());
        }
        self.status()
            .insert("collisionCount".to_owned(), (collisions + 1).into());
        Err(failure)
    }

    async fn tell(&self, kind: Kind, reason: &str, message: &str) {
        self.cx
            .tell(NAME, &self.deployment, kind, reason, message)
            .await;
    }

    /// Writes status and annotations, if they are not what they were.
    async fn write_status(&mut self, progress: bool) -> Outcome {
        let next = self.settle_status(progress);
        if self.deployment != self.before {
            self.cx
                .client
                .update_status(WHO, &DEPLOYMENTS, &self.deployment)
                .await?;
        }
        Ok(next)
    }

    /// The sum of what the sets want.
    fn total(&self) -> i64 {
        self.sets().map(ReplicaSet::wanted).sum()
    }
}

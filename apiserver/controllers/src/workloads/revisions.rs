//! The templates that a workload had, kept as ControllerRevisions, which `kubectl rollout history` and `undo` read.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::client::{CONTROLLER_REVISIONS, Failure, Who};
use super::super::object::{Item, controlled_by, map, number, text};
use super::super::work::Context;
use super::claims;
use super::hash::revision_hash;

/// The revisions of one workload, the present one among them.
#[derive(Debug)]
pub(super) struct Revisions {
    /// By number, the oldest first.
    all: Vec<Value>,
    /// The one of the present template.
    pub(super) update: Value,
    pub(super) collisions: i64,
}

pub(super) const TABLE: &str = "controllerrevisions.apps";

/// The label of a revision that has its hash: StatefulSets and DaemonSets do not agree on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashLabel(pub(super) &'static str);

impl Revisions {
    /// Finds the revision of the present template, or makes it, as the newest one.
    pub(super) async fn of(
        cx: &Context,
        who: Who<'_>,
        owner: &Value,
        label: HashLabel,
    ) -> Result<Self, Failure> {
        let table = (&CONTROLLER_REVISIONS, TABLE);
        let items = claims::claim(cx, who, owner, table, |_| true).await?;
        let mut all: Vec<Value> = items.iter().map(|item| item.object.value()).collect();
        all.sort_by_key(|revision| {
            let made = text(revision, "/metadata/creationTimestamp").to_owned();
            (number(revision, "/revision"), made)
        });
        let mut collisions = number(owner, "/status/collisionCount");
        let data = data(owner);
        let newest = all
            .last()
            .map_or(0, |revision| number(revision, "/revision"));
        let same = all.iter().rposition(|revision| revision["data"] == data);
        let update = match same {
            Some(at) if at + 1 == all.len() => all[at].clone(),
            Some(at) => {
                let mut again = all.remove(at);
                again["revision"] = (newest + 1).into();
                let again = cx.client.update(who, &CONTROLLER_REVISIONS, &again).await?;
                all.push(again.clone());
                again
            }
            None => {
                let made = create(cx, who, owner, label, newest + 1, &mut collisions).await?;
                all.push(made.clone());
                made
            }
        };
        Ok(Self {
            all,
            update,
            collisions,
        })
    }

    /// The revision of this name.
    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        let mut all = self.all.iter();
        all.find(|revision| text(revision, "/metadata/name") == name)
    }

    /// Deletes revisions that no history limit keeps and that are not in use.
    pub(super) async fn truncate(
        &self,
        cx: &Context,
        who: Who<'_>,
        owner: &Value,
        in_use: impl Fn(&Value) -> bool,
    ) -> Result<(), Failure> {
        let limit = owner["spec"]["revisionHistoryLimit"].as_u64();
        let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
            return Ok(());
        };
        let unused: Vec<&Value> = self
            .all
            .iter()
            .filter(|revision| **revision != self.update && !in_use(revision))
            .collect();
        let surplus = unused.len().saturating_sub(limit);
        for revision in unused.into_iter().take(surplus) {
            let [namespace, name] =
                ["/metadata/namespace", "/metadata/name"].map(|at| text(revision, at));
            let path = CONTROLLER_REVISIONS.path(namespace, name);
            let uid = &revision["metadata"]["uid"];
            let options = json!({"preconditions": {"uid": uid}});
            cx.client.delete(who, &path, &options).await?;
        }
        Ok(())
    }
}

/// The template of a revision.
pub(super) fn template(revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Value::Object(members) = &mut template {
        members.remove("$patch");
    }
    template
}

/// What a revision keeps: a patch that puts the template back.
fn data(owner: &Value) -> Value {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

async fn create(
    cx: &Context,
    who: Who<'_>,
    owner: &Value,
    label: HashLabel,
    number: i64,
    collisions: &mut i64,
) -> Result<Value, Failure> {
    const LONGEST: usize = 223;
    let data = data(owner);
    let namespace = text(owner, "/metadata/namespace");
    let mut prefix = text(owner, "/metadata/name").to_owned();
    prefix.truncate(LONGEST);
    loop {
        let hash = revision_hash(&data, *collisions);
        let name = format!("{prefix}-{hash}");
        let mut labels = map(owner, "/spec/template/metadata/labels");
        labels.insert(label.0.to_owned(), hash.into());
        let revision = json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "annotations": map(owner, "/metadata/annotations"),
                "ownerReferences": [controlled_by(owner)],
            },
            "data": data,
            "revision": number,
        });
        let made = cx
            .client
            .create(who, &CONTROLLER_REVISIONS, namespace, &revision)
            .await;
        match made {
            Err(failure) if failure.already_exists() => {
                let path = format!("{namespace}/{name}");
                let there: Option<Arc<Item>> = cx.look(|graph| graph.get(TABLE, &path));
                match there.map(|item| item.object.value()) {
                    Some(there) if there["data"] == data => return Ok(there),
                    Some(_) => *collisions += 1,
                    None => return Err(failure),
                }
            }
            made => return made,
        }
    }
}

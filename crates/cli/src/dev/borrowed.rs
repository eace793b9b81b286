//! What `dev` changes in a cluster, and only for as long as it runs: each object becomes what the program says, and in the end
//! what it was.

use anyhow::Context as _;
use kube::{Client, Error};
use serde_json::{Value, json};

use super::place::Place;
use crate::current::{Cluster, called};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// The objects that are changed for a while.
pub(crate) struct Borrowed {
    client: Client,
    entries: Vec<Entry>,
}

/// An object, and what it was.
#[derive(Clone, Debug)]
struct Entry {
    /// Its kind and its name.
    object: Value,
    before: Option<Value>,
}

/// What to say of an object that is as it was, or as near as may be.
type Said = String;

impl Borrowed {
    /// Nothing yet, of the cluster of a client.
    pub(crate) fn of(client: Client) -> Self {
        Self {
            client,
            entries: Vec::new(),
        }
    }

    /// Makes an object what it is to be, having kept what it was.
    pub(crate) async fn take(&mut self, object: &Value) -> Outcome {
        self.take_as(object, over).await
    }

    /// The same for a definition that does not say how its versions become each other: that is left as it is.
    pub(crate) async fn take_but_conversion(&mut self, definition: &Value) -> Outcome {
        let over = |live: &Value, object: &Value| {
            let mut object = over(live, object);
            if live["spec"]["conversion"]["strategy"] == "Webhook" {
                object["spec"]["conversion"] = live["spec"]["conversion"].clone();
            }
            object
        };
        self.take_as(definition, over).await
    }

    async fn take_as(&mut self, object: &Value, over: impl Fn(&Value, &Value) -> Value) -> Outcome {
        let place = Place::of(&self.client, object).await?;
        for _ in 0..ATTEMPTS {
            let live = place.object().await?;
            if !self.entries.iter().any(|entry| is_of(entry, object)) {
                self.entries.push(Entry {
                    object: identity(object),
                    before: live.clone(),
                });
            }
            let put = match &live {
                None => place.create(object).await,
                Some(live) => place.replace(&over(live, object)).await.map(drop),
            };
            match put {
                Ok(()) => return Ok(()),
                // Somebody was faster, such as one who looks after `caBundle`.
                Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
                Err(error) => {
                    let what = format!("the API server refused the {}", called(object));
                    return Err(anyhow::Error::from(error).context(what).into());
                }
            }
        }
        Err(Failure::new(format!(
            "the {} is changed by somebody else all the time",
            called(object)
        )))
    }

    /// Makes what is not among these objects again what it was, the last first.
    pub(crate) async fn keep_only(&mut self, ui: &Ui, objects: &[Value]) -> Outcome {
        let is_kept = |entry: &Entry| objects.iter().any(|object| is_of(entry, object));
        self.give_back(ui, |entry| !is_kept(entry)).await
    }

    async fn give_back(&mut self, ui: &Ui, which: impl Fn(&Entry) -> bool) -> Outcome {
        let entries: Vec<Entry> = self
            .entries
            .iter()
            .rev()
            .filter(|e| which(e))
            .cloned()
            .collect();
        let mut failures = Vec::new();
        for entry in entries {
            match give_back(&self.client, &entry).await {
                Ok(said) => {
                    ui.note(said);
                    self.entries.retain(|known| known.object != entry.object);
                }
                Err(failure) => failures.push(failure),
            }
        }
        failures.into_iter().next().map_or(Ok(()), Err)
    }
}

async fn give_back(client: &Client, entry: &Entry) -> Outcome<Said> {
    let called = called(&entry.object);
    let describe = || format!("cannot make the {called} what it was");
    let place = Place::of(client, &entry.object).await?;
    for _ in 0..ATTEMPTS {
        let Some(live) = place.object().await? else {
            return Ok(format!("the {called} is gone already"));
        };
        let Some(before) = &entry.before else {
            return remove(client, &place, &live).await;
        };
        match place.replace(&over(&live, before)).await {
            Ok(_) => return Ok(format!("the {called} is what it was")),
            Err(Error::Api(status)) if status.is_conflict() => {}
            Err(error) => Err(error).with_context(describe)?,
        }
    }
    Err(Failure::new(describe()))
}

/// Removes what was not there before, unless data would go with it.
async fn remove(client: &Client, place: &Place, live: &Value) -> Outcome<Said> {
    let called = called(live);
    if live["kind"] == "CustomResourceDefinition" {
        let count = Cluster::of(client.clone()).count(live).await?;
        if count > 0 {
            return Ok(format!(
                "the {called} stays: there are {count} objects of it, which would go with it"
            ));
        }
    }
    match place.delete().await? {
        None => Ok(format!("the {called} is removed")),
        Some(why) => Err(Failure::new(format!("cannot remove the {called}: {why}"))),
    }
}

/// An object in the place of a live one: of that, what is not its maker's stays.
fn over(live: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["resourceVersion", "uid", "finalizers", "ownerReferences"] {
        object["metadata"][field] = live["metadata"][field].clone();
    }
    object
}

fn identity(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    })
}

fn is_of(entry: &Entry, object: &Value) -> bool {
    entry.object == identity(object)
}

/// How often somebody else may be faster.
const ATTEMPTS: usize = 5;

//! The objects that `dev` changes in a cluster while it runs: it applies what the program declares, and restores the objects at
//! the end.

use kube::{Client, Error};
use serde_json::{Value, json};

use super::place::{Place, is_written_here};
use super::record::{Entry, Process, Record};
use super::running;
use super::wait;
use crate::current::{Cluster, DEFINITION, called};
use crate::failure::{Failure, Outcome};
use crate::ownership::{Adopt, Installation, refusal};
use crate::ui::Ui;

/// The objects that are changed for a while.
pub(crate) struct Borrowed {
    client: Client,
    record: Record,
    /// None on a cluster that ends with the command.
    borrower: Option<Borrower>,
}

/// The process that borrows objects of a given cluster.
#[derive(Debug)]
pub(crate) struct Borrower {
    /// The value of an annotation of borrowed objects, which other processes read.
    pub(crate) mark: String,
    /// The objects of other owners that may be borrowed.
    pub(crate) adopt: Adopt,
    /// Known once the program is built.
    pub(crate) installation: Option<Installation>,
}

/// The outcome for an object, as a message for the user.
type Said = String;

impl Borrowed {
    /// For a cluster that ends with the command: no file records its objects.
    pub(crate) fn of(client: Client) -> Self {
        Self {
            client,
            record: Record::default(),
            borrower: None,
        }
    }

    /// For a given cluster, which stays.
    pub(crate) fn with(client: Client, record: Record, borrower: Borrower) -> Self {
        Self {
            client,
            record,
            borrower: Some(borrower),
        }
    }

    /// Says which installation the objects belong to.
    pub(crate) fn belong_to(&mut self, installation: Installation) {
        if let Some(borrower) = &mut self.borrower {
            borrower.installation = Some(installation);
        }
    }

    /// Fails if objects belong to other owners and may not be borrowed.
    pub(crate) async fn check(&self, objects: &[Value]) -> Outcome {
        let mut foreign = Vec::new();
        for object in objects {
            let named = object["metadata"]["name"].is_string();
            if self.borrower.is_none() || !named || self.record.has(object) {
                continue;
            }
            // An object whose kind the cluster does not know does not exist.
            let live = Cluster::of(self.client.clone()).find(object).await?;
            if let Some(live) = live.filter(|live| self.is_foreign(live)) {
                foreign.push(live);
            }
        }
        if foreign.is_empty() {
            Ok(())
        } else {
            Err(refusal(&foreign))
        }
    }

    fn is_foreign(&self, live: &Value) -> bool {
        let Some(borrower) = &self.borrower else {
            return false;
        };
        let installation = borrower.installation.as_ref();
        let is_own = installation.is_some_and(|installation| installation.owns(live));
        // The annotation of a borrower has its own check, with another remedy.
        let is_borrowed = live["metadata"]["annotations"][MARK].is_string();
        !is_own && !is_borrowed && !borrower.adopt.names(live)
    }

    /// Whether there is something to give back, or to end.
    pub(crate) fn is_empty(&self) -> bool {
        self.record.entries().is_empty() && self.record.program().is_none()
    }

    /// Records the running program, or that none runs.
    pub(crate) fn runs(&mut self, program: Option<Process>) -> Outcome {
        self.record.runs(program)
    }

    /// Finishes the cleanup of an earlier run that was killed.
    pub(crate) async fn make_up(&mut self, ui: &Ui) -> Outcome {
        // Some objects go only when their controller lets them.
        let given_back = self.give_back(ui).await;
        if let Some(program) = self.record.program() {
            if running::end_left_over(program).await {
                ui.note(format!(
                    "the program of that run, process {}, has ended",
                    program.id
                ));
            }
            self.record.runs(None)?;
        }
        given_back
    }

    /// Records the live state of an object, and writes the desired one.
    pub(crate) async fn take(&mut self, object: &Value) -> Outcome {
        self.take_as(object, over).await
    }

    /// Does the same for a definition without a conversion webhook, but keeps the live conversion webhook.
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

    /// Records the state of an object that another writer, such as a demo, will change.
    pub(crate) async fn keep(&mut self, object: &Value) -> Outcome {
        // An object with a generated name is recorded once the API server has created it.
        if object["metadata"]["name"].is_string() && !self.record.has(object) {
            let before = Place::of(&self.client, object).await?.object().await?;
            self.record.add(Entry::new(object, before, false))?;
        }
        Ok(())
    }

    /// Records that an object did not exist before.
    pub(crate) fn keep_made(&mut self, object: &Value) -> Outcome {
        if self.record.has(object) {
            return Ok(());
        }
        self.record.add(Entry::new(object, None, false))
    }

    async fn take_as(&mut self, object: &Value, over: impl Fn(&Value, &Value) -> Value) -> Outcome {
        let place = Place::of(&self.client, object).await?;
        let wanted = self.marked(object);
        for _ in 0..ATTEMPTS {
            let live = place.object().await?;
            if !self.record.has(object) {
                if let Some(live) = live.as_ref().filter(|live| self.is_foreign(live)) {
                    return Err(refusal(std::slice::from_ref(live)));
                }
                let before = self.before(live.clone())?;
                self.record.add(Entry::new(object, before, true))?;
            }
            let put = match &live {
                None => place.create(&wanted).await,
                Some(live) => place.replace(&over(live, &wanted)).await.map(drop),
            };
            match put {
                Ok(()) => return Ok(()),
                // Another client was faster, such as one that injects `caBundle`.
                Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
                Err(error) => {
                    let what = format!("the API server refused the {}", called(object));
                    return Err(anyhow::Error::from(error).context(what).into());
                }
            }
        }
        Err(Failure::new(format!(
            "the {} is changed by another client all the time",
            called(object)
        )))
    }

    fn marked(&self, object: &Value) -> Value {
        let Some(borrower) = &self.borrower else {
            return object.clone();
        };
        let mut object = match &borrower.installation {
            Some(installation) => installation.marked(object),
            None => object.clone(),
        };
        let annotations = &mut object["metadata"]["annotations"];
        if annotations.is_null() {
            *annotations = json!({});
        }
        annotations[MARK] = borrower.mark.as_str().into();
        object
    }

    /// The state to restore at the end: that of the live object, if no other `kubewright dev` borrows it.
    fn before(&self, live: Option<Value>) -> Outcome<Option<Value>> {
        let Some(live) = live else {
            return Ok(None);
        };
        let theirs = live["metadata"]["annotations"][MARK].as_str();
        let Some(theirs) = theirs.filter(|_| self.borrower.is_some()) else {
            return Ok(Some(live));
        };
        let called = called(&live);
        Err(Failure::new(format!(
            "the {called} is used by another `kubewright dev`: {theirs}"
        ))
        .hint("end that one; if it was killed, run `kubewright dev --restore` there")
        .hint(format!(
            "run `kubectl annotate {} {MARK}-` if there is nothing to put back",
            called.to_lowercase()
        )))
    }

    /// Restores the program's objects that are not among `objects`, the last first.
    pub(crate) async fn keep_only(&mut self, ui: &Ui, objects: &[Value]) -> Outcome {
        let is_kept = |entry: &Entry| objects.iter().any(|object| entry.is_of(object));
        self.give_back_if(ui, |entry| entry.is_of_program && !is_kept(entry))
            .await
    }

    /// Restores every object except definitions: from then on, the API server does not call the program.
    pub(crate) async fn give_back_calls(&mut self, ui: &Ui) -> Outcome {
        self.give_back_if(ui, |entry| entry.kind() != DEFINITION)
            .await
    }

    /// Restores every object.
    pub(crate) async fn give_back(&mut self, ui: &Ui) -> Outcome {
        self.give_back_if(ui, |_| true).await
    }

    async fn give_back_if(&mut self, ui: &Ui, which: impl Fn(&Entry) -> bool) -> Outcome {
        let entries = self.record.entries().iter().rev();
        let entries: Vec<Entry> = entries.filter(|entry| which(entry)).cloned().collect();
        let mut failed = None;
        for entry in entries {
            match self.give_back_one(&entry).await {
                Ok(said) => {
                    ui.note(said);
                    self.record.remove(&entry)?;
                }
                Err(failure) => failed = Some(failure),
            }
        }
        match (failed, self.record.file()) {
            (None, _) => Ok(()),
            (Some(failure), None) => Err(failure),
            (Some(failure), Some(file)) => Err(failure.hint(format!(
                "run `kubewright dev --restore` to try it once more; what it was is kept in {}",
                file.display()
            ))),
        }
    }

    async fn give_back_one(&self, entry: &Entry) -> Outcome<Said> {
        let called = called(&entry.object);
        let place = Place::of(&self.client, &entry.object).await?;
        for _ in 0..ATTEMPTS {
            let put = match (place.object().await?, &entry.before) {
                (None, Some(before)) if !entry.is_of_program => place.create(&anew(before)).await,
                (None, _) => return Ok(format!("the {called} is gone already")),
                // An earlier attempt was cut off before its last write, or before the first one.
                (Some(live), Some(before)) if is_restored(&live, before) => {
                    if live["metadata"]["managedFields"] == before["metadata"]["managedFields"] {
                        return Ok(format!("the {called} is what it was"));
                    }
                    place.replace(&over(&live, before)).await.map(drop)
                }
                (Some(live), _) if self.is_of_others(entry, &live) => {
                    return Ok(format!(
                        "the {called} was created again by another client, and is left as it is"
                    ));
                }
                (Some(live), None) => return self.remove(entry, &place, &live).await,
                (Some(live), Some(before)) => put_back(&place, &live, before).await,
            };
            match put {
                Ok(()) => return Ok(format!("the {called} is what it was")),
                Err(Error::Api(status)) if status.is_conflict() => {}
                Err(error) => {
                    let what = format!("cannot make the {called} what it was");
                    return Err(anyhow::Error::from(error).context(what).into());
                }
            }
        }
        Err(Failure::new(format!(
            "cannot restore the {called}: another client changes it all the time"
        )))
    }

    fn is_of_others(&self, entry: &Entry, live: &Value) -> bool {
        let mark = live["metadata"]["annotations"][MARK].as_str();
        let own = self
            .borrower
            .as_ref()
            .map(|borrower| borrower.mark.as_str());
        match (entry.is_of_program, &entry.before) {
            (true, _) => mark != own,
            // What a demo creates has no annotation that its program would see.
            (false, None) => !is_written_here(live),
            (false, Some(_)) => false,
        }
    }

    /// Deletes an object that did not exist before, unless data would be deleted with it.
    async fn remove(&self, entry: &Entry, place: &Place, live: &Value) -> Outcome<Said> {
        let called = called(live);
        let cluster = Cluster::of(self.client.clone());
        if entry.kind() == DEFINITION {
            let count = cluster.count(live).await?;
            if count > 0 {
                let unmarked = json!({"metadata": {"annotations": {MARK: null}}});
                if let Some(why) = place.patch(&unmarked).await? {
                    let what = format!("cannot remove the annotation {MARK} of the {called}");
                    return Err(Failure::new(format!("{what}: {why}")));
                }
                return Ok(format!(
                    "the {called} stays: there are {count} objects of it, which would go with it"
                ));
            }
        }
        // Another client, or a restore that was killed, may have deleted it since it was read.
        cluster.delete(live).await?;
        // Waits for the end of objects that may be created again under the same name.
        let is_awaited = !entry.is_of_program || entry.kind() == DEFINITION;
        if is_awaited && !wait::for_no(place).await? {
            return Ok(format!(
                "the {called} is deleted, and waits for its finalizers"
            ));
        }
        Ok(format!("the {called} is removed"))
    }
}

async fn put_back(place: &Place, live: &Value, before: &Value) -> Result<(), Error> {
    let stored = place.replace(&over(live, before)).await?;
    // A write makes its client the manager of each field that it changes. The second write changes no field, and so restores
    // `managedFields`, too.
    place.replace(&over(&stored, before)).await.map(drop)
}

/// Whether an object has its earlier state, except for the fields that every write changes.
fn is_restored(live: &Value, before: &Value) -> bool {
    let [live, before] = [live, before].map(|object| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for field in ["resourceVersion", "generation", "managedFields"] {
                metadata.remove(field);
            }
        }
        object
    });
    live == before
}

/// An object that replaces a live one, with the metadata of the live object that does not belong to its creator.
fn over(live: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["resourceVersion", "uid", "finalizers", "ownerReferences"] {
        object["metadata"][field] = live["metadata"][field].clone();
    }
    object
}

/// An object without the fields that the API server sets, so that it can be created.
fn anew(object: &Value) -> Value {
    let mut object = object.clone();
    for field in [
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "managedFields",
    ] {
        object["metadata"][field] = Value::Null;
    }
    object
}

/// The annotation that names the borrower of an object.
const MARK: &str = "kubewright.dev/dev";

/// Number of attempts to write an object that other clients change.
const ATTEMPTS: usize = 5;

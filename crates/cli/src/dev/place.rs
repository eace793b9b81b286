//! Objects whose kind is only known when they are read, from a demo or from what a program prints.

use anyhow::Context as _;
use kube::api::{
    DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    TypeMeta,
};
use kube::discovery::Scope;
use kube::{Api, Client, Error};
use serde_json::Value;

use crate::current::known_kind;
use crate::failure::Outcome;

/// Where an object is, or a whole kind.
pub(crate) struct Place {
    api: Api<DynamicObject>,
    name: Option<String>,
}

/// Why the API server refused a request, in its words.
pub(crate) type Refused = Option<String>;

impl Place {
    /// The place of an object that says its kind; without a name, that of every object of this kind in its namespace.
    pub(crate) async fn of(client: &Client, object: &Value) -> Outcome<Self> {
        let types: TypeMeta = serde_json::from_value(object.clone())
            .context("an object has no apiVersion and kind")?;
        let kind = GroupVersionKind::try_from(&types)?;
        let (resource, capabilities) = known_kind(client, &kind)
            .await?
            .with_context(|| format!("the API server does not know the kind {}", kind.kind))?;
        let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
        let api = match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
                Api::namespaced_with(client.clone(), &namespace, &resource)
            }
        };
        Ok(Self {
            api,
            name: text("name"),
        })
    }

    /// The objects that are there.
    pub(crate) async fn objects(&self) -> Outcome<Vec<Value>> {
        let found: Vec<DynamicObject> = if let Some(name) = &self.name {
            self.api.get_opt(name).await?.into_iter().collect()
        } else {
            let list = self.api.list(&ListParams::default()).await?;
            let types = TypeMeta {
                kind: list.types.kind.trim_end_matches("List").to_owned(),
                ..list.types
            };
            let typed = list.items.into_iter().map(|mut object| {
                // The objects of a list do not say what they are: the list does.
                object.types.get_or_insert_with(|| types.clone());
                object
            });
            typed.collect()
        };
        let values = found.iter().map(serde_json::to_value);
        Ok(values.collect::<Result<_, _>>()?)
    }

    /// The object, if there is one of this name.
    pub(crate) async fn object(&self) -> Outcome<Option<Value>> {
        let found = self.api.get_opt(self.name()).await?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Makes the object.
    pub(crate) async fn create(&self, object: &Value) -> Result<(), Error> {
        let object = typed(object)?;
        self.api.create(&params(), &object).await.map(drop)
    }

    /// Creates the object, or changes the one that has its name by a JSON merge patch.
    pub(crate) async fn apply(&self, object: &Value) -> Result<Value, Error> {
        let created = self.api.create(&params(), &typed(object)?).await;
        let stored = match (created, &self.name) {
            (Err(Error::Api(status)), Some(name)) if status.is_already_exists() => {
                let patch = Patch::Merge(object);
                self.api.patch(name, &patch_params(), &patch).await
            }
            (created, _) => created,
        };
        serde_json::to_value(stored?).map_err(Error::SerdeError)
    }

    /// Puts another object in the place of the one that is there, of which it names the version.
    pub(crate) async fn replace(&self, object: &Value) -> Result<Value, Error> {
        let object = typed(object)?;
        let stored = self.api.replace(self.name(), &params(), &object).await?;
        serde_json::to_value(stored).map_err(Error::SerdeError)
    }

    /// Changes the object by a JSON merge patch.
    pub(crate) async fn patch(&self, patch: &Value) -> Outcome<Refused> {
        let patch = Patch::Merge(patch);
        refused(self.api.patch(self.name(), &patch_params(), &patch).await)
    }

    /// Deletes the object.
    pub(crate) async fn delete(&self) -> Outcome<Refused> {
        let parameters = DeleteParams::default();
        refused(self.api.delete(self.name(), &parameters).await)
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

fn typed(object: &Value) -> Result<DynamicObject, Error> {
    serde_json::from_value(object.clone()).map_err(Error::SerdeError)
}

fn params() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    }
}

fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Whether `dev` has written an object.
pub(crate) fn is_written_here(object: &Value) -> bool {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    entries.any(|entry| entry["manager"] == MANAGER)
}

/// The field manager of `dev`.
const MANAGER: &str = "kubewright-dev";

fn refused<T>(answer: Result<T, Error>) -> Outcome<Refused> {
    match answer {
        Ok(_) => Ok(None),
        Err(Error::Api(status)) => Ok(Some(status.message)),
        Err(error) => Err(error.into()),
    }
}

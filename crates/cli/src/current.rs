//! The cluster of the current context, and putting objects there and taking them away.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch,
    PatchParams, Preconditions, TypeMeta, ValidationDirective,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::{Client, Config, Error};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::files::{Readers, write};
use crate::ui::Ui;

/// Which cluster is meant.
#[derive(Debug, Args)]
pub(crate) struct ClusterFlags {
    /// The context of the kubeconfig; the current one unless given
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A cluster that commands change.
pub(crate) struct Cluster {
    client: Client,
    /// Where objects go that name no namespace.
    namespace: String,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    Created,
    Changed,
    Unchanged,
    Deleted,
    Absent,
    /// It belonged to another owner until now.
    Adopted,
    /// It belongs to another owner.
    Left,
}

impl Became {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::Absent => "was not there",
            Self::Adopted => "adopted",
            Self::Left => "left as it is",
        }
    }
}

impl ClusterFlags {
    /// Whether a context is named, and the current one is not meant.
    pub(crate) fn is_given(&self) -> bool {
        self.context.is_some()
    }

    /// Prints the cluster of a child process. If a context is named, writes a kubeconfig for it into `folder`, and returns its path.
    pub(crate) async fn kubeconfig(&self, ui: &Ui, folder: &Path) -> Outcome<Option<PathBuf>> {
        let Some(context) = &self.context else {
            // A missing cluster is no error here: the process may not need one.
            if let Ok(config) = Config::infer().await {
                ui.note(format!("the cluster is {}", config.cluster_url));
            }
            return Ok(None);
        };
        let (config, kubeconfig) = named(context).await.map_err(unknown)?;
        ui.note(format!("the cluster is {}", config.cluster_url));
        let file = folder.join("kubeconfig");
        let text = serde_json::to_string(&kubeconfig)?;
        write(&file, &text, Readers::Owner)?;
        Ok(Some(file))
    }

    /// Connects to the cluster, and prints its address.
    pub(crate) async fn connect(&self, ui: &Ui) -> Outcome<Cluster> {
        let config = match &self.context {
            None => Config::infer().await.map_err(anyhow::Error::from),
            Some(context) => named(context).await.map(|(config, _)| config),
        };
        let config = config.map_err(unknown)?;
        ui.note(format!("the cluster is {}", config.cluster_url));
        let namespace = config.default_namespace.clone();
        let client = Client::try_from(config).context("cannot make a client for the cluster")?;
        Ok(Cluster { client, namespace })
    }
}

fn unknown(error: anyhow::Error) -> Failure {
    Failure::from(error.context("cannot tell which cluster is meant"))
        .hint("set KUBECONFIG, or name a context of it with --context")
}

/// The cluster of a context, and a kubeconfig of which that context is the current one.
pub(crate) async fn named(context: &str) -> anyhow::Result<(Config, Kubeconfig)> {
    let options = KubeConfigOptions {
        context: Some(context.to_owned()),
        ..KubeConfigOptions::default()
    };
    let mut kubeconfig = Kubeconfig::read()?;
    // Its own error speaks of a current context.
    if !kubeconfig
        .contexts
        .iter()
        .any(|known| known.name == context)
    {
        anyhow::bail!("the kubeconfig has no context {context}");
    }
    kubeconfig.current_context = Some(context.to_owned());
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await?;
    Ok((config, kubeconfig))
}

impl Cluster {
    /// The cluster that a client is connected to.
    pub(crate) fn of(client: Client) -> Self {
        Self {
            namespace: client.default_namespace().to_owned(),
            client,
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The object as it is stored; none if the cluster does not know its kind.
    pub(crate) async fn find(&self, object: &Value) -> Outcome<Option<Value>> {
        let Some((api, name)) = self.known(object).await? else {
            return Ok(None);
        };
        let found = api.get_opt(&name).await;
        let found = found.with_context(|| format!("reading the {}", called(object)))?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// Applies an object, as `kubectl apply --server-side` does; fields that others keep are an error unless `force` is set.
    /// `before` is the live object.
    pub(crate) async fn apply(
        &self,
        object: &Value,
        before: Option<&Value>,
        force: bool,
    ) -> Outcome<Became> {
        let called = called(object);
        let describe = || format!("cannot apply the {called}");
        let (api, name) = self.api(object).await?;
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
            force,
            ..PatchParams::default()
        };
        let applied = api.patch(&name, &params, &Patch::Apply(object)).await;
        let after = applied.map_err(|error| {
            let is_conflict = matches!(&error, Error::Api(status) if status.is_conflict());
            let failure = Failure::from(anyhow::Error::from(error).context(describe()));
            if is_conflict {
                failure
                    .hint("pass --force-conflicts to take the fields over from those who keep them")
            } else {
                failure
            }
        })?;
        Ok(match before {
            None => Became::Created,
            Some(before)
                if before["metadata"]["resourceVersion"].as_str()
                    == after.metadata.resource_version.as_deref() =>
            {
                Became::Unchanged
            }
            Some(_) => Became::Changed,
        })
    }

    /// Changes an object by a JSON merge patch.
    pub(crate) async fn patch(&self, object: &Value, patch: &Value) -> Outcome {
        let (api, name) = self.api(object).await?;
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = api.patch(&name, &params, &Patch::Merge(patch)).await;
        patched.with_context(|| format!("changing the {}", called(object)))?;
        Ok(())
    }

    /// The namespace that an object goes to.
    pub(crate) fn namespace_of<'a>(&'a self, object: &'a Value) -> &'a str {
        let named = object["metadata"]["namespace"].as_str();
        named.unwrap_or(&self.namespace)
    }

    /// The objects of a kind with these labels, in one namespace or in the whole cluster; none if the cluster does not know the
    /// kind.
    pub(crate) async fn labelled(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        labels: &str,
    ) -> Outcome<Vec<Value>> {
        let types = TypeMeta {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        };
        let described = GroupVersionKind::try_from(&types)?;
        let Some((resource, _)) = known_kind(&self.client, &described).await? else {
            return Ok(Vec::new());
        };
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let list = api.list(&ListParams::default().labels(labels)).await;
        let list = list.with_context(|| format!("cannot list the {}", resource.plural))?;
        let items = list.items.into_iter().map(|mut object| {
            // The objects of a list do not say what they are.
            object.types = Some(types.clone());
            serde_json::to_value(object)
        });
        Ok(items.collect::<Result<_, _>>()?)
    }

    /// Deletes an object, but not one that was created in its place since it was read.
    pub(crate) async fn delete(&self, stored: &Value) -> Outcome<Became> {
        let called = called(stored);
        let (api, name) = self.api(stored).await?;
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: stored["metadata"]["uid"].as_str().map(str::to_owned),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        match api.delete(&name, &parameters).await {
            Ok(_) => Ok(Became::Deleted),
            Err(Error::Api(status)) if status.is_not_found() => Ok(Became::Absent),
            Err(error) => Err(error).with_context(|| format!("cannot delete the {called}"))?,
        }
    }

    /// How many objects there are of what a definition defines.
    pub(crate) async fn count(&self, definition: &Value) -> Outcome<usize> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = spec["versions"].as_array();
        let served = versions
            .into_iter()
            .flatten()
            .find(|version| version["served"] == true);
        let Some(served) = served else {
            return Ok(0);
        };
        let kind = GroupVersionKind::gvk(
            &text(&spec["group"]),
            &text(&served["name"]),
            &text(&spec["names"]["kind"]),
        );
        let resource = ApiResource::from_gvk_with_plural(&kind, &text(&spec["names"]["plural"]));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        match api.list_metadata(&ListParams::default()).await {
            Ok(list) => Ok(list.items.len()),
            // Without its definition there may not even be its group, of which a server says no more than the code.
            Err(Error::Api(status)) if status.code == 404 => Ok(0),
            Err(error) => {
                Err(error).with_context(|| format!("cannot count the {}", resource.plural))?
            }
        }
    }

    async fn api(&self, object: &Value) -> Outcome<(Api<DynamicObject>, String)> {
        let known = self.known(object).await?;
        let kind = object["kind"].as_str().unwrap_or_default();
        Ok(known.with_context(|| format!("the cluster does not know the kind {kind}"))?)
    }

    /// Where an object is, if the cluster knows its kind.
    async fn known(&self, object: &Value) -> Outcome<Option<(Api<DynamicObject>, String)>> {
        let types: TypeMeta = serde_json::from_value(object.clone())
            .context("an object of the manifests has no apiVersion and kind")?;
        let kind = GroupVersionKind::try_from(&types)?;
        let Some((resource, capabilities)) = known_kind(&self.client, &kind).await? else {
            return Ok(None);
        };
        let metadata = &object["metadata"];
        let name = metadata["name"]
            .as_str()
            .context("an object of the manifests has no name")?;
        let api = match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = metadata["namespace"].as_str().unwrap_or(&self.namespace);
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
        };
        Ok(Some((api, name.to_owned())))
    }
}

/// A kind as the API server knows it; none if it does not.
pub(crate) async fn known_kind(
    client: &Client,
    kind: &GroupVersionKind,
) -> Outcome<Option<(ApiResource, ApiCapabilities)>> {
    match pinned_kind(client, kind).await {
        Ok(known) => Ok(Some(known)),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(Error::Discovery(_)) => Ok(None),
        Err(error) => Err(error)
            .with_context(|| format!("asking the API server for the kind {}", kind.kind))?,
    }
}

/// Whether two values, such as a manifest and a live object, describe the same object.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    let (mine, theirs) = (&one["metadata"], &other["metadata"]);
    one["kind"] == other["kind"]
        && mine["name"] == theirs["name"]
        && mine["namespace"] == theirs["namespace"]
}

/// The kind of definitions.
pub(crate) const DEFINITION: &str = "CustomResourceDefinition";

/// An object, for people: `Service gardens-system/gardens`.
pub(crate) fn called(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

/// An object and what became of it, for programs.
pub(crate) fn told(object: &Value, became: Became) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "namespace": object["metadata"]["namespace"],
        "name": object["metadata"]["name"],
        "became": became.word(),
    })
}

/// The name that the API server knows our fields by.
const MANAGER: &str = "kubewright";

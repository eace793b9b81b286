//! What installs a program, from what it is made of.

use std::path::{Path, PathBuf};
use std::{fs, io};

use kubewright_controller::AnyController;
use kubewright_manifests::{
    Controllers, Drift, Install, Installer, ManifestError, Manifests, Parts, Tree, WriteError,
};
use serde_json::Value;

use crate::{Program, Task};

impl Program {
    /// Makes everything that installs the program: the objects of its deployment, as [`App::install`](crate::App::install)
    /// says.
    ///
    /// # Errors
    ///
    /// When an API server would not accept an object, or the program would not work as it is installed.
    ///
    /// # Example: a test that holds the files of a project current
    ///
    /// ```
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// fn app(_: &mut Needs) -> App {
    ///     App::new("gardens")
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let deploy = std::env::temp_dir().join("kubewright-deployment-example");
    /// # Program::new(app).deployment()?.tree().write(&deploy)?;
    /// Program::new(app).deployment()?.tree().check(&deploy)?; // the folder "deploy" of a project
    /// # std::fs::remove_dir_all(&deploy)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn deployment(&self) -> Result<Installer, ManifestError> {
        Installer::new(&self.parts(), self.app().installation())
    }

    /// Makes a Helm chart of the same objects: see [`Installer::chart`].
    ///
    /// # Errors
    ///
    /// As [`deployment`](Self::deployment).
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let chart = Program::new(|_| App::new("gardens").version("1.2.0")).chart()?;
    /// let metadata = chart.text("Chart.yaml").unwrap();
    /// assert!(metadata.contains("name: gardens\n"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn chart(&self) -> Result<Tree, ManifestError> {
        Installer::chart(&self.parts(), self.app().installation())
    }

    /// Makes a PrometheusRule with alert rules: see [`Installer::alerts`].
    ///
    /// # Errors
    ///
    /// As [`deployment`](Self::deployment).
    ///
    /// ```
    /// use kubewright_manager::{App, Program};
    ///
    /// let rules = Program::new(|_| App::new("gardens")).alerts()?;
    /// assert_eq!(rules.objects()[0]["kind"], "PrometheusRule");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn alerts(&self) -> Result<Manifests, ManifestError> {
        Ok([self.deployment()?.alerts().clone()].into_iter().collect())
    }

    /// Makes a dashboard for Grafana: see [`Installer::dashboard`].
    ///
    /// # Errors
    ///
    /// As [`deployment`](Self::deployment).
    ///
    /// ```
    /// use kubewright_manager::metrics::Counter;
    /// use kubewright_manager::{App, Program};
    ///
    /// let program = Program::new(|needs| {
    ///     let backups: Counter = needs.metrics().register("gardens_backups", "Number of backups", Counter::default());
    ///     App::new("gardens")
    /// });
    /// assert!(program.dashboard()?.to_string().contains("gardens_backups_total"));
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn dashboard(&self) -> Result<Value, ManifestError> {
        Ok(self.deployment()?.dashboard().clone())
    }

    fn parts(&self) -> Parts {
        let app = self.app();
        let mut parts = Parts::new(app.name());
        parts.version = app.version_number().map(ToOwned::to_owned);
        app.configuration_name()
            .clone_into(&mut parts.configuration);
        parts.webhooks = app.hooks().clone();
        parts.crds = app.crds().to_vec();
        parts.permissions = self.granted();
        parts.own_service = app.authority().map(|authority| {
            let service = authority.service().unwrap_or_else(|| app.name());
            service.to_owned()
        });
        let is_sharded = |controller: &AnyController| controller.sharding_lease().is_some();
        let needs_leader =
            !app.controllers().iter().all(is_sharded) || app.tasks().iter().any(Task::is_of_leader);
        parts.controllers = match (needs_leader, app.election()) {
            (false, _) if app.controllers().is_empty() => Controllers::None,
            (false, _) => Controllers::Sharded,
            (true, Some(_)) => Controllers::OneReplica,
            (true, None) => Controllers::EveryReplica,
        };
        parts.has_tasks = !app.tasks().is_empty();
        let authority = app.authority();
        parts.own_secret = authority.map(|authority| authority.secret().to_owned());
        parts.metrics = self.registered_metrics().to_vec();
        parts.follows_configuration = self.follows_configuration();
        parts.secures_metrics = app.secures_metrics().is_some();
        parts.log_levels = app.log_levels().map(ToOwned::to_owned);
        parts
    }

    /// Changes how the program is installed, for a place that is unlike what its code says.
    ///
    /// ```
    /// use kubewright_manager::{App, Needs, Program};
    ///
    /// let program = Program::new(|_: &mut Needs| App::new("gardens"));
    /// let installer = program.installed(|install| install.namespace("test")).deployment()?;
    /// assert_eq!(installer.manifests().objects()[0]["metadata"]["name"], "test");
    /// # Ok::<(), kubewright_manifests::ManifestError>(())
    /// ```
    pub fn installed(self, change: impl FnOnce(Install) -> Install) -> Self {
        let install = change(self.app().installation().clone());
        self.map_app(|app| app.install(install))
    }
}

/// Where the files of a deployment are, and what is done with them.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
    pub(crate) are_checked: bool,
    pub(crate) are_a_chart: bool,
}

/// Why files were not written, or are not as they should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Drift(#[from] Drift),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot read {} as YAML", path.display())]
    Yaml {
        path: PathBuf,
        source: Box<serde_saphyr::Error>,
    },
    #[error(
        "the definitions of custom resources would break those in {}:\n{}\nserve a new version beside the old one, and convert between them",
        path.display(),
        breaks.join("\n")
    )]
    Breaks { path: PathBuf, breaks: Vec<String> },
}

/// Compares the definitions of an installer with those in a file, and fails if the new ones break the old ones.
pub(crate) fn hold_to(path: &Path, installer: &Installer) -> Result<(), FilesError> {
    let text = fs::read_to_string(path).map_err(|source| FilesError::Read {
        path: path.to_owned(),
        source,
    })?;
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(&text).map_err(|error| FilesError::Yaml {
            path: path.to_owned(),
            source: Box::new(error),
        })?;
    // kubectl prints several objects as a list.
    let objects = documents
        .into_iter()
        .flat_map(|document| match document["items"].as_array() {
            Some(items) => items.clone(),
            None => vec![document],
        });
    let breaks = installer.breaks(&objects.collect::<Vec<_>>());
    if breaks.is_empty() {
        return Ok(());
    }
    Err(FilesError::Breaks {
        path: path.to_owned(),
        breaks: breaks.iter().map(ToString::to_string).collect(),
    })
}

impl Files {
    /// Writes files, or compares them.
    pub(crate) fn of(&self, tree: &Tree) -> Result<(), FilesError> {
        if self.are_checked {
            tree.check(&self.directory)?;
        } else {
            tree.write(&self.directory)?;
        }
        Ok(())
    }
}

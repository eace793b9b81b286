//! The kind that a command is about: one of the project's, or one that every cluster has.

use super::Refused;
use super::kinds::{self, BuiltIn};
use super::names::{hyphened, module};
use super::project::{Api, Project};

/// A kind with everything that is called after it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) api: Api,
    /// The group with its domain, as in `apiVersion`; empty for the core group.
    pub(super) group_name: String,
    /// The name of modules and files about it.
    pub(super) module: String,
    /// The path of the module of its type in the library and in tests, where `{}` is the project.
    pub(super) path: String,
    /// What an object needs besides its name.
    pub(super) body: String,
}

impl Project {
    /// Finds the kind that is meant: one of the project's, or one that every cluster has.
    pub(super) fn find(
        &self,
        kind: &str,
        group: Option<&str>,
        version: Option<&str>,
    ) -> Result<Target, Refused> {
        let is_wanted = |its_group: &str, its_version: &str| {
            group.is_none_or(|group| group == its_group)
                && version.is_none_or(|version| version == its_version)
        };
        let own: Vec<Api> = self
            .apis()
            .into_iter()
            .filter(|api| api.resource || api.definition.is_some())
            .filter(|api| api.kind == kind && is_wanted(&api.group, &api.version))
            .collect();
        let known = kinds::all();
        let built_in = known
            .iter()
            .find(|known| known.kind == kind && is_wanted(&short(known.group), known.version));
        let groups = own.iter().map(|api| api.group.clone());
        let mut groups: Vec<String> = groups
            .chain(built_in.map(|known| short(known.group)))
            .collect();
        groups.dedup();
        if groups.len() > 1 {
            return Err(
                Refused::new(format!("several groups have a kind {kind}")).hint(format!(
                    "say which one you mean with --group: {}",
                    groups.join(" or ")
                )),
            );
        }
        if let Some(first) = own.first() {
            return Ok(self.target(first.clone()));
        }
        if let Some(known) = built_in {
            return Ok(self.built_in(known));
        }
        let mut names: Vec<String> = self.apis().into_iter().map(|api| api.kind).collect();
        names.extend(known.iter().map(|known| known.kind.to_owned()));
        Err(unknown(kind, &names))
    }

    /// A kind that the project has a type of.
    pub(super) fn target(&self, api: Api) -> Target {
        let (group_name, body) = match &api.definition {
            None => (
                format!("{}.{}", api.group, self.domain()),
                "spec:\n  foo: bar\n".to_owned(),
            ),
            Some(path) => {
                let body = self.body(path);
                (api.group.clone(), body)
            }
        };
        Target {
            path: format!("{{}}::api::{}::{}", module(&api.group), api.version),
            module: self.module(&api.group, &api.kind),
            body,
            group_name,
            api,
        }
    }

    fn built_in(&self, known: &BuiltIn) -> Target {
        let group = short(known.group);
        let made = self
            .apis()
            .into_iter()
            .find(|api| !api.resource && api.group == group && api.kind == known.kind);
        let api = made.unwrap_or(Api {
            group: group.clone(),
            version: known.version.to_owned(),
            kind: known.kind.to_owned(),
            plural: known.plural.to_owned(),
            namespaced: known.namespaced,
            resource: false,
            controller: false,
            definition: None,
        });
        Target {
            group_name: known.group.to_owned(),
            module: self.module(&group, known.kind),
            path: format!("k8s_openapi::api::{}", known.module),
            body: known.body.to_owned(),
            api,
        }
    }
}

impl Target {
    /// Whether the project has its type.
    pub(super) fn is_local(&self) -> bool {
        self.api.resource || self.api.definition.is_some()
    }

    /// The path of its type as the library says it.
    pub(super) fn in_library(&self) -> String {
        format!("{}::{}", self.path.replace("{}", "crate"), self.api.kind)
    }

    /// The path of its type as tests say it.
    pub(super) fn in_tests(&self, library: &str) -> String {
        format!("{}::{}", self.path.replace("{}", library), self.api.kind)
    }

    /// What objects say as `apiVersion`.
    pub(super) fn api_version(&self) -> String {
        if self.group_name.is_empty() {
            return self.api.version.clone();
        }
        format!("{}/{}", self.group_name, self.api.version)
    }

    /// The file with an object of this kind.
    pub(super) fn sample(&self) -> String {
        format!("demo/{}.yaml", hyphened(&self.module))
    }
}

/// A group without the domain of Kubernetes, as people say it on a command line.
fn short(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    group
        .trim_end_matches(".k8s.io")
        .trim_end_matches(".authorization")
        .to_owned()
}

fn unknown(kind: &str, names: &[String]) -> Refused {
    let refused = Refused::new(format!(
        "neither the project nor Kubernetes is known to have the kind {kind}"
    ));
    let near = names
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &kind.to_lowercase()),
                name,
            )
        })
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .filter(|(similarity, _)| *similarity > 0.85);
    match near {
        Some((_, name)) => refused.hint(format!("did you mean {name}?")),
        None => refused.hint(
            "make it with `kubewright create api`, or name the file that defines it with --crd",
        ),
    }
}

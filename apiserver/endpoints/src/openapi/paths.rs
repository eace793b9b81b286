//! Resources as paths with operations, named and described as the real server's installer of routes does it.

use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types;
use kubewright_registry::{GroupVersion, Resource, Subresource, Verb};
use serde_json::{Map, Value, json};

use super::names::{identifier, place};
use super::operation::{FORMS, FORMS_OF_CUSTOM, FORMS_OF_LISTS, Operation, body, path_item, plain};
use super::parameters;
use super::schemas::Components;

const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

/// The paths of one group and version; the schemas that they use go to `components`.
pub(super) fn of(group: &str, version: &GroupVersion, components: &mut Components) -> Value {
    let root = format!("/{}", place(group, &version.version));
    let words = Words::of(group, &version.version);
    let mut out = Map::new();
    // Who describes definitions describes nothing else.
    if version
        .resources
        .iter()
        .any(|resource| resource.strategy.installs_routes())
    {
        let available = Operation {
            description: "get available resources".to_owned(),
            id: words.id("get", "APIResources"),
            tag: words.tag.clone(),
            answer: components.named("apimachinery.pkg.apis.meta.v1.APIResourceList"),
            ..plain()
        };
        out.insert(format!("{root}/"), path_item(vec![available]));
    }
    for resource in &version.resources {
        let kind = GroupVersionKind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        };
        if let Some(custom) = Custom::of(resource) {
            components.define(&kind, custom);
        }
        Paths {
            root: &root,
            words: &words,
            resource,
            kind,
            components,
            out: &mut out,
        }
        .write();
    }
    out.into()
}

/// How operations of a group and version are called: `listAppsV1NamespacedDeployment`, `apps_v1`.
struct Words {
    middle: String,
    tag: String,
}

impl Words {
    fn of(group: &str, version: &str) -> Self {
        let group = if group.is_empty() { "core" } else { group };
        let name = group.trim_end_matches(".k8s.io");
        Self {
            middle: identifier(name, true) + &identifier(version, true),
            tag: format!("{}_{}", identifier(name, false), identifier(version, false)),
        }
    }

    fn id(&self, verb: &str, what: &str) -> String {
        format!("{verb}{}{what}", self.middle)
    }
}

/// The noun with its article; plurals have none.
fn with_article(kind: &str) -> String {
    if kind.ends_with('s') && !kind.ends_with("ss") {
        return kind.to_owned();
    }
    let vowel = kind.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o', 'u']);
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

struct Paths<'a> {
    root: &'a str,
    words: &'a Words,
    resource: &'a Resource,
    kind: GroupVersionKind,
    components: &'a mut Components,
    out: &'a mut Map<String, Value>,
}

/// What an operation is about: the resource itself, or a part of it.
struct About<'a> {
    kind: &'a GroupVersionKind,
    part: &'a str,
}

impl Paths<'_> {
    fn write(&mut self) {
        let Self { root, resource, .. } = *self;
        let plural = &resource.plural;
        let kind = self.kind.clone();
        let own = About {
            kind: &kind,
            part: "",
        };
        let scope = if resource.namespaced {
            "namespaces/{namespace}/"
        } else {
            ""
        };
        if resource.namespaced && resource.allows(Verb::List) {
            let list = self.list("ForAllNamespaces");
            self.add(format!("{root}/{plural}"), vec![list]);
        }
        let mut all = Vec::new();
        for verb in &resource.verbs {
            match verb {
                Verb::List => all.push(self.list("")),
                Verb::Create => all.push(self.create(&own, &[])),
                Verb::DeleteCollection => all.push(self.delete_collection()),
                _ => {}
            }
        }
        self.add(format!("{root}/{scope}{plural}"), all);
        let one = format!("{root}/{scope}{plural}/{{name}}");
        let operations = self.on_one(&own, &resource.verbs);
        self.add(one.clone(), operations);
        if resource.allows(Verb::Watch) && resource.strategy.installs_routes() {
            if resource.namespaced {
                let watch = self.watch("ListForAllNamespaces", false);
                self.add(format!("{root}/watch/{plural}"), vec![watch]);
            }
            let watch = self.watch("List", false);
            self.add(format!("{root}/watch/{scope}{plural}"), vec![watch]);
            let watch = self.watch("", true);
            self.add(
                format!("{root}/watch/{scope}{plural}/{{name}}"),
                vec![watch],
            );
        }
        for part in &resource.subresources {
            self.subresource(&format!("{one}/{}", part.name), part);
        }
    }

    fn subresource(&mut self, path: &str, part: &Subresource) {
        if part.kind.kind.ends_with("Options") {
            let proxies = part.verbs.contains(&Verb::Update);
            let connects = self.connects(part, false);
            self.add(path.to_owned(), connects);
            if proxies {
                let connects = self.connects(part, true);
                self.add(format!("{path}/{{path}}"), connects);
            }
            return;
        }
        let kind = if part.name == "log" {
            &self.kind.clone()
        } else {
            &part.kind
        };
        let about = About {
            kind,
            part: &part.name,
        };
        let mut operations = self.on_one(&about, &part.verbs);
        if self.is_custom() {
            for operation in &mut operations {
                operation.kind = Some(self.kind.clone());
                operation
                    .parameters
                    .retain(|parameter| parameter["name"] != "name");
                operation.parameters.push(name_of(&self.kind));
            }
        }
        self.add(path.to_owned(), operations);
    }

    fn on_one(&mut self, about: &About<'_>, verbs: &[Verb]) -> Vec<Operation> {
        let name = name_of(about.kind);
        let mut operations = Vec::new();
        for verb in verbs {
            operations.push(match verb {
                Verb::Get => self.get(about),
                Verb::Update => self.put(about),
                Verb::Patch => self.patch(about),
                Verb::Delete => self.delete(about),
                Verb::Create if !about.part.is_empty() => {
                    self.create(about, std::slice::from_ref(&name))
                }
                _ => continue,
            });
        }
        operations
    }

    fn get(&mut self, about: &About<'_>) -> Operation {
        let logs = about.part == "log";
        let mut get = self.named("get", "get", "read", about);
        if logs {
            get.parameters.extend(parameters::of("PodLogOptions"));
            get.answer = json!({ "type": "string" });
            get.forms = &[
                "application/json",
                "application/vnd.kubernetes.protobuf",
                "application/yaml",
                "text/plain",
            ];
        } else {
            get.answer = self.components.kind(about.kind);
        }
        if self.is_custom() {
            get.parameters.extend(parameters::of("GetOptions"));
        }
        get
    }

    fn put(&mut self, about: &About<'_>) -> Operation {
        let mut put = self.named("put", "put", "replace", about);
        put.parameters.extend(parameters::of("create"));
        put.codes = &["200", "201"];
        put.answer = self.components.kind(about.kind);
        put.body = Some(body(self.forms_of_bodies(), &put.answer, true));
        put
    }

    fn patch(&mut self, about: &About<'_>) -> Operation {
        // kubectl takes the first type that it finds here, and custom resources have no strategic merge.
        let patch_types = if types::root(about.kind).is_some() && !self.is_custom() {
            &PATCH_TYPES[..]
        } else {
            &PATCH_TYPES[..3]
        };
        let mut patch = self.named("patch", "patch", "partially update", about);
        patch.parameters.extend(parameters::of("patch"));
        // Apply may create a custom resource, too, but its routes do not say so.
        patch.codes = if self.is_custom() {
            &["200"]
        } else {
            &["200", "201"]
        };
        patch.body = Some(body(patch_types, &self.components.patch(), true));
        patch.answer = self.components.kind(about.kind);
        patch
    }

    fn delete(&mut self, about: &About<'_>) -> Operation {
        let mut delete = self.named("delete", "delete", "delete", about);
        delete.description = format!("delete {}", with_article(&self.kind.kind));
        delete.parameters.extend(parameters::of("delete"));
        delete.codes = &["200", "202"];
        delete.body = Some(self.delete_options());
        // A namespace is answered, too, but its storage does not say so.
        let returns = self.resource.strategy.behavior().returns_deleted;
        delete.answer = if returns && self.kind.kind != "Namespace" {
            self.components.kind(about.kind)
        } else {
            self.status()
        };
        delete
    }

    fn delete_collection(&mut self) -> Operation {
        let kind = &self.kind.kind;
        let mut delete = self.operation(
            "delete",
            "deletecollection",
            self.words
                .id("delete", &format!("Collection{}", self.middle())),
            format!("delete collection of {kind}"),
        );
        delete.answer = self.status();
        if self.is_custom() {
            delete.parameters.extend(parameters::of("list"));
            return delete;
        }
        delete.parameters.extend(parameters::of("delete"));
        let of_lists = parameters::of("list").into_iter().filter(|parameter| {
            let name = parameter["name"].as_str();
            !matches!(name, Some("allowWatchBookmarks" | "watch"))
        });
        delete.parameters.extend(of_lists);
        delete.body = Some(self.delete_options());
        delete
    }

    fn create(&mut self, about: &About<'_>, names: &[Value]) -> Operation {
        let kind = &self.kind.kind;
        let description = if about.part.is_empty() {
            format!("create {}", with_article(kind))
        } else {
            format!("create {} of {}", about.part, with_article(kind))
        };
        let id = self
            .words
            .id("create", &(self.middle() + &title(about.part)));
        let mut create = self.operation("post", "post", id, description);
        create.kind = Some(about.kind.clone());
        create.parameters.extend_from_slice(names);
        create.parameters.extend(parameters::of("create"));
        create.codes = &["200", "201", "202"];
        create.answer = self.components.kind(about.kind);
        create.body = Some(body(self.forms_of_bodies(), &create.answer, true));
        create
    }

    fn list(&mut self, suffix: &str) -> Operation {
        let kind = self.kind.clone();
        let everywhere = !suffix.is_empty();
        let what = if everywhere {
            kind.kind.clone() + suffix
        } else {
            self.middle()
        };
        let how = if self.resource.allows(Verb::Watch) && !self.is_custom() {
            "list or watch"
        } else {
            "list"
        };
        let mut list = self.operation(
            "get",
            "list",
            self.words.id("list", &what),
            format!("{how} objects of kind {}", kind.kind),
        );
        if everywhere {
            list.parameters
                .retain(|parameter| parameter["in"] != "path");
        }
        list.parameters.extend(parameters::of("list"));
        list.answer = self.components.list(&kind);
        list.forms = self.forms_of_lists();
        list
    }

    fn watch(&mut self, suffix: &str, one: bool) -> Operation {
        let kind = &self.kind.kind;
        let everywhere = suffix.ends_with("ForAllNamespaces");
        let what = if everywhere {
            kind.clone()
        } else {
            self.middle()
        } + suffix;
        let (action, description) = if one {
            let text = "deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.";
            (
                "watch",
                format!("watch changes to an object of kind {kind}. {text}"),
            )
        } else {
            let text = "deprecated: use the 'watch' parameter with a list operation instead.";
            let what = format!("watch individual changes to a list of {kind}. {text}");
            ("watchlist", what)
        };
        let id = self.words.id("watch", &what);
        let mut watch = self.operation("get", action, id, description);
        if everywhere {
            watch
                .parameters
                .retain(|parameter| parameter["in"] != "path");
        }
        if one {
            watch.parameters.push(name_of(&self.kind));
        }
        watch.parameters.extend(parameters::of("list"));
        watch.answer = self.components.watch_event(&self.kind);
        watch.forms = self.forms_of_lists();
        watch
    }

    fn connects(&self, part: &Subresource, with_path: bool) -> Vec<Operation> {
        let (kind, what) = (&self.kind.kind, &part.name);
        let methods: &[&'static str] = if part.verbs.contains(&Verb::Update) {
            &["get", "put", "post", "delete", "options", "head", "patch"]
        } else {
            &["get", "post"]
        };
        let connect = |method: &'static str| {
            let middle = title(method) + &self.middle() + &title(what);
            let end = if with_path { "WithPath" } else { "" };
            let upper = method.to_uppercase();
            let mut connect = self.operation(
                method,
                "connect",
                self.words.id("connect", &(middle + end)),
                format!("connect {upper} requests to {what} of {kind}"),
            );
            connect.kind = Some(part.kind.clone());
            connect
                .parameters
                .retain(|parameter| parameter["in"] == "path");
            connect.parameters.push(name_of(&part.kind));
            if with_path {
                let path = parameters::in_path("path", "path to the resource");
                connect.parameters.push(path);
            }
            connect.parameters.extend(parameters::of(&part.kind.kind));
            connect.answer = json!({ "type": "string" });
            connect.forms = &["*/*"];
            connect
        };
        methods.iter().map(|method| connect(method)).collect()
    }

    /// An operation on an object that the path names.
    fn named(
        &self,
        method: &'static str,
        action: &'static str,
        verb: &str,
        about: &About<'_>,
    ) -> Operation {
        let what = if about.part.is_empty() {
            String::new()
        } else {
            format!("{} of ", about.part)
        };
        let word = if verb == "partially update" {
            "patch"
        } else {
            verb
        };
        let mut operation = self.operation(
            method,
            action,
            self.words.id(word, &(self.middle() + &title(about.part))),
            format!("{verb} {what}the specified {}", self.kind.kind),
        );
        operation.kind = Some(about.kind.clone());
        operation.parameters.push(name_of(about.kind));
        operation
    }

    /// An operation with the parameters that all have.
    fn operation(
        &self,
        method: &'static str,
        action: &'static str,
        id: String,
        description: String,
    ) -> Operation {
        let mut shared = parameters::of("get");
        if self.resource.namespaced {
            let text = "object name and auth scope, such as for teams and projects";
            shared.push(parameters::in_path("namespace", text));
        }
        Operation {
            method,
            action,
            id,
            tag: self.words.tag.clone(),
            description,
            kind: Some(self.kind.clone()),
            parameters: shared,
            forms: if self.is_custom() {
                &FORMS_OF_CUSTOM
            } else {
                &FORMS
            },
            ..plain()
        }
    }

    /// The routes of custom resources are described by a part of the real server that knows definitions alone.
    fn is_custom(&self) -> bool {
        self.resource.strategy.is_unstructured()
    }

    fn forms_of_bodies(&self) -> &'static [&'static str] {
        if self.is_custom() {
            &FORMS_OF_CUSTOM
        } else {
            &["*/*"]
        }
    }

    fn forms_of_lists(&self) -> &'static [&'static str] {
        if self.is_custom() {
            &FORMS_OF_CUSTOM
        } else {
            &FORMS_OF_LISTS
        }
    }

    /// `NamespacedPod`
    fn middle(&self) -> String {
        let scope = if self.resource.namespaced {
            "Namespaced"
        } else {
            ""
        };
        format!("{scope}{}", self.kind.kind)
    }

    fn delete_options(&mut self) -> Value {
        let options = if self.is_custom() {
            self.components.options_of_clients("DeleteOptions")
        } else {
            self.components.options("DeleteOptions", &self.kind)
        };
        body(self.forms_of_bodies(), &options, false)
    }

    fn status(&mut self) -> Value {
        self.components
            .named("apimachinery.pkg.apis.meta.v1.Status")
    }

    fn add(&mut self, path: String, operations: Vec<Operation>) {
        if !operations.is_empty() {
            self.out.insert(path, path_item(operations));
        }
    }
}

fn title(word: &str) -> String {
    identifier(word, true)
}

fn name_of(kind: &GroupVersionKind) -> Value {
    parameters::in_path("name", &format!("name of the {}", kind.kind))
}

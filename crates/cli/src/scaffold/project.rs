//! `kubewright.toml`: what has been made in a project, so that nothing is made twice.

use std::collections::BTreeMap;

use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, Value};

use super::definition::Definition;
use super::names::module;
use super::sums::{self, RECORD};
use super::{Refused, Tree};

/// The record of a project.
pub(super) struct Project {
    pub(super) document: DocumentMut,
    /// What objects of kinds that others define need, by the files with the definitions.
    bodies: BTreeMap<String, String>,
}

/// A kind that the project defines, or that is its own only in having a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Api {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// Whether the project has its type.
    pub(super) resource: bool,
    pub(super) controller: bool,
    /// The file with its definition, if another project defines it.
    pub(super) definition: Option<String>,
}

/// The webhooks for a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hooks {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) defaulting: bool,
    pub(super) validating: bool,
    /// The versions that are converted from and to `version`.
    pub(super) converting: Vec<String>,
}

impl Project {
    pub(super) fn new(domain: &str, name: &str) -> Self {
        let mut document = DocumentMut::new();
        document.insert("domain", toml_edit::value(domain));
        document.insert("name", toml_edit::value(name));
        if let Some(mut first) = document.key_mut("domain") {
            first.leaf_decor_mut().set_prefix(ABOUT);
        }
        Self {
            document,
            bodies: BTreeMap::new(),
        }
    }

    pub(super) fn read(tree: &Tree) -> Result<Self, Refused> {
        let text = tree.text(RECORD).ok_or_else(|| {
            Refused::new(format!("there is no {RECORD} here"))
                .hint("run `kubewright init` first, or name the project's folder with --folder")
        })?;
        let document = text
            .parse()
            .map_err(|error| Refused::new(format!("{RECORD} is not TOML: {error}")))?;
        let mut project = Self {
            document,
            bodies: BTreeMap::new(),
        };
        for key in ["domain", "name"] {
            if project.text(key).is_empty() {
                return Err(Refused::new(format!("{RECORD} says no `{key}`")));
            }
        }
        project.look_up(tree);
        Ok(project)
    }

    /// Reads what the definitions of others say of objects.
    pub(super) fn look_up(&mut self, tree: &Tree) {
        for api in self.apis() {
            let Some(path) = api.definition else { continue };
            let text = tree.text(&path).unwrap_or_default();
            // What cannot be read is missing in objects, where tests show it.
            if let Ok(found) = Definition::find(text, &api.kind, Some(&api.version)) {
                self.bodies.insert(path, found.body());
            }
        }
    }

    pub(super) fn save(&mut self, tree: &mut Tree) {
        let mut files = sums::recorded(&self.document);
        // Those that only this command has changed are still as the scaffolder left them.
        files.retain(|path, hash| match (tree.found(path), tree.text(path)) {
            (_, None) => false,
            (Some(found), Some(text)) if sums::sum(found) == *hash => {
                *hash = sums::sum(text);
                true
            }
            _ => true,
        });
        for path in tree.created() {
            if let Some(text) = tree.text(path) {
                files.insert(path.to_owned(), sums::sum(text));
            }
        }
        let version = sums::version(&self.document);
        let version = version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned());
        sums::write(&mut self.document, &version, &files);
        self.put(tree);
    }

    /// Writes the record as it is.
    pub(super) fn put(&self, tree: &mut Tree) {
        tree.put(RECORD, self.document.to_string());
    }

    pub(super) fn domain(&self) -> &str {
        self.text("domain")
    }

    pub(super) fn name(&self) -> &str {
        self.text("name")
    }

    /// The name of the library in Rust.
    pub(super) fn library(&self) -> String {
        self.name().replace('-', "_")
    }

    fn text(&self, key: &str) -> &str {
        self.document
            .get(key)
            .and_then(Item::as_str)
            .unwrap_or_default()
    }

    pub(super) fn apis(&self) -> Vec<Api> {
        let tables = self.tables("api").into_iter();
        let apis = tables.map(|table| Api {
            group: string(table, "group"),
            version: string(table, "version"),
            kind: string(table, "kind"),
            plural: string(table, "plural"),
            namespaced: boolean(table, "namespaced"),
            resource: boolean(table, "resource"),
            controller: boolean(table, "controller"),
            definition: Some(string(table, "definition")).filter(|path| !path.is_empty()),
        });
        apis.collect()
    }

    pub(super) fn hooks(&self) -> Vec<Hooks> {
        let tables = self.tables("webhook").into_iter();
        let hooks = tables.map(|table| Hooks {
            group: string(table, "group"),
            version: string(table, "version"),
            kind: string(table, "kind"),
            defaulting: boolean(table, "defaulting"),
            validating: boolean(table, "validating"),
            converting: strings(table, "converting"),
        });
        hooks.collect()
    }

    /// The versions of a kind that the project defines, in the order in which they were made.
    pub(super) fn versions(&self, group: &str, kind: &str) -> Vec<Api> {
        let apis = self.apis().into_iter();
        let own = apis.filter(|api| api.resource && api.group == group && api.kind == kind);
        own.collect()
    }

    pub(super) fn hooks_of(&self, group: &str, kind: &str) -> Option<Hooks> {
        let mut hooks = self.hooks().into_iter();
        hooks.find(|hooks| hooks.group == group && hooks.kind == kind)
    }

    /// Takes down an API, instead of what was known of it.
    pub(super) fn record_api(&mut self, api: &Api) {
        let name = self.module(&api.group, &api.kind);
        let table = self.table("api", &api.group, Some(&api.version), &api.kind);
        set(table, "group", api.group.as_str().into());
        set(table, "version", api.version.as_str().into());
        set(table, "kind", api.kind.as_str().into());
        set(table, "plural", api.plural.as_str().into());
        set(table, "namespaced", api.namespaced.into());
        set(table, "resource", api.resource.into());
        set(table, "controller", api.controller.into());
        if let Some(path) = &api.definition {
            set(table, "definition", path.as_str().into());
        }
        if name != module(&api.kind) {
            set(table, "module", name.into());
        }
    }

    /// Takes down the webhooks of a kind, instead of what was known of them.
    pub(super) fn record_hooks(&mut self, hooks: &Hooks) {
        let name = self.module(&hooks.group, &hooks.kind);
        let table = self.table("webhook", &hooks.group, None, &hooks.kind);
        set(table, "group", hooks.group.as_str().into());
        set(table, "version", hooks.version.as_str().into());
        set(table, "kind", hooks.kind.as_str().into());
        set(table, "defaulting", hooks.defaulting.into());
        set(table, "validating", hooks.validating.into());
        let versions: toml_edit::Array = hooks.converting.iter().map(String::as_str).collect();
        set(table, "converting", Value::Array(versions));
        if name != module(&hooks.kind) {
            set(table, "module", name.into());
        }
    }

    pub(super) fn forget_api(&mut self, api: &Api) {
        self.forget("api", &api.group, Some(&api.version), &api.kind);
    }

    pub(super) fn forget_hooks(&mut self, hooks: &Hooks) {
        self.forget("webhook", &hooks.group, None, &hooks.kind);
    }

    /// What an object of a kind needs besides its name, by the file with its definition.
    pub(super) fn body(&self, definition: &str) -> String {
        self.bodies.get(definition).cloned().unwrap_or_default()
    }

    /// What is called after a kind: the kind alone, or with its group if another group's has that name already.
    pub(super) fn module(&self, group: &str, kind: &str) -> String {
        let (mut taken, plain) = (false, module(kind));
        for table in ["api", "webhook"]
            .into_iter()
            .flat_map(|key| self.tables(key))
        {
            let its_kind = string(table, "kind");
            let known = table
                .get("module")
                .and_then(Item::as_str)
                .map(str::to_owned);
            let known = known.unwrap_or_else(|| module(&its_kind));
            if (string(table, "group").as_str(), its_kind.as_str()) == (group, kind) {
                return known;
            }
            taken |= known == plain;
        }
        if taken {
            format!("{}_{plain}", module(group))
        } else {
            plain
        }
    }

    pub(super) fn tables(&self, key: &str) -> Vec<&Table> {
        let tables = self.document.get(key).and_then(Item::as_array_of_tables);
        tables.into_iter().flat_map(ArrayOfTables::iter).collect()
    }

    fn table(&mut self, key: &str, group: &str, version: Option<&str>, kind: &str) -> &mut Table {
        self.table_where(key, |table| is(table, group, version, kind))
    }

    /// The table that is meant, or a new one.
    pub(super) fn table_where(
        &mut self,
        key: &str,
        is_meant: impl Fn(&Table) -> bool,
    ) -> &mut Table {
        let known = self.tables(key).into_iter().position(is_meant);
        let item = self
            .document
            .entry(key)
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        if !item.is_array_of_tables() {
            *item = Item::ArrayOfTables(ArrayOfTables::new());
        }
        let tables = item
            .as_array_of_tables_mut()
            .expect("it has just been made one");
        let index = known.unwrap_or_else(|| {
            tables.push(Table::new());
            tables.len() - 1
        });
        tables
            .get_mut(index)
            .expect("it was found or has just been added")
    }

    fn forget(&mut self, key: &str, group: &str, version: Option<&str>, kind: &str) {
        self.forget_where(key, |table| is(table, group, version, kind));
    }

    pub(super) fn forget_where(&mut self, key: &str, is_meant: impl Fn(&Table) -> bool) {
        let tables = self
            .document
            .get_mut(key)
            .and_then(Item::as_array_of_tables_mut);
        if let Some(tables) = tables {
            tables.retain(|table| !is_meant(table));
            if tables.is_empty() {
                self.document.remove(key);
            }
        }
    }
}

fn is(table: &Table, group: &str, version: Option<&str>, kind: &str) -> bool {
    string(table, "group") == group
        && string(table, "kind") == kind
        && version.is_none_or(|version| string(table, "version") == version)
}

pub(super) fn string(table: &Table, key: &str) -> String {
    let text = table.get(key).and_then(Item::as_str);
    text.unwrap_or_default().to_owned()
}

pub(super) fn boolean(table: &Table, key: &str) -> bool {
    table.get(key).and_then(Item::as_bool).unwrap_or_default()
}

fn strings(table: &Table, key: &str) -> Vec<String> {
    let values = table.get(key).and_then(Item::as_array);
    let strings = values.into_iter().flatten().filter_map(Value::as_str);
    strings.map(str::to_owned).collect()
}

/// Sets a value, and leaves one alone that says the same.
pub(super) fn set(table: &mut Table, key: &str, value: Value) {
    let same = table
        .get(key)
        .and_then(Item::as_value)
        .is_some_and(|known| known.to_string().trim() == value.to_string().trim());
    if !same {
        table.insert(key, Item::Value(value));
    }
}

const ABOUT: &str = "\
# What `kubewright` has made in this project. It belongs into version control: the next `kubewright create` reads it.
";

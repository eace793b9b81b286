//! The cases as they are written: YAML files of requests, hooks and tables, read and spread out into one case a row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::vars::Vars;

/// A short program against an API server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// The file that contains it, under `cases/` and without its ending: `rest/create`.
    pub file: String,
    /// What it states; unique in its file.
    pub name: String,
    /// The namespace that is made for it.
    pub namespace: String,
    /// Whether it runs while no other case does.
    pub alone: bool,
    /// Whether it runs before all others, on a server without objects of other cases.
    pub first: bool,
    /// Whether what the audit log says of each step is compared, too.
    pub audit: bool,
    /// The admission plugins that its server has besides those that envtest leaves on.
    pub plugins: BTreeSet<String>,
    /// Requests that must succeed and are not compared.
    pub given: Vec<Step>,
    /// The webhooks that stand while the steps run.
    pub hooks: Vec<Hook>,
    /// The admission policies that apply while the steps run.
    pub policies: Vec<Policy>,
    /// The webhooks that convert for definitions, as they are written.
    pub converters: Vec<Value>,
    /// Requests whose answers are compared.
    pub steps: Vec<Step>,
}

impl Case {
    /// `rest/create: a second create of the same name is refused`.
    pub fn title(&self) -> String {
        format!("{}: {}", self.file, self.name)
    }
}

/// One request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Step {
    /// An object to create, at the path that discovery gives for its kind.
    pub create: Option<Value>,
    /// An object to get, to change by `set` and to put back.
    pub change: Option<Value>,
    /// `METHOD path`.
    pub send: Option<String>,
    /// The path of a watch, which stays open during the steps that follow.
    pub watch: Option<String>,
    /// How many events of the watch are read; without it, the stream is read to its end.
    pub events: Option<usize>,
    /// JSON pointers that `change` sets; null removes.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// The sub-resource that `create` or `change` goes to.
    pub subresource: Option<String>,
    /// Query parameters of `create` and `change`.
    pub query: Option<String>,
    /// Headers besides those that every request has.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A body, sent as JSON.
    pub body: Option<Value>,
    /// A body, sent as it is.
    pub text: Option<String>,
    /// Blanks are put behind the body until it has so many bytes.
    pub pad: Option<usize>,
    /// What of the answer's body is compared.
    #[serde(default)]
    pub shows: Shows,
    /// Headers of the answer that are compared besides those that always are.
    #[serde(default)]
    pub compares: Vec<String>,
    /// Only the paths and schemas of an OpenAPI document whose names contain this are compared.
    pub naming: Option<String>,
    /// Whom the request impersonates.
    #[serde(rename = "as")]
    pub user: Option<User>,
    /// Values of the answer for later steps: a name and a JSON pointer each.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Sends the request again and again until these hooks, and no others, are called by it: a server sees changes of
    /// a webhook configuration late. Only the last answer is compared.
    pub until: Option<BTreeSet<String>>,
    /// Sends the request again and again until the answer has these values, each at its JSON pointer: a server goes by new
    /// roles and bindings late. Only the last answer is compared.
    #[serde(default)]
    pub awaits: BTreeMap<String, Value>,
}

/// What of an answer's body is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Shows {
    /// All of it.
    #[default]
    Everything,
    /// The shape of an OpenAPI document.
    Openapi,
    /// The names of a list's items.
    Names,
    /// How long it is: whether it is empty.
    Length,
    /// The paths of its members, in their order.
    Order,
    /// The uid of an object, so that other answers can name it.
    Uid,
    /// What a metric is, and the names of its labels.
    Metrics,
}

/// A user to impersonate.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct User {
    /// The name.
    pub user: String,
    /// The groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Further attributes.
    #[serde(default)]
    pub extra: BTreeMap<String, String>,
}

/// A webhook with scripted answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Hook {
    /// The first part of a mutating webhook's name.
    pub mutating: Option<String>,
    /// The first part of a validating webhook's name.
    pub validating: Option<String>,
    /// The configuration that contains it; by default, each webhook has its own.
    pub configuration: Option<String>,
    /// The rules, as in a webhook configuration.
    pub rules: Value,
    /// Other fields of the webhook.
    #[serde(default, rename = "with")]
    pub fields: Map<String, Value>,
    /// The `response` for each call; the last repeats.
    #[serde(default)]
    pub answer: OneOrMany<Value>,
    /// Answers that are no `response`, each a [`Raw`]; the last repeats.
    #[serde(default)]
    pub raw: OneOrMany<Value>,
}

/// An admission policy and its bindings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// The last part of a MutatingAdmissionPolicy's name.
    pub mutating: Option<String>,
    /// The last part of a ValidatingAdmissionPolicy's name.
    pub validating: Option<String>,
    /// The spec, without what the suite fills in.
    pub spec: Value,
    /// The spec of the binding; null for a policy without a binding.
    #[serde(default = "empty")]
    pub binding: Value,
    /// The specs of several bindings, instead of `binding`.
    pub bindings: Option<Value>,
}

fn empty() -> Value {
    Value::Object(Map::new())
}

/// A verbatim HTTP answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Raw {
    /// The status code; 200 by default.
    pub status: Option<u16>,
    /// The headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body: a string, or a structure that is serialized as JSON; `{uid}` is the uid of the request.
    #[serde(default)]
    pub body: Value,
    /// Milliseconds before the answer.
    #[serde(default)]
    pub delay: u64,
    /// Closes the connection instead of answering.
    #[serde(default)]
    pub close: bool,
}

/// A list, or one thing that stands for a list of it.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "a list and nothing else")]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |value| T::deserialize::<Value>(value).map_err(serde::de::Error::custom);
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::Array(values) => values.into_iter().map(read).collect::<Result<_, _>>()?,
            value => vec![read(value)?],
        }))
    }
}

/// Reads every case under a folder.
///
/// # Errors
/// A file cannot be read, or two cases have the same name.
pub fn read_all(folder: &Path) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for path in files(folder, "yaml")? {
        let file = name_of(folder, &path);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        cases.extend(read(&file, &text).with_context(|| format!("in cases/{file}.yaml"))?);
    }
    let mut seen = BTreeMap::new();
    for case in &cases {
        if let Some(other) = seen.insert(&case.namespace, case.title()) {
            bail!("`{}` and `{other}` have the same name", case.title());
        }
    }
    Ok(cases)
}

/// Reads the cases of one file.
///
/// # Errors
/// The text is not a file of cases.
pub fn read(file: &str, text: &str) -> Result<Vec<Case>> {
    spread(
        file,
        serde_saphyr::from_str(text).context("read the cases")?,
    )
}

/// Reads the cases of one file that is a structure already.
///
/// # Errors
/// The structure is not a file of cases.
pub fn from_value(file: &str, written: Value) -> Result<Vec<Case>> {
    spread(
        file,
        serde_json::from_value(written).context("read the cases")?,
    )
}

fn spread(file: &str, written: File) -> Result<Vec<Case>> {
    ensure!(!written.about.trim().is_empty(), "`about` says nothing");
    let mut cases = Vec::new();
    for entry in written.cases {
        let name = entry.name.clone();
        entry
            .spread(file, &mut cases)
            .with_context(|| format!("in the case `{name}`"))?;
    }
    Ok(cases)
}

/// The files with an ending under a folder, in order.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|have| have == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn name_of(folder: &Path, path: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    path.with_extension("").to_string_lossy().replace('\\', "/")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    cases: Vec<Entry>,
}

/// A case, or a table of cases.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    first: bool,
    #[serde(default)]
    audit: bool,
    #[serde(default)]
    plugins: BTreeSet<String>,
    #[serde(default)]
    given: Vec<Step>,
    #[serde(default)]
    hooks: Vec<Hook>,
    #[serde(default)]
    policies: Vec<Policy>,
    #[serde(default)]
    converters: Vec<Value>,
    #[serde(default)]
    steps: Vec<Step>,
    /// Each row changes this object, which is then created.
    base: Option<Value>,
    /// This object is created; each row changes it and puts it back.
    update: Option<Value>,
    subresource: Option<String>,
    query: Option<String>,
    #[serde(default)]
    rows: Rows,
}

impl Entry {
    fn spread(mut self, file: &str, cases: &mut Vec<Case>) -> Result<()> {
        let table = self.base.is_some() || self.update.is_some();
        ensure!(
            self.base.is_none() || self.update.is_none(),
            "`base` and `update` stand together"
        );
        ensure!(
            table || !self.steps.is_empty(),
            "there is nothing to compare: no `steps`, `base` or `update`"
        );
        let rows = std::mem::take(&mut self.rows).0;
        if rows.is_empty() {
            ensure!(!table, "a table has no rows");
            cases.push(self.case(file, None)?);
            return Ok(());
        }
        for (row, cells) in rows {
            cases.push(self.clone().case(file, Some((row, cells)))?);
        }
        Ok(())
    }

    fn case(mut self, file: &str, row: Option<(String, Map<String, Value>)>) -> Result<Case> {
        if let Some((row, cells)) = row {
            ensure!(
                self.name.contains("{row}"),
                "the name of a table says `{{row}}` where the name of the row belongs"
            );
            self.name = self.name.replace("{row}", &row);
            let mut first = Step {
                subresource: self.subresource.take(),
                query: self.query.take(),
                ..Step::default()
            };
            if let Some(mut object) = self.base.take() {
                for (pointer, value) in cells {
                    set(&mut object, &pointer, value)?;
                }
                first.create = Some(object);
                self.steps.insert(0, first);
            } else if let Some(object) = self.update.take() {
                self.given.push(Step {
                    create: Some(object.clone()),
                    ..Step::default()
                });
                first.change = Some(object);
                first.set = cells.into_iter().collect();
                self.steps.insert(0, first);
            } else {
                let vars = Vars::from(cells);
                for step in self.given.iter_mut().chain(&mut self.steps) {
                    *step = vars.fill_step(step);
                }
                for hook in &mut self.hooks {
                    *hook = vars.fill_hook(hook);
                }
                for policy in &mut self.policies {
                    *policy = vars.fill_policy(policy);
                }
                for converter in &mut self.converters {
                    *converter = vars.value(converter);
                }
            }
        }
        for step in self.given.iter().chain(&self.steps) {
            let actions = [
                step.create.is_some(),
                step.change.is_some(),
                step.send.is_some(),
                step.watch.is_some(),
            ];
            ensure!(
                actions.iter().filter(|is| **is).count() == 1,
                "a step is one of `create`, `change`, `send` and `watch`"
            );
        }
        Ok(Case {
            file: file.to_owned(),
            namespace: namespace(file, &self.name),
            name: self.name,
            alone: self.alone,
            first: self.first,
            audit: self.audit,
            plugins: self.plugins,
            given: self.given,
            hooks: self.hooks,
            policies: self.policies,
            converters: self.converters,
            steps: self.steps,
        })
    }
}

/// Sets what a JSON pointer points at; null removes it. Missing objects on the way are made, and an index one past the
/// end of a list appends.
pub(crate) fn set(document: &mut Value, pointer: &str, value: Value) -> Result<()> {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        bail!("`{pointer}` is no JSON pointer");
    };
    let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
    let mut at = document;
    for token in parent.split('/').skip(1) {
        at = match at {
            Value::Array(items) => items.get_mut(token.parse::<usize>()?),
            Value::Object(fields) => Some(
                fields
                    .entry(unescape(token))
                    .or_insert_with(|| Value::Object(Map::new())),
            ),
            _ => None,
        }
        .with_context(|| format!("nothing stands at `{token}` of `{pointer}`"))?;
    }
    match at {
        Value::Object(fields) if value.is_null() => drop(fields.remove(&unescape(last))),
        Value::Object(fields) => drop(fields.insert(unescape(last), value)),
        Value::Array(items) => {
            let index: usize = last.parse()?;
            ensure!(index <= items.len(), "`{pointer}` is past the end");
            if value.is_null() {
                items.remove(index);
            } else if index == items.len() {
                items.push(value);
            } else {
                items[index] = value;
            }
        }
        _ => bail!("nothing can stand at `{pointer}`"),
    }
    Ok(())
}

/// A name that depends on the case alone, so that it is the same on every server and in every run.
fn namespace(file: &str, name: &str) -> String {
    let hash = format!("{file}: {name}")
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    format!("c-{:010x}", hash & 0xff_ffff_ffff)
}

/// The rows of a table, in the order in which they are written.
#[derive(Clone, Default)]
struct Rows(Vec<(String, Map<String, Value>)>);

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Rows;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of rows")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Rows, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = map.next_entry()? {
                    rows.push(row);
                }
                Ok(Rows(rows))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_one_case_a_row() {
        let cases = read(
            "kinds/pods",
            "
about: Pods
cases:
- name: a pod with {row}
  base: {kind: Pod, spec: {containers: [{name: c}]}}
  rows:
    two containers: {/spec/containers/1: {name: d}}
    no containers: {/spec/containers/0: null}
",
        )
        .expect("cases");
        let objects: Vec<_> = cases
            .iter()
            .map(|case| case.steps[0].create.clone())
            .collect();
        assert_eq!(cases[0].title(), "kinds/pods: a pod with two containers");
        assert_eq!(
            objects,
            [
                Some(
                    json!({"kind": "Pod", "spec": {"containers": [{"name": "c"}, {"name": "d"}]}})
                ),
                Some(json!({"kind": "Pod", "spec": {"containers": []}})),
            ]
        );
    }

    #[test]
    fn rows_without_an_object_fill_the_steps() {
        let cases = read(
            "rest/get",
            "
about: Reading
cases:
- name: reading {row}
  steps: [{send: 'GET {path}', body: '{what}'}]
  rows: {a pod: {path: /pods, what: {deep: 1}}}
",
        )
        .expect("cases");
        assert_eq!(cases[0].steps[0].send.as_deref(), Some("GET /pods"));
        assert_eq!(cases[0].steps[0].body, Some(json!({"deep": 1})));
    }

    #[test]
    fn a_step_that_does_nothing_is_refused() {
        let text = "about: x\ncases: [{name: y, steps: [{body: {}}]}]";
        let refused = read("x", text).expect_err("no action");
        assert!(
            format!("{refused:#}").contains("a step is one of"),
            "{refused:#}"
        );
    }
}

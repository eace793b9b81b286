//! The definition of a kind that another project defines, as far as a type, an object and the record need it.

use std::collections::BTreeSet;

use heck::ToSnakeCase;
use serde_json::{Map, Value, json};

use super::{Domain, Plural, Refused};

/// A version of a kind, and the document that defines it.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    document: String,
    pub(super) name: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    spec: Value,
}

/// A field of a spec, in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    /// What it is called in objects, if that does not follow from its name.
    pub(super) rename: Option<String>,
    pub(super) r#type: String,
    pub(super) required: bool,
    pub(super) about: String,
}

impl Definition {
    /// Finds a kind among the definitions of a file: in a version, or else in the one that is stored.
    pub(super) fn find(text: &str, kind: &str, version: Option<&str>) -> Result<Self, Refused> {
        let mut known = Vec::new();
        for document in documents(text) {
            let value: Value = serde_saphyr::from_str(&document).map_err(|error| {
                Refused::new(format!("the definitions are not YAML: {error}"))
                    .hint("a file of a Helm chart is a template: render it first")
            })?;
            if value["kind"] != "CustomResourceDefinition" {
                continue;
            }
            let its_kind = value["spec"]["names"]["kind"].as_str().unwrap_or_default();
            if its_kind == kind {
                return Self::read(document, &value, version);
            }
            known.push(its_kind.to_owned());
        }
        let refused = Refused::new(format!("the file does not define {kind}"));
        Err(if known.is_empty() {
            refused.hint("it has no CustomResourceDefinition")
        } else {
            refused.hint(format!("it defines {}", known.join(", ")))
        })
    }

    fn read(document: String, value: &Value, version: Option<&str>) -> Result<Self, Refused> {
        let spec = &value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&spec["names"]["kind"]);
        let versions = spec["versions"].as_array().into_iter().flatten();
        let mut served = versions.filter(|known| known["served"] == true);
        let chosen = served.find(|known| match version {
            Some(version) => known["name"] == version,
            None => known["storage"] == true,
        });
        let chosen = chosen.ok_or_else(|| {
            let version = version.unwrap_or("that is stored");
            Refused::new(format!("{kind} has no version {version} that is served"))
        })?;
        let schema = &chosen["schema"]["openAPIV3Schema"]["properties"]["spec"];
        if schema.is_null() {
            return Err(Refused::new(format!("{kind} has no spec"))
                .hint("write its type by hand, or use kube's `DynamicObject`"));
        }
        let definition = Self {
            name: text(&value["metadata"]["name"]),
            group: text(&spec["group"]),
            version: text(&chosen["name"]),
            plural: text(&spec["names"]["plural"]),
            namespaced: spec["scope"] == "Namespaced",
            spec: schema.clone(),
            document,
            kind,
        };
        definition.check()?;
        Ok(definition)
    }

    /// Checks the names, which become names of files and modules, and parts of code: only those that an API server accepts pass.
    fn check(&self) -> Result<(), Refused> {
        let kind = &self.kind;
        let refused = |what: &str, name: &str, why: &str| {
            Err(Refused::new(format!(
                "the definition of {kind} has the {what} {name:?}: {why}"
            )))
        };
        if let Err(why) = self.group.parse::<Domain>() {
            return refused("group", &self.group, &why);
        }
        if let Err(why) = self.plural.parse::<Plural>() {
            return refused("plural", &self.plural, &why);
        }
        if !is_word(&self.version) || self.version.parse::<Plural>().is_err() {
            let why = "a version is such as v1, v1beta1 or v1alpha1";
            return refused("version", &self.version, why);
        }
        let name = format!("{}.{}", self.plural, self.group);
        if self.name != name {
            return refused("name", &self.name, &format!("it has to be {name}"));
        }
        Ok(())
    }

    /// The file that the project keeps it in.
    pub(super) fn path(&self) -> String {
        format!("{FOLDER}/{}.yaml", self.name)
    }

    pub(super) fn document(&self) -> &str {
        &self.document
    }

    /// The fields of the spec: plain ones with their types, all others as JSON.
    pub(super) fn fields(&self) -> Vec<Field> {
        let properties = self.spec["properties"].as_object();
        let fields = properties.into_iter().flatten();
        let mut taken = BTreeSet::new();
        fields
            .map(|(name, schema)| {
                let mut known = word(name);
                while !taken.insert(known.clone()) {
                    known.push('_');
                }
                field(name, known, schema, is_required(&self.spec, name))
            })
            .collect()
    }

    /// What an object needs besides its name, as YAML.
    pub(super) fn body(&self) -> String {
        let spec = json!({"spec": example(&self.spec)});
        // JSON is YAML, if it could not be written as that.
        serde_saphyr::to_string(&spec).unwrap_or_else(|_| format!("spec: {}\n", spec["spec"]))
    }
}

/// How many items of a list are made at most: lists may be in lists.
const MOST_ITEMS: usize = 10;

/// The folder of a project with the definitions of others.
pub(super) const FOLDER: &str = "crds";

/// The documents of a file, with their comments.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    let says_something = |document: &String| {
        let mut lines = document.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#'))
    };
    documents.retain(says_something);
    documents
}

/// What a field is called in Rust.
fn word(name: &str) -> String {
    let snake = name.to_snake_case();
    if is_word(&snake) {
        return snake;
    }
    // The first is for words of Rust, the second for what begins with a digit or has no letters.
    let with_end = format!("{snake}_");
    if is_word(&with_end) {
        with_end
    } else {
        format!("field_{snake}")
    }
}

fn is_word(text: &str) -> bool {
    syn::parse_str::<syn::Ident>(text).is_ok()
}

fn field(name: &str, ident: String, schema: &Value, required: bool) -> Field {
    let about = schema["description"].as_str().unwrap_or_default();
    let about = about.split("\n\n").next().unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    // What follows an abbreviation goes on in small letters.
    let mut ends = about.match_indices(". ").map(|(at, _)| at);
    let end = ends.find(|at| !about[at + 2..].starts_with(|c: char| c.is_lowercase()));
    let sentence = &about[..end.unwrap_or(about.len())];
    Field {
        rename: (camel_case(&ident) != name).then(|| name.to_owned()),
        name: ident,
        r#type: rust_type(schema),
        required,
        about: sentence.trim_end_matches('.').to_owned(),
    }
}

fn rust_type(schema: &Value) -> String {
    let element = |key: &str| rust_type(&schema[key]);
    match schema["type"].as_str() {
        Some("string") => "String".to_owned(),
        Some("boolean") => "bool".to_owned(),
        Some("integer") => "i64".to_owned(),
        Some("number") => "f64".to_owned(),
        Some("array") => format!("Vec<{}>", element("items")),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("BTreeMap<String, {}>", element("additionalProperties"))
        }
        _ => "Value".to_owned(),
    }
}

/// A name as serde's `camelCase` makes it.
fn camel_case(snake: &str) -> String {
    let mut made = String::new();
    let mut is_start = false;
    for c in snake.chars() {
        if c == '_' {
            is_start = true;
        } else if is_start {
            made.push(c.to_ascii_uppercase());
            is_start = false;
        } else {
            made.push(c);
        }
    }
    made
}

/// The smallest value that a schema asks for.
fn example(schema: &Value) -> Value {
    let bound = |name: &str| schema[name].as_i64();
    for said in ["default", "example"] {
        if !schema[said].is_null() {
            return schema[said].clone();
        }
    }
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("string") => match schema["format"].as_str() {
            Some("date-time") => "2026-01-02T03:04:05Z".into(),
            Some("duration") => "1h".into(),
            _ => "example".into(),
        },
        Some("boolean") => true.into(),
        Some("integer" | "number") => bound("minimum").unwrap_or(1).into(),
        Some("array") => {
            let least = usize::try_from(bound("minItems").unwrap_or(0)).unwrap_or(0);
            // A schema that requires more items gets too short a list, which the generated tests reject.
            vec![example(&schema["items"]); least.min(MOST_ITEMS)].into()
        }
        _ if schema["x-kubernetes-int-or-string"] == true => 1.into(),
        _ => {
            let properties = schema["properties"].as_object();
            let required = properties
                .into_iter()
                .flatten()
                .filter(|(name, _)| is_required(schema, name))
                .map(|(name, schema)| (name.clone(), example(schema)));
            Value::Object(required.collect::<Map<_, _>>())
        }
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# Of another project.
---
apiVersion: v1
kind: Namespace
metadata: {name: tickets}
---
# The one that is meant.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tickets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Ticket, plural: tickets}
  versions:
  - {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {properties: {spec: {type: object}}}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        properties:
          spec:
            type: object
            required: [type, seats, holderRef]
            properties:
              type: {type: string, enum: [Day, Month], description: 'How long it is valid. In days.'}
              seats: {type: array, minItems: 1, items: {type: integer, minimum: 3}}
              isVIP: {type: boolean}
              labels: {type: object, additionalProperties: {type: string}}
              holderRef: {type: object, required: [name], properties: {name: {type: string}, kind: {type: string}}}
";

    fn find(version: Option<&str>) -> Result<Definition, String> {
        Definition::find(FILE, "Ticket", version).map_err(|refused| refused.message)
    }

    #[test]
    fn the_version_that_is_stored_is_found_unless_another_is_said() {
        let found = find(None).unwrap();
        assert_eq!(found.version, "v1");
        assert_eq!(found.path(), "crds/tickets.example.org.yaml");
        assert!(found.document().starts_with("# The one that is meant.\n"));
        assert!(found.namespaced);
        assert_eq!(find(Some("v1alpha1")).unwrap().version, "v1alpha1");
        assert_eq!(
            find(Some("v1beta1")).unwrap_err(),
            "Ticket has no version v1beta1 that is served"
        );
        let other = Definition::find(FILE, "Seat", None).unwrap_err();
        assert_eq!(other.hint.unwrap(), "it defines Ticket");
    }

    #[test]
    fn a_schema_becomes_fields_and_an_object() {
        let found = find(None).unwrap();
        let fields = found.fields();
        let fields: Vec<_> = fields
            .iter()
            .map(|field| {
                (
                    &*field.name,
                    field.rename.as_deref(),
                    &*field.r#type,
                    field.required,
                )
            })
            .collect();
        assert_eq!(
            fields,
            [
                ("holder_ref", None, "Value", true),
                ("is_vip", Some("isVIP"), "bool", false),
                ("labels", None, "BTreeMap<String, String>", false),
                ("seats", None, "Vec<i64>", true),
                ("type_", None, "String", true),
            ]
        );
        assert_eq!(found.fields()[4].about, "How long it is valid");
        let object: Value = serde_saphyr::from_str(&found.body()).unwrap();
        assert_eq!(
            object,
            json!({"spec": {"holderRef": {"name": "example"}, "seats": [3], "type": "Day"}})
        );
    }

    #[test]
    fn names_that_no_api_server_takes_reach_neither_paths_nor_code() {
        for (ours, theirs, what) in [
            (
                "{name: tickets.example.org}",
                "{name: ../../out}",
                "name \"../../out\"",
            ),
            (
                "group: example.org",
                "group: 'example.org\")] fn f'",
                "group",
            ),
            (
                "plural: tickets",
                "plural: ../tickets",
                "plural \"../tickets\"",
            ),
            ("- name: v1\n", "- name: ../v1\n", "version \"../v1\""),
            ("- name: v1\n", "- name: 1v\n", "version \"1v\""),
        ] {
            assert!(FILE.contains(ours));
            let file = FILE.replace(ours, theirs);
            let error = Definition::find(&file, "Ticket", None).unwrap_err().message;
            let begin = format!("the definition of Ticket has the {what}");
            assert!(error.starts_with(&begin), "{theirs}: {error}");
        }
    }

    #[test]
    fn whatever_fields_are_called_each_has_a_name_of_its_own_that_rust_takes() {
        let mut found = find(None).unwrap();
        let names = [
            "$ref",
            "1st",
            "-",
            "self",
            "twoWords",
            "two_words",
            "two-words",
            "a\"b",
        ];
        let properties = names.map(|name| (name.to_owned(), json!({"type": "string"})));
        found.spec = json!({"properties": Map::from_iter(properties)});
        let fields = found.fields();
        let made: BTreeSet<&str> = fields.iter().map(|field| &*field.name).collect();
        assert_eq!(made.len(), names.len(), "{made:?}");
        for field in &fields {
            assert!(is_word(&field.name), "{field:?}");
            let called = field
                .rename
                .clone()
                .unwrap_or_else(|| camel_case(&field.name));
            assert!(names.contains(&&*called), "{field:?}");
        }
    }

    #[test]
    fn lists_that_ask_for_too_much_are_cut_short() {
        let list =
            |items: Value| json!({"type": "array", "minItems": 1_000_000_000, "items": items});
        let made = example(&list(list(json!({"type": "boolean"}))));
        assert_eq!(made.as_array().unwrap().len(), MOST_ITEMS);
    }
}

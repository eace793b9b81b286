//! JSON patch (RFC 6902) with the behaviour and error messages of the library that the real API server uses.
//!
//! The library differs from the RFC, and webhooks rely on the differences: `replace` of a missing key adds it, negative indices
//! count from the end, a `test` against a missing key passes for null.
//!
//! ```
//! use kubewright_apimachinery::patch::json::Patch;
//! use serde_json::json;
//!
//! let patch = Patch::from_value(json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]))?;
//! let mut object = json!({"spec": {}});
//! patch.apply(&mut object)?;
//! assert_eq!(object, json!({"spec": {"replicas": 3}}));
//! # Ok::<(), kubewright_apimachinery::patch::json::PatchError>(())
//! ```

mod fields;

use std::fmt::Display;

pub use fields::PatchedFields;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::conform::Changes;
use crate::depth::is_too_deep;

/// A decoded patch.
#[derive(Clone, Debug)]
pub struct Patch(Vec<Operation>);

#[derive(Clone, Debug)]
struct Operation {
    op: String,
    path: Word,
    from: Word,
    value: Value,
    /// Whether a null value is a value, and not the same as none.
    has_null: bool,
}

/// A member that must be a string: the string, or the error for another value.
type Word = Result<String, PatchError>;

/// Why a patch cannot be read or does not apply, in the library's words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct PatchError {
    message: String,
    failed_test: bool,
}

impl PatchError {
    /// Whether a `test` found another value: the patch is not wrong, it is not for this document.
    pub fn is_failed_test(&self) -> bool {
        self.failed_test
    }

    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            failed_test: false,
        }
    }

    /// The `test` at a path found another value.
    fn test_failed(path: &str) -> Self {
        Self {
            message: format!("testing value {path} failed: test failed"),
            failed_test: true,
        }
    }

    fn within(self, what: &str) -> Self {
        Self {
            message: format!("{what}: {}", self.message),
            ..self
        }
    }
}

impl Patch {
    /// Reads the patch from an already parsed document.
    ///
    /// # Errors
    /// The document is not a list of objects. JSON `null` is the empty patch.
    pub fn from_value(value: Value) -> Result<Self, PatchError> {
        let operations = match value {
            Value::Null => Vec::new(),
            Value::Array(operations) => operations,
            other => return Err(cannot_unmarshal(&other, "jsonpatch.Patch")),
        };
        operations
            .into_iter()
            .map(|operation| match operation {
                Value::Object(members) => Ok(Operation::from_members(members)),
                Value::Null => Ok(Operation::from_members(Map::new())),
                other => Err(cannot_unmarshal(&other, "jsonpatch.Operation")),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Takes null for a value: a `test` for null fails where there is nothing. JSON's own null is nothing, to the library.
    #[must_use]
    pub fn with_nulls_as_values(mut self) -> Self {
        for operation in &mut self.0 {
            operation.has_null = operation.value.is_null();
        }
        self
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the patch does nothing at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the parts of a document that this patch may change.
    pub fn changes(&self) -> Changes {
        self.places(|operation| operation.op != "test")
    }

    /// Returns the parts of a document that this patch may change or depends on.
    pub fn looks_at(&self) -> Changes {
        self.places(|_| true)
    }

    fn places(&self, counts: impl Fn(&Operation) -> bool) -> Changes {
        let mut places = Changes::default();
        for operation in self.0.iter().filter(|operation| counts(operation)) {
            for pointer in operation.path.iter().chain(&operation.from) {
                places.add(keys(pointer));
            }
        }
        places
    }

    /// Applies all operations in order.
    ///
    /// # Errors
    /// The first operation that does not apply. `document` is then half patched and to be thrown away.
    pub fn apply(&self, document: &mut Value) -> Result<(), PatchError> {
        let mut copied = 0;
        self.0
            .iter()
            .try_for_each(|operation| operation.apply(document, &mut copied))
    }
}

impl Operation {
    fn from_members(mut members: Map<String, Value>) -> Self {
        let mut text = |key: &str, absent: &str| match members.remove(key) {
            Some(Value::String(text)) => Ok(text),
            None | Some(Value::Null) => Err(missing(absent)),
            Some(other) => Err(cannot_unmarshal(&other, "string")),
        };
        Self {
            op: text("op", "").unwrap_or_else(|_| "unknown".to_owned()),
            path: text("path", "operation missing path field"),
            from: text("from", "operation, missing from field"),
            value: members.remove("value").unwrap_or_default(),
            has_null: false,
        }
    }

    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<(), PatchError> {
        match self.op.as_str() {
            "add" => self.add(document),
            "remove" => self.remove(document),
            "replace" => self.replace(document),
            "move" => self.relocate(document),
            "test" => self.test(document),
            "copy" => self.copy(document, copied),
            other => Err(PatchError::new(format!("Unexpected kind: {other}"))),
        }
    }

    fn add(&self, document: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "add operation does not apply: doc is missing path: \"{path}\""
            ))
        })?;
        check_depth(path, &self.value)?;
        add(container, &key, self.value.clone())
            .map_err(|error| error.within(&format!("error in add for path: '{path}'")))
    }

    fn remove(&self, document: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "remove operation does not apply: doc is missing path: \"{path}\""
            ))
        })?;
        remove(container, &key)
            .map(drop)
            .map_err(|error| error.within(&format!("error in remove for path: '{path}'")))
    }

    fn replace(&self, document: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        if path.is_empty() {
            if !self.value.is_object() && !self.value.is_array() && !self.has_null {
                return Err(PatchError::new(
                    "replace operation value must be object or array: %!w(<nil>)".to_owned(),
                ));
            }
            document.clone_from(&self.value);
            return Ok(());
        }
        check_depth(path, &self.value)?;
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "replace operation does not apply: doc is missing path: {path}"
            ))
        })?;
        match container {
            Container::Map(map) => {
                map.insert(key, self.value.clone());
            }
            Container::List(list) => {
                let index = position(&key, list.len()).map_err(|_| {
                    missing(format!(
                        "replace operation does not apply: doc is missing key: {path}"
                    ))
                })?;
                list[index] = self.value.clone();
            }
        }
        Ok(())
    }

    fn relocate(&self, document: &mut Value) -> Result<(), PatchError> {
        let from = self.from()?;
        let (container, key) = find(document, from).ok_or_else(|| {
            missing(format!(
                "move operation does not apply: doc is missing from path: {from}"
            ))
        })?;
        let value = remove(container, &key)
            .map_err(|error| error.within(&format!("error in move for path: '{key}'")))?;
        let path = self.path()?;
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "move operation does not apply: doc is missing destination path: {path}"
            ))
        })?;
        check_depth(path, &value)?;
        add(container, &key, value)
            .map_err(|error| error.within(&format!("error in move for path: '{path}'")))
    }

    fn test(&self, document: &mut Value) -> Result<(), PatchError> {
        let path = self.path()?;
        if path.is_empty() && *document == self.value {
            return Ok(());
        }
        if path.is_empty() {
            return Err(PatchError::test_failed(path));
        }
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "test operation does not apply: is missing path: {path}"
            ))
        })?;
        let found = get(&container, &key)
            .map_err(|error| error.within(&format!("error in test for path: '{path}'")))?;
        let is_missing = found.is_none() && self.has_null;
        if !is_missing && found.unwrap_or(&Value::Null) == &self.value {
            Ok(())
        } else {
            Err(PatchError::test_failed(path))
        }
    }

    fn copy(&self, document: &mut Value, copied: &mut usize) -> Result<(), PatchError> {
        let from = self.from()?;
        let (container, key) = find(document, from).ok_or_else(|| {
            missing(format!(
                "copy operation does not apply: doc is missing from path: {from}"
            ))
        })?;
        let value = get(&container, &key)
            .map_err(|error| error.within(&format!("error in copy for from: '{from}'")))?
            .cloned()
            .unwrap_or_default();
        let path = self.path()?;
        let (container, key) = find(document, path).ok_or_else(|| {
            missing(format!(
                "copy operation does not apply: doc is missing destination path: {path}"
            ))
        })?;
        *copied += value.to_string().len();
        if *copied > COPY_LIMIT {
            return Err(PatchError::new(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                 exceeding the limit {COPY_LIMIT}"
            )));
        }
        check_depth(path, &value)?;
        add(container, &key, value)
            .map_err(|error| error.within("error while adding value during copy"))
    }

    fn path(&self) -> Result<&str, PatchError> {
        self.path.as_deref().map_err(|why| {
            let what = format!("{} operation failed to decode path", self.op);
            match self.op.as_str() {
                "add" | "remove" | "copy" => missing(what),
                _ => why.clone().within(&what),
            }
        })
    }

    fn from(&self) -> Result<&str, PatchError> {
        self.from.as_deref().map_err(|why| {
            let what = format!("{} operation failed to decode from", self.op);
            why.clone().within(&what)
        })
    }
}

enum Container<'a> {
    Map(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

/// Refuses a value that would reach too deep at its place. The real server's limit is higher; the words are its decoder's.
fn check_depth(path: &str, value: &Value) -> Result<(), PatchError> {
    if is_too_deep(value, path.matches('/').count()) {
        let why = "invalid character '{' exceeded max depth";
        return Err(PatchError::new(why.to_owned()));
    }
    Ok(())
}

/// The container that the last part of `path` is a key of, with that key unescaped.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(Container<'a>, String)> {
    let mut keys = keys(path);
    let mut key = keys.next()?;
    let mut current = document;
    for next in keys {
        current = match current {
            Value::Object(map) => map.get_mut(&key)?,
            Value::Array(list) => {
                let index = position(&key, list.len()).ok()?;
                &mut list[index]
            }
            _ => return None,
        };
        key = next;
    }
    let container = match current {
        Value::Object(map) => Container::Map(map),
        Value::Array(list) => Container::List(list),
        _ => return None,
    };
    Some((container, key))
}

fn get<'a>(container: &'a Container<'_>, key: &str) -> Result<Option<&'a Value>, PatchError> {
    match container {
        Container::Map(map) => Ok(map.get(key)),
        Container::List(list) => position(key, list.len()).map(|index| Some(&list[index])),
    }
}

fn add(container: Container<'_>, key: &str, value: Value) -> Result<(), PatchError> {
    match container {
        Container::Map(map) => {
            map.insert(key.to_owned(), value);
        }
        Container::List(list) if key == "-" => list.push(value),
        Container::List(list) => {
            let index = index_of(key)
                .map_err(|e| e.within(&format!("value was not a proper array index: '{key}'")))?;
            let index = in_bounds(index, list.len() + 1)?;
            list.insert(index, value);
        }
    }
    Ok(())
}

fn remove(container: Container<'_>, key: &str) -> Result<Value, PatchError> {
    match container {
        Container::Map(map) => map
            .remove(key)
            .ok_or_else(|| missing(format!("Unable to remove nonexistent key: {key}"))),
        Container::List(list) => position(key, list.len()).map(|index| list.remove(index)),
    }
}

fn position(key: &str, length: usize) -> Result<usize, PatchError> {
    in_bounds(index_of(key)?, length)
}

fn in_bounds(index: i64, length: usize) -> Result<usize, PatchError> {
    let bound = i64::try_from(length).unwrap_or(i64::MAX);
    let counted = if index < 0 { index + bound } else { index };
    if (0..bound).contains(&counted) {
        Ok(usize::try_from(counted).unwrap_or_default())
    } else {
        let text = format!("Unable to access invalid index: {index}: invalid index referenced");
        Err(PatchError::new(text))
    }
}

fn index_of(key: &str) -> Result<i64, PatchError> {
    key.parse()
        .map_err(|_| PatchError::new(format!("strconv.Atoi: parsing \"{key}\": invalid syntax")))
}

/// The keys on the way that a JSON pointer goes.
fn keys(pointer: &str) -> impl Iterator<Item = String> {
    pointer.split('/').skip(1).map(unescape)
}

/// A key as a part of a JSON pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(part: &str) -> String {
    if part.contains('~') {
        part.replace("~1", "/").replace("~0", "~")
    } else {
        part.to_owned()
    }
}

fn missing(what: impl Display) -> PatchError {
    PatchError::new(format!("{what}: missing value"))
}

fn cannot_unmarshal(value: &Value, into: &str) -> PatchError {
    let what = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    PatchError::new(format!(
        "json: cannot unmarshal {what} into Go value of type {into}"
    ))
}

/// What all `copy` operations of one patch may add: the request body limit of the real server.
const COPY_LIMIT: usize = 3 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(mut document: Value, operations: Value) -> Result<Value, String> {
        let patch = Patch::from_value(operations).map_err(|error| error.to_string())?;
        patch
            .apply(&mut document)
            .map_err(|error| error.to_string())?;
        Ok(document)
    }

    #[test]
    fn operations_that_apply() {
        let table = [
            (
                json!({}),
                json!([{"op": "add", "path": "/a", "value": 1}]),
                json!({"a": 1}),
            ),
            (
                json!({"a": 1}),
                json!([{"op": "replace", "path": "/b", "value": 2}]),
                json!({"a": 1, "b": 2}),
            ),
            (
                json!({"l": [1, 2]}),
                json!([{"op": "add", "path": "/l/-", "value": 3}]),
                json!({"l": [1, 2, 3]}),
            ),
            (
                json!({"l": [1, 2]}),
                json!([{"op": "add", "path": "/l/2", "value": 3}]),
                json!({"l": [1, 2, 3]}),
            ),
            (
                json!({"l": [1, 2]}),
                json!([{"op": "add", "path": "/l/0", "value": 3}]),
                json!({"l": [3, 1, 2]}),
            ),
            (
                json!({"l": [1, 2]}),
                json!([{"op": "replace", "path": "/l/-1", "value": 3}]),
                json!({"l": [1, 3]}),
            ),
            (
                json!({"l": [1, 2]}),
                json!([{"op": "remove", "path": "/l/-2"}]),
                json!({"l": [2]}),
            ),
            (
                json!({"a/b": {"c~d": 1}}),
                json!([{"op": "remove", "path": "/a~1b/c~0d"}]),
                json!({"a/b": {}}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!([{"op": "move", "from": "/a/b", "path": "/c"}]),
                json!({"a": {}, "c": 1}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!([{"op": "copy", "from": "/a", "path": "/c"}]),
                json!({"a": {"b": 1}, "c": {"b": 1}}),
            ),
            (
                json!({"a": 1}),
                json!([{"op": "test", "path": "/a", "value": 1}]),
                json!({"a": 1}),
            ),
            (
                json!({"a": 1}),
                json!([{"op": "test", "path": "/b", "value": null}]),
                json!({"a": 1}),
            ),
            (json!({"a": 1}), json!(null), json!({"a": 1})),
            (
                json!({"": 1}),
                json!([{"op": "remove", "path": "/"}]),
                json!({}),
            ),
        ];
        for (document, operations, expected) in table {
            assert_eq!(
                patched(document, operations.clone()),
                Ok(expected),
                "{operations}"
            );
        }
    }

    #[test]
    fn errors_have_the_messages_of_the_real_server() {
        let table = [
            (
                json!([{"op": "add", "path": "/x/b", "value": 1}]),
                r#"add operation does not apply: doc is missing path: "/x/b": missing value"#,
            ),
            (
                json!([{"op": "remove", "path": "/a/b"}]),
                "error in remove for path: '/a/b': Unable to remove nonexistent key: b: missing value",
            ),
            (
                json!([{"op": "remove", "path": "/x/b"}]),
                r#"remove operation does not apply: doc is missing path: "/x/b": missing value"#,
            ),
            (
                json!([{"op": "replace", "path": "/x/b", "value": 1}]),
                "replace operation does not apply: doc is missing path: /x/b: missing value",
            ),
            (
                json!([{"op": "replace", "path": "/l/7", "value": 1}]),
                "replace operation does not apply: doc is missing key: /l/7: missing value",
            ),
            (
                json!([{"op": "replace", "path": "/l/-", "value": 1}]),
                "replace operation does not apply: doc is missing key: /l/-: missing value",
            ),
            (
                json!([{"op": "test", "path": "/a", "value": 1}]),
                "testing value /a failed: test failed",
            ),
            (
                json!([{"op": "frob", "path": "/a"}]),
                "Unexpected kind: frob",
            ),
            (json!([{"path": "/a"}]), "Unexpected kind: unknown"),
            (
                json!([{"op": "add", "value": 1}]),
                "add operation failed to decode path: missing value",
            ),
            (
                json!({"op": "add"}),
                "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
            ),
        ];
        for (operations, text) in table {
            let result = patched(json!({"a": {}, "l": [1]}), operations.clone());
            assert_eq!(result, Err(text.to_owned()), "{operations}");
        }
    }

    #[test]
    fn copies_cannot_grow_an_object_without_end() {
        let mut operations =
            vec![json!({"op": "add", "path": "/a0", "value": "x".repeat(1 << 20)})];
        operations
            .extend((1..5).map(|n| json!({"op": "copy", "from": "/a0", "path": format!("/a{n}")})));
        let error = patched(json!({}), Value::Array(operations)).unwrap_err();
        assert!(
            error.starts_with("Unable to complete the copy, the accumulated size increase"),
            "{error}"
        );
    }
}

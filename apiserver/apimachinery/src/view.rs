//! Reads and changes JSON trees the way Go's structs are read: what is absent is null, empty or zero.
//!
//! ```
//! use kubewright_apimachinery::view::{Edit, View};
//! use serde_json::json;
//!
//! let mut pod = json!({"spec": {"containers": [{"name": "c"}], "hostNetwork": true}});
//! assert_eq!(pod.at("spec").list("containers")[0].text("name"), "c");
//! assert!(pod.at("spec").flag("hostNetwork"));
//! assert_eq!(pod.at("status").text("phase"), "");
//!
//! if let Some(spec) = pod.part("spec") {
//!     spec.fill("restartPolicy", "Always");
//! }
//! assert_eq!(pod["spec"]["restartPolicy"], "Always");
//! ```

use serde_json::{Map, Value};

/// Reads fields of an untyped object without a check whether they are there.
pub trait View {
    /// The field, or null.
    fn at(&self, field: &str) -> &Value;
    /// The field's text, or an empty one.
    fn text(&self, field: &str) -> &str;
    /// The field's whole number.
    fn int(&self, field: &str) -> Option<i64>;
    /// The field's truth; absent is false.
    fn flag(&self, field: &str) -> bool;
    /// The field's elements, or none.
    fn list(&self, field: &str) -> &[Value];
    /// The field's keys and values.
    fn map(&self, field: &str) -> Option<&Map<String, Value>>;
    /// Whether the field is there and not null.
    fn has(&self, field: &str) -> bool;
    /// The field's keys and values, none if it is absent.
    fn entries<'a>(&'a self, field: &str) -> impl Iterator<Item = (&'a str, &'a Value)>;
}

impl View for Value {
    #[inline]
    fn at(&self, field: &str) -> &Value {
        match self {
            Self::Object(map) => map.get(field).unwrap_or(&Self::Null),
            _ => &Self::Null,
        }
    }

    #[inline]
    fn text(&self, field: &str) -> &str {
        self.at(field).as_str().unwrap_or_default()
    }

    #[inline]
    fn int(&self, field: &str) -> Option<i64> {
        self.at(field).as_i64()
    }

    #[inline]
    fn flag(&self, field: &str) -> bool {
        self.at(field).as_bool().unwrap_or_default()
    }

    #[inline]
    fn list(&self, field: &str) -> &[Value] {
        self.at(field).as_array().map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn map(&self, field: &str) -> Option<&Map<String, Value>> {
        self.at(field).as_object()
    }

    #[inline]
    fn has(&self, field: &str) -> bool {
        !self.at(field).is_null()
    }

    #[inline]
    fn entries<'a>(&'a self, field: &str) -> impl Iterator<Item = (&'a str, &'a Self)> {
        self.map(field)
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value))
    }
}

/// Changes fields of an untyped object.
pub trait Edit {
    /// The field as an object, made empty where it is absent; nothing where the value itself is not an object.
    fn part(&mut self, field: &str) -> Option<&mut Value>;
    /// The field as an object, only where it is there.
    fn existing(&mut self, field: &str) -> Option<&mut Value>;
    /// The field's elements, none if it is absent.
    fn each(&mut self, field: &str) -> std::slice::IterMut<'_, Value>;
    /// Sets the field.
    fn put(&mut self, field: &str, value: impl Into<Value>);
    /// Sets the field where it is absent or null.
    fn fill(&mut self, field: &str, value: impl Into<Value>);
    /// Sets the field where it is absent, null or an empty text.
    fn fill_text(&mut self, field: &str, value: &str);
    /// Takes the field away.
    fn drop_field(&mut self, field: &str);
    /// Makes the field what it is in `other`: the same value, or absent.
    fn take_from(&mut self, other: &Value, field: &str);
}

impl Edit for Value {
    fn part(&mut self, field: &str) -> Option<&mut Value> {
        let map = self.as_object_mut()?;
        if !map.contains_key(field) {
            map.insert(field.to_owned(), Self::Null);
        }
        let part = map.get_mut(field)?;
        if part.is_null() {
            *part = Self::Object(Map::new());
        }
        part.is_object().then_some(part)
    }

    #[inline]
    fn existing(&mut self, field: &str) -> Option<&mut Value> {
        self.get_mut(field).filter(|part| part.is_object())
    }

    #[inline]
    fn each(&mut self, field: &str) -> std::slice::IterMut<'_, Value> {
        match self.get_mut(field) {
            Some(Self::Array(items)) => items.iter_mut(),
            _ => [].iter_mut(),
        }
    }

    #[inline]
    fn put(&mut self, field: &str, value: impl Into<Self>) {
        if let Self::Object(map) = self {
            map.insert(field.to_owned(), value.into());
        }
    }

    #[inline]
    fn fill(&mut self, field: &str, value: impl Into<Self>) {
        if !self.has(field) {
            self.put(field, value);
        }
    }

    #[inline]
    fn fill_text(&mut self, field: &str, value: &str) {
        let current = self.at(field);
        if current.is_null() || current.as_str() == Some("") {
            self.put(field, value);
        }
    }

    #[inline]
    fn drop_field(&mut self, field: &str) {
        if let Self::Object(map) = self {
            map.remove(field);
        }
    }

    fn take_from(&mut self, other: &Value, field: &str) {
        match other.get(field) {
            Some(value) => self.put(field, value.clone()),
            None => self.drop_field(field),
        }
    }
}

/// An empty object, `{}`.
#[inline]
pub fn empty() -> Value {
    Value::Object(Map::new())
}

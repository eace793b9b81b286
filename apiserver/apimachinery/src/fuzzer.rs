//! Random objects of the built-in kinds, for tests of what reads, writes and compares objects.
//!
//! ```
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use kubewright_apimachinery::{fuzzer, protobuf};
//!
//! let pods = GroupVersionKind {
//!     version: "v1".to_owned(),
//!     kind: "Pod".to_owned(),
//!     ..GroupVersionKind::default()
//! };
//! let pod = fuzzer::object(&pods, 7).expect("pods are a built-in kind");
//! assert_eq!(pod, fuzzer::object(&pods, 7).unwrap());
//! assert!(protobuf::decode(&protobuf::encode(&pod)).is_ok());
//! ```

use serde_json::{Map, Value, json};

use crate::meta::GroupVersionKind;
use crate::types::{self, Shape, Slot, Type};

/// Makes an object of a kind that has only fields of the right types; the same one for the same seed.
///
/// `None` for a kind that is not built in.
pub fn object(kind: &GroupVersionKind, seed: u64) -> Option<Value> {
    Random::new(seed, 0).kind(kind)
}

/// Makes an object of a kind in which some values are of a wrong type.
///
/// `None` for a kind that is not built in.
pub fn object_with_mistakes(kind: &GroupVersionKind, seed: u64) -> Option<Value> {
    Random::new(seed, 5).kind(kind)
}

struct Random {
    state: u64,
    /// How many values in a hundred have a wrong type.
    mistakes: u64,
}

impl Random {
    fn new(seed: u64, mistakes: u64) -> Self {
        Self {
            state: seed,
            mistakes,
        }
    }

    /// A number below `limit` (SplitMix64).
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_of(&mut self, values: &[Value]) -> Value {
        let at = self.below(values.len() as u64);
        values[usize::try_from(at).unwrap_or_default()].clone()
    }

    fn kind(&mut self, kind: &GroupVersionKind) -> Option<Value> {
        let ty = types::root(kind)?;
        let mut object = self.fields(ty.inner(), 0);
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind.clone().into();
        Some(object)
    }

    fn fields(&mut self, ty: &'static Type, depth: u64) -> Value {
        let mut object = Map::new();
        for field in &ty.fields {
            // Typed clients cannot read the null that Go writes for a required time that is missing.
            if field.required && matches!(field.slot.shape, Shape::Time | Shape::MicroTime) {
                object.insert(field.name.to_owned(), "2024-01-02T03:04:05.123456Z".into());
                continue;
            }
            let few = ty.fields.len() > 20 || depth > 4;
            let wanted = self.below(if few { 100 } else { 40 }) < 22;
            if wanted && depth < 10 {
                let value = self.value(&field.slot, depth);
                object.insert(field.name.to_owned(), value);
            }
        }
        Value::Object(object)
    }

    /// An item of a list or map; null only where that is not an object.
    fn item(&mut self, slot: &'static Slot, depth: u64) -> Value {
        match &slot.shape {
            Shape::Object(reference) if self.mistakes == 0 => {
                self.fields(reference.get().inner(), depth + 1)
            }
            _ => self.value(slot, depth),
        }
    }

    fn value(&mut self, slot: &'static Slot, depth: u64) -> Value {
        if self.below(100) < self.mistakes {
            return self.one_of(&[
                json!(1),
                json!("x"),
                json!(true),
                json!([]),
                json!({}),
                json!([1.5]),
            ]);
        }
        if self.below(12) == 0 {
            return Value::Null;
        }
        match &slot.shape {
            Shape::String => self.one_of(&[json!(""), json!("x"), json!("é\"<&>")]),
            Shape::Bool => self.one_of(&[json!(true), json!(false)]),
            Shape::Int32 | Shape::Int64 => self.one_of(&[json!(0), json!(-5), json!(i32::MAX)]),
            Shape::Float64 => self.one_of(&[json!(0), json!(2.5)]),
            Shape::Bytes => self.one_of(&[json!(""), json!("YQ=="), json!("YWJj")]),
            Shape::Time => self.one_of(&[
                json!("2024-01-02T03:04:05Z"),
                json!("2024-01-02T03:04:05.5+02:00"),
            ]),
            Shape::MicroTime => self.one_of(&[json!("2024-01-02T03:04:05.123456Z")]),
            Shape::Quantity => self.one_of(&[
                json!("1"),
                json!("0.5"),
                json!("1024Ki"),
                json!(2),
                json!("0"),
            ]),
            Shape::IntOrString => self.one_of(&[json!(0), json!(80), json!("http"), json!("")]),
            Shape::Raw | Shape::Json | Shape::Fields => {
                self.one_of(&[json!({"a": [1, null]}), json!({})])
            }
            Shape::SchemaOrBool => {
                self.one_of(&[json!(true), json!(false), json!({"type": "string"})])
            }
            Shape::SchemaOrList => {
                self.one_of(&[json!({"type": "string"}), json!([{"title": ""}])])
            }
            Shape::SchemaOrNames => self.one_of(&[json!({"type": "string"}), json!(["a"])]),
            Shape::Object(reference) => self.fields(reference.get().inner(), depth + 1),
            Shape::List(item) => {
                let length = self.below(3);
                (0..length).map(|_| self.item(item, depth + 1)).collect()
            }
            Shape::Map(_, item) => {
                let length = self.below(3);
                let entries =
                    (0..length).map(|at| (format!("key{at}"), self.item(item, depth + 1)));
                Value::Object(entries.collect())
            }
        }
    }
}

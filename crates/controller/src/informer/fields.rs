//! Which fields of an object a type reads, and the JSON of an object with no others.
//!
//! A type says so itself when it is decoded: serde's derived code names the fields of a struct, and skips the values of all
//! others. What is left is therefore decoded to the same value as the whole object is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::CowStrDeserializer;
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::Error;
use serde_json::value::RawValue;

/// The parts of a JSON value that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// Whether there is a value, but not which.
    Presence,
    All,
    /// These members of an object, and no others.
    Members(BTreeMap<String, Self>),
    /// Parts of the items of an array.
    Items(Vec<Self>),
}

impl Fields {
    /// The parts of an object that a type reads.
    ///
    /// # Errors
    ///
    /// When the object is not of that type.
    pub(crate) fn read_by<T: DeserializeOwned>(json: &str) -> Result<Self, Error> {
        let mut fields = Self::Presence;
        let value: &RawValue = serde_json::from_str(json)?;
        T::deserialize(Watched {
            value,
            fields: &mut fields,
        })?;
        Ok(fields)
    }

    /// The parts that are read here or there.
    pub(crate) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Presence, fields) | (fields, Self::Presence) => fields,
            (Self::Members(mut all), Self::Members(others)) => {
                for (name, fields) in others {
                    add(&mut all, name, fields);
                }
                Self::Members(all)
            }
            (Self::Items(all), Self::Items(others)) if all.len() == others.len() => {
                let pairs = all.into_iter().zip(others);
                Self::Items(pairs.map(|(one, other)| one.or(other)).collect())
            }
            _ => Self::All,
        }
    }

    /// The JSON with these parts alone.
    pub(crate) fn of(&self, json: &str) -> Result<String, Error> {
        let mut left = String::new();
        self.write(json, &mut left)?;
        Ok(left)
    }

    fn write(&self, json: &str, left: &mut String) -> Result<(), Error> {
        match self {
            Self::All => left.push_str(json),
            // The shortest value that is there.
            Self::Presence => left.push('0'),
            Self::Members(read) => {
                let Members(all) = serde_json::from_str(json)?;
                let kept = all.iter().filter_map(|(name, value)| {
                    let fields = read.get(&**name)?;
                    Some((name, value, fields))
                });
                left.push('{');
                for (number, (name, value, fields)) in kept.enumerate() {
                    if number > 0 {
                        left.push(',');
                    }
                    left.push_str(&serde_json::to_string(name)?);
                    left.push(':');
                    fields.write(value.get(), left)?;
                }
                left.push('}');
            }
            Self::Items(read) => {
                let all: Vec<&RawValue> = serde_json::from_str(json)?;
                left.push('[');
                for (number, (value, fields)) in all.iter().zip(read).enumerate() {
                    if number > 0 {
                        left.push(',');
                    }
                    fields.write(value.get(), left)?;
                }
                left.push(']');
            }
        }
        Ok(())
    }
}

fn add(all: &mut BTreeMap<String, Fields>, name: String, fields: Fields) {
    let fields = match all.remove(&name) {
        Some(known) => known.or(fields),
        None => fields,
    };
    all.insert(name, fields);
}

/// A value whose decoding shows which parts of it are read.
struct Watched<'de, 'a> {
    value: &'de RawValue,
    fields: &'a mut Fields,
}

impl<'de> Watched<'de, '_> {
    fn is(&self, opening: char) -> bool {
        self.value.get().starts_with(opening)
    }

    /// Decodes the value as serde_json does: all of it is read.
    fn whole<R>(
        self,
        read: impl FnOnce(
            &mut serde_json::Deserializer<serde_json::de::StrRead<'de>>,
        ) -> Result<R, Error>,
    ) -> Result<R, Error> {
        *self.fields = Fields::All;
        read(&mut serde_json::Deserializer::from_str(self.value.get()))
    }

    fn members<V: Visitor<'de>>(
        self,
        names: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Members(all) = serde_json::from_str(self.value.get())?;
        let mut members = WatchedMembers {
            rest: all.into_iter(),
            next: None,
            names,
            read: BTreeMap::new(),
        };
        let value = visitor.visit_map(&mut members)?;
        if members.rest.next().is_some() {
            return Err(Error::custom("not all members are read"));
        }
        *self.fields = Fields::Members(members.read);
        Ok(value)
    }

    fn items<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let all: Vec<&RawValue> = serde_json::from_str(self.value.get())?;
        let mut items = WatchedItems {
            rest: all.into_iter(),
            read: Vec::new(),
        };
        let value = visitor.visit_seq(&mut items)?;
        if items.rest.next().is_some() {
            return Err(Error::custom("not all items are read"));
        }
        *self.fields = Fields::Items(items.read);
        Ok(value)
    }
}

macro_rules! read_whole {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.whole(|json| json.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Watched<'de, '_> {
    type Error = Error;

    read_whole! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
        deserialize_identifier
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.get() == "null" {
            self.whole(|json| json.deserialize_option(visitor))
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.whole(|json| json.deserialize_unit_struct(name, visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        // A `RawValue`, which serde_json knows by this name.
        if name.starts_with('$') {
            return self.whole(|json| json.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is('[') {
            return self.items(visitor);
        }
        self.whole(|json| json.deserialize_seq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is('{') {
            return self.members(None, visitor);
        }
        self.whole(|json| json.deserialize_map(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.is('{') {
            return self.members(Some(names), visitor);
        }
        self.whole(|json| json.deserialize_struct(name, names, visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.whole(|json| json.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.fields = Fields::Presence;
        visitor.visit_unit()
    }
}

struct WatchedMembers<'de> {
    rest: std::vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    next: Option<(Cow<'de, str>, &'de RawValue)>,
    /// The fields of a struct; a map has none.
    names: Option<&'static [&'static str]>,
    read: BTreeMap<String, Fields>,
}

impl<'de> MapAccess<'de> for &mut WatchedMembers<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        self.next = self.rest.next();
        let Some((name, _)) = &self.next else {
            return Ok(None);
        };
        seed.deserialize(CowStrDeserializer::new(name.clone()))
            .map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let next = self.next.take();
        let (name, value) = next.ok_or_else(|| Error::custom("a value without a name"))?;
        let mut fields = Fields::Presence;
        let decoded = seed.deserialize(Watched {
            value,
            fields: &mut fields,
        })?;
        // Of a map, and of a field that the struct has, it is seen that they are there.
        let is_unknown = self.names.is_some_and(|names| !names.contains(&&*name));
        if !is_unknown || fields != Fields::Presence {
            add(&mut self.read, name.into_owned(), fields);
        }
        Ok(decoded)
    }
}

struct WatchedItems<'de> {
    rest: std::vec::IntoIter<&'de RawValue>,
    read: Vec<Fields>,
}

impl<'de> SeqAccess<'de> for &mut WatchedItems<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.rest.next() else {
            return Ok(None);
        };
        let mut fields = Fields::Presence;
        let decoded = seed.deserialize(Watched {
            value,
            fields: &mut fields,
        })?;
        self.read.push(fields);
        Ok(Some(decoded))
    }
}

/// The members of a JSON object, in order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    all.push((name, value));
                }
                Ok(Members(all))
            }
        }

        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests;

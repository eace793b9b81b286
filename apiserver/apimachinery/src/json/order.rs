//! The order in which a body names its fields: Go's strict decoder complains in it, and a sorted map has lost it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Every path of a JSON body, in the order of the text; a field that stands twice is there twice.
///
/// A body that is not JSON has none.
pub fn paths(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let place = Place {
        found: &mut found,
        path: String::new(),
    };
    match place.deserialize(&mut reader) {
        Ok(()) => found,
        Err(_) => Vec::new(),
    }
}

struct Place<'a> {
    found: &'a mut Vec<String>,
    path: String,
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            let found = &mut *self.found;
            if items.next_element_seed(Place { found, path })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => key,
                parent => format!("{parent}.{key}"),
            };
            self.found.push(path.clone());
            let found = &mut *self.found;
            members.next_value_seed(Place { found, path })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_as_the_text_names_them() {
        let body = br#"{"z":1.5,"a":[{"y":true,"b":null}],"z":{"c":"x"}}"#;
        assert_eq!(paths(body), ["z", "a", "a[0].y", "a[0].b", "z", "z.c"]);
        assert!(paths(b"{").is_empty());
    }
}

//! Objects that a structural schema allows, made from a number.

use regex::Regex;
use serde_json::{Map, Value, json};

/// Makes objects from schemas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generator {
    /// What the objects are made from. The same number makes the same ones.
    pub(crate) seed: u64,
    /// The values of fields, by their paths.
    pub(crate) values: Vec<(String, Vec<Value>)>,
}

impl Generator {
    /// The next object.
    ///
    /// # Errors
    /// The schema says too little of a field.
    pub(crate) fn object(&mut self, schema: &Value) -> Result<Value, String> {
        match self.value(schema, "")? {
            object @ Value::Object(_) => Ok(object),
            _ => Ok(json!({})),
        }
    }

    fn value(&mut self, schema: &Value, path: &str) -> Result<Value, String> {
        let said = self.values.iter().find(|(known, _)| known == path);
        if let Some(values) = said.map(|(_, values)| values.clone()) {
            return Ok(self.one_of(&values).unwrap_or_default());
        }
        if schema["nullable"] == true && self.chance(8) {
            return Ok(Value::Null);
        }
        if let Some(values) = schema["enum"].as_array() {
            return Ok(self.one_of(values).unwrap_or_default());
        }
        if schema["x-kubernetes-int-or-string"] == true {
            let values = [json!(1), json!("50%"), json!(0)];
            return Ok(self.one_of(&values).unwrap_or_default());
        }
        match schema["type"].as_str() {
            Some("object") => self.members(schema, path),
            Some("array") => self.elements(schema, path),
            Some("string") => self.text(schema, path),
            Some("integer") => Ok(self.integer(schema)),
            Some("number") => {
                let values = [json!(0), json!(1), json!(-2.25), json!(0.5)];
                Ok(self.one_of(&values).unwrap_or_default())
            }
            Some("boolean") => Ok(self.chance(2).into()),
            _ if schema["x-kubernetes-preserve-unknown-fields"] == true => Ok(json!({"any": [1]})),
            _ => Err(format!(
                "{path} has no type; say which values it has with `.values({path:?}, [..])`"
            )),
        }
    }

    fn members(&mut self, schema: &Value, path: &str) -> Result<Value, String> {
        let mut made = Map::new();
        let properties = schema["properties"].as_object();
        for (name, property) in properties.into_iter().flatten() {
            let below = format!("{path}.{name}");
            let below = below.strip_prefix('.').unwrap_or(&below);
            let default = &property["default"];
            if is_required(schema, name) || self.chance(2) {
                made.insert(name.clone(), self.value(property, below)?);
            } else if !default.is_null() {
                made.insert(name.clone(), default.clone());
            }
        }
        self.choose(schema, &mut made, path)?;
        let others = &schema["additionalProperties"];
        if others.is_object() {
            for key in ["a", "b.c/d"] {
                if self.chance(2) {
                    let value = self.value(others, &format!("{path}{{}}"))?;
                    made.insert(key.to_owned(), value);
                }
            }
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == true && self.chance(2) {
            made.insert("unknownToTheSchema".to_owned(), json!({"deep": [1, "a"]}));
        }
        Ok(Value::Object(made))
    }

    /// Of several members of which exactly one has to be there, leaves one.
    fn choose(
        &mut self,
        schema: &Value,
        made: &mut Map<String, Value>,
        path: &str,
    ) -> Result<(), String> {
        let alternatives: Vec<Value> = schema["oneOf"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| match one["required"].as_array().map(Vec::as_slice) {
                Some([name]) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let Some(Value::String(chosen)) = self.one_of(&alternatives) else {
            return Ok(());
        };
        made.retain(|name, _| *name == chosen || !alternatives.contains(&name.as_str().into()));
        if !made.contains_key(&chosen) {
            let below = format!("{path}.{chosen}");
            let value = self.value(&schema["properties"][&chosen], &below)?;
            made.insert(chosen, value);
        }
        Ok(())
    }

    fn elements(&mut self, schema: &Value, path: &str) -> Result<Value, String> {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        let most = schema["maxItems"].as_u64().unwrap_or(least + 3);
        let count = least + self.below(most.min(least + 3) - least + 1);
        let mut made: Vec<Value> = Vec::new();
        let below = format!("{path}[]");
        for _ in 0..count {
            let element = self.value(&schema["items"], &below)?;
            if !is_listed(schema, &made, &element) {
                made.push(element);
            }
        }
        Ok(made.into())
    }

    fn text(&mut self, schema: &Value, path: &str) -> Result<Value, String> {
        let values: &[&str] = match schema["format"].as_str() {
            Some("date-time") => &["2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z"],
            Some("date") => &["2026-01-02"],
            Some("duration") => &["1h0m0s", "250ms"],
            Some("byte") => &["", "YQ=="],
            Some("uuid") => &["7b0a3f3e-31a7-4bd5-8d6f-0a8e3c1d2b4f"],
            Some("ipv4" | "ip") => &["10.0.0.1"],
            Some("ipv6") => &["fd00::1"],
            Some("uri") => &["https://example.com/a"],
            Some("email") => &["a@example.com"],
            Some("hostname") => &["a.example.com"],
            _ => &["", "a", "b c", "äöü €", "0", "true", "Ready", "a/B"],
        };
        let mut values = values.to_vec();
        if let Some(pattern) = schema["pattern"].as_str() {
            // One that cannot be read here matches nothing, as one does that is too special.
            let pattern = Regex::new(pattern).ok();
            values.retain(|value| pattern.as_ref().is_some_and(|it| it.is_match(value)));
        }
        if values.is_empty() {
            return Err(format!(
                "{path} has a pattern; say which values it has with `.values({path:?}, [..])`"
            ));
        }
        let text = values[self.index(values.len())];
        let least = length(schema, "minLength").unwrap_or(0);
        let most = length(schema, "maxLength").unwrap_or(usize::MAX);
        let mut text: String = text.chars().take(most).collect();
        while text.chars().count() < least {
            text.push('x');
        }
        Ok(text.into())
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let (least, most) = match schema["format"].as_str() {
            Some("int8") => (-128, 127),
            Some("int16") => (-32_768, 32_767),
            Some("uint8") => (0, 255),
            Some("uint16") => (0, 65_535),
            Some("uint32") => (0, u32::MAX.into()),
            Some("uint" | "uint64") => (0, i64::MAX),
            Some("int" | "int64") => (i64::MIN, i64::MAX),
            _ => (i32::MIN.into(), i32::MAX.into()),
        };
        // Definitions write the bounds of whole numbers with a fraction, too.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "bounds of whole numbers are whole"
        )]
        let bound = |name: &str| schema[name].as_f64().map(|bound| bound as i64);
        let (minimum, maximum) = (bound("minimum"), bound("maximum"));
        let step = |is: &str| i64::from(schema[is] == true);
        let least = minimum.map_or(least, |least| least + step("exclusiveMinimum"));
        let most = maximum.map_or(most, |most| most - step("exclusiveMaximum"));
        let values = [least, most, 0, 1, 7, 1000];
        let mut values: Vec<i64> = values
            .into_iter()
            .filter(|value| (least..=most).contains(value))
            .collect();
        if let Some(multiple) = bound("multipleOf").filter(|multiple| *multiple > 0) {
            for value in &mut values {
                *value -= value.rem_euclid(multiple);
            }
            values.retain(|value| *value >= least);
        }
        values[self.index(values.len())].into()
    }

    fn one_of(&mut self, values: &[Value]) -> Option<Value> {
        if values.is_empty() {
            return None;
        }
        Some(values[self.index(values.len())].clone())
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or(0)
    }

    /// `SplitMix64`: short, and good enough to choose with.
    fn below(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

fn length(schema: &Value, bound: &str) -> Option<usize> {
    schema[bound]
        .as_u64()
        .and_then(|length| usize::try_from(length).ok())
}

fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|known| known == name))
}

/// Whether a list whose elements differ has this one already.
fn is_listed(schema: &Value, made: &[Value], element: &Value) -> bool {
    match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => made.contains(element),
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array();
            let keys: Vec<&str> = keys
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            made.iter()
                .any(|known| keys.iter().all(|key| known[*key] == element[*key]))
        }
        _ => false,
    }
}

/// What an object would be without one of its parts, as far as the schema can do without it.
pub(crate) fn smaller(object: &Value, schema: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match object {
        Value::Object(members) => {
            let has_choice = schema["oneOf"].is_array();
            for (name, value) in members {
                let property = &schema["properties"][name];
                if property.is_null() {
                    continue;
                }
                if !is_required(schema, name) && !has_choice && property["default"].is_null() {
                    let mut without = members.clone();
                    without.remove(name);
                    found.push(Value::Object(without));
                }
                for smaller in smaller(value, property) {
                    let mut with = members.clone();
                    with.insert(name.clone(), smaller);
                    found.push(Value::Object(with));
                }
            }
        }
        Value::Array(items) => {
            let least = length(schema, "minItems").unwrap_or(0);
            for (index, item) in items.iter().enumerate() {
                if items.len() > least {
                    let mut without = items.clone();
                    without.remove(index);
                    found.push(without.into());
                }
                if schema["x-kubernetes-list-type"].is_null() {
                    for smaller in smaller(item, &schema["items"]) {
                        let mut with = items.clone();
                        with[index] = smaller;
                        found.push(with.into());
                    }
                }
            }
        }
        _ => {}
    }
    found
}

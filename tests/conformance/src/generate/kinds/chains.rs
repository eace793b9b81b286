//! Every field of a kind, however deep. `fields` goes down from the root, and so it meets a deep field seldom.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kubewright_apimachinery::types::{FieldRef, Shape, Slot, TypeRef};
use serde_json::{Map, Value, json};

use super::fields::{KEYS, odd, value};
use super::valid::{VALID, root};
use crate::generate::random::Random;

/// The fields on the way from an object to one of its fields, and that field.
pub(super) type Chain = Vec<FieldRef>;

/// How deep a field may be.
const DEEPEST: usize = 12;

/// The fields of each kind that has valid objects.
pub(super) static CHAINS: LazyLock<BTreeMap<&'static str, Vec<Chain>>> = LazyLock::new(|| {
    let kinds = VALID.iter().filter_map(|(kind, valid)| {
        let root = root(&valid.first()?.object)?;
        let mut all = Vec::new();
        below(root, &mut Vec::new(), &mut vec![root], &mut all);
        Some((kind.as_str(), all))
    });
    kinds.collect()
});

/// Adds the fields of a type and of what is in it, but for what repeats a type around it.
fn below(of: TypeRef, chain: &mut Chain, around: &mut Vec<TypeRef>, all: &mut Vec<Chain>) {
    for field in of.fields() {
        if chain.is_empty() && matches!(field.name(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        chain.push(field);
        all.push(chain.clone());
        if let Some(inner) = field.slot().object()
            && !around.contains(&inner)
            && chain.len() < DEEPEST
        {
            around.push(inner);
            below(inner, chain, around, all);
            around.pop();
        }
        chain.pop();
    }
}

/// The path of a field, as an error would name it.
pub(super) fn path(chain: &[FieldRef]) -> String {
    let names: Vec<&str> = chain.iter().map(|field| field.name()).collect();
    names.join(".")
}

/// Gives the field at the end of a chain a value. What is not there on the way is made.
pub(super) fn put(random: &mut Random, chain: &[FieldRef], object: &mut Map<String, Value>) {
    let Some((field, rest)) = chain.split_first() else {
        return;
    };
    let (slot, name) = (field.slot(), field.name());
    if rest.is_empty() {
        let new = if random.one_in(3) {
            value(random, slot, name, 2)
        } else {
            odd(random, slot, name)
        };
        object.insert(name.to_owned(), new);
        return;
    }
    let here = object.entry(name).or_insert(Value::Null);
    inside(random, slot, name, rest, here);
}

fn inside(random: &mut Random, slot: &Slot, name: &str, rest: &[FieldRef], here: &mut Value) {
    match &slot.shape {
        Shape::List(item) => {
            if here.as_array().is_none_or(Vec::is_empty) {
                *here = json!([null]);
            }
            if let Value::Array(items) = here {
                let at = random.below(items.len());
                inside(random, item, name, rest, &mut items[at]);
            }
        }
        Shape::Map(_, item) => {
            if here.as_object().is_none_or(Map::is_empty) {
                *here = json!({random.pick(KEYS): null});
            }
            let first = here.as_object_mut().and_then(|map| map.values_mut().next());
            if let Some(first) = first {
                inside(random, item, name, rest, first);
            }
        }
        _ => {
            if !here.is_object() {
                *here = value(random, slot, name, 1);
            }
            if let Value::Object(fields) = here {
                put(random, rest, fields);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a value has a field, through whichever items of lists and maps.
    fn has(value: &Value, names: &[&str]) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| has(item, names)),
            Value::Object(fields) => {
                let [name, rest @ ..] = names else {
                    return true;
                };
                let here = fields.get(*name);
                here.is_some_and(|here| rest.is_empty() || has(here, rest))
                    || fields.values().any(|below| has(below, names))
            }
            _ => false,
        }
    }

    #[test]
    fn a_value_is_put_where_its_chain_ends_in_objects_of_every_kind() {
        for (kind, chains) in CHAINS.iter() {
            assert!(!chains.is_empty(), "{kind} has no field");
            for (index, chain) in (0..).zip(chains) {
                let mut object = Map::new();
                put(&mut Random::of_case("chains", 1, index), chain, &mut object);
                let names: Vec<&str> = chain.iter().map(|field| field.name()).collect();
                let object = Value::Object(object);
                assert!(has(&object, &names), "{kind}: {names:?} in {object}");
            }
        }
    }

    #[test]
    fn fields_of_pods_in_templates_are_among_the_fields_of_a_kind() {
        let of_sets = &CHAINS["StatefulSet of apps/v1"];
        let wanted = "spec.template.spec.containers.securityContext.windowsOptions.hostProcess";
        assert!(of_sets.iter().any(|chain| path(chain) == wanted));
    }
}

//! Sequences of writes of every sort over few names of few kinds.

mod kinds;
mod writes;

use serde_json::{Map, Value, json};

use crate::generate::random::Random;
use kinds::{DEFINITION, Sort};

/// Some writes, and what is left of them.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let sorts = Sort::all();
    let mut chosen = vec![random.below(sorts.len())];
    if random.one_in(3) {
        chosen.push(random.below(sorts.len()));
    }
    // A definition is dear on a real server.
    let custom = random.one_in(12);
    let mut steps = Vec::new();
    if custom {
        let definition: Value = serde_json::from_str(DEFINITION).expect("the definition is JSON");
        steps.push(json!({"send": "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", "body": definition}));
    }
    for _ in 0..random.between(6, 18) {
        let sort = if custom && !random.one_in(4) {
            Sort::custom(random)
        } else {
            sorts[random.one_of(&chosen)]
        };
        steps.push(writes::step(random, sort));
    }
    let sort = if custom {
        Sort::custom(random)
    } else {
        sorts[chosen[0]]
    };
    steps.push(json!({"send": format!("GET {}", sort.path)}));
    let mut entry = Map::new();
    entry.insert("name".into(), format!("writes of {}", sort.kind).into());
    entry.insert("steps".into(), steps.into());
    entry
}

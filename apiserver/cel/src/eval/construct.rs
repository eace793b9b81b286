//! Lists, maps and objects that an expression writes out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Context, Evaluated, Failure};
use crate::cost::{LIST, MAP, RECORD};
use crate::node::{Node, RecordNode};
use crate::value::{Key, Map, Record, Value};

impl<'a> Context<'_, 'a> {
    pub(super) fn list(&mut self, elements: &'a [(Node, bool)]) -> Evaluated<'a> {
        let made = self.elements(elements);
        self.made(made, LIST)
    }

    pub(super) fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Evaluated<'a> {
        let made = self.entries(entries);
        self.made(made, MAP)
    }

    pub(super) fn record(&mut self, record: &'a RecordNode) -> Evaluated<'a> {
        let made = self.fields(record);
        self.made(made, RECORD)
    }

    /// Making costs the same whether it succeeds or not.
    fn made(&mut self, made: Evaluated<'a>, cost: u64) -> Evaluated<'a> {
        if made.as_ref().is_err_and(Failure::is_fatal) {
            return made;
        }
        self.charge(cost)?;
        made
    }

    fn elements(&mut self, elements: &'a [(Node, bool)]) -> Evaluated<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for (node, optional) in elements {
            let value = self.eval(node)?;
            match value {
                value if !optional => values.push(value),
                Value::Optional(Some(inner)) => values.push((*inner).clone()),
                Value::Optional(None) => {}
                other => {
                    return Err(Failure::new(format!(
                        "cannot initialize optional list element from non-optional value {other}"
                    )));
                }
            }
        }
        Ok(Value::list(values))
    }

    fn entries(&mut self, entries: &'a [(Node, Node, bool)]) -> Evaluated<'a> {
        let mut made = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            let known = Key::of(&key).ok_or_else(|| Failure::new("unsupported key type"))?;
            match value {
                value if !optional => {
                    made.insert(known, value);
                }
                Value::Optional(Some(inner)) => {
                    made.insert(known, (*inner).clone());
                }
                Value::Optional(None) => {
                    made.remove(&known);
                }
                other => return Err(not_optional(&key, &other)),
            }
        }
        Ok(Value::Map(Map::Values(Arc::new(made))))
    }

    fn fields(&mut self, record: &'a RecordNode) -> Evaluated<'a> {
        let mut fields = BTreeMap::new();
        for (name, node, optional) in &record.fields {
            let value = self.eval(node)?;
            match value {
                value if !optional => {
                    fields.insert(Arc::clone(name), value);
                }
                Value::Optional(Some(inner)) => {
                    fields.insert(Arc::clone(name), (*inner).clone());
                }
                Value::Optional(None) => {
                    fields.remove(name);
                }
                other => return Err(not_optional(&Value::text(&**name), &other)),
            }
        }
        let name = Arc::clone(&record.name);
        Ok(Value::Record(Arc::new(Record { name, fields })))
    }
}

fn not_optional(key: &Value<'_>, value: &Value<'_>) -> Failure {
    Failure::new(format!(
        "cannot initialize optional entry '{key}' from non-optional value {value}"
    ))
}

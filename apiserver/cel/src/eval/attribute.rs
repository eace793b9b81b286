//! Attributes: variables with the fields and indexes that expressions select.

use super::{Context, Evaluated, Failure, borrowed, fault, valid};
use crate::cost::SELECT;
use crate::node::{Attribute, Base, By, Node, Qualifier};
use crate::value::{List, Object, Value};

impl<'a> Context<'_, 'a> {
    /// Evaluates an attribute. A conditional, a presence test, and an attribute in a position that does not count its value
    /// (`counted` is false) cost only their selections.
    pub(super) fn attribute(&mut self, attribute: &'a Attribute, counted: bool) -> Evaluated<'a> {
        let result = self.resolve(attribute);
        if result.as_ref().is_err_and(Failure::is_fatal) {
            return result;
        }
        if counted && !attribute.test && !matches!(attribute.base, Base::Conditional(_)) {
            self.charge(SELECT)?;
        }
        result
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        let base = match &attribute.base {
            Base::Variable(name) => match self.variables.get(name) {
                Some(value) => value.clone(),
                None => return Err(Failure::new(format!("no such attribute(s): {name}"))),
            },
            Base::Local(slot) => self.local(*slot)?,
            Base::Value(node) => self.eval(node)?,
            Base::Conditional(nodes) => self.conditional(nodes)?,
        };
        let result = self.qualified(base, &attribute.qualifiers, attribute.test);
        match fault(&result) {
            Some(failure) => Err(failure),
            None => result,
        }
    }

    fn conditional(&mut self, [condition, truthy, falsy]: &'a [Node; 3]) -> Evaluated<'a> {
        match self.eval(condition)? {
            Value::Bool(true) => self.uncounted(truthy),
            Value::Bool(false) => self.uncounted(falsy),
            _ => Err(Failure::no_such_overload()),
        }
    }

    fn uncounted(&mut self, node: &'a Node) -> Evaluated<'a> {
        match node {
            Node::Attribute(attribute) => self.attribute(attribute, false),
            other => self.eval(other),
        }
    }

    fn qualified(
        &mut self,
        base: Value<'a>,
        qualifiers: &'a [Qualifier],
        test: bool,
    ) -> Evaluated<'a> {
        if qualifiers.is_empty() {
            return Ok(base);
        }
        let mut optional = false;
        let mut value = match base {
            Value::Optional(None) if test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => {
                optional = true;
                (*inner).clone()
            }
            other => other,
        };
        let last = qualifiers.len() - 1;
        for (index, qualifier) in qualifiers.iter().enumerate() {
            optional = optional || qualifier.optional;
            let key = match &qualifier.by {
                By::Constant(key) => borrowed(key),
                By::Value(node) => self.uncounted(node)?,
            };
            let tested = test && index == last;
            let found = key
                .check_qualifier()
                .and_then(|()| self.find(&value, &key, optional || tested));
            let counted = !optional || matches!(found, Ok(Some(_)));
            if counted {
                self.charge(SELECT)?;
            }
            // What does not fit its schema is an error, even where it is asked for only.
            match found?.map(valid).transpose()? {
                found if tested => return Ok(Value::Bool(found.is_some())),
                Some(found) => value = found,
                None if test => return Ok(Value::Bool(false)),
                None => return Ok(Value::Optional(None)),
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    fn find(
        &self,
        value: &Value<'a>,
        key: &Value<'a>,
        lenient: bool,
    ) -> Result<Option<Value<'a>>, Failure> {
        if !matches!(value, Value::Object(Object::Variables)) {
            return find(value, key, lenient);
        }
        match self.variables.composed(key.as_str().unwrap_or_default()) {
            Some(found) => found.map(Some).map_err(Failure::new),
            None if lenient => Ok(None),
            None => Err(Failure::new(format!("no such key: {key}"))),
        }
    }
}

/// What a value has under a key. `lenient` gives nothing where it has none, which is an error otherwise.
fn find<'a>(
    value: &Value<'a>,
    key: &Value<'a>,
    lenient: bool,
) -> Result<Option<Value<'a>>, Failure> {
    let found = match value {
        Value::Map(map) => {
            map.check_key(key)?;
            map.find(key)
        }
        Value::List(list) => return element(list, key, lenient),
        Value::Record(record) => key
            .as_str()
            .and_then(|name| record.fields.get(name))
            .cloned(),
        Value::Invalid(reason) => return Err(Failure::new(reason.to_string())),
        _ => None,
    };
    if found.is_none() && !lenient {
        return Err(Failure::new(format!("no such key: {key}")));
    }
    Ok(found)
}

fn element<'a>(
    list: &List<'a>,
    key: &Value<'a>,
    lenient: bool,
) -> Result<Option<Value<'a>>, Failure> {
    let index = match key {
        Value::Int(index) => usize::try_from(*index).ok(),
        Value::Uint(index) => usize::try_from(*index).ok(),
        Value::Double(index) if index.fract() == 0.0 && index.abs() < 9e15 => {
            format!("{index}").parse().ok()
        }
        Value::Double(_) => {
            return Err(Failure::new(format!(
                "unsupported index value {key} in list"
            )));
        }
        other => {
            let name = other.type_name();
            return Err(Failure::new(format!(
                "unsupported index type '{name}' in list"
            )));
        }
    };
    let found = index.and_then(|index| list.get(index));
    if found.is_none() && !lenient {
        return Err(Failure::new(format!("index out of bounds: {key}")));
    }
    Ok(found)
}

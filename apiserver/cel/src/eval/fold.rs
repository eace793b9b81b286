//! Comprehensions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Context, Evaluated, Failure, Local};
use crate::cost::SELECT;
use crate::library::insert_entries;
use crate::node::{Fold, Node, Step};
use crate::value::{Key, Map, Value};

/// What a fold has made so far.
enum Accumulated<'a> {
    /// In the accumulator's slot.
    Slot,
    List(Result<Vec<Value<'a>>, Failure>),
    Map(Result<BTreeMap<Key<'a>, Value<'a>>, Failure>),
}

impl<'a> Context<'_, 'a> {
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Evaluated<'a> {
        let range = self.eval(&fold.range)?;
        let mut accumulated = match &fold.step {
            Step::Any(_) => {
                self.locals[fold.accumulator] = Local::Pending(&fold.init);
                Accumulated::Slot
            }
            Step::Append { .. } => Accumulated::List(Ok(Vec::new())),
            Step::Insert { .. } => Accumulated::Map(Ok(BTreeMap::new())),
        };
        self.iterate(fold, &range, &mut accumulated)?;
        match accumulated {
            Accumulated::Slot => {}
            Accumulated::List(list) => {
                self.locals[fold.accumulator] = Local::Known(list.map(Value::list));
            }
            Accumulated::Map(map) => {
                let map = map.map(|map| Value::Map(Map::Values(Arc::new(map))));
                self.locals[fold.accumulator] = Local::Known(map);
            }
        }
        self.eval(&fold.result)
    }

    fn iterate(
        &mut self,
        fold: &'a Fold,
        range: &Value<'a>,
        accumulated: &mut Accumulated<'a>,
    ) -> Result<(), Failure> {
        match (range, fold.second) {
            (Value::List(list), second) => {
                for index in 0..list.len() {
                    let Some(element) = list.get(index) else {
                        break;
                    };
                    if let Some(second) = second {
                        self.set(
                            fold.variable,
                            Value::Int(i64::try_from(index).unwrap_or(i64::MAX)),
                        );
                        self.set(second, element);
                    } else {
                        self.set(fold.variable, element);
                    }
                    if !self.step(fold, accumulated)? {
                        break;
                    }
                }
            }
            (Value::Map(map), None) => {
                for key in map.keys() {
                    self.set(fold.variable, key);
                    if !self.step(fold, accumulated)? {
                        break;
                    }
                }
            }
            (Value::Map(map), Some(second)) => {
                for (key, value) in map.entries() {
                    self.set(fold.variable, key);
                    self.set(second, value);
                    if !self.step(fold, accumulated)? {
                        break;
                    }
                }
            }
            (other, second) => return Err(no_range(other, second.is_some())),
        }
        Ok(())
    }

    /// One turn; whether there shall be another one.
    fn step(&mut self, fold: &'a Fold, accumulated: &mut Accumulated<'a>) -> Result<bool, Failure> {
        match self.eval(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(fatal) if fatal.is_fatal() => return Err(fatal),
            _ => {}
        }
        let failure = match (&fold.step, &mut *accumulated) {
            (Step::Append { only_if, added }, Accumulated::List(list)) => {
                self.append(only_if.as_ref(), added, list).err()
            }
            (Step::Insert { only_if, entry }, Accumulated::Map(map)) => {
                self.insert(only_if.as_ref(), entry, map).err()
            }
            (Step::Any(node), _) => {
                let value = self.eval(node);
                if let Err(fatal) = &value
                    && fatal.is_fatal()
                {
                    return value.map(|_| true);
                }
                self.locals[fold.accumulator] = Local::Known(value);
                None
            }
            _ => None,
        };
        match failure {
            None => return Ok(true),
            Some(fatal) if fatal.is_fatal() => return Err(fatal),
            Some(error) => match accumulated {
                Accumulated::List(list) => *list = Err(error),
                Accumulated::Map(map) => *map = Err(error),
                Accumulated::Slot => {}
            },
        }
        Ok(true)
    }

    /// `predicate ? accumulator + added : accumulator`, counted as if it were evaluated like that.
    fn append(
        &mut self,
        only_if: Option<&'a Node>,
        added: &'a Node,
        list: &mut Result<Vec<Value<'a>>, Failure>,
    ) -> Result<(), Failure> {
        if !self.wanted(only_if)? {
            return list.as_ref().map(|_| ()).map_err(Clone::clone);
        }
        self.charge(SELECT)?;
        let (value, failure) = self.argument(added)?;
        self.charge(1)?;
        let list = list.as_mut().map_err(|error| error.clone())?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        match value {
            Value::List(more) => list.extend(more.iter()),
            _ => return Err(Failure::no_such_overload()),
        }
        Ok(())
    }

    fn insert(
        &mut self,
        only_if: Option<&'a Node>,
        entry: &'a [Node],
        map: &mut Result<BTreeMap<Key<'a>, Value<'a>>, Failure>,
    ) -> Result<(), Failure> {
        if !self.wanted(only_if)? {
            return map.as_ref().map(|_| ()).map_err(Clone::clone);
        }
        self.charge(SELECT)?;
        let mut values = Vec::with_capacity(2);
        let earlier = map.as_ref().err().cloned();
        // A call of three is given up at the first argument that failed, which is the map; a call of two is not.
        if let (Some(earlier), true) = (&earlier, entry.len() > 1) {
            return Err(earlier.clone());
        }
        let mut failure = earlier;
        for node in entry {
            let (value, failed) = self.argument(node)?;
            values.push(value);
            failure = failure.or(failed);
        }
        self.charge(1)?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let map = map.as_mut().map_err(|error| error.clone())?;
        insert_entries(map, &values)
    }

    fn wanted(&mut self, only_if: Option<&'a Node>) -> Result<bool, Failure> {
        let Some(node) = only_if else { return Ok(true) };
        match self.eval(node)? {
            Value::Bool(wanted) => Ok(wanted),
            _ => Err(Failure::no_such_overload()),
        }
    }
}

fn no_range(value: &Value<'_>, two: bool) -> Failure {
    let name = value.go_type_name();
    Failure::new(if two {
        format!("unsupported comprehension range type: {name}")
    } else {
        format!("got '{name}', expected iterable type")
    })
}

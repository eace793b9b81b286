//! Estimates of the maximum cost of an expression, from the bounds of a schema: those of cel-go and of
//! `pkg/cel/library/cost.go`.

mod calls;
mod size;

use std::collections::HashMap;

use crate::ast::{Comprehension, Expr, Kind, Literal, Name};
use crate::checked::{Checked, Reference};
use crate::cost::{LIST, MAP, RECORD, SELECT};
use crate::declared::{Declared, Form};
use crate::types::Type;
use size::Range;

/// The most that a checked expression about a declared value can cost.
pub(crate) fn most(checked: &Checked, root: &Declared) -> u64 {
    let mut estimate = Estimate {
        checked,
        root,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    estimate.cost(&checked.root).most
}

/// Where a value comes from, from the declared value on; nothing is declared at the end of some paths.
#[derive(Clone, Copy, Debug)]
struct Place<'d>(Option<At<'d>>);

#[derive(Clone, Copy, Debug)]
enum At<'d> {
    Value(&'d Declared),
    /// The key of a map, which no schema bounds.
    Key,
}

/// The sizes of the keys and values of a list or a map.
#[derive(Clone, Copy, Debug)]
struct Entry {
    is_list: bool,
    key: Range,
    value: Range,
}

impl Entry {
    fn or(self, other: Self) -> Self {
        Self {
            is_list: self.is_list,
            key: self.key.or(other.key),
            value: self.value.or(other.value),
        }
    }
}

/// A variable of a comprehension.
#[derive(Clone, Debug)]
struct Local<'d> {
    name: Name,
    place: Option<Place<'d>>,
    size: Option<Range>,
    entry: Option<Entry>,
}

struct Estimate<'d> {
    checked: &'d Checked,
    root: &'d Declared,
    paths: HashMap<u32, Place<'d>>,
    sizes: HashMap<u32, Range>,
    entries: HashMap<u32, Entry>,
    locals: Vec<Local<'d>>,
}

impl<'d> Estimate<'d> {
    fn cost(&mut self, expr: &'d Expr) -> Range {
        match &expr.kind {
            Kind::Literal(_) => Range::NOTHING,
            Kind::Ident(name) => {
                let place = match self.local(name) {
                    Some(local) => local.place,
                    None => Some(Place(Some(At::Value(self.root)))),
                };
                if let Some(place) = place {
                    self.paths.insert(expr.id, place);
                }
                Range::exactly(SELECT)
            }
            Kind::Select {
                operand,
                field,
                test_only,
            } => self.select(expr, operand, field, *test_only),
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(expr, function, target.as_deref(), arguments),
            Kind::List(elements) => {
                let mut sum = Range::NOTHING;
                let mut sizes = Vec::with_capacity(elements.len());
                for element in elements {
                    sum = sum.plus(self.cost(&element.value));
                    sizes.push(self.size_or_unknown(&element.value));
                }
                let entry = Entry {
                    is_list: true,
                    key: Range::exactly(1),
                    value: any_of(&sizes),
                };
                self.entries.insert(expr.id, entry);
                sum.plus(Range::exactly(LIST))
            }
            Kind::Map(entries) => {
                let mut sum = Range::NOTHING;
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in entries {
                    sum = sum.plus(self.cost(&entry.key));
                    sum = sum.plus(self.cost(&entry.value));
                    keys.push(self.size_or_unknown(&entry.key));
                    values.push(self.size_or_unknown(&entry.value));
                }
                let entry = Entry {
                    is_list: false,
                    key: any_of(&keys),
                    value: any_of(&values),
                };
                self.entries.insert(expr.id, entry);
                sum.plus(Range::exactly(MAP))
            }
            Kind::Object { fields, .. } => {
                fields.iter().fold(Range::exactly(RECORD), |sum, field| {
                    sum.plus(self.cost(&field.value))
                })
            }
            Kind::Comprehension(comprehension) => self.comprehension(expr, comprehension),
        }
    }

    fn select(&mut self, expr: &'d Expr, operand: &'d Expr, field: &str, test_only: bool) -> Range {
        let sum = self.cost(operand);
        if test_only {
            return sum;
        }
        let selects = matches!(
            self.type_of(operand),
            Type::Map(_) | Type::Object(_) | Type::Param(_)
        );
        let place = self.step(operand, |declared| declared.field(field));
        self.paths.insert(expr.id, place);
        sum.plus(Range::exactly(if selects { SELECT } else { 0 }))
    }

    fn comprehension(&mut self, expr: &'d Expr, loop_: &'d Comprehension) -> Range {
        if loop_.variable == "#unused" {
            return self.named(expr, loop_);
        }
        let mut sum = self.cost(&loop_.range);
        sum = sum.plus(self.cost(&loop_.init));
        let scope = self.locals.len();
        self.push_value(&loop_.accumulator, &loop_.init);
        let entry = self.entry(&loop_.range);
        let is_list = match entry {
            Some(entry) => entry.is_list,
            None => matches!(self.type_of(&loop_.range), Type::List(_)),
        };
        let element = self.step(&loop_.range, Declared::element);
        // The index of an item is in no schema.
        let key = self.key(&loop_.range, is_list);
        let mut push = |name: &Name, place: Place<'d>, size: Option<Range>| {
            self.locals.push(Local {
                name: name.clone(),
                place: Some(place),
                size,
                entry: None,
            });
        };
        let (key_size, value_size) = (entry.map(|one| one.key), entry.map(|one| one.value));
        match &loop_.second {
            Some(second) => {
                push(&loop_.variable, key, key_size);
                push(second, element, value_size);
            }
            None if is_list => push(&loop_.variable, element, value_size),
            None => push(&loop_.variable, key, key_size),
        }
        let turn = self.cost(&loop_.condition);
        let turn = self.cost(&loop_.step).plus(turn);
        self.locals.truncate(scope + 1);
        sum = sum.plus(self.cost(&loop_.result));
        self.locals.truncate(scope);
        let turns = self.size_or_unknown(&loop_.range);
        sum = sum.plus(turns.times(turn));
        match &loop_.init.kind {
            Kind::Literal(_) => {
                let size = self.size(&loop_.init);
                self.set_size(expr, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.set_size(expr, Some(turns));
                let entry = self.entry(&loop_.step);
                self.set_entry(expr, entry);
            }
            _ => {}
        }
        sum
    }

    /// A value under a name.
    fn named(&mut self, expr: &'d Expr, loop_: &'d Comprehension) -> Range {
        let mut sum = self.cost(&loop_.range);
        sum = sum.plus(self.cost(&loop_.init));
        let scope = self.locals.len();
        self.push_value(&loop_.accumulator, &loop_.init);
        sum = sum.plus(self.cost(&loop_.result));
        self.locals.truncate(scope);
        self.copy_sizes(expr, &loop_.result);
        sum
    }

    fn push_value(&mut self, name: &Name, value: &'d Expr) {
        let local = Local {
            name: name.clone(),
            place: self.place(value),
            size: self.size(value),
            entry: self.entry(value),
        };
        self.locals.push(local);
    }

    fn local(&self, name: &str) -> Option<&Local<'d>> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn type_of(&self, expr: &Expr) -> &'d Type {
        &self.checked.types[expr.id as usize]
    }

    fn place(&self, expr: &Expr) -> Option<Place<'d>> {
        if let Kind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.place;
        }
        self.paths.get(&expr.id).copied()
    }

    /// The place one step further. A path that begins with this step leads to the declared value itself.
    fn step(
        &self,
        expr: &Expr,
        step: impl FnOnce(&'d Declared) -> Option<&'d Declared>,
    ) -> Place<'d> {
        match self.place(expr) {
            None => Place(Some(At::Value(self.root))),
            Some(Place(Some(At::Value(declared)))) => Place(step(declared).map(At::Value)),
            Some(Place(_)) => Place(None),
        }
    }

    /// The place of the keys of a map.
    fn key(&self, range: &Expr, is_list: bool) -> Place<'d> {
        match self.place(range) {
            None => Place(Some(At::Value(self.root))),
            Some(Place(Some(At::Value(declared)))) if !is_list => {
                let is_map = matches!(declared.form, Form::Map(_) | Form::MapOfFields(..));
                Place(is_map.then_some(At::Key))
            }
            Some(_) => Place(None),
        }
    }

    /// The size of a value, where something is known of it.
    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(known) = self.sizes.get(&expr.id) {
            return Some(*known);
        }
        if let Some(written) = written_size(expr) {
            return Some(Range::exactly(written));
        }
        if let Some(declared) = self.place(expr).and_then(Place::size) {
            self.sizes.insert(expr.id, declared);
            return Some(declared);
        }
        if is_scalar(self.type_of(expr)) {
            return Some(Range::exactly(1));
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn entry(&self, expr: &Expr) -> Option<Entry> {
        if let Some(known) = self.entries.get(&expr.id) {
            return Some(*known);
        }
        match &expr.kind {
            Kind::Ident(name) => self.local(name)?.entry,
            _ => None,
        }
    }

    fn set_size(&mut self, expr: &Expr, size: Option<Range>) {
        if let Some(size) = size {
            self.sizes.insert(expr.id, size);
        }
    }

    fn set_entry(&mut self, expr: &Expr, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.entries.insert(expr.id, entry);
        }
    }

    fn copy_sizes(&mut self, to: &Expr, from: &Expr) {
        let size = self.size(from);
        self.set_size(to, size);
        let entry = self.entry(from);
        self.set_entry(to, entry);
    }

    fn reference(&self, expr: &Expr) -> Option<&'d Reference> {
        self.checked.references[expr.id as usize].as_ref()
    }
}

impl Place<'_> {
    fn size(self) -> Option<Range> {
        match self.0? {
            At::Value(declared) => Some(Range::up_to(declared.max_elements)),
            At::Key => Some(Range::NOTHING),
        }
    }
}

/// The size of one of several values; of none where there are none.
fn any_of(sizes: &[Range]) -> Range {
    sizes
        .iter()
        .copied()
        .reduce(Range::or)
        .unwrap_or(Range::NOTHING)
}

/// The size of a literal.
fn written_size(expr: &Expr) -> Option<u64> {
    let count = match &expr.kind {
        Kind::Literal(Literal::String(text)) => text.chars().count(),
        Kind::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Kind::Literal(_) => 1,
        Kind::List(elements) => elements.len(),
        Kind::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(count as u64)
}

fn is_scalar(of: &Type) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => {
            true
        }
        other => other.as_optional().is_some_and(is_scalar),
    }
}

//! Turns a checked expression into nodes that can be evaluated: names become slots, constant parts values.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ast::{Comprehension, Expr, Kind, Literal, Name, operators};
use crate::checked::{Checked, Reference};
use crate::cost;
use crate::coverage::Watch;
use crate::failure::Failure;
use crate::library::Function;
use crate::library::regular::{self, Use};
use crate::node::{
    Attribute, Base, By, Call, Fold, Named, Node, OneOf, OptionalOr, Qualifier, RecordNode, Step,
};
use crate::program::Program;
use crate::types::Type;
use crate::value::{Key, List, Value};

/// Plans a checked expression.
pub(crate) fn plan(checked: &Checked, watched: bool) -> Result<Program, String> {
    let output = checked.types[checked.root.id as usize].clone();
    let mut planner = Planner {
        checked,
        scopes: Vec::new(),
        slots: 0,
        watches: watched.then(Vec::new),
    };
    let variables = checked
        .references
        .iter()
        .flatten()
        .filter_map(|reference| match reference {
            Reference::Variable(name) => Some(name.to_string()),
            _ => None,
        });
    match planner.condition(&checked.root) {
        Ok(root) => Ok(Program::new(
            root,
            planner.slots,
            output,
            variables.collect(),
            planner.watches.unwrap_or_default(),
        )),
        Err(failure) => Err(failure.to_string()),
    }
}

struct Planner<'c> {
    checked: &'c Checked,
    scopes: Vec<(&'c Name, usize)>,
    slots: usize,
    /// The conditions, if their values are to be seen.
    watches: Option<Vec<Arc<Watch>>>,
}

type Planned = Result<Node, Failure>;

impl<'c> Planner<'c> {
    fn node(&mut self, expr: &'c Expr) -> Planned {
        match &expr.kind {
            Kind::Literal(literal) => Ok(Node::Constant(constant(literal))),
            Kind::Ident(name) => Ok(self.ident(expr, name)),
            Kind::Select {
                operand,
                field,
                test_only,
            } => {
                if self.checked.references[expr.id as usize].is_some() {
                    return Ok(self.referred(expr));
                }
                let by = By::Constant(Value::text(field.as_str()));
                let mut attribute = self.attribute(operand)?;
                attribute.qualifiers.push(Qualifier {
                    by,
                    optional: false,
                });
                attribute.test = *test_only;
                Ok(Node::Attribute(attribute))
            }
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(expr, function, target.as_deref(), arguments),
            Kind::List(elements) => {
                let mut planned = Vec::with_capacity(elements.len());
                for element in elements {
                    planned.push((self.node(&element.value)?, element.optional));
                }
                Ok(list(planned))
            }
            Kind::Map(entries) => {
                let mut planned = Vec::with_capacity(entries.len());
                for entry in entries {
                    planned.push((
                        self.node(&entry.key)?,
                        self.node(&entry.value)?,
                        entry.optional,
                    ));
                }
                map(planned)
            }
            Kind::Object { name, fields } => {
                let mut planned = Vec::with_capacity(fields.len());
                for field in fields {
                    planned.push((
                        field.name.as_str().into(),
                        self.node(&field.value)?,
                        field.optional,
                    ));
                }
                let name = name.trim_start_matches('.').into();
                Ok(Node::Record(Box::new(RecordNode {
                    name,
                    fields: planned,
                })))
            }
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn ident(&self, expr: &Expr, name: &Name) -> Node {
        match self.scopes.iter().rev().find(|(scoped, _)| *scoped == name) {
            Some((_, slot)) => attribute(Base::Local(*slot)),
            None => self.referred(expr),
        }
    }

    fn referred(&self, expr: &Expr) -> Node {
        match &self.checked.references[expr.id as usize] {
            Some(Reference::Type(named)) => Node::Constant(Value::Type(Arc::new(named.clone()))),
            Some(Reference::Variable(name)) => attribute(Base::Variable(name.clone())),
            _ => attribute(Base::Variable(Name::Borrowed(""))),
        }
    }

    /// The expression as something to select from.
    fn attribute(&mut self, expr: &'c Expr) -> Result<Box<Attribute>, Failure> {
        Ok(match self.node(expr)? {
            Node::Attribute(attribute) => attribute,
            other => Box::new(Attribute {
                base: Base::Value(other),
                qualifiers: Vec::new(),
                test: false,
            }),
        })
    }

    fn call(
        &mut self,
        expr: &'c Expr,
        name: &Name,
        target: Option<&'c Expr>,
        arguments: &'c [Expr],
    ) -> Planned {
        match (&**name, arguments) {
            (operators::CONDITIONAL, [condition, truthy, falsy]) => {
                let nodes = [
                    self.condition(condition)?,
                    self.node(truthy)?,
                    self.node(falsy)?,
                ];
                return Ok(attribute(Base::Conditional(Box::new(nodes))));
            }
            (operators::AND, [left, right]) => {
                return Ok(Node::And(self.conditions(left, right)?));
            }
            (operators::OR, [left, right]) => return Ok(Node::Or(self.conditions(left, right)?)),
            (operators::EQUALS, [left, right]) => return Ok(Node::Equal(self.pair(left, right)?)),
            (operators::NOT_EQUALS, [left, right]) => {
                return Ok(Node::NotEqual(self.pair(left, right)?));
            }
            (operators::INDEX, [operand, index]) => return self.index(operand, index, false),
            (operators::OPTIONAL_INDEX | operators::OPTIONAL_SELECT, [operand, index]) => {
                return self.index(operand, index, true);
            }
            _ => {}
        }
        let Some(Reference::Function {
            function,
            overloads,
            qualified,
        }) = &self.checked.references[expr.id as usize]
        else {
            return Err(Failure::no_such_overload());
        };
        let mut planned = Vec::with_capacity(arguments.len() + 1);
        if let (Some(target), false) = (target, *qualified) {
            planned.push(self.node(target)?);
        }
        for argument in arguments {
            planned.push(self.node(argument)?);
        }
        finish_call(function, overloads, planned)
    }

    /// An expression that something is decided by.
    fn condition(&mut self, expr: &'c Expr) -> Planned {
        let node = self.node(expr)?;
        let Some(watches) = &mut self.watches else {
            return Ok(node);
        };
        let is_boolean = matches!(self.checked.types[expr.id as usize], Type::Bool | Type::Dyn);
        // What a macro accumulates is no condition that its author wrote.
        let is_written = !matches!(&expr.kind, Kind::Ident(name) if name.starts_with('@'));
        if !is_boolean || !is_written || matches!(node, Node::Constant(_)) {
            return Ok(node);
        }
        let watch = Arc::new(Watch::at(self.checked.positions[expr.id as usize]));
        watches.push(Arc::clone(&watch));
        Ok(Node::Watched(Box::new((node, watch))))
    }

    fn conditions(&mut self, left: &'c Expr, right: &'c Expr) -> Result<Box<[Node; 2]>, Failure> {
        Ok(Box::new([self.condition(left)?, self.condition(right)?]))
    }

    fn pair(&mut self, left: &'c Expr, right: &'c Expr) -> Result<Box<[Node; 2]>, Failure> {
        Ok(Box::new([self.node(left)?, self.node(right)?]))
    }

    fn index(&mut self, operand: &'c Expr, index: &'c Expr, optional: bool) -> Planned {
        let mut attribute = self.attribute(operand)?;
        let by = match self.node(index)? {
            Node::Constant(value) => {
                value.check_qualifier()?;
                By::Constant(value)
            }
            other => By::Value(other),
        };
        attribute.qualifiers.push(Qualifier { by, optional });
        Ok(Node::Attribute(attribute))
    }

    fn slot(&mut self, name: &'c Name) -> usize {
        let slot = self.slots;
        self.slots += 1;
        self.scopes.push((name, slot));
        slot
    }

    fn comprehension(&mut self, loop_: &'c Comprehension) -> Planned {
        let init = self.node(&loop_.init)?;
        let range = self.node(&loop_.range)?;
        let scope = self.scopes.len();
        let accumulator = self.slot(&loop_.accumulator);
        if loop_.variable == "#unused" {
            let body = self.node(&loop_.result)?;
            self.scopes.truncate(scope);
            return Ok(Node::Named(Box::new(Named {
                slot: accumulator,
                value: init,
                body,
            })));
        }
        let variable = self.slot(&loop_.variable);
        let second = loop_.second.as_ref().map(|name| self.slot(name));
        let condition = self.node(&loop_.condition)?;
        let step = self.step(loop_)?;
        self.scopes.truncate(scope + 1);
        let result = self.node(&loop_.result)?;
        self.scopes.truncate(scope);
        Ok(Node::Fold(Box::new(Fold {
            range,
            variable,
            second,
            accumulator,
            init,
            condition,
            step,
            result,
        })))
    }

    fn step(&mut self, loop_: &'c Comprehension) -> Result<Step, Failure> {
        let grows = matches!(&loop_.init.kind, Kind::List(elements) if elements.is_empty())
            || matches!(&loop_.init.kind, Kind::Map(entries) if entries.is_empty());
        let (only_if, step) = match &loop_.step.kind {
            Kind::Call {
                function,
                arguments,
                ..
            } if function == operators::CONDITIONAL => (Some(&arguments[0]), &arguments[1]),
            _ => (None, &loop_.step),
        };
        let Kind::Call {
            function,
            arguments,
            ..
        } = &step.kind
        else {
            return Ok(Step::Any(self.node(&loop_.step)?));
        };
        if !grows || !matches!(&**function, operators::ADD | operators::MAP_INSERT) {
            return Ok(Step::Any(self.node(&loop_.step)?));
        }
        let only_if = only_if
            .map(|predicate| self.condition(predicate))
            .transpose()?;
        let mut added = Vec::with_capacity(2);
        for argument in &arguments[1..] {
            added.push(self.node(argument)?);
        }
        if function == operators::ADD {
            return Ok(Step::Append {
                only_if,
                added: added.remove(0),
            });
        }
        Ok(Step::Insert {
            only_if,
            entry: added,
        })
    }
}

fn attribute(base: Base) -> Node {
    Node::Attribute(Box::new(Attribute {
        base,
        qualifiers: Vec::new(),
        test: false,
    }))
}

fn finish_call(function: &Arc<Function>, overloads: &[usize], arguments: Vec<Node>) -> Planned {
    let overload = match overloads {
        [only] => Some(*only),
        _ => None,
    };
    let id = overload.map(|index| function.overloads[index].id);
    match (function.name, arguments.as_slice()) {
        (name, [Node::Constant(value)]) if CONVERSIONS.contains(&name) => {
            return function
                .run(overload, std::slice::from_ref(value))
                .map(Node::Constant);
        }
        (operators::IN, [_, Node::Constant(Value::List(list))]) if id == Some("in_list") => {
            if list.is_empty() {
                return Ok(Node::Constant(Value::Bool(false)));
            }
            if let Some((keys, doubles)) = members_of(list) {
                let mut arguments = arguments;
                return Ok(Node::OneOf(Box::new(OneOf {
                    value: arguments.swap_remove(0),
                    keys,
                    doubles,
                })));
            }
        }
        ("or" | "orValue", [_, _]) => {
            let mut arguments = arguments.into_iter();
            if let (Some(first), Some(otherwise)) = (arguments.next(), arguments.next()) {
                let unwrap = function.name == "orValue";
                return Ok(Node::OptionalOr(Box::new(OptionalOr {
                    first,
                    otherwise,
                    unwrap,
                })));
            }
            return Err(Failure::no_such_overload());
        }
        _ => {}
    }
    let pattern = match (Use::of(function.name), arguments.get(1)) {
        (Some(use_), Some(Node::Constant(Value::String(pattern)))) => {
            Some((use_, regular::compile(pattern)?))
        }
        _ => None,
    };
    let cost = cost::of(function.name, id.unwrap_or_default());
    Ok(Node::Call(Box::new(Call {
        function: Arc::clone(function),
        overload,
        arguments,
        cost,
        pattern,
    })))
}

fn list(planned: Vec<(Node, bool)>) -> Node {
    let constant = planned
        .iter()
        .all(|(node, _)| matches!(node, Node::Constant(_)));
    if !constant || planned.iter().any(|(_, optional)| *optional) {
        return Node::List(planned.into());
    }
    Node::Constant(Value::list(
        planned
            .into_iter()
            .filter_map(|(node, _)| match node {
                Node::Constant(value) => Some(value),
                _ => None,
            })
            .collect(),
    ))
}

fn map(planned: Vec<(Node, Node, bool)>) -> Planned {
    let constant = planned.iter().all(|(key, value, optional)| {
        !optional && matches!((key, value), (Node::Constant(_), Node::Constant(_)))
    });
    if !constant {
        return Ok(Node::Map(planned.into()));
    }
    let mut entries = std::collections::BTreeMap::new();
    for (key, value, _) in planned {
        if let (Node::Constant(key), Node::Constant(value)) = (key, value) {
            let key = Key::of(&key).ok_or_else(|| Failure::new("unsupported key type"))?;
            entries.insert(key, value);
        }
    }
    Ok(Node::Constant(Value::Map(crate::value::Map::Values(
        Arc::new(entries),
    ))))
}

/// The members of a list by which its values can be found without comparing them one by one.
fn members_of(list: &List<'static>) -> Option<(BTreeSet<Key<'static>>, Vec<f64>)> {
    let (mut keys, mut doubles) = (BTreeSet::new(), Vec::new());
    for element in list.iter() {
        if let Value::Double(double) = element {
            doubles.push(double);
            keys.extend(Key::whole(double));
        } else {
            keys.insert(Key::of(&element)?);
        }
    }
    Some((keys, doubles))
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Uint(value) => Value::Uint(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(text) => Value::text(text.as_str()),
        Literal::Bytes(bytes) => Value::Bytes(Arc::from(bytes.as_slice())),
    }
}

const CONVERSIONS: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

//! The macros: `has`, the comprehensions with one and two variables, `sortBy`, `optMap`.

use super::nodes::Nodes;
use crate::ast::{Comprehension, Element, Expr, Kind, Literal, Name, operators};

/// The most nodes of an expression: `optMap` writes its target twice, so a chain of them would double at each step.
const MAX_NODES: usize = 200_000;

/// The name of the accumulator, which no expression can write.
const ACCUMULATOR: &str = "@result";

/// A call `name(arguments)`, expanded if it is a macro.
pub(super) fn global(nodes: &mut Nodes, id: u32, name: String, arguments: Vec<Expr>) -> Expr {
    if name == "has" && arguments.len() == 1 {
        return has(nodes, id, arguments);
    }
    Expr {
        id,
        kind: Kind::Call {
            function: Name::Owned(name),
            target: None,
            arguments,
        },
    }
}

/// A call `target.name(arguments)`, expanded if it is a macro.
pub(super) fn receiver(
    nodes: &mut Nodes,
    id: u32,
    name: &str,
    target: Expr,
    mut arguments: Vec<Expr>,
) -> Expr {
    let at = nodes.position(id);
    let known = nodes.macros;
    let binds = known.bindings && matches!(&target.kind, Kind::Ident(name) if name == "cel");
    let mut make = Maker { nodes, at };
    let expanded = match (name, arguments.len()) {
        ("all" | "exists" | "exists_one", 2) => quantifier(&mut make, name, target, arguments),
        ("all" | "exists" | "exists_one" | "existsOne", 3) if known.two_variables => {
            quantifier(&mut make, name, target, arguments)
        }
        ("map", 2 | 3) => map(&mut make, target, arguments),
        ("filter", 2) => filter(&mut make, target, arguments),
        ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) if known.two_variables => {
            transform(&mut make, name, target, arguments)
        }
        ("bind", 3) if binds => bind(&mut make, arguments),
        ("sortBy", 2) if known.sort_by => sort_by(&mut make, target, arguments),
        ("optMap" | "optFlatMap", 2) => {
            let body = arguments.remove(1);
            optional_map(&mut make, name, target, &arguments[0], body)
        }
        _ => {
            let function = Name::Owned(name.to_owned());
            let target = Some(Box::new(target));
            return Expr {
                id,
                kind: Kind::Call {
                    function,
                    target,
                    arguments,
                },
            };
        }
    };
    expanded.unwrap_or_else(|(at, message)| nodes.broken(at, message))
}

type Expanded = Result<Expr, (u32, String)>;

fn has(nodes: &mut Nodes, id: u32, mut arguments: Vec<Expr>) -> Expr {
    let at = nodes.position(id);
    let argument = arguments.remove(0);
    if let Kind::Select {
        operand,
        field,
        test_only: false,
    } = argument.kind
    {
        nodes.node(
            at,
            Kind::Select {
                operand,
                field,
                test_only: true,
            },
        )
    } else {
        let at = nodes.position(argument.id);
        nodes.broken(at, "invalid argument to has() macro")
    }
}

fn quantifier(
    make: &mut Maker<'_>,
    name: &str,
    target: Expr,
    mut arguments: Vec<Expr>,
) -> Expanded {
    let predicate = arguments.remove(arguments.len() - 1);
    let (variable, second) = variables(make, &arguments, "argument must be a simple name")?;
    let (init, condition, step, result) = match name {
        "all" => {
            let accumulator = make.accumulator();
            let condition = make.call(operators::NOT_STRICTLY_FALSE, vec![accumulator]);
            let accumulator = make.accumulator();
            let step = make.call(operators::AND, vec![accumulator, predicate]);
            (
                make.literal(Literal::Bool(true)),
                condition,
                step,
                make.accumulator(),
            )
        }
        "exists" => {
            let accumulator = make.accumulator();
            let not = make.call(operators::NOT, vec![accumulator]);
            let condition = make.call(operators::NOT_STRICTLY_FALSE, vec![not]);
            let accumulator = make.accumulator();
            let step = make.call(operators::OR, vec![accumulator, predicate]);
            (
                make.literal(Literal::Bool(false)),
                condition,
                step,
                make.accumulator(),
            )
        }
        _ => {
            let (accumulator, one) = (make.accumulator(), make.literal(Literal::Int(1)));
            let more = make.call(operators::ADD, vec![accumulator, one]);
            let same = make.accumulator();
            let step = make.call(operators::CONDITIONAL, vec![predicate, more, same]);
            let (accumulator, one) = (make.accumulator(), make.literal(Literal::Int(1)));
            let result = make.call(operators::EQUALS, vec![accumulator, one]);
            (
                make.literal(Literal::Int(0)),
                make.literal(Literal::Bool(true)),
                step,
                result,
            )
        }
    };
    Ok(make.comprehension(Comprehension {
        range: target,
        variable,
        second,
        accumulator: ACCUMULATOR.into(),
        init,
        condition,
        step,
        result,
    }))
}

fn map(make: &mut Maker<'_>, target: Expr, mut arguments: Vec<Expr>) -> Expanded {
    let body = arguments.remove(arguments.len() - 1);
    let predicate = (arguments.len() == 2).then(|| arguments.remove(1));
    let (variable, _) = variables(make, &arguments, "argument is not an identifier")?;
    let added = make.list(vec![body]);
    Ok(collect(make, target, variable, None, added, predicate))
}

fn filter(make: &mut Maker<'_>, target: Expr, mut arguments: Vec<Expr>) -> Expanded {
    let predicate = arguments.remove(1);
    let (variable, _) = variables(make, &arguments, "argument is not an identifier")?;
    let added = make.list(arguments);
    Ok(collect(
        make,
        target,
        variable,
        None,
        added,
        Some(predicate),
    ))
}

fn transform(make: &mut Maker<'_>, name: &str, target: Expr, mut arguments: Vec<Expr>) -> Expanded {
    let body = arguments.remove(arguments.len() - 1);
    let predicate = (arguments.len() == 3).then(|| arguments.remove(2));
    let (variable, second) = variables(make, &arguments, "argument must be a simple name")?;
    if name == "transformList" {
        let added = make.list(vec![body]);
        return Ok(collect(make, target, variable, second, added, predicate));
    }
    let mut inserted = vec![make.accumulator()];
    if name == "transformMap" {
        inserted.push(make.ident(variable.clone()));
    }
    inserted.push(body);
    let step = make.call(operators::MAP_INSERT, inserted);
    let step = make.only_if(predicate, step);
    let init = make.node(Kind::Map(Vec::new()));
    let condition = make.literal(Literal::Bool(true));
    let result = make.accumulator();
    Ok(make.comprehension(Comprehension {
        range: target,
        variable,
        second,
        accumulator: ACCUMULATOR.into(),
        init,
        condition,
        step,
        result,
    }))
}

fn collect(
    make: &mut Maker<'_>,
    range: Expr,
    variable: Name,
    second: Option<Name>,
    added: Expr,
    predicate: Option<Expr>,
) -> Expr {
    let accumulator = make.accumulator();
    let step = make.call(operators::ADD, vec![accumulator, added]);
    let step = make.only_if(predicate, step);
    let init = make.list(Vec::new());
    let condition = make.literal(Literal::Bool(true));
    let result = make.accumulator();
    make.comprehension(Comprehension {
        range,
        variable,
        second,
        accumulator: ACCUMULATOR.into(),
        init,
        condition,
        step,
        result,
    })
}

fn sort_by(make: &mut Maker<'_>, target: Expr, mut arguments: Vec<Expr>) -> Expanded {
    const INPUT: &str = "@__sortBy_input__";
    if matches!(
        target.kind,
        Kind::Literal(_) | Kind::Map(_) | Kind::Object { .. }
    ) {
        let message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err((make.nodes.position(target.id), message.to_owned()));
    }
    let body = arguments.remove(1);
    let (variable, _) = variables(make, &arguments, "argument is not an identifier")?;
    let input = make.ident(INPUT.into());
    let added = make.list(vec![body]);
    let keys = collect(make, input, variable, None, added, None);
    let input = make.ident(INPUT.into());
    let sorted = make.member("@sortByAssociatedKeys", input, vec![keys]);
    Ok(named(make, INPUT.into(), target, sorted))
}

fn optional_map(
    make: &mut Maker<'_>,
    name: &str,
    target: Expr,
    variable: &Expr,
    body: Expr,
) -> Expanded {
    let Kind::Ident(variable) = &variable.kind else {
        let message = format!("{name}() variable name must be a simple identifier");
        return Err((make.nodes.position(variable.id), message));
    };
    if make.nodes.count() > MAX_NODES {
        let at = make.at;
        return Err((
            at,
            "expression is too large once its macros are expanded".to_owned(),
        ));
    }
    let again = make.copy(&target);
    let present = make.member("hasValue", target, Vec::new());
    let value = make.member("value", again, Vec::new());
    let mut mapped = named(make, variable.clone(), value, body);
    if name == "optMap" {
        mapped = make.call("optional.of", vec![mapped]);
    }
    let none = make.call("optional.none", Vec::new());
    Ok(make.call(operators::CONDITIONAL, vec![present, mapped, none]))
}

/// `cel.bind(name, value, body)`.
fn bind(make: &mut Maker<'_>, mut arguments: Vec<Expr>) -> Expanded {
    let body = arguments.remove(2);
    let value = arguments.remove(1);
    if let Kind::Ident(name) = &arguments[0].kind {
        return Ok(named(make, name.clone(), value, body));
    }
    let at = make.nodes.position(arguments[0].id);
    let message = "cel.bind() variable names must be simple identifiers";
    Err((at, message.to_owned()))
}

/// `body` with `name` standing for `value`.
fn named(make: &mut Maker<'_>, name: Name, value: Expr, body: Expr) -> Expr {
    let range = make.list(Vec::new());
    let condition = make.literal(Literal::Bool(false));
    let step = make.ident(name.clone());
    make.comprehension(Comprehension {
        range,
        variable: "#unused".into(),
        second: None,
        accumulator: name,
        init: value,
        condition,
        step,
        result: body,
    })
}

/// The names of the iteration variables.
fn variables(
    make: &Maker<'_>,
    arguments: &[Expr],
    otherwise: &str,
) -> Result<(Name, Option<Name>), (u32, String)> {
    let name = |argument: &Expr| {
        let at = make.nodes.position(argument.id);
        match &argument.kind {
            Kind::Ident(name) if name == ACCUMULATOR || name == "__result__" => Err((
                at,
                "iteration variable overwrites accumulator variable".to_owned(),
            )),
            Kind::Ident(name) => Ok(name.clone()),
            _ => Err((at, otherwise.to_owned())),
        }
    };
    let first = name(&arguments[0])?;
    let Some(argument) = arguments.get(1) else {
        return Ok((first, None));
    };
    let second = name(argument)?;
    if first == second {
        let at = make.nodes.position(argument.id);
        return Err((at, format!("duplicate variable name: {first}")));
    }
    Ok((first, Some(second)))
}

/// Makes nodes that all stand where the macro was called.
struct Maker<'p> {
    nodes: &'p mut Nodes,
    at: u32,
}

impl Maker<'_> {
    fn node(&mut self, kind: Kind) -> Expr {
        self.nodes.node(self.at, kind)
    }

    fn literal(&mut self, value: Literal) -> Expr {
        self.node(Kind::Literal(value))
    }

    fn ident(&mut self, name: Name) -> Expr {
        self.node(Kind::Ident(name))
    }

    fn accumulator(&mut self) -> Expr {
        self.ident(ACCUMULATOR.into())
    }

    fn list(&mut self, values: Vec<Expr>) -> Expr {
        let elements = values
            .into_iter()
            .map(|value| Element {
                value,
                optional: false,
            })
            .collect();
        self.node(Kind::List(elements))
    }

    fn call(&mut self, function: &'static str, arguments: Vec<Expr>) -> Expr {
        self.node(Kind::Call {
            function: function.into(),
            target: None,
            arguments,
        })
    }

    fn member(&mut self, function: &'static str, target: Expr, arguments: Vec<Expr>) -> Expr {
        let target = Some(Box::new(target));
        self.node(Kind::Call {
            function: function.into(),
            target,
            arguments,
        })
    }

    fn only_if(&mut self, predicate: Option<Expr>, step: Expr) -> Expr {
        let Some(predicate) = predicate else {
            return step;
        };
        let same = self.accumulator();
        self.call(operators::CONDITIONAL, vec![predicate, step, same])
    }

    fn comprehension(&mut self, comprehension: Comprehension) -> Expr {
        self.node(Kind::Comprehension(Box::new(comprehension)))
    }

    /// The same expression with nodes of its own, since types are kept by node.
    fn copy(&mut self, expr: &Expr) -> Expr {
        let mut copy = expr.clone();
        self.renumber(&mut copy);
        copy
    }

    fn renumber(&mut self, expr: &mut Expr) {
        let at = self.nodes.position(expr.id);
        expr.id = self.nodes.id(at);
        match &mut expr.kind {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => self.renumber(operand),
            Kind::Call {
                target, arguments, ..
            } => {
                if let Some(target) = target {
                    self.renumber(target);
                }
                for argument in arguments {
                    self.renumber(argument);
                }
            }
            Kind::List(elements) => {
                for element in elements {
                    self.renumber(&mut element.value);
                }
            }
            Kind::Map(entries) => {
                for entry in entries {
                    self.renumber(&mut entry.key);
                    self.renumber(&mut entry.value);
                }
            }
            Kind::Object { fields, .. } => {
                for field in fields {
                    self.renumber(&mut field.value);
                }
            }
            Kind::Comprehension(inner) => {
                for part in [
                    &mut inner.range,
                    &mut inner.init,
                    &mut inner.condition,
                    &mut inner.step,
                    &mut inner.result,
                ] {
                    self.renumber(part);
                }
            }
        }
    }
}

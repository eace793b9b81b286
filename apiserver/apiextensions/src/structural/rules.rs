//! The rules of a schema (`x-kubernetes-validations`): compiled once, run on every object.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_cel::{
    Budget, CompileError, Declared, Environment, EvaluationError, Form, Type, Value as Evaluated,
    Variables, escape,
};
use serde_json::Value;

use super::correlation::{Correlation, Keyed};
use super::declare::{SELF_TYPE, declare};
use super::rule::{Expression, OLD_SELF, Rule};
use super::schema::Schema;

const SELF: &str = "self";
const UNSEEN: &str =
    "rule compiler initialization error: failed to convert to declType for CEL validation rules";
/// The longest message that an expression may make, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

impl Rule {
    fn compile(&mut self, environment: &Environment, declared: &Declared, of: &Type) {
        if self.expression.trim().is_empty() {
            return;
        }
        let old = if self.optional_old {
            Type::optional(of.clone())
        } else {
            of.clone()
        };
        let environment = environment
            .clone()
            .with_variable(SELF, of.clone())
            .with_variable(OLD_SELF, old);
        let compiled = environment.compile_with_max_cost(&self.expression, declared, &Type::Bool);
        self.compiled.rule = match compiled {
            Ok((program, most)) => Expression::Ready(program, most),
            Err(CompileError::Output(_)) => {
                Expression::Broken("cel expression must evaluate to a bool".to_owned())
            }
            Err(error) => Expression::Broken(with_own_names(&error.to_string(), declared)),
        };
        let is_ready = matches!(self.compiled.rule, Expression::Ready(..));
        if !is_ready || self.message_expression.is_empty() {
            return;
        }
        let compiled =
            environment.compile_with_max_cost(&self.message_expression, declared, &Type::String);
        self.compiled.message = match compiled {
            Ok((program, most)) => Expression::Ready(program, most),
            Err(CompileError::Output(_)) => {
                Expression::Broken("messageExpression must evaluate to a string".to_owned())
            }
            Err(CompileError::Issues(issues)) => {
                let issues = with_own_names(&issues.to_string(), declared);
                Expression::Broken(format!("messageExpression compilation failed: {issues}"))
            }
            Err(CompileError::Instantiation(reason)) => {
                Expression::Broken(format!("messageExpression instantiation failed: {reason}"))
            }
        };
    }

    /// The name of the rule in messages: its message, or else its expression.
    fn name(&self) -> &str {
        match self.message.as_str() {
            "" => self.expression.trim(),
            message => message.trim(),
        }
    }

    fn plain_message(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.name())
        } else {
            self.message.trim().to_owned()
        }
    }
}

/// Rewrites a message so that object types are named as in this rule: by their path from `self`.
fn with_own_names(text: &str, declared: &Declared) -> String {
    let mut names = HashMap::new();
    own_names(declared, SELF_TYPE, &mut names);
    let mut parts = text.split(SELF_TYPE);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let known = format!("{SELF_TYPE}{number}");
        named.push_str(names.get(&known).unwrap_or(&known));
        named.push_str(rest);
    }
    named
}

fn own_names(declared: &Declared, name: &str, names: &mut HashMap<String, String>) {
    match &declared.form {
        Form::Object(fields) => {
            let known = declared.value_type.as_ref().map(Type::to_string);
            names.extend(known.map(|known| (known, name.to_owned())));
            for (field, below) in fields {
                own_names(below, &format!("{name}.{field}"), names);
            }
        }
        Form::List(items, _) => own_names(items, &format!("{name}.@idx"), names),
        Form::Map(values) | Form::MapOfFields(values, _) => {
            own_names(values, &format!("{name}.@elem"), names);
        }
        _ => {}
    }
}

/// Compiles the rules of a schema and of all its parts.
pub(super) fn compile(root: &mut Schema) {
    if note_rules(root) {
        let environment = declare(root);
        compile_in(root, &environment);
    }
}

/// Notes at each node whether there are rules there or below.
fn note_rules(schema: &mut Schema) -> bool {
    let mut any = schema.rules.any;
    for part in schema.parts_mut() {
        any |= note_rules(part);
    }
    schema.rules.any = any;
    any
}

fn compile_in(schema: &mut Schema, environment: &Environment) {
    if let Some(declared) = schema.rules.declared.clone()
        && let Some(of) = &declared.value_type
    {
        for rule in &mut schema.rules.all {
            rule.compile(environment, &declared, of);
        }
    }
    for part in schema.parts_mut() {
        if part.rules.any {
            compile_in(part, environment);
        }
    }
}

/// Whether a schema has rules anywhere.
pub(super) fn has_any(schema: &Schema) -> bool {
    schema.rules.any
}

/// What the rules of one object may cost.
pub(super) fn budget() -> Budget {
    Budget::policy()
}

/// Runs the rules on an object. What is wrong with parts that have not changed is a warning.
pub(super) fn run(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    let mut budget = budget();
    let mut run = Run {
        errors,
        warnings: Vec::new(),
        budget: &mut budget,
    };
    let correlation = old.map(|old| Correlation::new(new, old, schema));
    let ratchet = Ratchet {
        current: correlation.as_ref(),
        nearest: None,
    };
    // The only error that ends a run is the one that it adds.
    let is_seen = schema.rules.is_seen;
    let _ = run.node(schema, is_seen, new, old, &Path::root(), ratchet);
    run.warnings
}

/// Runs the rules on a default: as if it came to be, and as if it had always been there.
pub(super) fn run_on_default(
    schema: &Schema,
    default: &Value,
    path: &Path<'_>,
    budget: &mut Budget,
    errors: &mut Vec<FieldError>,
) {
    let before = errors.len();
    let start = budget.clone();
    for old in [Some(default), None] {
        if errors.len() > before {
            return;
        }
        let mut left = start.clone();
        let mut run = Run {
            errors,
            warnings: Vec::new(),
            budget: &mut left,
        };
        let is_seen = schema.rules.is_seen;
        let _ = run.node(schema, is_seen, default, old, path, Ratchet::default());
        if left.remaining() < budget.remaining() {
            *budget = left;
        }
    }
}

/// No further rule is run.
struct Spent;

struct Run<'e> {
    errors: &'e mut Vec<FieldError>,
    warnings: Vec<String>,
    budget: &'e mut Budget,
}

/// What is known of the old value of a part.
#[derive(Clone, Copy, Default)]
struct Ratchet<'c, 'v> {
    current: Option<&'c Correlation<'v>>,
    /// The nearest part around that has an old value.
    nearest: Option<&'c Correlation<'v>>,
}

impl Ratchet<'_, '_> {
    fn forgives(self) -> bool {
        self.current
            .or(self.nearest)
            .is_some_and(Correlation::is_unchanged)
    }
}

impl Run<'_> {
    fn node(
        &mut self,
        schema: &Schema,
        is_seen: bool,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        ratchet: Ratchet<'_, '_>,
    ) -> Result<(), Spent> {
        if !schema.rules.any || new.is_null() {
            return Ok(());
        }
        self.rules(
            schema,
            is_seen,
            new,
            old.filter(|old| !old.is_null()),
            path,
            ratchet,
        )?;
        // A union of whole numbers and text has neither fields nor items to expressions.
        let has_parts = is_seen && !schema.int_or_string;
        match new {
            Value::Object(members) => {
                let old = old.and_then(Value::as_object);
                for (key, new) in members {
                    let Some(below) = schema.child(key).filter(|below| below.rules.any) else {
                        continue;
                    };
                    let is_property = schema.properties.contains_key(key);
                    // What a schema does not let expressions see of an object is left out, unless they have no word for its name.
                    let has_type = below.rules.is_seen;
                    let has_fields = has_parts && schema.additional.schema().is_none();
                    let is_left_out = !has_type || (!has_fields && escape(key).is_some());
                    if is_property && is_left_out {
                        continue;
                    }
                    let is_seen = has_type && (has_parts || is_property);
                    let path = if is_property {
                        path.child(key)
                    } else {
                        path.key(key)
                    };
                    let is_type =
                        ratchet.nearest.is_none() && matches!(key.as_str(), "apiVersion" | "kind");
                    let correlation = ratchet.current.and_then(|one| one.key(key));
                    let ratchet = match ratchet.current {
                        None => ratchet,
                        Some(_) if is_type => Ratchet::default(),
                        nearest => Ratchet {
                            current: correlation.as_ref(),
                            nearest,
                        },
                    };
                    let old = old.and_then(|old| old.get(key));
                    self.node(below, is_seen, new, old, &path, ratchet)?;
                }
            }
            Value::Array(items) => {
                let Some(below) = schema.items.as_deref() else {
                    return Ok(());
                };
                let keyed = Keyed::of(schema, old.unwrap_or(&Value::Null));
                for (index, new) in items.iter().enumerate() {
                    let correlation = ratchet.current.and_then(|one| one.index(index));
                    let ratchet = match ratchet.current {
                        None => ratchet,
                        nearest => Ratchet {
                            current: correlation.as_ref(),
                            nearest,
                        },
                    };
                    let old = keyed.find(new);
                    let is_seen = has_parts && below.rules.is_seen;
                    self.node(below, is_seen, new, old, &path.index(index), ratchet)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules(
        &mut self,
        schema: &Schema,
        is_seen: bool,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
        ratchet: Ratchet<'_, '_>,
    ) -> Result<(), Spent> {
        let kind = schema.kind.as_str();
        let Some(declared) = schema.rules.seen().filter(|_| is_seen) else {
            if !schema.rules.all.is_empty() {
                self.errors.push(FieldError::invalid(path, kind, UNSEEN));
            }
            return Ok(());
        };
        if self.budget.remaining() == 0 {
            return self.spent(path, kind);
        }
        let variables = Variables::new().with(SELF, declared.read(new));
        let with_old = match old {
            Some(old) => variables.clone().with(OLD_SELF, declared.read(old)),
            None => variables.clone(),
        };
        let optional = old.map(|old| Arc::new(declared.read(old)));
        let with_optional = variables.with(OLD_SELF, Evaluated::Optional(optional));
        for rule in &schema.rules.all {
            let program = match &rule.compiled.rule {
                Expression::None => continue,
                Expression::Ready(program, _) => program,
                Expression::Broken(reason) => {
                    let detail = format!("rule compile error: {reason}");
                    self.errors.push(FieldError::invalid(path, kind, &detail));
                    continue;
                }
            };
            let uses_old = rule.compiled.rule.uses_old();
            if uses_old && old.is_none() && !rule.optional_old {
                continue;
            }
            let given = if rule.optional_old {
                &with_optional
            } else {
                &with_old
            };
            match program.evaluate(given, self.budget) {
                Ok(value) if value.as_bool() == Some(true) => {}
                Ok(_) => {
                    let forgiven = !uses_old && ratchet.forgives();
                    self.broken(rule, kind, new, path, &with_old, forgiven)?;
                }
                Err(EvaluationError::OutOfBudget) => return self.spent(path, kind),
                Err(error) => self.failed(&error, rule, kind, path)?,
            }
        }
        Ok(())
    }

    fn spent(&mut self, path: &Path<'_>, kind: &str) -> Result<(), Spent> {
        let detail = EvaluationError::OutOfBudget.to_string();
        self.errors.push(FieldError::invalid(path, kind, &detail));
        Err(Spent)
    }

    /// A rule that could not be evaluated.
    fn failed(
        &mut self,
        error: &EvaluationError,
        rule: &Rule,
        kind: &str,
        path: &Path<'_>,
    ) -> Result<(), Spent> {
        let name = rule.name();
        let message = error.to_string();
        let spent = matches!(error, EvaluationError::CostLimit);
        let detail = if message.starts_with("no such overload") {
            format!(
                "'{message}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {name}"
            )
        } else if spent {
            format!(
                "'{message}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
            )
        } else {
            format!("{message} evaluating rule: {name}")
        };
        self.errors.push(FieldError::invalid(path, kind, &detail));
        if spent { Err(Spent) } else { Ok(()) }
    }

    /// A rule that does not hold.
    fn broken<'a>(
        &mut self,
        rule: &'a Rule,
        kind: &str,
        new: &Value,
        path: &Path<'_>,
        variables: &Variables<'a>,
        forgiven: bool,
    ) -> Result<(), Spent> {
        let child = path.child(&rule.field);
        let path = if rule.field.is_empty() { path } else { &child };
        let (detail, end) = match self.message(rule, variables) {
            Ok(Some(message)) => (message, false),
            Ok(None) => (rule.plain_message(), false),
            Err(detail) => (detail, true),
        };
        let error = if end {
            FieldError::invalid(path, kind, &detail)
        } else {
            told(path, rule, kind, new, &detail)
        };
        if forgiven {
            self.warnings.push(error.to_string());
        } else {
            self.errors.push(error);
        }
        if end { Err(Spent) } else { Ok(()) }
    }

    /// The message that the rule's own expression makes; none if it makes no useful one.
    ///
    /// # Errors
    /// It costs too much.
    fn message<'a>(
        &mut self,
        rule: &'a Rule,
        variables: &Variables<'a>,
    ) -> Result<Option<String>, String> {
        let Expression::Ready(program, _) = &rule.compiled.message else {
            return Ok(None);
        };
        match program.evaluate(variables, self.budget) {
            Ok(value) => {
                let message = value.as_str().unwrap_or_default().trim();
                let useful = !message.is_empty()
                    && message.len() <= LONGEST_MESSAGE
                    && !message.contains('\n');
                Ok(useful.then(|| message.to_owned()))
            }
            Err(EvaluationError::OutOfBudget) => Err(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules \
                 will be run"
                    .to_owned(),
            ),
            Err(EvaluationError::CostLimit) => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                quoted(&rule.message_expression)
            )),
            Err(EvaluationError::Failed { .. }) => Ok(None),
        }
    }
}

/// The error of a rule that does not hold, of the kind that it asks for. Objects and lists are not shown.
fn told(path: &Path<'_>, rule: &Rule, kind: &str, value: &Value, detail: &str) -> FieldError {
    let shown = !matches!(kind, "object" | "array");
    match (rule.reason.as_str(), shown) {
        ("FieldValueForbidden", _) => FieldError::forbidden(path, detail),
        ("FieldValueRequired", _) => FieldError::required(path, detail),
        ("FieldValueDuplicate", true) => FieldError::duplicate(path, value.clone()),
        ("FieldValueDuplicate", false) => FieldError::duplicate_omitted(path),
        (_, true) => FieldError::invalid(path, value.clone(), detail),
        (_, false) => FieldError::invalid_omitted(path, detail),
    }
}

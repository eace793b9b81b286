//! Checks expressions against the types of the kind, and finds the place of a mistake in the Rust source.

mod place;

use std::fmt;
use std::panic::Location;

use kubewright_cel::{Composition, Environment, Type};

use crate::expression::Source;
use crate::parts::{Change, Parts};
use crate::schema::Schema;

/// The types of the objects that expressions see. What is not typed is `dyn`, and its fields are not checked.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Typed {
    /// That of `object` and `oldObject`.
    pub object: Option<Schema>,
    /// That of `params`.
    pub params: Option<Schema>,
}

/// A mistake in an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Mistake {
    /// The call that the expression was given in.
    pub at: &'static Location<'static>,
    /// What the expression is, such as `rule 1`.
    pub what: String,
    /// The expression.
    pub expression: String,
    /// The errors, each with its line and a caret under the column.
    pub error: String,
}

impl Typed {
    /// Types the object, and no parameters.
    #[must_use]
    pub fn object(schema: Schema) -> Self {
        Self {
            object: Some(schema),
            params: None,
        }
    }

    /// Types the parameters, too.
    #[must_use]
    pub fn params(mut self, schema: Schema) -> Self {
        self.params = Some(schema);
        self
    }

    /// The environment of a policy.
    fn environment(&self, has_params: bool) -> Environment {
        let mut environment = Environment::admission().clone();
        if let Some(schema) = &self.object {
            let (declared, of) = schema.declare(environment);
            environment = declared
                .with_variable("object", of.clone())
                .with_variable("oldObject", of);
        }
        if has_params {
            environment = environment.with_variable("params", Type::Dyn);
            if let Some(schema) = &self.params {
                let (declared, of) = schema.declare(environment);
                environment = declared.with_variable("params", of);
            }
        }
        environment
    }
}

pub(crate) fn mistakes(parts: &Parts, typed: &Typed) -> Vec<Mistake> {
    let environment = typed.environment(parts.params.is_some());
    let mut composition = Composition::in_environment(environment);
    let mut found = Vec::new();
    let mut add = |what: String, source: &Source, compiled: Result<(), String>| {
        if let Err(error) = compiled {
            let error = error.strip_prefix("compilation failed: ").unwrap_or(&error);
            found.push(Mistake {
                at: source.at,
                what,
                expression: source.text.clone(),
                error: error.to_owned(),
            });
        }
    };
    for (name, source) in &parts.variables {
        let declared = composition.declare(name, &source.text);
        let declared = declared.map_err(|why| why.to_string());
        add(format!("variable `{name}`"), source, declared);
    }
    let environment = composition.environment();
    let compile = |environment: &Environment, source: &Source, types: &[Type]| {
        let compiled = environment.compile_to(&source.text, types);
        compiled.map(drop).map_err(|why| why.to_string())
    };
    for (name, source) in &parts.conditions {
        let compiled = compile(environment, source, &[Type::Bool]);
        add(format!("condition `{name}`"), source, compiled);
    }
    let messages = composition.message_environment();
    for (index, rule) in parts.rules.iter().enumerate() {
        let source = &rule.expression;
        let what = format!("rule {}", index + 1);
        let compiled = compile(environment, source, &[Type::Bool]);
        add(what.clone(), source, compiled);
        if let Some(source) = &rule.message_expression {
            let compiled = compile(&messages, source, &[Type::String]);
            add(format!("message expression of {what}"), source, compiled);
        }
    }
    for (key, source) in &parts.annotations {
        let compiled = compile(environment, source, &[Type::String, Type::Null]);
        add(format!("audit annotation `{key}`"), source, compiled);
    }
    let patches = environment.clone().with_patches();
    for (index, mutation) in parts.mutations.iter().enumerate() {
        let source = &mutation.expression;
        let output = match mutation.change {
            Change::Apply => Type::object("Object"),
            Change::Patch => Type::list(Type::object("JSONPatch")),
        };
        let compiled = compile(&patches, source, &[output]);
        add(format!("mutation {}", index + 1), source, compiled);
    }
    found
}

impl Mistake {
    /// The line and the column of the first error in a Rust file, if its text has the expression as a literal in the call: both begin with 1.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Typed};
    ///
    /// let policy = Policy::<Pod>::validating("images").rule("'a' + 1", "no");
    /// let mistake = policy.check(&Typed::default()).remove(0);
    /// let at = mistake.at;
    /// let lines = "\n".repeat(at.line() as usize - 1);
    /// let source = format!("{lines}{}.rule(\"'a' + 1\", \"no\")", " ".repeat(at.column() as usize - 2));
    /// // Eight characters after that of `rule`, there is the `+`.
    /// assert_eq!(mistake.place_in(&source), Some((at.line(), at.column() + 10)));
    /// ```
    #[must_use]
    pub fn place_in(&self, source: &str) -> Option<(u32, u32)> {
        let (line, column) = place::of_error(&self.error)?;
        let offset = place::offset(&self.expression, line, column)?;
        place::in_literal(
            source,
            self.at.line(),
            self.at.column(),
            &self.expression,
            offset,
        )
    }

    /// The mistake with its place in the text of its Rust file.
    #[must_use]
    pub fn shown_in(&self, source: &str) -> String {
        let (line, column) = self
            .place_in(source)
            .unwrap_or((self.at.line(), self.at.column()));
        self.shown(line, column)
    }

    fn shown(&self, line: u32, column: u32) -> String {
        let (file, what, error) = (self.at.file(), &self.what, &self.error);
        format!("{file}:{line}:{column}: {what}: {error}")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(self.at.line(), self.at.column()))
    }
}

//! The expressions of a policy, compiled together, since they share variables.

use kubewright_cel::{Budget, Composition, Environment, Type, Variables};

use crate::expression::Expression;
use crate::parts::{Change, Parts};

/// The compiled expressions of a policy.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) composition: Composition,
    pub(crate) conditions: Vec<Expression>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) annotations: Vec<(String, Expression)>,
    pub(crate) mutations: Vec<Mutation>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) expression: Expression,
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) code: u16,
}

#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) change: Change,
    pub(crate) expression: Expression,
}

/// What the conditions of a policy come to together.
pub(crate) enum Conditions {
    Hold,
    Skip,
    Failed(String),
}

impl Compiled {
    pub(crate) fn of(parts: &Parts) -> Self {
        let composition = Composition::new(parts.params.is_some());
        Self::in_environment(parts, composition.environment().clone())
    }

    /// Compiles the expressions in an environment in which objects may have types.
    pub(crate) fn in_environment(parts: &Parts, environment: Environment) -> Self {
        let mut composition = Composition::in_environment(environment);
        for (name, source) in &parts.variables {
            // A variable that does not compile fails the expressions that use it.
            drop(composition.declare(name, &source.text));
        }
        let environment = composition.environment();
        let messages = composition.message_environment();
        let patches = environment.clone().with_patches();
        let rule = |rule: &crate::parts::Rule| Rule {
            expression: Expression::compile(environment, &rule.expression, &[Type::Bool]),
            message: rule.message.trim().to_owned(),
            message_expression: rule
                .message_expression
                .as_ref()
                .map(|source| Expression::compile(&messages, source, &[Type::String])),
            code: rule.reason.code(),
        };
        let annotation = |(key, source): &(String, crate::expression::Source)| {
            let types = [Type::String, Type::Null];
            (
                key.clone(),
                Expression::compile(environment, source, &types),
            )
        };
        let mutation = |mutation: &crate::parts::Mutation| {
            let output = match mutation.change {
                Change::Apply => Type::object("Object"),
                Change::Patch => Type::list(Type::object("JSONPatch")),
            };
            Mutation {
                change: mutation.change,
                expression: Expression::compile(&patches, &mutation.expression, &[output]),
            }
        };
        Self {
            conditions: parts
                .conditions
                .iter()
                .map(|(_, source)| Expression::compile(environment, source, &[Type::Bool]))
                .collect(),
            rules: parts.rules.iter().map(rule).collect(),
            annotations: parts.annotations.iter().map(annotation).collect(),
            mutations: parts.mutations.iter().map(mutation).collect(),
            composition,
        }
    }

    /// Whether any expression uses a variable.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        let composed = self.composition.programs().flatten();
        let mut composed = composed.map(|program| program.uses(variable));
        let rules = self.rules.iter().flat_map(|rule| {
            let message = rule.message_expression.iter();
            message.chain([&rule.expression])
        });
        let annotations = self.annotations.iter().map(|(_, expression)| expression);
        let mutations = self.mutations.iter().map(|mutation| &mutation.expression);
        let mut all = self
            .conditions
            .iter()
            .chain(rules)
            .chain(annotations)
            .chain(mutations);
        composed.any(|uses| uses) || all.any(|expression| expression.uses(variable))
    }

    /// Evaluates every condition before any result counts: one that is false outweighs errors, but not a spent budget.
    pub(crate) fn conditions<'a>(&'a self, variables: &Variables<'a>) -> Conditions {
        let mut budget = Budget::match_conditions();
        let (mut errors, mut hold) = (Vec::<String>::new(), true);
        for condition in &self.conditions {
            match condition.evaluate(variables, &mut budget) {
                Ok(Ok(value)) => hold &= value.as_bool() == Some(true),
                Ok(Err(why)) if errors.contains(&why) => {}
                Ok(Err(why)) => errors.push(why),
                Err(spent) => return Conditions::Failed(spent),
            }
        }
        match errors.as_slice() {
            _ if !hold => Conditions::Skip,
            [] => Conditions::Hold,
            [one] => Conditions::Failed(one.clone()),
            several => Conditions::Failed(format!("[{}]", several.join(", "))),
        }
    }
}

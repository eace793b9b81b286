//! The expressions of a validating policy, compiled, and what they make of one request.

use kubewright_apimachinery::view::View as _;
use kubewright_cel::{AccessCheck, Authority, Budget, Composition, Type, Value as Cel, Variables};
use serde_json::Value;

use super::coverage::Fields;
use super::definition::Compile;
use super::input::Input;
use super::variables::composition;
use crate::expressions::{Conditions, Expression, Outcome};

const LONGEST_MESSAGE: usize = 5 * 1024;

/// The expressions of one policy.
#[derive(Debug)]
pub(super) struct Validator {
    composition: Composition,
    conditions: Conditions,
    validations: Vec<Validation>,
    annotations: Vec<Annotation>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: String,
}

#[derive(Debug)]
struct Annotation {
    key: String,
    value: Expression,
}

/// What one evaluation of a policy led to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// One for each validation, or one for all if they could not be evaluated.
    pub(super) decisions: Vec<Decision>,
    pub(super) annotations: Vec<Annotated>,
}

/// What a validation says.
#[derive(Debug)]
pub(super) enum Decision {
    /// It holds.
    Admit,
    /// It does not hold, with the reason of the answer.
    Deny { message: String, reason: String },
    /// It could not be evaluated; the failure policy decides.
    Failed(String),
}

/// What an audit annotation came to.
#[derive(Debug)]
pub(super) enum Annotated {
    Published {
        key: String,
        value: String,
    },
    /// There is none for this request.
    Excluded,
    /// It could not be evaluated; the failure policy decides.
    Failed(String),
    /// It has a type that annotations cannot have.
    Refused(String),
}

impl Compile for Validator {
    fn compile(spec: &Value, coverage: bool) -> Self {
        let composition = composition(spec, coverage);
        let environment = composition.environment();
        let messages = composition.message_environment();
        let validation = |validation: &Value| Validation {
            expression: Expression::compile(
                environment,
                validation.text("expression"),
                &[Type::Bool],
            ),
            message: validation.text("message").trim().to_owned(),
            message_expression: Some(validation.text("messageExpression"))
                .filter(|text| !text.is_empty())
                .map(|text| Expression::compile(&messages, text, &[Type::String])),
            reason: validation.text("reason").to_owned(),
        };
        let annotation = |annotation: &Value| Annotation {
            key: annotation.text("key").to_owned(),
            value: Expression::compile(
                environment,
                annotation.text("valueExpression"),
                &[Type::String, Type::Null],
            ),
        };
        Self {
            conditions: Conditions::from_object(spec.at("matchConditions"), environment),
            validations: spec.list("validations").iter().map(validation).collect(),
            annotations: spec
                .list("auditAnnotations")
                .iter()
                .map(annotation)
                .collect(),
            composition,
        }
    }

    fn fields(&self) -> Fields {
        let mut fields = Fields::of(&self.conditions, &self.composition);
        for (index, validation) in self.validations.iter().enumerate() {
            let field = format!("spec.validations[{index}]");
            fields.add(format!("{field}.expression"), &validation.expression);
            if let Some(message) = &validation.message_expression {
                fields.add(format!("{field}.messageExpression"), message);
            }
        }
        for (index, annotation) in self.annotations.iter().enumerate() {
            let field = format!("spec.auditAnnotations[{index}].valueExpression");
            fields.add(field, &annotation.value);
        }
        fields
    }
}

impl Validator {
    /// Evaluates the policy; nothing if its match conditions do not hold.
    pub(super) fn validate(&self, input: &Input<'_>, ignore_failure: bool) -> Verdict {
        let (cluster, user) = (input.cluster, &input.attributes.user);
        let authorizer = |check: &AccessCheck<'_>| cluster.authorize(user, check);
        let authority = Authority::new(&authorizer);
        let bound = |namespace, authority| {
            let variables = input.variables(namespace, authority);
            self.composition.bind(variables)
        };
        let conditions = input.variables_of_conditions(&authority);
        match self.conditions.outcome(&self.composition.bind(conditions)) {
            Outcome::Call => {}
            Outcome::Skip => return Verdict::default(),
            Outcome::Failed(_) if ignore_failure => return Verdict::default(),
            Outcome::Failed(why) => return Verdict::failed(why),
        }
        let mut budget = Budget::policy();
        let results = match self.results(
            &bound(&input.namespace.shown, Some(&authority)),
            &mut budget,
        ) {
            Ok(results) => results,
            Err(spent) => return Verdict::failed(spent),
        };
        let decisions = self.decisions(results, &bound(&input.namespace.shown, None), &mut budget);
        // Audit annotations compile with an authorizer, and are evaluated without one.
        match self.annotated(&bound(&input.namespace.with_owners, None)) {
            Ok(annotations) => Verdict {
                decisions,
                annotations,
            },
            Err(spent) => Verdict::failed(spent),
        }
    }

    /// Whether each validation holds, or why it cannot be evaluated.
    ///
    /// # Errors
    /// The budget is spent.
    fn results<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Vec<Result<bool, String>>, String> {
        let validations = self.validations.iter();
        let results = validations.map(|validation| {
            let value = validation.expression.evaluate(variables, budget)?;
            Ok(value.map(|value| value.as_bool() == Some(true)))
        });
        results.collect()
    }

    /// The decisions, with messages. Every message expression is evaluated, also that of a validation that holds.
    fn decisions<'a>(
        &'a self,
        results: Vec<Result<bool, String>>,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Vec<Decision> {
        let messages: Result<Vec<Option<String>>, String> = self
            .validations
            .iter()
            .map(|validation| validation.evaluated_message(variables, budget))
            .collect();
        let decision = |(index, result): (usize, Result<bool, String>)| match (result, &messages) {
            (Err(why), _) => Decision::Failed(why),
            (Ok(_), Err(spent)) => Decision::Failed(format!("failed messageExpression: {spent}")),
            (Ok(true), _) => Decision::Admit,
            (Ok(false), Ok(messages)) => {
                let validation = &self.validations[index];
                Decision::Deny {
                    message: validation.message(messages[index].as_deref()),
                    reason: validation.reason.clone(),
                }
            }
        };
        results.into_iter().enumerate().map(decision).collect()
    }

    fn annotated<'a>(&'a self, variables: &Variables<'a>) -> Result<Vec<Annotated>, String> {
        let mut budget = Budget::policy();
        let annotations = self.annotations.iter();
        let annotated = annotations.map(|annotation| annotation.evaluate(variables, &mut budget));
        annotated.collect()
    }
}

impl Validation {
    /// The message that an expression makes; none if it makes no useful one.
    fn evaluated_message<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Option<String>, String> {
        let Some(expression) = &self.message_expression else {
            return Ok(None);
        };
        let Ok(value) = expression.evaluate(variables, budget)? else {
            return Ok(None);
        };
        let message = value.as_str().unwrap_or_default().trim();
        let useful =
            !message.is_empty() && message.len() <= LONGEST_MESSAGE && !message.contains('\n');
        Ok(useful.then(|| message.to_owned()))
    }

    fn message(&self, evaluated: Option<&str>) -> String {
        match evaluated {
            Some(message) => message.to_owned(),
            None if !self.message.is_empty() => self.message.clone(),
            None => format!("failed expression: {}", self.expression.text.trim()),
        }
    }
}

impl Annotation {
    fn evaluate<'a>(
        &'a self,
        variables: &Variables<'a>,
        budget: &mut Budget,
    ) -> Result<Annotated, String> {
        Ok(match self.value.evaluate(variables, budget)? {
            Err(why) => Annotated::Failed(why),
            Ok(Cel::Null) => Annotated::Excluded,
            Ok(value) => match value.as_str().map(str::trim) {
                Some("") => Annotated::Excluded,
                Some(text) => Annotated::Published {
                    key: self.key.clone(),
                    value: text.to_owned(),
                },
                None => Annotated::Refused(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                    self.value.text,
                    value.type_name()
                )),
            },
        })
    }
}

impl Verdict {
    /// Nothing could be evaluated.
    fn failed(why: String) -> Self {
        Self {
            decisions: vec![Decision::Failed(why)],
            annotations: Vec::new(),
        }
    }
}

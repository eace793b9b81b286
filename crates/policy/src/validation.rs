//! What a validating policy makes of a request.

use kubewright_cel::{Budget, Value as Cel, Variables};
use serde_json::{Value, json};

use crate::answer::{Answer, Failed, Refused};
use crate::compiled::{Compiled, Conditions, Rule};
use crate::parts::{Action, Parts};
use crate::request::{Request, Seen, params};

/// The longest message of an expression.
const LONGEST_MESSAGE: usize = 5 * 1024;
const LONGEST_ANNOTATION: usize = 10 * 1024;
const MOST_FAILURES: usize = 50;
/// The key of what [`Action::Audit`] notes, which has the name of the webhook in front of it in the audit log.
const VALIDATION_FAILURE: &str = "validation_failure";

/// A rule that does not hold, or cannot be evaluated.
struct Decided {
    rule: usize,
    message: String,
    code: u16,
    failed: bool,
}

/// What an audit annotation came to.
enum Annotated {
    Published(String, String),
    Excluded,
    Failed(String),
    Refused(String),
}

/// Evaluates a policy; the name is that which the audit log has.
pub(crate) fn validate(
    parts: &Parts,
    compiled: &Compiled,
    request: &Request,
    name: &str,
) -> Answer {
    let mut answer = Answer {
        denies: parts.actions().contains(&Action::Deny),
        ..Answer::default()
    };
    let all = match params(parts.params.as_ref(), request, true) {
        Ok(all) => all,
        Err(why) => {
            // A binding that cannot be gone by denies, whatever its actions are.
            answer.denies = true;
            fail(parts, &mut answer, 0, why);
            return answer;
        }
    };
    let mut skipped = 0;
    for params in &all {
        let seen = Seen {
            request,
            object: &request.object,
            params,
            are_params_native: parts.params.as_ref().is_some_and(|it| it.is_native(true)),
            is_native: request.is_built_in(),
        };
        skipped += usize::from(!evaluate(parts, compiled, &seen, &mut answer));
    }
    answer.skipped = skipped == all.len();
    act(parts, &mut answer, name);
    answer
}

/// Evaluates a policy with one of its parameters; whether its conditions held.
fn evaluate(parts: &Parts, compiled: &Compiled, seen: &Seen<'_>, answer: &mut Answer) -> bool {
    let authority = seen.request.authority();
    let conditions = seen.of_conditions(authority.as_ref());
    match compiled.conditions(&compiled.composition.bind(conditions)) {
        Conditions::Hold => {}
        Conditions::Skip => return false,
        Conditions::Failed(why) => {
            fail(parts, answer, 0, why);
            return true;
        }
    }
    let bind = |authority| compiled.composition.bind(seen.of_expressions(authority));
    let mut budget = Budget::policy();
    let decided = match decided(
        compiled,
        &bind(authority.as_ref()),
        &bind(None),
        &mut budget,
    ) {
        Ok(decided) => decided,
        Err(spent) => {
            fail(parts, answer, 0, spent);
            return true;
        }
    };
    // They compile with an authorizer, and are evaluated without one.
    let annotated = match annotated(compiled, &bind(None)) {
        Ok(annotated) => annotated,
        Err(spent) => {
            fail(parts, answer, 0, spent);
            return true;
        }
    };
    for decided in decided {
        if decided.failed {
            fail(parts, answer, decided.rule, decided.message);
        } else {
            answer.refused.push(Refused {
                rule: decided.rule,
                message: decided.message,
                code: decided.code,
                failed: false,
            });
        }
    }
    for annotated in annotated {
        match annotated {
            Annotated::Published(key, value) => publish(answer, key, &value),
            Annotated::Excluded => {}
            Annotated::Failed(why) => deny(parts, answer, why),
            Annotated::Refused(why) => {
                answer.denies = true;
                let rule = answer.refused.len();
                answer.refused.push(refusal(rule, why));
            }
        }
    }
    true
}

/// The rules that do not hold. Every message expression is evaluated, also that of a rule that holds.
///
/// # Errors
/// The budget is spent.
fn decided<'a>(
    compiled: &'a Compiled,
    variables: &Variables<'a>,
    of_messages: &Variables<'a>,
    budget: &mut Budget,
) -> Result<Vec<Decided>, String> {
    let rules = compiled.rules.iter();
    let results: Result<Vec<_>, String> = rules
        .map(|rule| rule.expression.evaluate(variables, budget))
        .collect();
    let results = results?;
    let messages: Result<Vec<Option<String>>, String> = compiled
        .rules
        .iter()
        .map(|rule| rule.evaluated_message(of_messages, budget))
        .collect();
    let mut decided = Vec::new();
    for (index, (rule, result)) in compiled.rules.iter().zip(results).enumerate() {
        let (message, failed) = match (result, &messages) {
            (Err(why), _) => (why, true),
            (Ok(_), Err(spent)) => (format!("failed messageExpression: {spent}"), true),
            (Ok(value), _) if value.as_bool() == Some(true) => continue,
            (Ok(_), Ok(messages)) => (rule.message(messages[index].as_deref()), false),
        };
        decided.push(Decided {
            rule: index,
            message,
            code: if failed { 422 } else { rule.code },
            failed,
        });
    }
    Ok(decided)
}

fn annotated<'a>(
    compiled: &'a Compiled,
    variables: &Variables<'a>,
) -> Result<Vec<Annotated>, String> {
    let mut budget = Budget::policy();
    let annotations = compiled.annotations.iter();
    let annotated = annotations.map(|(key, expression)| {
        Ok(match expression.evaluate(variables, &mut budget)? {
            Err(why) => Annotated::Failed(why),
            Ok(Cel::Null) => Annotated::Excluded,
            Ok(value) => match value.as_str().map(str::trim) {
                Some("") => Annotated::Excluded,
                Some(text) => Annotated::Published(key.clone(), text.to_owned()),
                None => Annotated::Refused(format!(
                    "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                    expression.text(),
                    value.type_name()
                )),
            },
        })
    });
    annotated.collect()
}

impl Rule {
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
        let is_useful =
            !message.is_empty() && message.len() <= LONGEST_MESSAGE && !message.contains('\n');
        Ok(is_useful.then(|| message.to_owned()))
    }

    fn message(&self, evaluated: Option<&str>) -> String {
        match evaluated {
            Some(message) => message.to_owned(),
            None if !self.message.is_empty() => self.message.clone(),
            None => format!("failed expression: {}", self.expression.text().trim()),
        }
    }
}

/// What could not be evaluated refuses, unless the failure policy is `Ignore`.
fn fail(parts: &Parts, answer: &mut Answer, rule: usize, message: String) {
    if parts.fails_open() {
        answer.ignored.push(Failed { message });
    } else {
        answer.refused.push(refusal(rule, message));
    }
}

/// An annotation that could not be evaluated denies whatever the actions are, unless the failure policy is `Ignore`.
fn deny(parts: &Parts, answer: &mut Answer, message: String) {
    answer.denies |= !parts.fails_open();
    let rule = answer.refused.len();
    fail(parts, answer, rule, message);
}

fn refusal(rule: usize, message: String) -> Refused {
    Refused {
        rule,
        message,
        code: 422,
        failed: true,
    }
}

/// Several parameters may give a key several values.
fn publish(answer: &mut Answer, key: String, value: &str) {
    let mut end = value.len().min(LONGEST_ANNOTATION);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let value = &value[..end];
    let known = answer
        .audit_annotations
        .iter_mut()
        .find(|(known, _)| *known == key);
    match known {
        Some((_, values)) if values.split(", ").any(|known| known == value) => {}
        Some((_, values)) => {
            values.push_str(", ");
            values.push_str(value);
        }
        None => answer.audit_annotations.push((key, value.to_owned())),
    }
}

/// Does what the policy makes of refusals besides denying.
fn act(parts: &Parts, answer: &mut Answer, name: &str) {
    let actions = parts.actions();
    if actions.contains(&Action::Warn) {
        let messages = answer.refused.iter().map(|refused| refused.message.clone());
        answer.warnings.extend(messages);
    }
    if actions.contains(&Action::Audit) && !answer.refused.is_empty() {
        let words: Vec<&str> = actions.iter().map(|action| action.as_str()).collect();
        let failures: Vec<Value> = answer
            .refused
            .iter()
            .take(MOST_FAILURES)
            .map(|refused| {
                json!({
                    "message": refused.message, "policy": name, "binding": name,
                    "expressionIndex": refused.rule, "validationActions": words,
                })
            })
            .collect();
        let failures = Value::Array(failures).to_string();
        answer
            .audit_annotations
            .push((VALIDATION_FAILURE.to_owned(), failures));
    }
}

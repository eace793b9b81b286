//! What a mutating policy makes of an object.

use json_patch::{Patch, PatchErrorKind};
use kubewright_cel::{Budget, Value as Cel};
use serde_json::{Value, json};

use crate::answer::{Answer, Failed, Refused};
use crate::compiled::{Compiled, Conditions, Mutation};
use crate::literal::{check_type_names, to_json};
use crate::merge::Lists;
use crate::parts::{Change, Parts};
use crate::request::{Request, Seen, params};

/// Evaluates a policy: each mutation sees what the one before it made of the object.
pub(crate) fn mutate(parts: &Parts, compiled: &Compiled, request: &Request) -> Answer {
    let mut answer = Answer {
        denies: true,
        ..Answer::default()
    };
    let all = match params(parts.params.as_ref(), request, false) {
        Ok(all) => all,
        Err(why) => {
            fail(parts, &mut answer, 0, why, 403);
            return answer;
        }
    };
    let mut object = request.object.clone();
    let mut skipped = 0;
    for params in &all {
        skipped += usize::from(!apply(
            parts,
            compiled,
            request,
            params,
            &mut object,
            &mut answer,
        ));
    }
    answer.skipped = skipped == all.len();
    if answer.refused.is_empty() && object != request.object {
        answer.object = Some(object);
    }
    answer
}

/// Applies the mutations with one of the parameters; whether the conditions held.
fn apply(
    parts: &Parts,
    compiled: &Compiled,
    request: &Request,
    params: &Value,
    object: &mut Value,
    answer: &mut Answer,
) -> bool {
    match conditions(parts, compiled, request, params, object) {
        Conditions::Hold => {}
        Conditions::Skip => return false,
        Conditions::Failed(why) => {
            fail(parts, answer, 0, why, 403);
            return true;
        }
    }
    for (index, mutation) in compiled.mutations.iter().enumerate() {
        let seen = see(parts, compiled, request, params, object);
        match changed(parts, compiled, mutation, &seen) {
            Ok(changed) => *object = changed,
            Err(why) => fail(parts, answer, index, why, 403),
        }
    }
    true
}

fn conditions(
    parts: &Parts,
    compiled: &Compiled,
    request: &Request,
    params: &Value,
    object: &Value,
) -> Conditions {
    let authority = request.authority();
    let seen = see(parts, compiled, request, params, object);
    let variables = seen.of_conditions(authority.as_ref());
    compiled.conditions(&compiled.composition.bind(variables))
}

/// The object as one of the mutations makes it.
fn changed(
    parts: &Parts,
    compiled: &Compiled,
    mutation: &Mutation,
    seen: &Seen<'_>,
) -> Result<Value, String> {
    let authority = seen.request.authority();
    let variables = seen.of_expressions(authority.as_ref());
    let variables = compiled.composition.bind(variables);
    let value = mutation.value(&variables)?;
    mutation.changed(&value, parts.lists(), seen.object)
}

fn see<'a>(
    parts: &Parts,
    compiled: &Compiled,
    request: &'a Request,
    params: &'a Value,
    object: &'a Value,
) -> Seen<'a> {
    Seen {
        request,
        object,
        params,
        are_params_native: parts.params.as_ref().is_some_and(|it| it.is_native(false)),
        // Only the evaluation of conditions leaves the objects of built-in kinds in Go types.
        is_native: request.is_built_in() && !compiled.conditions.is_empty(),
    }
}

impl Mutation {
    fn value<'a>(&'a self, variables: &kubewright_cel::Variables<'a>) -> Result<Cel<'a>, String> {
        if let Err(why) = &self.expression.program {
            return Err(why.clone());
        }
        self.expression.evaluate(variables, &mut Budget::policy())?
    }

    /// The object as the mutation makes it.
    fn changed(&self, value: &Cel<'_>, lists: &Lists, object: &Value) -> Result<Value, String> {
        let mut changed = object.clone();
        match self.change {
            Change::Apply => {
                check_type_names(value)?;
                lists.merge(&mut changed, to_json(value)?, "");
            }
            Change::Patch => {
                let patch = operations(value)?;
                match json_patch::patch(&mut changed, &patch) {
                    Ok(()) => {}
                    // A test that fails is a condition of the patch.
                    Err(error) if matches!(error.kind, PatchErrorKind::TestFailed) => {
                        return Ok(object.clone());
                    }
                    Err(error) => return Err(format!("JSON Patch: {error}")),
                }
            }
        }
        Ok(changed)
    }
}

/// A list of `JSONPatch` as a patch.
fn operations(value: &Cel<'_>) -> Result<Patch, String> {
    let Cel::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    let mut operations = Vec::with_capacity(list.len());
    for item in list.iter() {
        let Cel::Record(operation) = &item else {
            return Err(format!(
                "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {}",
                item.type_name()
            ));
        };
        let mut members = json!({"op": "", "path": ""});
        for (name, value) in operation.fields() {
            if name == "value" {
                check_type_names(value)?;
            }
            members[name] = to_json(value)?;
        }
        operations.push(members);
    }
    serde_json::from_value(Value::Array(operations)).map_err(|error| format!("JSON Patch: {error}"))
}

fn fail(parts: &Parts, answer: &mut Answer, rule: usize, message: String, code: u16) {
    if parts.fails_open() {
        answer.ignored.push(Failed { message });
        return;
    }
    answer.refused.push(Refused {
        rule,
        message,
        code,
        failed: true,
    });
}

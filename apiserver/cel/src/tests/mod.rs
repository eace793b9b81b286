//! Tables of expressions and what they give, by the facts of the language's conformance suite, of cel-go and of the
//! tests of Kubernetes' libraries.

mod admission;
mod core;
mod costs;
mod extensions;
mod kubernetes;
mod patterns;
mod places;
mod properties;
mod robustness;
mod syntax;

use serde_json::{Value as Json, json};

use crate::{Budget, CompileError, Environment, Type, Variables};

/// An object with some of everything, as the variable `object` of the tables.
fn sample() -> Json {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web", "tier": "front"}, "generation": 3},
        "spec": {"replicas": 3, "ratio": 0.5, "paused": false, "none": null, "ports": [80, 443],
            "containers": [{"name": "a", "image": "nginx:1"}, {"name": "b", "image": "redis"}]},
    })
}

fn environment() -> Environment {
    Environment::kubernetes()
        .with_variable("object", Type::Dyn)
        .with_variable("name", Type::String)
        .with_variable("numbers", Type::list(Type::Int))
        .with_object_type("test.Item", [("name", Type::String), ("count", Type::Int)])
}

/// The result of an expression, or the text of what is wrong with it, and its cost.
fn evaluate(expression: &str) -> (Result<String, String>, u64) {
    let object = sample();
    let (name, numbers) = (json!("web"), json!([3, 1, 2]));
    let variables = Variables::new()
        .with_json("object", &object)
        .with_json("name", &name)
        .with_json("numbers", &numbers);
    let program = match environment().compile(expression) {
        Ok(program) => program,
        Err(error) => return (Err(error.to_string()), 0),
    };
    let mut budget = Budget::match_conditions();
    let result = program
        .evaluate(&variables, &mut budget)
        .map(|value| value.to_string())
        .map_err(|error| error.to_string());
    (result, budget.last_cost())
}

fn all_hold(expressions: &[&str]) {
    for expression in expressions {
        assert_eq!(
            evaluate(expression).0,
            Ok("true".to_owned()),
            "{expression}"
        );
    }
}

fn all_fail(cases: &[(&str, &str)]) {
    for (expression, message) in cases {
        assert_eq!(
            evaluate(expression).0,
            Err((*message).to_owned()),
            "{expression}"
        );
    }
}

fn all_cost(cases: &[(&str, u64)]) {
    for (expression, cost) in cases {
        let (result, spent) = evaluate(expression);
        assert_eq!(spent, *cost, "{expression}: {result:?}");
    }
}

fn all_refused(cases: &[(&str, &str)]) {
    for (expression, problem) in cases {
        match environment().compile(expression) {
            Err(CompileError::Issues(issues)) => {
                let text = issues.to_string();
                assert!(text.contains(problem), "{expression}: {text}");
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
}

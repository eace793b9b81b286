//! The implementations in Rust.

use std::hint::black_box;
use std::time::{Duration, Instant};

use kubewright_cel::{Budget, Environment, Type};
use serde_json::Value;

use crate::cases::{Expression, Measured, Variables};

/// Measures the expression in an environment of Kubernetes.
pub(crate) fn kubewright(one: &Expression, variables: &Variables, numbers: &Value) -> Measured {
    let environment = Environment::kubernetes()
        .with_variable("object", Type::Dyn)
        .with_variable("request", Type::Dyn)
        .with_variable("numbers", Type::Dyn);
    let found = environment
        .compile(&one.expression)
        .map_err(|why| why.to_string());
    let found = found.and_then(|program| {
        // Variables may borrow from the program, so they are made after it.
        let bound = kubewright_cel::Variables::new()
            .with_json("object", &variables.object)
            .with_json("request", &variables.request)
            .with_json("numbers", numbers);
        let result = program
            .evaluate(&bound, &mut Budget::policy())
            .map_err(|why| why.to_string())?
            .to_string();
        let compile =
            nanoseconds(|| drop(black_box(environment.compile(black_box(&one.expression)))));
        let evaluate = nanoseconds(|| {
            drop(black_box(
                program.evaluate(black_box(&bound), &mut Budget::policy()),
            ));
        });
        Ok((compile, evaluate, result))
    });
    measured(one, "kubewright-cel", found)
}

/// Measures the expression in the crate `cel`, which does not check types.
pub(crate) fn cel(
    one: &Expression,
    variables: &Variables,
    numbers: &Value,
) -> anyhow::Result<Measured> {
    let mut context = cel::Context::default();
    context.add_variable("object", &variables.object)?;
    context.add_variable("request", &variables.request)?;
    // Of JSON it makes unsigned integers, which it does not multiply with others.
    let numbers: Vec<i64> = numbers
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_i64)
        .collect();
    context.add_variable("numbers", &numbers)?;
    let found = cel::Program::compile(&one.expression).map_err(|why| why.to_string());
    let found = found.and_then(|program| {
        let result = program.execute(&context).map_err(|why| why.to_string())?;
        let result = match result.json() {
            Ok(Value::String(text)) => text,
            Ok(json) => json.to_string(),
            Err(why) => return Err(format!("{why:?}")),
        };
        let compile =
            nanoseconds(|| drop(black_box(cel::Program::compile(black_box(&one.expression)))));
        let evaluate = nanoseconds(|| drop(black_box(program.execute(black_box(&context)))));
        Ok((compile, evaluate, result))
    });
    Ok(measured(one, "cel", found))
}

fn measured(one: &Expression, engine: &str, found: Result<(f64, f64, String), String>) -> Measured {
    let (name, engine) = (one.name.clone(), engine.to_owned());
    let (compile, evaluate, result, refused) = match found {
        Ok((compile, evaluate, result)) => (compile, evaluate, result, String::new()),
        Err(refused) => (0.0, 0.0, String::new(), refused),
    };
    Measured {
        name,
        engine,
        compile,
        evaluate,
        result,
        refused,
    }
}

/// The shortest of several runs of 50 ms, so that other programs on the machine count little.
#[expect(
    clippy::disallowed_methods,
    reason = "no clock of a runtime is paused here: the time is what is measured"
)]
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..5 {
        let (mut calls, began) = (0_u32, Instant::now());
        while began.elapsed() < Duration::from_millis(50) {
            for _ in 0..16 {
                call();
            }
            calls += 16;
        }
        shortest = shortest.min(began.elapsed().as_secs_f64() * 1e9 / f64::from(calls));
    }
    shortest
}

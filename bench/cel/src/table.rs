//! The table of all times.

use crate::cases::{Expression, Measured};

const ENGINES: [&str; 4] = ["kubewright-cel", "cel", "cel-go", "kubernetes"];

/// Prints the times in microseconds, and the reasons of those without one below them.
pub(crate) fn print(expressions: &[Expression], measured: &[Measured]) {
    let mut notes: Vec<String> = Vec::new();
    for (title, time) in [
        (
            "microseconds of an evaluation",
            (|one| one.evaluate) as fn(&Measured) -> f64,
        ),
        ("microseconds of a compilation", |one| one.compile),
    ] {
        print!("{title:<32}");
        for engine in ENGINES {
            print!(" {engine:>15}");
        }
        println!();
        for expression in expressions {
            print!("{:<32}", expression.name);
            for engine in ENGINES {
                let found = measured
                    .iter()
                    .find(|one| one.engine == engine && one.name == expression.name);
                match found {
                    Some(one) if one.refused.is_empty() => print!(" {:>15.2}", time(one) / 1e3),
                    Some(one) => {
                        print!(" {:>15}", "none");
                        let reason = one.refused.lines().next().unwrap_or_default();
                        notes.push(format!("{engine} has no value of {}: {reason}", one.name));
                    }
                    None => print!(" {:>15}", "?"),
                }
            }
            println!();
        }
        println!();
    }
    notes.sort();
    notes.dedup();
    for note in notes {
        println!("{note}");
    }
}

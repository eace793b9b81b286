//! What the parser says, and its limits.

use super::{all_hold, all_refused, environment};

const START: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

fn problems(expression: &str) -> String {
    match environment().compile(expression) {
        Err(error) => error.to_string().replacen("compilation failed: ", "", 1),
        Ok(program) => panic!("{expression}: {program:?}"),
    }
}

#[test]
fn problems_are_shown_with_their_line() {
    insta::assert_snapshot!(problems("a | b"), @r"
    ERROR: <input>:1:3: Syntax error: token recognition error at: '| '
     | a | b
     | ..^
    ERROR: <input>:1:5: Syntax error: extraneous input 'b' expecting <EOF>
     | a | b
     | ....^
    ");
    insta::assert_snapshot!(problems("true &&\n\t'ä' + $"), @r"
    ERROR: <input>:2:8: Syntax error: token recognition error at: '$'
     |  'ä' + $
     | ..．....^
    ERROR: <input>:2:9: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
     |  'ä' + $
     | ..．.....^
    ");
    insta::assert_snapshot!(problems("[1 + , 2 -]"), @r"
    ERROR: <input>:1:6: Syntax error: extraneous input ',' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
     | [1 + , 2 -]
     | .....^
    ERROR: <input>:1:11: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
     | [1 + , 2 -]
     | ..........^
    ");
    insta::assert_snapshot!(problems("[1, 2, 3].map(var, var * var)"), @r"
    ERROR: <input>:1:15: reserved identifier: var
     | [1, 2, 3].map(var, var * var)
     | ..............^
    ERROR: <input>:1:15: argument is not an identifier
     | [1, 2, 3].map(var, var * var)
     | ..............^
    ERROR: <input>:1:20: reserved identifier: var
     | [1, 2, 3].map(var, var * var)
     | ...................^
    ERROR: <input>:1:26: reserved identifier: var
     | [1, 2, 3].map(var, var * var)
     | .........................^
    ");
}

#[test]
fn syntax_errors_read_as_those_of_the_generated_parser() {
    all_refused(&[
        ("0xFFFFFFFFFFFFFFFFF", "1:1: invalid int literal"),
        ("0xFFFFFFFFFFFFFFFFFu", "1:1: invalid uint literal"),
        ("1.99e90000009", "1:1: invalid double literal"),
        ("9223372036854775808", "1:1: invalid int literal"),
        ("has(m)", "1:5: invalid argument to has() macro"),
        (
            "object.map(__result__, true)",
            "1:12: iteration variable overwrites accumulator variable",
        ),
        (
            "object.filter(a.b, false)",
            "1:16: argument is not an identifier",
        ),
        ("1.all(2, 3)", "1:7: argument must be a simple name"),
        (
            "{",
            "1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
        ),
        (
            "Thing(){}",
            "1:8: Syntax error: mismatched input '{' expecting <EOF>",
        ),
        (
            "1 + +",
            &format!("1:5: Syntax error: mismatched input '+' expecting {START}"),
        ),
        (
            "*",
            &format!("1:2: Syntax error: mismatched input '<EOF>' expecting {START}"),
        ),
        (
            "--",
            &format!("1:3: Syntax error: mismatched input '<EOF>' expecting {START}"),
        ),
        (
            "*name",
            &format!("1:1: Syntax error: extraneous input '*' expecting {START}"),
        ),
        (
            "{\"a\": 1}.\"a\"",
            "1:10: Syntax error: no viable alternative at input '.\"a\"'",
        ),
        (
            "name.true",
            "1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER",
        ),
        (
            "\"\\xFh\"",
            "1:1: Syntax error: token recognition error at: '\"\\xFh'",
        ),
        (
            "{a}",
            "1:3: Syntax error: mismatched input '}' expecting ':'",
        ),
        ("size(name", "1:10: Syntax error: missing ')' at '<EOF>'"),
        (
            "string((name",
            "1:13: Syntax error: mismatched input '<EOF>' expecting ')'",
        ),
        (
            "name[0)",
            "1:7: Syntax error: mismatched input ')' expecting ']'",
        ),
        ("(name[0)", "1:8: Syntax error: missing ']' at ')'"),
        (
            "[1, 2",
            "1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}",
        ),
        (
            "--",
            "1:3: Syntax error: no viable alternative at input '-'",
        ),
        ("while", "1:1: reserved identifier: while"),
        ("in", "1:1: Syntax error: mismatched input 'in' expecting"),
    ]);
}

#[test]
fn precedence_is_that_of_the_language() {
    all_hold(&[
        "1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 10 - 4 - 3 == 3 && 100 / 10 / 5 == 2",
        "true || false && false",
        "!false && !!true && - -1 == 1 && --1 == 1",
        "false ? false : true ? true : false",
        "(1 < 2) == true && 1 + 1 < 3",
        "1 in [1] == true",
    ]);
}

#[test]
fn expressions_may_be_neither_too_long_nor_too_deep() {
    let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(environment().compile(&deep(249)).is_ok());
    assert_eq!(
        problems(&deep(250)),
        "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    );
    let chain = |length: usize| format!("1{}", " + 1".repeat(length));
    assert!(environment().compile(&chain(240)).is_ok());
    assert_eq!(
        problems(&chain(300)),
        "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
    );
    let both: String = vec!["true"; 5_000].join(" && ");
    assert!(environment().compile(&both).is_ok());
    let long = format!("'{}'", "x".repeat(100_000));
    assert_eq!(
        problems(&long),
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100002, limit 100000"
    );
    let doubling = format!("optional.of(1){}", ".optMap(x, x)".repeat(100));
    assert!(problems(&doubling).contains("expression is too large once its macros are expanded"));
}

#[test]
fn the_deepest_expressions_fit_on_the_stack_of_a_worker() {
    let work = || {
        let maps = format!(
            "size({}numbers{}) == 1",
            "[1].map(x, ".repeat(240),
            ")".repeat(240)
        );
        let lists = format!("size({}1{}) == 1", "[".repeat(240), "]".repeat(240));
        let either = format!("{}true{}", "(false || ".repeat(240), ")".repeat(240));
        let sums = format!("{}1{} == 81", "(1 + ".repeat(80), ")".repeat(80));
        let choices = format!("{}true{}", "true ? (".repeat(120), ") : false".repeat(120));
        all_hold(&[&maps, &lists, &either, &sums, &choices]);
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

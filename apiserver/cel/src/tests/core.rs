//! The language itself.

use super::{all_fail, all_hold, all_refused, environment, evaluate};

#[test]
fn literals_are_read() {
    all_hold(&[
        "1 == 1",
        "-1 == 0 - 1",
        "0x10 == 16",
        "-0x10 == -16",
        "10u == 10u",
        "0xFFu == 255u",
        "1.5 == 3.0 / 2.0",
        "1e3 == 1000.0",
        ".5 == 0.5",
        "-9223372036854775808 < 0",
        "'a' == \"a\"",
        "'''a'b''' == \"a'b\"",
        "r'\\n' == '\\\\n'",
        "'\\x41' == 'A' && '\\101' == 'A' && '\\u0041' == 'A' && '\\U00000041' == 'A'",
        "b'abc' == bytes('abc')",
        "b'\\xff' != b'\\xc3\\xbf'",
        "size(b'\\377') == 1",
        "size('ÿ') == 1 && size(bytes('ÿ')) == 2",
        "// a comment\n true",
        "null == null",
        "[1, 2,] == [1, 2]",
        "{'a': 1,}.a == 1",
        "dyn(null) in {dyn(1): 'a', dyn(null): 'b'}",
    ]);
}

#[test]
fn numbers_of_different_types_compare_by_value() {
    all_hold(&[
        "dyn(1) == 1.0",
        "dyn(1u) == 1",
        "1 < 1.5",
        "1u < 2",
        "2.5 > 2u",
        "dyn(1) in [1.0, 2.0]",
        "{1: 'a'}[dyn(1.0)] == 'a'",
        "!(double('NaN') == double('NaN'))",
        "dyn(1) != 'a'",
        "dyn(9223372036854775807) == 9223372036854775808.0",
    ]);
}

#[test]
fn arithmetic_overflows_are_errors() {
    all_fail(&[
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - 1", "integer overflow"),
        ("9223372036854775807 * 2", "integer overflow"),
        ("-9223372036854775808 / -1", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("object.missing == 1", "no such key: missing"),
        ("object.spec.ports[2] == 1", "index out of bounds: 2"),
        ("object.metadata.name.x == 1", "no such key: x"),
        ("object.spec.replicas + 'a' == 'a'", "no such overload"),
        ("object.spec.paused + 1 == 1", "no such overload: _+_"),
        ("object.spec.none.x == 1", "no such key: x"),
        ("object.spec.replicas ? true : false", "no such overload"),
        ("size(object.spec.replicas) == 1", "no such overload: size"),
        (
            "object.metadata.name.startsWith(object.spec.replicas)",
            "no such overload",
        ),
        (
            "object.spec.replicas.lowerAscii() == ''",
            "no such overload: lowerAscii(int)",
        ),
        (
            "int(object.metadata.name) == 1",
            "type conversion error from 'string' to 'int'",
        ),
        (
            "object.spec.replicas.all(x, true)",
            "got 'types.Int', expected iterable type",
        ),
    ]);
}

#[test]
fn logic_absorbs_errors_from_either_side() {
    all_hold(&[
        "true || 1 / 0 > 0",
        "1 / 0 > 0 || true",
        "!(false && 1 / 0 > 0)",
        "!(1 / 0 > 0 && false)",
        "[1, 0].exists(x, 2 / x == 2)",
        "[0, 1].exists(x, 2 / x == 2)",
        "![0, 1].all(x, 2 / x == 3)",
        "true ? true : 1 / 0 > 0",
    ]);
    all_fail(&[
        ("false || 1 / 0 > 0", "division by zero"),
        ("1 / 0 > 0 && true", "division by zero"),
        ("[0, 1].all(x, 2 / x == 2)", "division by zero"),
        ("object.spec.replicas && true", "no such overload"),
    ]);
}

#[test]
fn macros_go_through_lists_and_maps() {
    all_hold(&[
        "has(object.spec.replicas) && !has(object.spec.missing)",
        "has({'a': 1}.a)",
        "object.spec.containers.all(c, c.name in ['a', 'b'])",
        "object.spec.containers.exists(c, c.image.startsWith('nginx'))",
        "object.spec.containers.exists_one(c, c.name == 'a')",
        "numbers.map(n, n * 2) == [6, 2, 4]",
        "numbers.map(n, n > 1, n * 2) == [6, 4]",
        "numbers.filter(n, n > 1) == [3, 2]",
        "object.metadata.labels.all(k, k in ['app', 'tier'])",
        "numbers.all(i, n, numbers[i] == n)",
        "object.metadata.labels.exists(k, v, k == 'app' && v == 'web')",
        "numbers.transformList(i, n, i * n) == [0, 1, 4]",
        "numbers.transformList(i, n, n > 1, i * n) == [0, 4]",
        "numbers.transformMap(i, n, n * 10) == {0: 30, 1: 10, 2: 20}",
        "{'a': 1, 'b': 2}.transformMapEntry(k, v, {v: k}) == {1: 'a', 2: 'b'}",
        "[[1, 2], [3]].map(l, l.map(x, x + 1)) == [[2, 3], [4]]",
        "numbers.sortBy(n, -n) == [3, 2, 1]",
        "[1, 2].map(x, [3].map(y, x + y)) == [[4], [5]]",
    ]);
    all_fail(&[
        (
            "numbers.transformMapEntry(i, n, {'same': n}) == {}",
            "insert failed: key same already exists",
        ),
        ("[1, 2].map(x, 1 / (x - 1)) == []", "division by zero"),
    ]);
}

#[test]
fn optional_values_carry_what_may_be_missing() {
    all_hold(&[
        "object.?spec.?replicas.orValue(1) == 3",
        "object.?nothing.?replicas.orValue(1) == 1",
        "object.?nothing.replicas.orValue(1) == 1",
        "!object.?nothing.hasValue()",
        "object.spec.ports[?5].orValue(0) == 0",
        "object.spec.ports[?0].value() == 80",
        "optional.none().or(optional.of(2)).value() == 2",
        "optional.of(1).optMap(x, x + 1).value() == 2",
        "!optional.none().optMap(x, 1).hasValue()",
        "optional.of({'a': 1}).optFlatMap(m, m.?a).value() == 1",
        "[1, ?optional.none(), ?optional.of(2)] == [1, 2]",
        "{?'a': optional.none(), 'b': 1} == {'b': 1}",
        "has(object.?spec.replicas) && !has(object.?nothing.x)",
        "!optional.ofNonZeroValue('').hasValue()",
        "[1, 2].last().value() == 2 && ![].first().hasValue()",
        "optional.unwrap([optional.of(1), optional.none()]) == [1]",
        "optional.of(1) == optional.of(1) && optional.none() != optional.of(1)",
    ]);
    all_fail(&[(
        "optional.none().value() == 1",
        "optional.none() dereference",
    )]);
}

#[test]
fn types_are_values() {
    all_hold(&[
        "type(1) == int",
        "type('a') == string",
        "type([1]) == list",
        "type({}) == map",
        "type(null) == null_type",
        "type(type(1)) == type",
        "type(1u) == uint && type(1.0) == double && type(true) == bool && type(b'') == bytes",
        "type(duration('1s')) == google.protobuf.Duration",
        "type(timestamp(0)) == google.protobuf.Timestamp",
        "type(ip('::1')) == net.IP",
        "type(optional.none()) == optional_type",
        "type(object) == map",
    ]);
}

#[test]
fn conversions_read_and_write_as_go_does() {
    all_hold(&[
        "string(1) == '1' && string(1u) == '1' && string(true) == 'true'",
        "string(123.456) == '123.456' && string(-4.5e-3) == '-0.0045'",
        "string(1e6) == '1e+06' && string(123456.0) == '123456' && string(0.00001) == '1e-05'",
        "string(b'abc') == 'abc'",
        "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3 && int(7u) == 7",
        "uint('42') == 42u && uint(3.9) == 3u",
        "double('1.5') == 1.5 && double(3) == 3.0",
        "bool('true') && !bool('F') && bool('1')",
        "string(duration('1h30m')) == '5400s' && string(duration('1500ms')) == '1.5s'",
        "duration('-1.5h') == duration('-90m')",
        "int(timestamp('1970-01-01T00:01:00Z')) == 60",
        "string(timestamp('2009-02-13T23:31:30Z')) == '2009-02-13T23:31:30Z'",
        "timestamp('2009-02-13T23:31:30+01:00') == timestamp('2009-02-13T22:31:30Z')",
        "timestamp(1234567890) == timestamp('2009-02-13T23:31:30Z')",
    ]);
    all_fail(&[
        (
            "string(b'\\000\\xff') == ''",
            "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string",
        ),
        (
            "int(1e99) == 1",
            "program instantiation failed: integer overflow",
        ),
        (
            "uint(-1) == 1u",
            "program instantiation failed: unsigned integer overflow",
        ),
    ]);
}

#[test]
fn timestamps_and_durations_follow_the_calendar() {
    all_hold(&[
        "timestamp('2009-02-13T23:31:30Z').getFullYear() == 2009",
        "timestamp('2009-02-13T23:31:30Z').getMonth() == 1",
        "timestamp('2009-02-13T23:31:30Z').getDate() == 13",
        "timestamp('2009-02-13T23:31:30Z').getDayOfMonth() == 12",
        "timestamp('2009-02-13T23:31:30Z').getDayOfWeek() == 5",
        "timestamp('2009-02-13T23:31:30Z').getDayOfYear() == 43",
        "timestamp('2009-02-13T23:31:30Z').getHours() == 23",
        "timestamp('2009-02-13T23:31:30Z').getHours('-08:00') == 15",
        "timestamp('2009-02-13T23:31:30Z').getHours('America/Los_Angeles') == 15",
        "timestamp('2009-02-13T02:00:00Z').getDayOfMonth('Australia/Sydney') == 12",
        "timestamp('2009-02-13T23:31:20.123456789Z').getMilliseconds() == 123",
        "timestamp('2009-02-13T23:31:30Z') - timestamp('2009-02-13T23:31:20Z') == duration('10s')",
        "timestamp('2009-02-13T23:31:00Z') + duration('240s') == timestamp('2009-02-13T23:35:00Z')",
        "duration('3730s').getHours() == 1 && duration('3730s').getMinutes() == 62",
        "timestamp('9999-12-31T23:59:59Z').getFullYear() == 9999",
        "timestamp('0001-01-01T00:00:00Z').getFullYear() == 1",
    ]);
    all_fail(&[
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1s') == timestamp(0)",
            "timestamp overflow",
        ),
        (
            "timestamp('0001-01-01T00:00:00Z') - duration('1s') == timestamp(0)",
            "timestamp overflow",
        ),
    ]);
}

#[test]
fn the_checker_says_what_is_wrong_and_where() {
    all_refused(&[
        (
            "missing",
            "ERROR: <input>:1:1: undeclared reference to 'missing' (in container '')\n | missing\n | ^",
        ),
        (
            "1 + 'a'",
            "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
        ),
        (
            "name.nothing()",
            "ERROR: <input>:1:13: undeclared reference to 'nothing' (in container '')",
        ),
        (
            "name.startsWith(1)",
            "found no matching overload for 'startsWith' applied to 'string.(int)'",
        ),
        (
            "[1, 'a']",
            "ERROR: <input>:1:5: expected type 'int' but found 'string'",
        ),
        (
            "{'a': 1, 'b': 'c'}",
            "expected type 'int' but found 'string'",
        ),
        (
            "name.x",
            "ERROR: <input>:1:5: type 'string' does not support field selection",
        ),
        (
            "1.all(x, true)",
            "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        (
            "numbers.map(n, n + 'a')",
            "found no matching overload for '_+_' applied to '(int, string)'",
        ),
        ("1 && true", "expected type 'bool' but found 'int'"),
        (
            "true ? 1 : 'a'",
            "found no matching overload for '_?_:_' applied to '(bool, int, string)'",
        ),
        (
            "duration('x')",
            "ERROR: <input>:1:10: invalid duration argument",
        ),
        ("timestamp('x')", "invalid timestamp argument"),
        ("name.matches('(')", "invalid matches argument"),
        ("[dyn(1), 'a']", "expected type 'dyn' but found 'string'"),
        (
            "'%d'.format(['a'])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%d %d'.format([1])", "index 1 out of range"),
        (
            "'%d'.format([1, 2])",
            "too many arguments supplied to string.format (expected 1, got 2)",
        ),
        (
            "Nothing{}",
            "undeclared reference to 'Nothing' (in container '')",
        ),
    ]);
}

#[test]
fn an_expression_that_costs_too_much_is_cancelled() {
    let nested = |depth: usize| {
        format!(
            "{}x{}",
            "lists.range(40).map(x, ".repeat(depth),
            ")".repeat(depth)
        )
    };
    assert!(evaluate(&nested(2)).0.is_ok());
    let cancelled = Err("operation cancelled: actual cost limit exceeded".to_owned());
    assert_eq!(evaluate(&nested(4)).0, cancelled);
    let long = "lists.range: size 9000000000 exceeds maximum allowed (1000000)";
    assert_eq!(evaluate("lists.range(9000000000)").0, Err(long.to_owned()));
    let negative = Err("lists.range: size must be non-negative, got -1".to_owned());
    assert_eq!(evaluate("lists.range(-1)").0, negative);
}

#[test]
fn a_constant_that_is_no_key_is_refused_as_by_cel_go() {
    for (expression, message) in [
        ("{'a': 1}[dyn(null)]", "invalid qualifier type: types.Null"),
        ("{'a': 1}[dyn(b'a')]", "invalid qualifier type: types.Bytes"),
    ] {
        let error = environment().compile(expression).expect_err("no program");
        let expected = format!("program instantiation failed: {message}");
        assert_eq!(error.to_string(), expected, "{expression}");
    }
    all_fail(&[
        (
            "[dyn(b'a')].map(x, {'a': 1}[x])",
            "invalid qualifier type: types.Bytes",
        ),
        (
            "[dyn([1])].map(x, {'a': 1}[?x])",
            "invalid qualifier type: *types.baseList",
        ),
        ("{'a': 1}[dyn(ip('::1'))]", "invalid qualifier type: cel.IP"),
        (
            "[[1][0] == 1 ? dyn(null) : 1].map(x, [1][x])",
            "invalid qualifier type: types.Null",
        ),
    ]);
}

#[test]
fn a_number_is_found_among_constants_of_other_number_types() {
    all_hold(&[
        "dyn(1) in [3.0, 1.0]",
        "dyn(1u) in [3.0, 1.0]",
        "dyn(1.0) in [3, 1]",
        "!(dyn(1.5) in [3, 1])",
        "2.5 in [2.5]",
        "-0.0 in [0.0]",
        "!(double('NaN') in [double('NaN')])",
        "1e300 in [1e300, 2.0]",
    ]);
}

#[test]
fn exists_one_has_a_second_name_with_two_variables_alone() {
    all_hold(&["[1].exists_one(x, x == 1) && [1].existsOne(i, x, x == 1)"]);
    all_refused(&[
        (
            "[1].existsOne(x, x == 1)",
            "undeclared reference to 'existsOne'",
        ),
        ("int{a: 1}", "unexpected failed resolution of 'int'"),
    ]);
}

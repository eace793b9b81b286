//! Extension libraries: strings, lists, sets and regular expressions.

use super::{all_fail, all_hold, all_refused};

#[test]
fn strings_are_counted_in_code_points() {
    all_hold(&[
        "'tacocat'.charAt(3) == 'o' && 'tacocat'.charAt(7) == '' && '©αT'.charAt(1) == 'α'",
        "'tacocat'.indexOf('') == 0 && 'tacocat'.indexOf('ac') == 1 && 'tacocat'.indexOf('none') == -1",
        "'ta©o©αT'.indexOf('©') == 2 && 'ta©o©αT'.indexOf('©', 3) == 4 && 'ta©o©αT'.indexOf('©αT', 5) == -1",
        "'tacocat'.lastIndexOf('at') == 5 && 'ta©o©αT'.lastIndexOf('©') == 4 && 'ta©o©αT'.lastIndexOf('©', 3) == 2",
        "'ab'.indexOf('', 1) == 1 && 'ab'.indexOf('', 7) == 2 && ''.indexOf('', 2) == 0 && 'ab'.indexOf('x', 7) == -1",
        "'ab'.lastIndexOf('', 1) == 1 && 'ab'.lastIndexOf('', 7) == 2 && ''.lastIndexOf('', 2) == 0",
        "'tacocat'.lastIndexOf('') == 7 && 'bananananana'.lastIndexOf('nana', 7) == 6",
        "'TacoCat'.lowerAscii() == 'tacocat' && 'TacoCÆt'.lowerAscii() == 'tacocÆt'",
        "'tacoCat'.upperAscii() == 'TACOCAT' && 'tacoCαt'.upperAscii() == 'TACOCαT'",
        "'12 days 12 hours'.replace('{0}', '2') == '12 days 12 hours'",
        "'{0} days {0} hours'.replace('{0}', '2', 1) == '2 days {0} hours'",
        "'1 ©αT taco'.replace('αT', 'o©α') == '1 ©o©α taco' && 'ab'.replace('', '-') == '-a-b-'",
        "'hello world'.split(' ') == ['hello', 'world'] && 'o©o©o©o'.split('©', -1) == ['o', 'o', 'o', 'o']",
        "'hello world events!'.split(' ', 0) == [] && 'hello world events!'.split(' ', 1) == ['hello world events!']",
        "'hello'.split('') == ['h', 'e', 'l', 'l', 'o'] && 'abc'.split('', 2) == ['a', 'bc']",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'ta©o©αT'.substring(2, 6) == '©o©α'",
        "' \\f\\n\\r\\t\\vtext  '.trim() == 'text'",
        "['x', 'y'].join() == 'xy' && ['x', 'y'].join('-') == 'x-y' && [].join() == ''",
        "strings.quote('first\\nsecond') == '\"first\\\\nsecond\"'",
    ]);
    all_fail(&[
        ("'tacocat'.charAt(30) == ''", "index out of range: 30"),
        ("'tacocat'.charAt(-1) == ''", "index out of range: -1"),
        ("'tacocat'.indexOf('a', -1) == 0", "index out of range: -1"),
        ("'tacocat'.substring(40) == ''", "index out of range: 40"),
        (
            "'tacocat'.substring(3, 1) == ''",
            "invalid substring range. start: 3, end: 1",
        ),
        ("'tacocat'.substring(1, 50) == ''", "index out of range: 50"),
    ]);
}

#[test]
fn format_writes_numbers_as_american_english_does() {
    all_hold(&[
        "'no substitution'.format([]) == 'no substitution'",
        "'%% and %s and %d'.format(['text', 7]) == '% and text and 7'",
        "'%.3f'.format([1.2345]) == '1.234' && '%f'.format([2.71828]) == '2.718280'",
        "'%f'.format([10002.1]) == '10,002.100000' && '%.0f'.format([-1234567.0]) == '-1,234,567'",
        "'%.6e'.format([1052.032911275]) == '1.052033×10⁰³'",
        "'%e'.format([2.71828]) == '2.718280×10⁰⁰'",
        "'%b %b %b'.format([5, -5, true]) == '101 -101 1' && '%o'.format([-11]) == '-13'",
        "'%x %X %x'.format([30, 30, -30]) == '1e 1E -1e'",
        "'%x'.format(['Hello world!']) == '48656c6c6f20776f726c6421' && '%X'.format([b'ab']) == '6162'",
        "'%s'.format([2.71]) == '2.71' && '%s'.format([[2.71]]) == '[2.710000]' && '%s'.format([0.000000002]) == '2e-09'",
        "'%f %f'.format(['NaN', '-Infinity']) == 'NaN -∞' && '%s'.format([double('Inf')]) == '+Inf'",
        "'null: %s'.format([null]) == 'null: null' && 'type is %s'.format([type('x')]) == 'type is string'",
        "'%s'.format([timestamp('2023-02-03T23:31:20+00:00')]) == '2023-02-03T23:31:20Z'",
        "'%s'.format([duration('1h45m47s')]) == '6347s' && '%s'.format([duration('2ns')]) == '0.000000002s'",
        "'%s'.format([['abc', 3.14, null, [9, 8], timestamp('2023-02-03T23:31:20Z')]]) \
            == '[\"abc\", 3.140000, null, [9, 8], timestamp(\"2023-02-03T23:31:20Z\")]'",
        "'%s'.format([{'key1': b'xyz', 'key2': duration('2h'), 'key3': 2.5}]) \
            == '{\"key1\":b\"xyz\", \"key2\":duration(\"7200s\"), \"key3\":2.500000}'",
        "'%s'.format([object.metadata.labels]) == '{\"app\":\"web\", \"tier\":\"front\"}'",
    ]);
    all_fail(&[
        (
            "'%d'.format([object.metadata.name]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        (
            "name.format([]) == 'web' && (name + '%s').format([]) == ''",
            "index 0 out of range",
        ),
    ]);
    all_refused(&[
        (
            "'%z'.format([1])",
            "could not parse formatting clause: unrecognized formatting clause \"z\"",
        ),
        (
            "'%s'.format([quantity('1')])",
            "was given kubernetes.Quantity",
        ),
    ]);
}

#[test]
fn lists_can_be_cut_sorted_and_flattened() {
    all_hold(&[
        "lists.range(4) == [0, 1, 2, 3] && lists.range(0) == []",
        "[5, 1, 2, 3].reverse() == [3, 2, 1, 5] && [].reverse() == []",
        "[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1, 2, 3, 4].slice(4, 4) == []",
        "[[1], [2, 3], []].flatten() == [1, 2, 3]",
        "[dyn(1), dyn([dyn(2), dyn([3, 4])])].flatten(2) == [1, 2, 3, 4]",
        "[4, 3, 2, 1].sort() == [1, 2, 3, 4] && ['d', 'a'].sort() == ['a', 'd'] && [].sort() == []",
        "[-3, 1, -5, -2, 4].sortBy(e, -(e * e)) == [-5, 4, -3, -2, 1]",
        "['a', 'c', 'b', 'first'].sortBy(e, e == 'first' ? '' : e) == ['first', 'a', 'b', 'c']",
        "object.spec.containers.sortBy(c, c.image).map(c, c.name) == ['a', 'b']",
        "[-2, 5, -2, 1, 1, 5, -2, 1].distinct() == [-2, 5, 1] && [[1], [1], [2]].distinct() == [[1], [2]]",
        "[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0",
        "[duration('1m'), duration('1s')].sum() == duration('61s')",
        "[3, 1, 2].max() == 3 && ['b', 'a'].min() == 'a' && [1, 2, 2].isSorted() && ![2, 1].isSorted()",
        "[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(4) == -1",
        "['a', 'b'] + ['c'] == ['a', 'b', 'c']",
    ]);
    all_fail(&[
        (
            "[1, 2, 3, 4].slice(3, 0) == []",
            "cannot slice(3, 0), start index must be less than or equal to end index",
        ),
        (
            "[1, 2, 3, 4].slice(0, 10) == []",
            "cannot slice(0, 10), list is length 4",
        ),
        (
            "[1, 2, 3, 4].slice(-5, 10) == []",
            "cannot slice(-5, 10), negative indexes not supported",
        ),
        ("[[1]].flatten(-1) == []", "level must be non-negative"),
        (
            "[dyn('d'), dyn(3)].sort() == []",
            "list elements must have the same type",
        ),
        (
            "numbers.filter(n, n > 9).max() == 1",
            "max called on empty list",
        ),
        (
            "numbers.filter(n, n > 9).min() == 1",
            "min called on empty list",
        ),
    ]);
}

#[test]
fn sets_are_lists_without_order() {
    all_hold(&[
        "sets.contains([], []) && sets.contains([1, 2, 3, 4], [2, 3]) && !sets.contains([1], [1, 2])",
        "sets.equivalent([1, 2, 3], [3, 2, 1]) && sets.equivalent([1], [1, 1]) && !sets.equivalent([2, 1], [1])",
        "sets.intersects([1], [1, 2]) && !sets.intersects([1], [2]) && !sets.intersects([], [])",
        "sets.contains([1], [dyn(1.0), dyn(1u)].map(x, int(x)))",
    ]);
}

#[test]
fn patterns_are_read_as_re2_reads_them() {
    all_hold(&[
        "'hubba'.matches('ubb') && !'hubba'.matches('^ubb$') && matches('abc', 'b')",
        "'abc 123 def 456'.find('[0-9]+') == '123' && 'abc'.find('xyz') == ''",
        "'abc 123 def 456'.findAll('[0-9]+', 1) == ['123'] && 'a'.findAll('b') == []",
        "!'٣'.matches('^\\\\d$') && '3'.matches('^\\\\d$')",
        "!'ä'.matches('^\\\\w$') && '\\u00a0'.matches('^\\\\S$')",
        "'a.b'.matches('^\\\\Qa.b\\\\E$') && !'axb'.matches('^\\\\Qa.b\\\\E$')",
        "'&'.matches('^[a&&b]$') && '['.matches('^[[]$') && 'a-'.matches('^[a-]+$')",
        "'a{,5}'.matches('^a{,5}$') && 'aaa'.matches('^a{2,5}$')",
        "'x'.matches('(?i)^X$') && 'A'.matches('^\\\\x41$') && '\\t'.matches('^[\\\\t]$')",
    ]);
    all_fail(&[
        (
            "'a'.matches(name + '{1001}')",
            "error parsing regexp: invalid repeat count: `{1001}`",
        ),
        (
            "'a'.find(name + '(?x)') == ''",
            "Illegal regex: error parsing regexp: invalid or unsupported Perl syntax: `(?x`",
        ),
    ]);
}

#[test]
fn the_cost_of_a_list_that_is_an_error_fails_the_whole_expression() {
    let no_list =
        "internal error: interface conversion: *types.Err is not traits.Lister: missing method Add";
    all_fail(&[
        ("dyn({'a': [1]}).b.distinct() == [] || true", no_list),
        (
            "[1].map(x, dyn({'a': x}).b == 1 ? 1 : 2).sort() == [] || true",
            no_list,
        ),
        (
            "(dyn({'a': 1}).b == 1 ? ['a'] : ['b']).sortBy(x, x.size()) == [] || true",
            no_list,
        ),
        (
            "['a'].sortBy(x, dyn({'a': x}).b == x ? 1 : 2) == [] || true",
            no_list,
        ),
        (
            "[[1]].flatten(dyn({'a': 1}).b) == [] || true",
            "internal error: interface conversion: ref.Val is *types.Err, not types.Int",
        ),
    ]);
    // Where the whole expression does not fail, `|| true` absorbs the error.
    all_hold(&[
        "dyn({'a': [1]}).b.reverse() == [] || true",
        "dyn({'a': [1]}).b.sort() == [] || true",
        "dyn({'a': [1]}).b.sortBy(x, x) == [] || true",
    ]);
}

#[test]
fn zero_is_written_without_a_sign() {
    all_hold(&[
        "'%.3f'.format([-(0.0)]) == '0.000' && '%.1e'.format([-(0.0)]) == '0.000000×10⁰⁰'",
        "'%.3f'.format([-0.0004]) == '-0.000' && '%.0f'.format([-0.5]) == '-0'",
    ]);
}

#[test]
fn bytes_that_are_no_text_cannot_be_formatted_as_one() {
    let why = r#"error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string"#;
    all_fail(&[
        ("'%s'.format([dyn(b'\\xff')]) == ''", why),
        ("'%s'.format([[dyn(b'\\xff')]]) == ''", why),
        ("'%s'.format([{'a': dyn(b'\\xff')}]) == ''", why),
    ]);
}

#[test]
fn infinity_takes_as_many_places_as_the_precision_says() {
    all_hold(&[
        "'%e'.format([double('Inf')]) == '     ∞'",
        "'%.3e'.format([double('-Inf')]) == ' -∞'",
        "'%f'.format([double('Inf')]) == '∞'",
    ]);
}

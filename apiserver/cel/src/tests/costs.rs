//! What expressions cost. The figures are those of cel-go's `runtimecost_test.go` and of Kubernetes' `cost_test.go`,
//! less ten for each constant list and thirty for each constant map: those suites run without the constant folding that
//! the API server turns on.

use super::all_cost;

#[test]
fn names_selections_and_operators_cost_one_each() {
    all_cost(&[
        ("'Hello World!'", 0),
        ("true", 0),
        ("numbers", 1),
        ("object.spec.replicas", 3),
        ("object['spec'].replicas", 3),
        ("object['sp' + 'ec']", 3),
        ("numbers[3-3]", 3),
        ("has(object.spec)", 1),
        ("has(object.spec.replicas)", 2),
        ("object.?missing.x", 1),
        ("object.?spec.replicas", 3),
        ("object.spec.replicas == 3", 4),
        ("object.spec.ports[0]", 4),
        ("numbers[numbers[0] - 3]", 5),
        ("1 < 2", 1),
        ("1 + 1", 1),
        ("!true", 1),
        ("size('123')", 1),
        ("name.size()", 2),
        ("false || false", 0),
        ("true && false", 0),
        ("true || object.missing", 0),
        ("true ? 1 : 2", 0),
        ("true ? name : 'x'", 0),
        ("false ? false : 1 > 3", 1),
        ("(1 > 2 ? 5 : 3) > 1", 2),
        ("(1 > 2 || 2 > 1) == true", 3),
    ]);
}

#[test]
fn literals_cost_something_only_if_they_are_not_constant() {
    all_cost(&[
        ("[1, 2, 3]", 0),
        ("{'a': 1}", 0),
        ("[name]", 11),
        ("{'a': name}", 31),
        ("test.Item{name: 'a'}", 40),
        ("[['a'], [name]]", 21),
        ("duration('1h') == duration('60m')", 1),
        ("string(1)", 0),
        ("2 in [1, 2, 3]", 0),
        ("name in ['a', 'b']", 1),
        ("name in [name]", 13),
    ]);
}

#[test]
fn texts_cost_by_their_length() {
    let long = "x".repeat(70);
    all_cost(&[
        (
            "'12345678901234567890' == '123456789012345678901234567890'",
            2,
        ),
        ("'' == 'a'", 0),
        ("'a' != 'b'", 1),
        ("'abc' < 'abd'", 1),
        ("'123'.matches('[0-9]')", 2),
        ("name.startsWith('web')", 2),
        ("name.endsWith(name)", 3),
        ("name.contains('eb')", 2),
        ("name + name", 3),
        ("'abcdefg'.contains(name + 'l2222222222')", 5),
        (&format!("'{long}'.lowerAscii()"), 7),
        ("'ABCDEFGHIJ abcdefghij'.lowerAscii()", 3),
        (
            "'ABCDEFGHIJ abcdefghij'.lowerAscii() == 'abcdefghij ABCDEFGHIJ'.lowerAscii()",
            9,
        ),
        ("strings.quote('ABCDEFGHIJ abcdefghij')", 3),
        ("'abc 123 def 123'.replace('123', '456')", 3),
        ("'abc 123 def 123'.split(' ', 1)", 3),
        ("'abc 123 def 123'.substring(5, 8)", 2),
        ("'  abc 123 def 123  '.trim()", 2),
        (
            "['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')",
            5,
        ),
        ("'abc 123 def 123'.find('123')", 2),
        ("'no substitution'.format([])", 2),
        ("'this is 5 in binary: %b'.format([5])", 3),
    ]);
}

#[test]
fn comprehensions_cost_what_their_steps_cost() {
    all_cost(&[
        ("[].all(x, true)", 1),
        ("[1, 2, 3].all(x, true)", 10),
        ("(numbers[0] > 2 ? [object] : [object]).all(y, true)", 18),
        ("numbers.all(n, n > 0)", 17),
        ("numbers.exists(n, n == 2)", 20),
        ("numbers.map(n, n)", 41),
        ("[1,2,3,4,5].filter(x, x % 2 == 0)", 42),
        ("[1,2,3,4,5].map(x, x)", 66),
        ("[1,2,3,4,5].map(x, x).filter(x, x % 2 == 0)", 108),
        ("[1,2,3,4,5].map(x, x).exists(x, x == 5) == true", 98),
        ("[1,2,3,4,5].map(x, x).map(x, x)", 132),
        ("[1,2,3,4,5].map(x, [x, x]).filter(z, z.size() == 2)", 202),
        ("[1,2,3,4,5].map(x, x).map(x, x) + [1]", 133),
        ("[1,2,3].all(i, i in [1,2,3].map(j, j + j))", 56),
        ("{'a': 1, 'b': 2}.all(k, v, v > 0)", 11),
        ("{'a': 1, 'b': 2}.exists(k, v, v > 0)", 10),
        ("{'a': 1, 'b': 2}.existsOne(k, v, v > 0)", 10),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v + 1)", 11),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1)", 15),
        ("{'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1})", 71),
        (
            "{'a': 1, 'b': 2}.transformMapEntry(k, v, v < 5, {k: v + 1})",
            75,
        ),
        ("[1, 2].transformList(i, v, v + 1)", 29),
        ("[1, 2].transformList(i, v, v < 5, v + 1)", 33),
        ("optional.of(1).optMap(x, x + 1)", 7),
    ]);
}

#[test]
fn kubernetes_functions_cost_what_its_table_says() {
    all_cost(&[
        ("url('https:://kubernetes.io/').getScheme()", 4),
        (
            "url('https:://kubernetes.io/') == url('https:://kubernetes.io/')",
            7,
        ),
        ("ip('192.168.0.1')", 2),
        ("ip('192.168.0.1').family()", 3),
        ("ip('192.168.0.1') == ip('192.168.0.1')", 5),
        (
            "cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))",
            7,
        ),
        ("cidr('192.168.0.0/16').containsIP('192.0.0.1')", 4),
        ("quantity('12Mi')", 1),
        ("quantity('200M') == quantity('200M')", 3),
        (
            "quantity('50k').add(20).sub(quantity('100k')).asInteger() > 0",
            6,
        ),
        (
            "format.named('dns1123Subdomain').value().validate('my-name')",
            17,
        ),
        (
            "format.named('dns1123Label').value().validate('my-name')",
            10,
        ),
        (
            "format.named('dns1123Label').value() == format.named('dns1123Label').value()",
            5,
        ),
        ("semver('1234.56789012345.67890123456789')", 4),
        ("semver('1.0.0').isLessThan(semver('1.1.0'))", 3),
        ("sets.contains([], [])", 1),
        ("sets.contains([1, 2, 3, 4], [2, 3])", 9),
        ("sets.equivalent([1, 2, 3], [3, 2, 1])", 19),
        ("sets.intersects([1, 2], [2, 2, 2])", 7),
        ("[1, 2, 3].sum()", 3),
        ("['abcdefghij', 'x'].isSorted()", 1),
        ("'abcdefghijk'.indexOf('k')", 1),
        ("[3, 2, 1].reverse()", 14),
        ("[1, 1, 1].distinct()", 29),
        ("['a', 'b'].sort()", 19),
        ("lists.range(4)", 15),
        ("[1, 2, 3].slice(1, 3)", 13),
    ]);
}

#[test]
fn costs_are_those_of_cel_go_at_the_edges() {
    all_cost(&[
        // The prefix is looked through, not the string.
        ("''.startsWith('foo')", 1),
        ("'foo'.endsWith('')", 0),
        // Constants of any number type are looked up, not compared one by one.
        ("dyn(1) in [3.0, 1.0, 2.5]", 0),
        ("2.5 in [3.0, 1.0, 2.5]", 0),
        // What is missing behind an optional value costs nothing.
        ("has(optional.of({'c': {'e': 1}}).c.e)", 3),
        ("has(optional.of({'c': {'e': 1}}).c.d)", 2),
        ("[[1], [2]].flatten(-1)", 13),
        // A call is counted once all its arguments were evaluated, even if one failed.
        ("[0, 1].transformMap(i, v, 4 / v)", 7),
        ("[0, 1, 1].transformMapEntry(i, v, {i: 4 / v})", 106),
    ]);
}

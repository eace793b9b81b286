//! The expressions, each with data of a ConfigMap for which it holds, and data for which it does not.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_policy::{ParamRef, Policy, Reason};
use serde_json::{Value, json};

/// One policy.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) expressions: Box<dyn Fn(Policy<ConfigMap>) -> Policy<ConfigMap>>,
    pub(super) holds: Value,
    pub(super) fails: Value,
    /// The message of the denial.
    pub(super) says: &'static str,
}

/// A rule for the value of the key `a`.
fn rule(name: &'static str, expression: &'static str, holds: &str, fails: &str) -> Case {
    of(name, holds, fails, "no", move |policy| {
        policy.rule(expression, "no")
    })
}

fn of(
    name: &'static str,
    holds: &str,
    fails: &str,
    says: &'static str,
    expressions: impl Fn(Policy<ConfigMap>) -> Policy<ConfigMap> + 'static,
) -> Case {
    Case {
        name,
        expressions: Box::new(expressions),
        holds: json!({"a": holds}),
        fails: json!({"a": fails}),
        says,
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = strings();
    all.extend(collections());
    all.extend(kubernetes());
    all.extend(policies());
    all.extend(errors());
    all
}

fn strings() -> Vec<Case> {
    vec![
        rule("equality", "object.data.a == 'x'", "x", "y"),
        rule("order", "object.data.a < 'm'", "b", "z"),
        rule(
            "starts-with",
            "object.data.a.startsWith('ab')",
            "abc",
            "bac",
        ),
        rule(
            "ends-with",
            "!object.data.a.endsWith(':latest')",
            "nginx:1",
            "nginx:latest",
        ),
        rule("contains", "object.data.a.contains('//')", "a//b", "a/b"),
        rule(
            "size-of-characters",
            "size(object.data.a) == 2",
            "äö",
            "abc",
        ),
        rule("char-at", "object.data.a.charAt(1) == 'ö'", "äö", "öä"),
        rule("index-of", "object.data.a.indexOf('b') == 1", "abc", "bac"),
        rule(
            "lower-ascii",
            "object.data.a.lowerAscii() == 'abc'",
            "ABC",
            "ABD",
        ),
        rule(
            "replace",
            "object.data.a.replace('a', 'b') == 'bbb'",
            "aba",
            "abc",
        ),
        rule(
            "split-and-join",
            "object.data.a.split(',').join('-') == 'a-b'",
            "a,b",
            "a;b",
        ),
        rule(
            "substring",
            "object.data.a.substring(1, 3) == 'bc'",
            "abcd",
            "dcba",
        ),
        rule("trim", "object.data.a.trim() == 'x'", "  x ", " x y"),
        rule(
            "matches",
            "object.data.a.matches('^[a-z]+[0-9]$')",
            "abc1",
            "1abc",
        ),
        rule(
            "find",
            "object.data.a.find('[0-9]+') == '42'",
            "a42b",
            "a43b",
        ),
        rule(
            "find-all",
            "object.data.a.findAll('[0-9]').size() == 2",
            "1a2",
            "1a2b3",
        ),
        rule(
            "format-string",
            "'%s-%d'.format([object.data.a, 3]) == 'x-3'",
            "x",
            "y",
        ),
        rule("int-of-string", "int(object.data.a) % 2 == 0", "42", "43"),
        rule(
            "double-of-string",
            "double(object.data.a) > 1.5",
            "1.6",
            "1.4",
        ),
        rule("bytes", "bytes(object.data.a) == b'\\xc3\\xa4'", "ä", "a"),
        rule(
            "duration",
            "duration(object.data.a) > duration('1m')",
            "90s",
            "30s",
        ),
        rule(
            "timestamp",
            "timestamp(object.data.a).getFullYear() == 2026",
            "2026-01-02T03:04:05Z",
            "2025-01-02T03:04:05Z",
        ),
    ]
}

fn collections() -> Vec<Case> {
    vec![
        rule(
            "all",
            "object.data.a.split(',').all(x, size(x) < 3)",
            "a,bb",
            "a,bbb",
        ),
        rule(
            "exists",
            "object.data.a.split(',').exists(x, x == 'b')",
            "a,b",
            "a,c",
        ),
        rule(
            "exists-one",
            "object.data.a.split(',').exists_one(x, x == 'b')",
            "a,b",
            "b,b",
        ),
        rule(
            "map-and-filter",
            "object.data.a.split(',').filter(x, x != 'b').map(x, x + x) == ['aa']",
            "a,b",
            "a,c",
        ),
        rule(
            "sum",
            "object.data.a.split(',').map(x, int(x)).sum() == 6",
            "1,2,3",
            "1,2,4",
        ),
        rule(
            "is-sorted",
            "object.data.a.split(',').isSorted()",
            "a,b",
            "b,a",
        ),
        rule(
            "max",
            "object.data.a.split(',').max() == 'c'",
            "a,c,b",
            "a,b",
        ),
        rule(
            "index-of-item",
            "object.data.a.split(',').indexOf('b') == 1",
            "a,b",
            "b,a",
        ),
        rule(
            "distinct",
            "object.data.a.split(',').distinct().size() == 2",
            "a,b,a",
            "a,b,c",
        ),
        rule(
            "sets-contains",
            "sets.contains(['a', 'b', 'c'], object.data.a.split(','))",
            "a,c",
            "a,d",
        ),
        rule(
            "sets-intersects",
            "sets.intersects(['a', 'b'], object.data.a.split(','))",
            "b,c",
            "c,d",
        ),
        rule(
            "keys-of-a-map",
            "object.data.all(k, k == 'a' && object.data[k] != '')",
            "x",
            "",
        ),
        rule("two-variables", "object.data.all(k, v, k != v)", "x", "a"),
        rule(
            "transform-list",
            "['x', 'y'].transformList(i, v, v + string(i)).exists(t, t == object.data.a)",
            "y1",
            "y0",
        ),
        rule(
            "optional-field",
            "object.?data.a.orValue('') == 'x'",
            "x",
            "y",
        ),
        rule(
            "optional-entry",
            "object.data[?'b'].orValue(object.data.a) == 'x'",
            "x",
            "y",
        ),
        rule(
            "ternary",
            "(has(object.data.b) ? 'b' : object.data.a) == 'x'",
            "x",
            "b",
        ),
    ]
}

fn kubernetes() -> Vec<Case> {
    vec![
        rule(
            "url",
            "url(object.data.a).getHostname() == 'example.com'",
            "https://example.com:8080/a",
            "https://example.org/a",
        ),
        rule(
            "is-url",
            "isURL(object.data.a)",
            "https://example.com/a?b=c",
            "://a",
        ),
        rule(
            "quantity",
            "quantity(object.data.a).isLessThan(quantity('1Gi'))",
            "512Mi",
            "2G",
        ),
        rule(
            "quantity-arithmetic",
            "quantity(object.data.a).add(quantity('100m')).compareTo(quantity('1')) == 0",
            "900m",
            "901m",
        ),
        rule(
            "ip",
            "ip(object.data.a).family() == 6",
            "fd00::1",
            "10.0.0.1",
        ),
        rule("is-ip", "isIP(object.data.a)", "10.0.0.1", "10.0.0.256"),
        rule(
            "cidr",
            "cidr('10.0.0.0/8').containsIP(object.data.a)",
            "10.1.2.3",
            "11.1.2.3",
        ),
        rule(
            "format",
            "!format.dns1123Label().validate(object.data.a).hasValue()",
            "a-b",
            "a_b",
        ),
        rule(
            "semver",
            "semver(object.data.a).isGreaterThan(semver('1.2.3'))",
            "1.10.0",
            "1.2.3-rc.1",
        ),
    ]
}

fn policies() -> Vec<Case> {
    vec![
        of("variables", "3", "4", "no", |policy| {
            policy
                .variable("number", "int(object.data.a)")
                .variable("is_small", "false")
                .variable("small", "variables.number < 4")
                .rule("variables.small", "no")
        }),
        of("params", "2", "3", "no", |policy| {
            policy
                .params::<ConfigMap>(ParamRef::named("limits"))
                .rule("int(object.data.a) < int(params.data.most)", "no")
        }),
        of(
            "message-expression",
            "a",
            "bb",
            "2 characters in message-expression are too many",
            |policy| {
                policy
                .rule("size(object.data.a) < 2", "no")
                .message_expression(
                    "string(size(object.data.a)) + ' characters in ' + request.name + ' are too many'",
                )
            },
        ),
        of("message-expression-that-fails", "a", "b", "no", |policy| {
            policy
                .rule("object.data.a == 'a'", "no")
                .message_expression("string(object.data.b)")
        }),
        of("message-of-several-lines", "a", "b", "no", |policy| {
            policy
                .rule("object.data.a == 'a'", "no")
                .message_expression("'one\\ntwo'")
        }),
        of(
            "no-message",
            "a",
            "b",
            "failed expression: object.data.a == 'a'",
            |policy| policy.rule("object.data.a == 'a'", ""),
        ),
        of("reason", "a", "b", "no", |policy| {
            policy
                .rule("object.data.a == 'a'", "no")
                .reason(Reason::RequestEntityTooLarge)
        }),
        of("first-of-several", "ab", "c", "a", |policy| {
            policy
                .rule("object.data.a.contains('a')", "a")
                .rule("object.data.a.contains('b')", "b")
        }),
        of("condition", "skipped", "b", "no", |policy| {
            policy
                .when("not-skipped", "object.data.a != 'skipped'")
                .rule("object.data.a == 'a'", "no")
        }),
        rule(
            "request",
            "request.operation + request.resource.resource + object.data.a == 'CREATEconfigmapsx'",
            "x",
            "y",
        ),
        rule(
            "old-object",
            "oldObject == null && object.data.a == 'x'",
            "x",
            "y",
        ),
        rule(
            "namespace-object",
            "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace && object.data.a == 'x'",
            "x",
            "y",
        ),
        rule(
            "authorizer",
            "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed() && object.data.a == 'x'",
            "x",
            "y",
        ),
        rule(
            "authorizer-of-the-request",
            "authorizer.requestResource.check('create').allowed() && object.data.a == 'x'",
            "x",
            "y",
        ),
    ]
}

fn errors() -> Vec<Case> {
    vec![
        of(
            "no-such-key",
            "x",
            "y",
            "expression 'object.data.a == 'x' || object.data.b == 'y'' resulted in error: no such key: b",
            |policy| policy.rule("object.data.a == 'x' || object.data.b == 'y'", "no"),
        ),
        of(
            "division-by-zero",
            "2",
            "0",
            "expression '4 / int(object.data.a) == 2' resulted in error: division by zero",
            |policy| policy.rule("4 / int(object.data.a) == 2", "no"),
        ),
        of(
            "condition-that-fails",
            "x",
            "y",
            "expression 'object.data.a == 'x' || object.data.b == 'y'' resulted in error: no such key: b",
            |policy| {
                policy
                    .when("fails", "object.data.a == 'x' || object.data.b == 'y'")
                    .rule("true", "no")
            },
        ),
        of(
            "variable-that-fails",
            "1",
            "x",
            "expression 'variables.number > 0' resulted in error: composited variable \"number\" fails to evaluate: type conversion error from 'string' to 'int'",
            |policy| {
                policy
                    .variable("number", "int(object.data.a)")
                    .rule("variables.number > 0", "no")
            },
        ),
        of(
            "cost-of-one-expression",
            "x",
            "abcdefghijklmnopqrstuvwxyz",
            "expression 'object.data.a == 'x' || lists.range(200).all(a, lists.range(200).all(b, lists.range(200).all(c, true)))' resulted in error: operation cancelled: actual cost limit exceeded",
            |policy| {
                policy.rule(
                    "object.data.a == 'x' || lists.range(200).all(a, lists.range(200).all(b, lists.range(200).all(c, true)))",
                    "no",
                )
            },
        ),
    ]
}

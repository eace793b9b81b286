//! Kubernetes' own libraries.

use super::{all_fail, all_hold, all_refused};
use crate::{Budget, Environment, Type, Value, Variables};

#[test]
fn quantities_are_read_compared_and_added() {
    all_hold(&[
        "isQuantity('20') && isQuantity('20Mi') && !isQuantity('20Mo') && !isQuantity('10Mm') && !isQuantity('')",
        "quantity('200M') == quantity('0.2G') && quantity('2M') == quantity('0.002G')",
        "quantity('50M').isLessThan(quantity('50Mi')) && quantity('150Mi').isGreaterThan(quantity('100Mi'))",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50Mi').compareTo(quantity('50M')) == 1",
        "quantity('50k').add(quantity('20')) == quantity('50.02k')",
        "quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() == 20",
        "quantity('50k').asInteger() == 50000 && quantity('50').isInteger() && !quantity('1.5').isInteger()",
        "!quantity('9999999999999999999999999999G').isInteger()",
        "quantity('50.703k').asApproximateFloat() == 50703.0",
        "sign(quantity('-1')) == -1 && sign(quantity('0')) == 0",
        "quantity('1e3') == quantity('1k') && quantity('1E3') == quantity('1k') && quantity('1E') == quantity('1000P')",
        "quantity('100m').compareTo(quantity('0.1')) == 0 && quantity('-1Ki').asInteger() == -1024",
    ]);
    all_fail(&[
        (
            "quantity(name + '10Mo') == quantity('1')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "quantity('10Mm') == quantity('1')",
            "unable to parse quantity's suffix",
        ),
        (
            "quantity('9999999999999999999999999999G').asInteger() == 1",
            "cannot convert value to integer",
        ),
        ("quantity('1') == dyn(1)", "no such overload"),
        // A sum can be compared with a quantity, and nothing with a sum.
        ("quantity('2') == quantity('1').add(1)", "no such overload"),
        ("quantity('1') == quantity('1').sub(0)", "no such overload"),
    ]);
    all_refused(&[
        (
            "isQuantity([1])",
            "found no matching overload for 'isQuantity' applied to '(list(int))'",
        ),
        (
            "quantity('1').sign()",
            "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
        ),
    ]);
}

#[test]
fn versions_follow_the_specification() {
    all_hold(&[
        "isSemver('1.2.3-beta.1+build.1') && !isSemver('') && !isSemver('v1.0.0') && !isSemver(' 1.0.0')",
        "!isSemver('01.01.01') && !isSemver('1') && !isSemver('1.1')",
        "isSemver('v1.0.0', true) && isSemver('01.01.01', true) && isSemver('1', true) && isSemver('1.1', true)",
        "!isSemver('', true) && !isSemver('1. 0.0', true) && !isSemver('1.0.0 ', true)",
        "semver('v01.01', true) == semver('1.1.0') && semver('1.0.0').isLessThan(semver('1.2.3'))",
        "semver('1.0.0-alpha').isLessThan(semver('1.0.0')) && semver('1.0.0-2').isLessThan(semver('1.0.0-10'))",
        "semver('1.0.0-1').isLessThan(semver('1.0.0-a')) && semver('1.0.0+a') == semver('1.0.0+b')",
        "semver('1.2.3').compareTo(semver('1.0.0')) == 1 && semver('1.2.3').isGreaterThan(semver('1.0.0'))",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
    ]);
    all_fail(&[(
        "semver('v1.0') == semver('1.0.0')",
        "No Major.Minor.Patch elements found",
    )]);
}

#[test]
fn addresses_and_networks_are_those_of_go() {
    all_hold(&[
        "isIP('192.168.0.1') && isIP('::1') && !isIP('192.168.0.1.0') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
        "!isIP('127.0.0.01') && ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::ABCD')",
        "ip('192.168.0.1').family() == 4 && ip('2001:db8::abcd').family() == 6",
        "ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && ip('224.0.0.1').isLinkLocalMulticast()",
        "ip('169.254.169.254').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast() && ip('10.0.0.1').isGlobalUnicast()",
        "!ip('255.255.255.255').isGlobalUnicast() && ip('ff02::1').isLinkLocalMulticast()",
        "string(ip('2001:DB8::1')) == '2001:db8::1' && ip('::1') == ip('0:0::1') && ip('::1') != ip('::2')",
        "isCIDR('192.168.0.0/24') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.0') && !isCIDR('::ffff:1.2.3.4/24')",
        "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
        "cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25') && !cidr('192.168.0.0/24').containsCIDR('192.168.0.0/23')",
        "cidr('2001:db8::/32').containsCIDR(cidr('2001:db8:1::/64')) && !cidr('::/0').containsIP('1.2.3.4')",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('192.168.0.1/24').prefixLength() == 24",
        "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && string(cidr('::1/128')) == '::1/128'",
        "cidr('0.0.0.0/0').containsIP('1.2.3.4') && cidr('2001:db8::1/32').masked() == cidr('2001:db8::/32')",
    ]);
    all_fail(&[
        (
            "ip('nothing').family() == 4",
            "IP Address \"nothing\" parse error during conversion from string: ParseAddr(\"nothing\"): unable to parse IP",
        ),
        (
            "ip('two\\nlines').family() == 4",
            "IP Address \"two\\nlines\" parse error during conversion from string: ParseAddr(\"two\\nlines\"): unable to parse IP",
        ),
        (
            "ip('1.2..3').family() == 4",
            "IP Address \"1.2..3\" parse error during conversion from string: ParseAddr(\"1.2..3\"): IPv4 field must \
             have at least one digit (at \".3\")",
        ),
        (
            "ip('2001:db8::12345').family() == 6",
            "IP Address \"2001:db8::12345\" parse error during conversion from string: ParseAddr(\"2001:db8::12345\"): \
             each group must have 4 or less digits (at \"12345\")",
        ),
        (
            "ip('1::2::3').family() == 6",
            "IP Address \"1::2::3\" parse error during conversion from string: ParseAddr(\"1::2::3\"): multiple :: in \
             address (at \":3\")",
        ),
        (
            "ip('::ffff:1.2.3.4').family() == 4",
            "IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed",
        ),
        (
            "ip('fe80::1%eth0').family() == 6",
            "IP address \"fe80::1%eth0\" with zone value is not allowed",
        ),
        (
            "cidr('192.168.0.0').prefixLength() == 0",
            "network address parse error during conversion from string: network address parse error during conversion \
             from string: netip.ParsePrefix(\"192.168.0.0\"): no '/'",
        ),
    ]);
}

#[test]
fn urls_are_taken_apart() {
    all_hold(&[
        "isURL('https://kubernetes.io:80/docs') && isURL('/absolute-path') && !isURL('../relative') && !isURL('')",
        "!isURL('http://a b/') && !isURL('https://a:port/') && !isURL('https://%zz/')",
        "url('https://u:p@kubernetes.io:8080/a%20b?k=v1&k=v2&x=#f').getHost() == 'kubernetes.io:8080'",
        "url('https://kubernetes.io:8080/').getHostname() == 'kubernetes.io'",
        "url('https://kubernetes.io:8080/').getPort() == '8080' && url('https://kubernetes.io/').getPort() == ''",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://[::1]:80/').getHost() == '[::1]:80'",
        "url('HTTPS://kubernetes.io/').getScheme() == 'https' && url('/path').getScheme() == ''",
        "url('https://kubernetes.io/with space/').getEscapedPath() == '/with%20space/'",
        "url('https://kubernetes.io/?k1=a&k2=b&k2=c+d').getQuery() == {'k1': ['a'], 'k2': ['b', 'c d']}",
        "url('https://kubernetes.io/') == url('https://kubernetes.io/') && url('/a') != url('/b')",
    ]);
    all_fail(&[(
        "url('../relative').getHost() == ''",
        "URL parse error during conversion from string: parse \"../relative\": invalid URI for request",
    )]);
}

#[test]
fn named_formats_say_what_is_wrong() {
    all_hold(&[
        "!format.dns1123Label().validate('my-name').hasValue()",
        "format.dns1123Label().validate('my.name').value() == ['must not contain dots']",
        "format.dns1123Label().validate('My_Name').value()[0].startsWith('a lowercase RFC 1123 label must consist of')",
        "!format.dns1123Subdomain().validate('apiextensions.k8s.io').hasValue()",
        "format.dns1035Label().validate('1a').hasValue() && !format.dns1035Label().validate('a1').hasValue()",
        "!format.dns1123LabelPrefix().validate('my-name-').hasValue() && format.dns1123Label().validate('my-name-').hasValue()",
        "!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()",
        "format.qualifiedName().validate('/x').value() == ['prefix part must be non-empty']",
        "!format.labelValue().validate('').hasValue() && format.labelValue().validate('-').hasValue()",
        "!format.uri().validate('http://example.com').hasValue() && format.uri().validate('x').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "format.uuid().validate('x').value() == ['does not match the UUID format']",
        "!format.byte().validate('aGVsbG8=').hasValue() && format.byte().validate('aGVsbG8').value() == ['invalid base64']",
        "!format.date().validate('2021-01-01').hasValue() && format.date().validate('2021-02-30').value() == ['invalid date']",
        "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue() && format.datetime().validate('x').hasValue()",
        "format.named('dns1123Label').value() == format.dns1123Label() && !format.named('unknown').hasValue()",
        "format.dns1123Label().validate('a'.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')).value() \
            == ['must be no more than 63 characters']",
        "format.labelValue().validate('a'.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')).value() \
            == ['must be no more than 63 bytes']",
    ]);
}

#[test]
fn only_mutating_policies_can_escape_the_keys_of_patches() {
    let expression = "jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'";
    assert!(Environment::kubernetes().compile(expression).is_err());
    let program = Environment::kubernetes()
        .with_patches()
        .compile(expression)
        .unwrap();
    let (variables, mut budget) = (Variables::new(), Budget::policy());
    let result = program.evaluate(&variables, &mut budget).unwrap();
    assert_eq!((result.as_bool(), budget.last_cost()), (Some(true), 4));
}

#[test]
fn expressions_can_make_objects_of_declared_types() {
    let patch = [
        ("op", Type::String),
        ("path", Type::String),
        ("value", Type::Dyn),
    ];
    let environment = Environment::kubernetes().with_object_type("JSONPatch", patch);
    let program = environment
        .compile("[JSONPatch{op: 'add', path: '/a', ?value: optional.none()}]")
        .unwrap();
    assert_eq!(program.output_type().to_string(), "list(JSONPatch)");
    let (variables, mut budget) = (Variables::new(), Budget::policy());
    let Value::List(list) = program.evaluate(&variables, &mut budget).unwrap() else {
        panic!("no list");
    };
    let Some(Value::Record(record)) = list.iter().next() else {
        panic!("no record")
    };
    let fields: Vec<&str> = record.fields().map(|(name, _)| name).collect();
    assert_eq!((record.name(), fields), ("JSONPatch", vec!["op", "path"]));
    for (expression, problem) in [
        (
            "JSONPatch{op: 1}",
            "expected type of field 'op' is 'string' but provided type is 'int'",
        ),
        ("JSONPatch{other: 'x'}", "undefined field 'other'"),
        ("int{a: 1}", "'int' is not a message type"),
    ] {
        let error = environment.compile(expression).unwrap_err().to_string();
        assert!(error.contains(problem), "{expression}: {error}");
    }
}

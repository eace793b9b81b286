//! What calls can cost at most, by function and overload.

use super::size::{Range, quotient};
use super::{At, Declared, Entry, Estimate, Place};
use crate::ast::{Expr, Kind, Literal, Name};
use crate::checked::Reference;
use crate::cost::{LIST, RECORD};
use crate::types::Type;

/// Looking through a text, each code point.
const TRAVERSAL: f64 = 0.1;
/// A pattern, each character.
const PATTERN: f64 = 0.25;
const CHECK: u64 = 350_000;
/// The longest pattern that a named format is taken to have.
const LONGEST_FORMAT: f64 = 128.0;
const LONGEST_FORMAT_NAME: u64 = 64;
const ONE: Range = Range::exactly(1);

/// The cost of a call itself, and the size of its result where that is known.
#[derive(Clone, Copy)]
struct Call {
    cost: Range,
    size: Option<Range>,
    /// Whether the cost of the arguments is in it.
    whole: bool,
}

impl Call {
    fn costs(cost: Range) -> Self {
        Self {
            cost,
            size: None,
            whole: false,
        }
    }

    fn makes(cost: Range, size: Range) -> Self {
        Self {
            size: Some(size),
            ..Self::costs(cost)
        }
    }
}

/// The parts of a call.
struct Parts<'d, 'c> {
    expr: &'d Expr,
    target: Option<&'d Expr>,
    arguments: &'d [Expr],
    costs: &'c [Range],
}

impl<'d> Estimate<'d> {
    pub(super) fn call(
        &mut self,
        expr: &'d Expr,
        name: &Name,
        target: Option<&'d Expr>,
        arguments: &'d [Expr],
    ) -> Range {
        if let ("dyn", [argument]) = (&**name, arguments) {
            let cost = self.cost(argument);
            self.copy_sizes(expr, argument);
            return cost.plus(ONE);
        }
        let mut costs = Vec::with_capacity(arguments.len());
        for argument in arguments {
            costs.push(self.cost(argument));
            self.size(argument);
        }
        let sum = costs.iter().copied().fold(Range::NOTHING, Range::plus);
        let (function, ids, qualified) = match self.reference(expr) {
            Some(Reference::Function {
                function,
                overloads,
                qualified,
            }) => {
                let ids = overloads.iter().map(|index| function.overloads[*index].id);
                (function.name, ids.collect::<Vec<_>>(), *qualified)
            }
            // Selections of optional fields have one overload and no function.
            _ if name == "_?._" => ("_?._", vec!["select_optional_field"], true),
            _ => return Range::NOTHING,
        };
        let target = target.filter(|_| !qualified);
        let mut whole = Range::NOTHING;
        if let Some(target) = target {
            whole = self.cost(target);
            self.size(target);
        }
        let parts = Parts {
            expr,
            target,
            arguments,
            costs: &costs,
        };
        let mut own: Option<Range> = None;
        let mut size: Option<Range> = None;
        for id in ids {
            let call = self.overload(function, id, &parts);
            let cost = if call.whole {
                call.cost
            } else {
                call.cost.plus(sum)
            };
            own = Some(own.map_or(cost, |own| own.or(cost)));
            if let Some(found) = call.size {
                size = Some(size.map_or(found, |size| size.or(found)));
            }
            if let ("index_list" | "index_map", [operand, ..]) = (id, arguments) {
                size = self.entry(operand).map(|entry| entry.value);
                let place = self.step(operand, Declared::element);
                self.paths.insert(expr.id, place);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.set_size(expr, size);
        whole.plus(own.unwrap_or(Range::NOTHING))
    }

    fn overload(&mut self, function: &str, id: &str, parts: &Parts<'d, '_>) -> Call {
        self.of_extension(id, parts)
            .or_else(|| self.of_kubernetes(function, id, parts))
            .unwrap_or_else(|| self.of_language(id, parts))
    }

    /// Lists and sets, version 3 of the extension.
    fn of_extension(&mut self, id: &str, parts: &Parts<'d, '_>) -> Option<Call> {
        let (target, arguments) = (parts.target, parts.arguments);
        let allocates = |each: f64, size: Range| {
            Call::makes(size.at(each).plus(ONE).plus(Range::exactly(LIST)), size)
        };
        Some(match (id, target, arguments) {
            ("list_slice", Some(target), [start, end]) => {
                let size = self.size_or_unknown(target);
                let (start, end) = (whole(start, 0), whole(end, size.most));
                allocates(1.0, Range::exactly(end.wrapping_sub(start)))
            }
            ("lists_range", None, [count]) => {
                allocates(1.0, Range::exactly(whole(count, u64::MAX)))
            }
            ("list_reverse", Some(target), []) => {
                let size = self.size_or_unknown(target);
                allocates(1.0, size)
            }
            ("list_flatten" | "list_flatten_int", Some(target), _) => {
                let depth = arguments.first().map_or(1, |depth| whole(depth, u64::MAX));
                let size = self.size_or_unknown(target);
                allocates(as_float(depth), size)
            }
            ("list_distinct", Some(target), []) => {
                let size = self.size_or_unknown(target);
                allocates(2.0, size.times(size))
            }
            (id, Some(target), []) if id.starts_with("list_") && id.ends_with("_sort") => {
                let size = self.size_or_unknown(target);
                allocates(compared(id), size.times(size))
            }
            (id, Some(_), [keys]) if id.ends_with("_sortByAssociatedKeys") => {
                let size = self.size_or_unknown(keys);
                allocates(compared(id), size.times(size))
            }
            (
                "list_sets_contains_list"
                | "list_sets_intersects_list"
                | "list_sets_equivalent_list",
                None,
                [left, right],
            ) => {
                let times = if id == "list_sets_equivalent_list" {
                    2.0
                } else {
                    1.0
                };
                let (left, right) = (self.size_or_unknown(left), self.size_or_unknown(right));
                Call::costs(left.times(right).at(times).plus(ONE))
            }
            _ => return None,
        })
    }

    fn of_kubernetes(&mut self, function: &str, id: &str, parts: &Parts<'d, '_>) -> Option<Call> {
        let (target, arguments) = (parts.target, parts.arguments);
        Some(match (function, target, arguments) {
            ("check", ..) => Call::costs(Range::exactly(CHECK)),
            ("fieldSelector" | "labelSelector", _, [selector]) => {
                let size = self.size_or_unknown(selector);
                let requirements = size.at(0.5).at(as_float(LIST + RECORD));
                let cost = Range::exactly(LIST).plus(size.at(TRAVERSAL));
                Call::costs(cost.plus(requirements))
            }
            (
                "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes",
                Some(target),
                _,
            ) => {
                let size = self.size_or_unknown(target);
                match self.type_of(target) {
                    Type::List(element) => {
                        let mut each = ONE;
                        if matches!(**element, Type::String | Type::Bytes) {
                            each = each.plus(self.element_size(target).at(TRAVERSAL));
                        }
                        Call::costs(size.times(each))
                    }
                    _ if function == "includes" => Call::costs(size.times(ONE)),
                    _ => Call::costs(size.at(TRAVERSAL)),
                }
            }
            ("url" | "jsonpatch.escapeKey", _, [text]) => {
                let size = self.size_or_unknown(text);
                Call::makes(size.at(TRAVERSAL), size)
            }
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
                let size = self.size_or_unknown(target);
                Call::makes(size.at(TRAVERSAL), size)
            }
            ("replace", Some(target), [from, to, ..]) => {
                let size = self.size_or_unknown(target);
                let (from, to) = (self.size_or_unknown(from), self.size_or_unknown(to));
                Call::makes(size.at(2.0 * TRAVERSAL), replaced(size, from, to))
            }
            ("split", Some(target), _) => {
                let size = self.size_or_unknown(target);
                let most = match arguments.get(1).map(|limit| &limit.kind) {
                    Some(Kind::Literal(Literal::Int(limit))) => limit.cast_unsigned(),
                    _ => size.most,
                };
                Call::makes(size.at(2.0 * TRAVERSAL), Range::up_to(most))
            }
            ("join", Some(target), _) => {
                let count = self.size_or_unknown(target);
                // What is not known to be a list is estimated as one of empty strings.
                let mut size = match self.type_of(target) {
                    Type::List(_) => count.times(self.element_size(target)),
                    _ => Range::NOTHING,
                };
                if let Some(separator) = arguments.first() {
                    let separators = Range {
                        least: count.least.saturating_sub(1),
                        most: count.most.saturating_sub(1),
                    };
                    size = size.plus(self.size_or_unknown(separator).times(separators));
                }
                Call::makes(size.at(TRAVERSAL), size)
            }
            ("find" | "findAll", Some(target), [pattern, ..]) => {
                let size = self.size_or_unknown(target);
                let pattern = self.size_or_unknown(pattern).at(PATTERN);
                let cost = size.plus(ONE).at(TRAVERSAL).times(pattern);
                Call::makes(cost, Range::up_to(size.most))
            }
            ("ip", ..) if id == "cidr_ip" => Call::costs(ONE),
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
                | "isSemver",
                _,
                [text, ..],
            ) => Call::costs(self.size_or_unknown(text).at(TRAVERSAL)),
            ("ip.isCanonical", _, [text, ..]) => {
                Call::costs(self.size_or_unknown(text).at(2.0 * TRAVERSAL))
            }
            ("containsIP" | "containsCIDR", _, [other, ..]) => {
                let octets = Range { least: 4, most: 16 };
                let mut cost = octets.plus(octets).at(TRAVERSAL);
                if function == "containsCIDR" {
                    cost = cost.plus(octets.at(TRAVERSAL)).plus(ONE);
                }
                if id.ends_with("_string") {
                    cost = cost.plus(self.size_or_unknown(other).at(TRAVERSAL));
                }
                Call::costs(cost)
            }
            ("validate", _, [text, ..]) => {
                let size = self.size_or_unknown(text);
                Call::costs(size.at(TRAVERSAL).at(LONGEST_FORMAT * PATTERN))
            }
            ("_==_", _, [left, right]) => {
                let of = self.type_of(left);
                if of != self.type_of(right) {
                    return None;
                }
                return self.same_kind(of, right);
            }
            (
                "serviceAccount"
                | "path"
                | "group"
                | "resource"
                | "subresource"
                | "namespace"
                | "name"
                | "allowed"
                | "reason"
                | "error"
                | "errored"
                | "masked"
                | "prefixLength"
                | "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                ..,
            ) => Call::costs(ONE),
            _ => return None,
        })
    }

    /// The equality of two values of one of Kubernetes' own types.
    fn same_kind(&mut self, of: &Type, right: &'d Expr) -> Option<Call> {
        let cost = match of.name() {
            "net.IP" | "net.CIDR" => ONE,
            "kubernetes.NamedFormat" => Range {
                least: 1,
                most: LONGEST_FORMAT_NAME,
            }
            .at(TRAVERSAL),
            "kubernetes.URL" => {
                let most = self.size(right).map_or(1, |size| size.most);
                Range { least: 1, most }.at(TRAVERSAL)
            }
            name if name.starts_with("kubernetes.") => ONE,
            _ => return None,
        };
        Some(Call::costs(cost))
    }

    fn of_language(&mut self, id: &str, parts: &Parts<'d, '_>) -> Call {
        let (target, arguments) = (parts.target, parts.arguments);
        match (id, target, arguments) {
            ("string_format", Some(target), _) => {
                Call::costs(self.size_or_unknown(target).at(TRAVERSAL))
            }
            ("string_to_bytes", _, [text]) => {
                let size = self.size_or_unknown(text);
                let result = Range {
                    least: size.least,
                    most: size.most.wrapping_mul(4),
                };
                Call::makes(size.at(TRAVERSAL), result)
            }
            ("bytes_to_string", _, [bytes]) => {
                let size = self.size_or_unknown(bytes);
                let result = Range {
                    least: size.least / 4,
                    most: size.most,
                };
                Call::makes(size.at(TRAVERSAL), result)
            }
            ("strings_quote", _, [text]) => {
                let size = self.size_or_unknown(text);
                let result = Range {
                    least: size.least + 2,
                    most: size.most.wrapping_mul(2).wrapping_add(2),
                };
                Call::makes(size.at(TRAVERSAL), result)
            }
            ("starts_with_string" | "ends_with_string", _, [text]) => {
                Call::costs(self.size_or_unknown(text).at(TRAVERSAL))
            }
            ("in_list", _, [_, list]) => Call::costs(self.size_or_unknown(list).at(1.0)),
            ("matches_string", Some(target), [pattern]) => {
                let text = self.size_or_unknown(target).plus(ONE).at(TRAVERSAL);
                let pattern = self.size_or_unknown(pattern).at(PATTERN);
                Call::costs(text.times(pattern))
            }
            ("contains_string", Some(target), [part]) => {
                let text = self.size_or_unknown(target).at(TRAVERSAL);
                let part = self.size_or_unknown(part).at(TRAVERSAL);
                Call::costs(text.times(part))
            }
            ("logical_and" | "logical_or", _, [_, _]) => {
                let (left, right) = (parts.costs[0], parts.costs[1]);
                // The right side is not looked at where the left one decides.
                let cost = Range {
                    least: left.least,
                    most: left.plus(right).most,
                };
                Call {
                    whole: true,
                    ..Call::costs(cost)
                }
            }
            ("conditional", _, [_, truthy, falsy]) => {
                let size = self.size_or_unknown(truthy).or(self.size_or_unknown(falsy));
                self.join_entries(parts.expr, truthy, falsy);
                let either = parts.costs[1].or(parts.costs[2]);
                Call {
                    whole: true,
                    ..Call::makes(parts.costs[0].plus(either), size)
                }
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let size = self.size_or_unknown(left).plus(self.size_or_unknown(right));
                self.join_entries(parts.expr, left, right);
                let cost = if id == "add_list" {
                    ONE
                } else {
                    size.at(TRAVERSAL)
                };
                Call::makes(cost, size)
            }
            (
                "less_string"
                | "greater_string"
                | "less_equals_string"
                | "greater_equals_string"
                | "less_bytes"
                | "greater_bytes"
                | "less_equals_bytes"
                | "greater_equals_bytes"
                | "equals"
                | "not_equals",
                _,
                [left, right],
            ) => {
                let most = self
                    .size_or_unknown(left)
                    .most
                    .min(self.size_or_unknown(right).most);
                let least = u64::from(most > 0);
                Call::costs(Range { least, most }.at(TRAVERSAL))
            }
            _ => Call::costs(ONE),
        }
    }

    /// What is in a value that is one of two, or both joined.
    fn join_entries(&mut self, expr: &Expr, left: &Expr, right: &Expr) {
        let joined = match (self.entry(left), self.entry(right)) {
            (Some(left), Some(right)) => Some(Entry::or(left, right)),
            _ => None,
        };
        self.set_entry(expr, joined);
    }

    /// The size of the elements of a list, by the schema alone.
    fn element_size(&self, list: &'d Expr) -> Range {
        if self.place(list).is_none() {
            return Range::UNKNOWN;
        }
        let place: Place<'d> = self.step(list, Declared::element);
        match place.0 {
            Some(At::Value(declared)) => Range::up_to(declared.max_elements),
            Some(At::Key) => Range::NOTHING,
            None => Range::UNKNOWN,
        }
    }
}

/// How large a text can be once parts of it are replaced.
fn replaced(size: Range, from: Range, to: Range) -> Range {
    let (mut count, mut kept) = (Range::NOTHING, Range::NOTHING);
    if from.least == 0 {
        // Nothing is found between all characters.
        count.most = size.most.saturating_add(1);
        kept.most = size.most;
    } else if to.most <= from.least {
        kept.most = size.most;
    } else {
        count.most = quotient(size.most, from.least);
    }
    if from.most == 0 {
        count.least = size.least.saturating_add(1);
        kept.least = size.least;
    } else if from.most <= to.least {
        kept.least = size.least;
    } else {
        count.least = quotient(size.least, from.most);
    }
    count.times(to).plus(kept)
}

/// The cost of comparing two elements of a list that is sorted.
fn compared(id: &str) -> f64 {
    if id.starts_with("list_string_") || id.starts_with("list_bytes_") {
        2.0 + TRAVERSAL
    } else {
        2.0
    }
}

/// A whole number that is written out.
fn whole(expr: &Expr, otherwise: u64) -> u64 {
    match &expr.kind {
        Kind::Literal(Literal::Int(value)) => u64::try_from(*value).unwrap_or(0),
        _ => otherwise,
    }
}

#[expect(clippy::cast_precision_loss, reason = "as cel-go converts")]
fn as_float(value: u64) -> f64 {
    value as f64
}

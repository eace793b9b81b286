//! Floating point numbers as Go prints them.

/// Formats a number as `%v` does in Go: the shortest digits, with an exponent below 1e-4 and from 1e+06 on. Expressions print
/// doubles by the same rule, which the crate of the language keeps for itself.
pub(crate) fn format_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::format_double;

    #[test]
    fn numbers_are_printed_as_expressions_print_them() {
        for (value, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1.25e100, "1.25e+100"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(format_double(value), text);
            assert_eq!(kubewright_cel::Value::Double(value).to_string(), text);
        }
    }
}

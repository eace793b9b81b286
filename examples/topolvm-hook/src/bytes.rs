//! Quantities as whole bytes.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The number of bytes that a quantity such as `1Gi`, `500M`, `1.5Gi` or `1e9` stands for; a part of a byte is one.
///
/// None for what no API server would store, and for more than fits.
pub(crate) fn whole_bytes(quantity: &Quantity) -> Option<u64> {
    let text = quantity.0.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '+'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{}{fraction}", whole.trim_start_matches('+'))
        .parse()
        .ok()?;
    let (multiplier, divisor) = scale(suffix)?;
    let divisor = divisor.checked_mul(power(10, fraction.len().try_into().ok()?)?)?;
    let bytes = digits.checked_mul(multiplier)?.div_ceil(divisor);
    bytes.try_into().ok()
}

/// What a number with this suffix is multiplied with and divided by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let binary = |exponent| Some((power(1024, exponent)?, 1));
    let decimal = |exponent| Some((power(1000, exponent)?, 1));
    match suffix {
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "" => Some((1, 1)),
        "k" => decimal(1),
        "M" => decimal(2),
        "G" => decimal(3),
        "T" => decimal(4),
        "P" => decimal(5),
        "E" => decimal(6),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let exponent: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = power(10, exponent.unsigned_abs())?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}

fn power(base: u128, exponent: u32) -> Option<u128> {
    base.checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_bytes() {
        for (text, bytes) in [
            ("1Gi", Some(1 << 30)),
            ("500Mi", Some(500 << 20)),
            ("100G", Some(100_000_000_000)),
            ("1.5Gi", Some(3 << 29)),
            ("+2Ki", Some(2048)),
            ("1e9", Some(1_000_000_000)),
            ("12E2", Some(1200)),
            ("2E", Some(2_000_000_000_000_000_000)),
            ("2147483647", Some(2_147_483_647)),
            ("0.1", Some(1)),
            ("1500m", Some(2)),
            ("15e-1", Some(2)),
            ("0", Some(0)),
            ("16Ei", None),
            ("1e99", None),
            ("-1Gi", None),
            ("a lot", None),
            ("", None),
        ] {
            assert_eq!(whole_bytes(&Quantity(text.to_owned())), bytes, "{text}");
        }
    }
}

//! Lists of indexes of a job's pods, such as `0,2-3`.

use kubewright_apimachinery::go_text::quoted;

/// Counts the indexes in a list; each must be below `completions` and above the previous one.
///
/// # Errors
/// The list is invalid. The message is the real API server's.
pub(crate) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for text in text.split(',') {
        let (first, end) = interval(text, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(out_of_order(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// Returns the first index in both lists. Ignores invalid intervals: other checks reject them.
pub(crate) fn overlap(one: &str, other: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        let all = text.split(',');
        all.filter_map(|text| interval(text, completions).ok())
            .collect()
    };
    let (one, other) = (intervals(one), intervals(other));
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    while let (Some((first, end)), Some((other_first, other_end))) = (left.peek(), right.peek()) {
        if first <= other_end && other_first <= end {
            return Some(*first.max(other_first));
        }
        if first <= other_first {
            left.next();
        } else {
            right.next();
        }
    }
    None
}

fn interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let limits: Vec<&str> = text.split('-').collect();
    if limits.len() > 2 {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            quoted(text)
        ));
    }
    let read = |text: &str| -> Result<i64, String> {
        let index: i64 = text.parse().map_err(|_| {
            format!(
                "cannot convert string to integer for index: {}",
                quoted(text)
            )
        })?;
        if index >= completions {
            return Err(format!("too large index: {}", quoted(text)));
        }
        Ok(index)
    };
    let first = read(limits[0])?;
    let Some(end) = limits.get(1) else {
        return Ok((first, first));
    };
    let end = read(end)?;
    if first >= end {
        return Err(out_of_order(first, end));
    }
    Ok((first, end))
}

fn out_of_order(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_counted_and_compared() {
        assert_eq!(count("", 3), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        for (text, why) in [
            ("a.b", "cannot convert string to integer for index: \"a.b\""),
            ("5", "too large index: \"5\""),
            ("2,1", "non-increasing order, previous: 2, current: 1"),
            ("2-2", "non-increasing order, previous: 2, current: 2"),
        ] {
            assert_eq!(count(text, 5), Err(why.to_owned()));
        }
        assert_eq!(overlap("0,2-4", "1,5", 9), None);
        assert_eq!(overlap("0,2-4", "x,3", 9), Some(3));
        assert_eq!(overlap("", "3", 9), None);
    }
}

//! Unified diffs in the form of the real API server: by the longest runs of equal lines, as Python's `difflib` finds them.

use std::collections::HashMap;
use std::fmt::Write as _;

/// Number of context lines around a change.
const AROUND: usize = 3;
/// Maximum number of pairs of lines to compare. The diff shows the remaining lines as replaced: one rejected update of a huge
/// object must not occupy a processor for minutes.
const WORK: usize = 4_000_000;
/// From this number of lines on, the most frequent lines do not begin a run.
const LONG: usize = 200;

/// Returns the unified diff of two documents; empty if they are equal.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let changes = changes(&runs(&old, &new, WORK), old.len(), new.len());
    let mut out = String::new();
    let mut rest = changes.as_slice();
    while let Some(first) = rest.first() {
        let near = |pair: &[Change]| pair[1].old.0 - pair[0].old.1 <= 2 * AROUND;
        let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
        let last = &rest[count - 1];
        let before = AROUND.min(first.old.0);
        let after = AROUND.min(old.len() - last.old.1);
        let header = [
            range(first.old.0 - before, last.old.1 + after),
            range(first.new.0 - before, last.new.1 + after),
        ];
        let _ = writeln!(out, "@@ -{} +{} @@", header[0], header[1]);
        let mut at = first.old.0 - before;
        for change in &rest[..count] {
            lines(&mut out, ' ', &old[at..change.old.0]);
            lines(&mut out, '-', &old[change.old.0..change.old.1]);
            lines(&mut out, '+', &new[change.new.0..change.new.1]);
            at = change.old.1;
        }
        lines(&mut out, ' ', &old[at..at + after]);
        rest = &rest[count..];
    }
    out
}

/// The ranges of the replaced old lines and of the new lines that replace them; the end of a range is exclusive.
#[derive(Clone, Copy, Debug)]
struct Change {
    old: (usize, usize),
    new: (usize, usize),
}

/// A run of equal lines: its first line in both documents, and its length.
type Run = (usize, usize, usize);

fn changes(runs: &[Run], old: usize, new: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (a, b, size) in runs.iter().copied().chain([(old, new, 0)]) {
        if i < a || j < b {
            changes.push(Change {
                old: (i, a),
                new: (j, b),
            });
        }
        (i, j) = (a + size, b + size);
    }
    changes
}

/// Finds the longest run of equal lines, and recursively the runs before and after it.
fn runs(old: &[&str], new: &[&str], mut work: usize) -> Vec<Run> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in new.iter().enumerate() {
        places.entry(line).or_default().push(at);
    }
    if new.len() >= LONG {
        places.retain(|_, places| places.len() <= new.len() / 100 + 1);
    }
    let mut found = Vec::new();
    let mut waiting = vec![(0, old.len(), 0, new.len())];
    while let Some(within) = waiting.pop() {
        let (a, b, size) = longest(old, new, &places, within, &mut work);
        if size == 0 {
            continue;
        }
        found.push((a, b, size));
        let (from_old, to_old, from_new, to_new) = within;
        waiting.push((from_old, a, from_new, b));
        waiting.push((a + size, to_old, b + size, to_new));
    }
    found.sort_unstable();
    found
}

fn longest(
    old: &[&str],
    new: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    (from_old, to_old, from_new, to_new): (usize, usize, usize, usize),
    work: &mut usize,
) -> Run {
    let (mut a, mut b, mut size) = (from_old, from_new, 0);
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (i, line) in (from_old..).zip(&old[from_old..to_old]) {
        let mut next = HashMap::new();
        let same = places.get(line).map_or(&[][..], Vec::as_slice);
        let Some(rest) = work.checked_sub(1 + same.len()) else {
            *work = 0;
            break;
        };
        *work = rest;
        for j in same.iter().filter(|j| (from_new..to_new).contains(*j)) {
            let before = j.checked_sub(1).and_then(|before| lengths.get(&before));
            let length = before.copied().unwrap_or(0) + 1;
            next.insert(*j, length);
            if length > size {
                (a, b, size) = (i + 1 - length, j + 1 - length, length);
            }
        }
        lengths = next;
    }
    // What is too common to begin a run may still belong to one.
    while a > from_old && b > from_new && old[a - 1] == new[b - 1] {
        (a, b, size) = (a - 1, b - 1, size + 1);
    }
    while a + size < to_old && b + size < to_new && old[a + size] == new[b + size] {
        size += 1;
    }
    (a, b, size)
}

fn range(from: usize, to: usize) -> String {
    match to - from {
        1 => (from + 1).to_string(),
        0 => format!("{from},0"),
        length => format!("{},{length}", from + 1),
    }
}

fn lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_comes_first_is_shown_before_the_one_that_stays() {
        let old = "[\n {\n  a\n },\n x\n]\n";
        let new = "[\n {\n  b\n },\n {\n  a\n },\n x\n]\n";
        assert_eq!(
            unified(old, new),
            "@@ -1,4 +1,7 @@\n [\n+ {\n+  b\n+ },\n  {\n   a\n  },\n"
        );
    }

    #[test]
    fn work_has_a_bound_and_the_changes_stay_true() {
        let of = |letter: char| -> Vec<String> {
            let lines = (0..500).flat_map(|line| [format!("{line}"), format!("{letter}{line}")]);
            lines.collect()
        };
        let (old, new) = (of('a'), of('b'));
        let (old, new): (Vec<&str>, Vec<&str>) = (
            old.iter().map(String::as_str).collect(),
            new.iter().map(String::as_str).collect(),
        );
        for (work, expected) in [(0, 0..2), (50_000, 2..100), (WORK, 500..501)] {
            let runs = runs(&old, &new, work);
            assert!(expected.contains(&runs.len()), "{work}: {}", runs.len());
            for (a, b, size) in runs {
                assert_eq!(old[a..a + size], new[b..b + size]);
            }
        }
    }

    #[test]
    fn changes_that_are_far_apart_stand_apart() {
        let text = |first: &str, last: &str| format!("{first}\n1\n2\n3\n4\n5\n6\n7\n{last}\n");
        assert_eq!(
            unified(&text("a", "x"), &text("b", "y")),
            "@@ -1,4 +1,4 @@\n-a\n+b\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-x\n+y\n"
        );
        assert_eq!(unified("a\n", "a\n"), "");
    }
}

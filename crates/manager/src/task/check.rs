//! Whether the tasks of a program can run as they are declared.

use std::collections::BTreeSet;

use super::declared::Task;
use super::error::TaskError;

/// Checks names and times.
pub(crate) fn check(tasks: &[Task]) -> Result<(), TaskError> {
    let mut names = BTreeSet::new();
    for task in tasks {
        let name = task.name();
        if !is_label(name) {
            return Err(TaskError::Name(name.to_owned()));
        }
        if !names.insert(name) {
            return Err(TaskError::Duplicate(name.to_owned()));
        }
        task.timing()?;
    }
    Ok(())
}

/// Whether it has the form of a DNS label.
fn is_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (first, last) = (name.bytes().next(), name.bytes().last());
    first.is_some_and(is_inner)
        && last.is_some_and(is_inner)
        && name.bytes().all(|byte| is_inner(byte) || byte == b'-')
        && name.len() <= LONGEST_LABEL
}

const LONGEST_LABEL: usize = 63;

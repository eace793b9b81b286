//! `demo.yaml`: steps of what is made, behind those that are there.

use serde_json::Value;

/// Adds a step behind the others, if there is none with its title.
pub(super) fn add(text: &str, step: &str) -> Result<String, String> {
    let before = steps(text)?;
    let title = title(step);
    if before
        .iter()
        .any(|step| step["title"].as_str() == Some(title))
    {
        return Ok(text.to_owned());
    }
    let kept = text.trim_end();
    let kept = kept
        .strip_suffix("steps: []")
        .map_or_else(|| kept.to_owned(), |head| format!("{head}steps:"));
    let new = format!("{kept}\n{step}");
    // The file may contain something else after its steps.
    if steps(&new).is_ok_and(|after| after.len() == before.len() + 1) {
        return Ok(new);
    }
    Err("its steps are not the last thing in it, or are written in another way".to_owned())
}

/// Removes a step that is unchanged since it was added.
pub(super) fn remove(text: &str, step: &str) -> Result<String, String> {
    let title = title(step);
    let before = steps(text)?;
    if !before
        .iter()
        .any(|step| step["title"].as_str() == Some(title))
    {
        return Ok(text.to_owned());
    }
    let new = text.replacen(step, "", 1);
    let new = match new.trim_end().strip_suffix("steps:") {
        Some(head) => format!("{head}steps: []\n"),
        None => new,
    };
    if steps(&new).is_ok_and(|after| after.len() + 1 == before.len()) {
        return Ok(new);
    }
    Err("the step has been changed since it was made".to_owned())
}

/// YAML as it stands deeper in other YAML.
pub(super) fn indented(text: &str, by: usize) -> String {
    let lines = text.lines().map(|line| format!("{:by$}{line}\n", ""));
    lines.collect()
}

/// The line that a step begins with says its title.
fn title(step: &str) -> &str {
    let first = step.lines().next().unwrap_or_default();
    first.trim_start_matches("- title: ")
}

fn steps(text: &str) -> Result<Vec<Value>, String> {
    let demo: Value =
        serde_saphyr::from_str(text).map_err(|error| format!("it is not YAML: {error}"))?;
    let steps = demo["steps"].as_array().cloned();
    steps.ok_or_else(|| "it has no list of steps".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = "- title: a pod is stored\n  apply: demo/pod.yaml\n";

    #[test]
    fn a_step_is_added_once_and_taken_away() {
        let empty = "# what happens\nsteps: []\n";
        let one = add(empty, STEP).unwrap();
        assert_eq!(one, format!("# what happens\nsteps:\n{STEP}"));
        assert_eq!(add(&one, STEP).unwrap(), one);
        let other = STEP.replace("stored", "denied");
        let two = add(&one, &other).unwrap();
        assert_eq!(two, format!("{one}{other}"));
        assert_eq!(
            remove(&two, STEP).unwrap(),
            format!("# what happens\nsteps:\n{other}")
        );
        assert_eq!(remove(&one, STEP).unwrap(), empty);
    }

    #[test]
    fn a_file_that_is_written_otherwise_is_left_alone() {
        assert!(add("steps: [{title: mine}]\n", STEP).is_err());
        assert!(add("steps:\n- title: mine\nother: true\n", STEP).is_err());
        assert!(add("nothing: []\n", STEP).is_err());
        let changed = "steps:\n- title: a pod is stored\n  apply: mine.yaml\n";
        assert!(remove(changed, STEP).is_err());
    }
}

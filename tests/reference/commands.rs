//! Commands and their options, as a command line has them.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::cell;

/// Adds a section for each command below this one, which is called by `path`.
pub fn commands(page: &mut String, command: &Command, path: &str) {
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        let path = format!("{path} {}", sub.get_name());
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let mut line = path.clone();
        for argument in sub.get_positionals() {
            line.push(' ');
            line.push_str(&positional(argument));
        }
        for argument in sub.get_opts().filter(|argument| argument.is_required_set()) {
            let _ = write!(line, " {}", named(argument));
        }
        let _ = write!(page, "\n## `{path}`\n\n{about}\n");
        if line != path {
            let _ = write!(page, "\n```text\n{line}\n```\n");
        }
        options(page, sub);
        commands(page, sub, &path);
    }
}

/// Adds a table of the options of a command, if it has any.
pub fn options(page: &mut String, command: &Command) {
    let described: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        .collect();
    if !described.is_empty() {
        page.push_str("\n| | | default |\n|---|---|---|\n");
    }
    for argument in described {
        let help = argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{}` | {}{} | {} |",
            named(argument),
            cell(&help),
            choices(argument),
            default(argument)
        );
    }
}

fn positional(argument: &Arg) -> String {
    let name = value(argument);
    let many = argument
        .get_num_args()
        .is_some_and(|number| number.max_values() > 1);
    let name = if many { format!("{name}...") } else { name };
    let name = if argument.is_last_set() {
        format!("-- {name}")
    } else {
        name
    };
    if argument.is_required_set() {
        name
    } else {
        format!("[{name}]")
    }
}

fn named(argument: &Arg) -> String {
    if argument.is_positional() {
        return value(argument);
    }
    let mut name = String::new();
    if let Some(short) = argument.get_short() {
        let _ = write!(name, "-{short}, ");
    }
    let _ = write!(name, "--{}", argument.get_long().unwrap_or_default());
    if argument.get_action().takes_values() {
        let _ = write!(name, " {}", value(argument));
    }
    name
}

fn value(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(clap::builder::Str::as_str).collect();
    if names.is_empty() {
        argument.get_id().as_str().to_uppercase()
    } else {
        names.join(" ")
    }
}

/// What an argument can be, if it is one of a few words.
fn choices(argument: &Arg) -> String {
    let choices = argument.get_possible_values();
    let takes = argument.get_action().takes_values();
    let choices: Vec<String> = choices
        .iter()
        .filter(|choice| takes && !choice.is_hide_set())
        .map(|choice| match choice.get_help() {
            Some(help) => format!("`{}` ({})", choice.get_name(), cell(&help.to_string())),
            None => format!("`{}`", choice.get_name()),
        })
        .collect();
    match choices.as_slice() {
        [] => String::new(),
        choices => format!(": {}", choices.join(", ")),
    }
}

fn default(argument: &Arg) -> String {
    let takes = argument.get_action().takes_values();
    // The machine that the page is made on is not the reader's.
    let of_here = ["os", "arch"].contains(&argument.get_id().as_str());
    let values = argument.get_default_values().iter();
    let mut parts: Vec<String> = values
        .filter(|_| takes && !of_here)
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if of_here {
        parts.push("this machine's".to_owned());
    }
    if let Some(variable) = argument.get_env() {
        parts.insert(0, format!("`${}`", variable.to_string_lossy()));
    }
    parts.join(", or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_listed_with_its_choices_and_its_default() {
        let shell = Arg::new("shell")
            .long("shell")
            .short('s')
            .value_name("NAME")
            .value_parser(["a", "b"]);
        let command = Command::new("x").subcommand(
            Command::new("y")
                .about("Does y.")
                .arg(shell.default_value("a").help("Which | one"))
                .arg(
                    Arg::new("FILES")
                        .required(true)
                        .num_args(1..)
                        .help("The files"),
                ),
        );
        let mut page = String::new();
        commands(&mut page, &command, "kubewright");
        assert!(page.ends_with(
            "\n## `kubewright y`\n\nDoes y.\n\n```text\nkubewright y FILES...\n```\n\n| | | default |\n|---|---|---|\n\
             | `-s, --shell NAME` | Which \\| one: `a`, `b` | `a` |\n| `FILES` | The files |  |\n"
        ), "{page}");
    }
}

//! The guide's page about the command, made from what the command line is made of.

use std::fmt::Write as _;

use clap::{Arg, Command};

const HEAD: &str = "\
# The command

Every command of `kubewright`, with every option and its default; it is made from the command line itself. `-h` behind any of them
says the same.

A result is on standard output, and everything else on standard error. The exit code is 0 if it went well; 1 if something was wrong
that you can change, which the error and its hints name; 2 if the command line is no sense; 70 if `kubewright` has a defect. With
`--output json` the result is JSON, and an error is one line of JSON on standard error: its `kind`, `message` and `hints`. There is
colour on a terminal only, and none if `NO_COLOR` is set.

`kubewright completions SHELL` prints what a shell needs to complete all of it.
";

/// The whole page.
pub(crate) fn page(command: &Command) -> String {
    let mut page = HEAD.to_owned();
    // The names of options that are of the whole command, such as `--help`, are known to everybody.
    section(&mut page, command, "kubewright");
    page
}

fn section(page: &mut String, command: &Command, path: &str) {
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
        let described: Vec<&Arg> = sub
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
                escaped(&help),
                choices(argument),
                default(argument)
            );
        }
        section(page, sub, &path);
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
            Some(help) => format!("`{}` ({})", choice.get_name(), escaped(&help.to_string())),
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

fn escaped(text: &str) -> String {
    text.replace('|', r"\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_page_of_the_guide_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/commands.md");
        let made = page(&crate::Arguments::command());
        if std::env::var_os("KUBEWRIGHT_WRITE").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == made,
            "docs/guide/commands.md is not what the command line is made of: run \
             `KUBEWRIGHT_WRITE=1 cargo test -p kubewright-cli reference`\n{}",
            similar::TextDiff::from_lines(&written, &made).unified_diff()
        );
    }

    #[test]
    fn every_command_and_every_option_is_described() {
        fn check(command: &Command) {
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} of {}",
                    argument.get_id(),
                    command.get_name()
                );
            }
            for sub in command.get_subcommands() {
                assert!(sub.get_about().is_some(), "{}", sub.get_name());
                check(sub);
            }
        }
        check(&crate::Arguments::command());
    }

    #[test]
    fn an_option_is_told_with_its_choices_and_its_default() {
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
        let page = page(&command);
        assert!(page.ends_with(
            "\n## `kubewright y`\n\nDoes y.\n\n```text\nkubewright y FILES...\n```\n\n| | | default |\n|---|---|---|\n\
             | `-s, --shell NAME` | Which \\| one: `a`, `b` | `a` |\n| `FILES` | The files |  |\n"
        ), "{page}");
    }
}

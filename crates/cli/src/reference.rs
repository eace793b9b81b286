//! The guide's page about the command, made from what the command line is made of.

use clap::Command;

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
    // The page leaves out the options of the root command, such as `--help`: every user knows them.
    reference::commands(&mut page, command, "kubewright");
    page
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::commands::CommandLine;

    #[test]
    fn the_page_of_the_guide_is_current() {
        let made = page(&CommandLine::command());
        reference::hold("commands.md", &made, "kubewright-cli", "reference");
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
        check(&CommandLine::command());
    }
}

//! What is refused: with a sentence, with something to do, and with nothing changed.

use crate::command::{errors, kubewright, succeeds};
use crate::folder::{difference, read};

/// Runs commands that are understood, then one that is refused. Returns what it said.
fn refused(commands: &[&str], last: &str) -> String {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    for command in commands {
        succeeds(folder, &command.split(' ').collect::<Vec<_>>());
    }
    let before = read(folder);
    let output = kubewright(folder, &last.split(' ').collect::<Vec<_>>());
    assert!(!output.status.success(), "`{last}` was not refused");
    assert_eq!(difference(&before, &read(folder)), "", "nothing is changed");
    errors(&output)
}

const INIT: &str = "init . --name guard --domain example.com";
const API: &str = "create api --group police --version v1 --kind WhiteList";

#[test]
fn a_folder_without_a_project_is_named() {
    assert_eq!(
        refused(&[], "create webhook --kind Pod --validating"),
        "error: there is no kubewright.toml here\n\
         hint: run `kubewright init` first, or name the project's folder with --folder\n"
    );
}

#[test]
fn another_project_is_not_made_over_one() {
    let said = refused(&[INIT], "init . --name other --domain example.com");
    assert_eq!(
        said,
        "error: the project guard of example.com is here already\n"
    );
}

#[test]
fn a_kind_that_is_not_known_is_compared_with_those_that_are() {
    let said = refused(&[INIT, API], "create webhook --kind Whitelst --validating");
    assert_eq!(
        said,
        "error: neither the project nor Kubernetes is known to have the kind Whitelst\nhint: did you mean WhiteList?\n"
    );
}

#[test]
fn a_kind_of_several_groups_needs_its_group() {
    let own = "create api --group ship --version v1 --kind Pod";
    assert_eq!(
        refused(&[INIT, own], "create webhook --kind Pod --validating"),
        "error: several groups have a kind Pod\nhint: say which one you mean with --group: ship or core\n"
    );
}

/// With an empty project, then commands about the definitions of another one.
fn of_tickets(commands: &[&str], last: &str) -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/definitions/tickets.yaml");
    let commands: Vec<String> = [INIT]
        .iter()
        .chain(commands)
        .map(|command| command.replace("FILE", file))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    refused(&commands, &last.replace("FILE", file))
}

#[test]
fn a_definition_that_does_not_fit_is_refused() {
    for (last, why) in [
        (
            "create webhook --kind Seat --validating --crd FILE",
            "error: the file does not define Seat\nhint: it defines Ticket\n",
        ),
        (
            "create webhook --kind Ticket --group example.com --validating --crd FILE",
            "error: the file defines Ticket of example.org, and not of example.com\n",
        ),
        (
            "create webhook --kind Ticket --version v2 --validating --crd FILE",
            "error: Ticket has no version v2 that is served\n",
        ),
        (
            "create webhook --kind Ticket --version v1alpha1 --validating --crd FILE",
            "error: Ticket has no spec\nhint: write its type by hand, or use kube's `DynamicObject`\n",
        ),
    ] {
        assert_eq!(of_tickets(&[], last), why);
    }
    let said = of_tickets(
        &[],
        "create webhook --kind Ticket --validating --crd nowhere.yaml",
    );
    assert!(said.contains("cannot read nowhere.yaml"), "{said}");
}

#[test]
fn a_kind_of_another_project_is_not_defined_again() {
    let known = "create webhook --kind Ticket --validating --crd FILE";
    let again = "create api --group example.org --version v1 --kind Ticket --controller";
    assert_eq!(
        of_tickets(&[known], again),
        "error: Ticket is defined by another project already\nhint: add --no-resource\n"
    );
    let said = of_tickets(&[known], "delete api --kind Ticket");
    assert!(said.contains("Ticket of v1 has webhooks"), "{said}");
}

#[test]
fn a_webhook_has_to_do_something() {
    let said = refused(&[INIT], "create webhook --kind Pod");
    assert!(
        said.contains("hint: add --defaulting, --validating or --conversion"),
        "{said}"
    );
}

#[test]
fn one_version_cannot_be_converted() {
    let said = refused(&[INIT, API], "create webhook --kind WhiteList --conversion");
    assert!(
        said.contains("WhiteList has one version: there is nothing to convert"),
        "{said}"
    );
}

#[test]
fn a_kind_of_kubernetes_is_not_converted_here() {
    let said = refused(&[INIT], "create webhook --kind Deployment --conversion");
    assert!(
        said.contains("Deployment is not a kind of this project"),
        "{said}"
    );
}

#[test]
fn versions_of_a_kind_agree_on_where_they_are() {
    let said = refused(
        &[INIT, API],
        "create api --group police --version v2 --kind WhiteList --namespaced=false",
    );
    assert!(
        said.contains("WhiteList of police is namespaced and has the plural whitelists in v1"),
        "{said}"
    );
}

#[test]
fn a_kind_that_would_hide_a_type_of_rust_is_refused() {
    let said = refused(
        &[INIT],
        "create api --group police --version v1 --kind Option",
    );
    assert_eq!(
        said,
        "error: a kind cannot be called Option: a type Option would hide that of Rust in its file\n\
         hint: choose another name, such as MyOption\n"
    );
}

#[test]
fn a_license_is_an_expression_of_spdx() {
    for command in [
        "init . --name other --domain example.com --license Nonsense!!",
        "edit --license Nonsense!!",
    ] {
        let said = refused(&[INIT], command);
        assert!(said.contains("write an SPDX expression, such as"), "{said}");
    }
}

#[test]
fn webhooks_that_are_given_handles_are_served_and_not_served_again() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    let run = |command: &str| succeeds(folder, &command.split(' ').collect::<Vec<_>>());
    run(INIT);
    run("create webhook --kind Pod --validating");
    // As the tutorial does it.
    for (file, from, to) in [
        ("src/lib.rs", "_needs: &mut Needs", "needs: &mut Needs"),
        ("src/lib.rs", "webhooks::all()", "webhooks::all(needs)"),
        (
            "src/webhooks.rs",
            "pub fn all()",
            "pub fn all(needs: &mut Needs)",
        ),
        (
            "src/webhooks.rs",
            "pod::validator()",
            "pod::validator(needs)",
        ),
    ] {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).expect("it was made");
        assert!(text.contains(from), "{file} has no {from}");
        std::fs::write(path, text.replace(from, to)).expect("it can be written");
    }
    run("create webhook --kind Deployment --validating");
    let library = std::fs::read_to_string(folder.join("src/lib.rs")).expect("a file");
    assert_eq!(
        library.matches(".webhooks(webhooks::all(needs))").count(),
        1,
        "{library}"
    );
    run("create webhook --kind Pod --validating");
}

#[test]
fn an_app_with_webhooks_of_its_own_is_left_to_its_author() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    succeeds(folder, &INIT.split(' ').collect::<Vec<_>>());
    let path = folder.join("src/lib.rs");
    let text = std::fs::read_to_string(&path).expect("it was made");
    let own = text.replace(
        "App::new(\"guard\")",
        "App::new(\"guard\").webhooks(mine())",
    );
    assert_ne!(own, text);
    std::fs::write(&path, own).expect("it can be written");
    let output = kubewright(
        folder,
        &["create", "webhook", "--kind", "Pod", "--validating"],
    );
    assert_eq!(output.status.code(), Some(1));
    let said = errors(&output);
    let hint = "hint: in src/lib.rs (`App::new` has another `.webhooks` already), \
                an App has one Webhooks: hand the hooks of src/webhooks.rs to the one that `.webhooks(…)` is given\n";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn a_kind_has_one_controller() {
    let controlled = format!("{API} --controller");
    let said = refused(
        &[INIT, &controlled],
        "create api --group police --version v2 --kind WhiteList --controller",
    );
    assert!(
        said.contains("WhiteList has a controller already, for v1")
            && said.contains("name a second controller with --controller-name"),
        "{said}"
    );
}

#[test]
fn a_name_is_that_of_one_controller() {
    let known = format!("{API} --controller-name cleaner");
    let said = refused(
        &[INIT, &known],
        "create api --group core --version v1 --kind Pod --no-resource --controller-name cleaner",
    );
    assert!(
        said.contains("there is a controller cleaner already, of the kind WhiteList")
            && said.contains("hint: choose another name with --controller-name"),
        "{said}"
    );
}

#[test]
fn an_object_in_a_namespace_owns_nothing_outside_of_it() {
    let said = refused(
        &[INIT, API],
        "create api --group ship --version v1 --kind Harbor --namespaced=false --owner WhiteList",
    );
    assert!(
        said.contains("a WhiteList is in a namespace and cannot own a Harbor, which is not"),
        "{said}"
    );
}

#[test]
fn a_file_that_exists_is_overwritten_by_force_alone() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    let run = |command: &str| kubewright(folder, &command.split(' ').collect::<Vec<_>>());
    let api = format!("{API} --controller");
    for command in [
        INIT,
        &api,
        "create webhook --kind WhiteList --defaulting --validating",
    ] {
        assert!(run(command).status.success());
    }
    let made = read(folder);
    let files = [
        "src/api/police/v1/white_list.rs",
        "src/controllers/white_list.rs",
        "src/webhooks/white_list.rs",
    ];
    for file in files {
        std::fs::write(folder.join(file), "// Mine.\n").expect("it can be written");
    }
    let forced = run(&format!("{api} --force"));
    assert_eq!(
        errors(&forced),
        "overwriting src/api/police/v1/white_list.rs\noverwriting src/controllers/white_list.rs\n\
         next: make it yours, then `cargo test`\n"
    );
    let forced = run("create webhook --kind WhiteList --validating --force");
    assert!(errors(&forced).starts_with("overwriting src/webhooks/white_list.rs\nnext"));
    assert_eq!(difference(&made, &read(folder)), "", "as it was made");

    // A file that the record does not know.
    let pod = "create webhook --kind Pod --validating";
    std::fs::write(folder.join("src/controllers/pod.rs"), "// Mine.\n").expect("it is written");
    let controlled = "create api --group core --version v1 --kind Pod --no-resource --controller";
    assert_eq!(
        errors(&run(controlled)),
        "error: src/controllers/pod.rs exists already\nhint: pass --force to overwrite it, or move it away\n"
    );
    assert!(run(pod).status.success());
    assert!(run(&format!("{controlled} --force")).status.success());
}

#[test]
fn names_that_nothing_could_be_made_of_are_refused_before_anything_else() {
    for (command, why) in [
        (
            "init . --name 1st --domain example.com",
            "a package starts with a letter",
        ),
        ("init . --name guard --domain example", "a domain has a dot"),
        (
            "create api --group police --version 1 --kind List",
            "a version is such as v1",
        ),
        (
            "create api --group police --version v1 --kind list",
            "a kind is a word in capitals",
        ),
    ] {
        let said = refused(&[], command);
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn code_that_a_user_has_changed_is_not_deleted() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    let run = |command: &str| kubewright(folder, &command.split(' ').collect::<Vec<_>>());
    for command in [INIT, "create webhook --kind Pod --validating"] {
        assert!(run(command).status.success());
    }
    let file = folder.join("src/webhooks/pod.rs");
    let text = std::fs::read_to_string(&file).expect("it was made");
    std::fs::write(&file, format!("{text}\n// Mine.\n")).expect("it can be written");
    let before = read(folder);
    let refused = run("delete webhook --kind Pod");
    assert_eq!(
        errors(&refused),
        "error: src/webhooks/pod.rs has been changed since it was made\n\
         hint: pass --force to delete it with what you have written\n"
    );
    assert_eq!(difference(&before, &read(folder)), "", "nothing is changed");
    assert!(run("delete webhook --kind Pod --force").status.success());
    assert!(!file.exists());
}

#[test]
fn a_kind_with_webhooks_stays() {
    let said = refused(
        &[INIT, API, "create webhook --kind WhiteList --validating"],
        "delete api --kind WhiteList",
    );
    assert!(
        said.contains("hint: run `kubewright delete webhook --kind WhiteList` first"),
        "{said}"
    );
}

#[test]
fn what_is_no_text_is_not_replaced() {
    let folder = tempfile::tempdir().expect("there is room for a project");
    let folder = folder.path();
    std::fs::write(folder.join("README.md"), [0xff, 0xfe]).expect("it can be written");
    let output = kubewright(folder, &INIT.split(' ').collect::<Vec<_>>());
    assert!(errors(&output).contains("README.md is there, and is no text file"));
    let files: Vec<_> = folder.read_dir().expect("it is there").collect();
    assert_eq!(files.len(), 1, "nothing else is written");
}

#[test]
fn a_task_has_one_schedule_that_comes() {
    for (command, why) in [
        (
            vec!["create", "task", "report", "--cron", "0 25 * * *"],
            "the hour `25`: 25 is not between 0 and 23",
        ),
        (
            vec!["create", "task", "report", "--every", "5"],
            "`5` is no period such as 90s, 5m or 1h30m",
        ),
        (
            vec![
                "create", "task", "report", "--every", "5m", "--cron", "@daily",
            ],
            "cannot be used with",
        ),
    ] {
        let folder = tempfile::tempdir().expect("there is room for a project");
        let said = errors(&kubewright(folder.path(), &command));
        assert!(said.contains(why), "{said}");
    }
    let every = "create task report --every 5m";
    let said = refused(&[INIT, every], "create task report --every 10m");
    assert_eq!(
        said,
        "error: there is a task report with other times\n\
         hint: change it in src/tasks/report.rs, or pass --force to create it anew\n"
    );
}

#[test]
fn a_policy_is_for_one_kind() {
    let said = refused(
        &[INIT, "create policy images --kind Pod"],
        "create policy images --kind Service",
    );
    assert!(
        said.contains("there is a policy images already, for the kind Pod"),
        "{said}"
    );
}

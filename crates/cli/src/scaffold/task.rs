//! `kubewright create task`: work by the clock, or as long as the program runs.

use heck::ToUpperCamelCase;
use minijinja::{Value, context};

use super::controller::{add_with_needs, lead};
use super::lists::{list, test};
use super::named::NamedTask;
use super::places::{LIBRARY, TASKS};
use super::project::Project;
use super::schedule::{Schedule, in_rust};
use super::tree::Existing;
use super::{Name, Refused, Tree, dependencies, rust, templates};

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct NewTask {
    pub(crate) name: Name,
    pub(crate) schedule: Schedule,
    pub(crate) on_each_replica: bool,
    /// Whether existing files are overwritten.
    pub(crate) force: bool,
}

/// Makes a task.
pub(crate) fn create(tree: &mut Tree, new: &NewTask) -> Result<(), Refused> {
    let mut project = Project::read(tree)?;
    tree.on_existing(Existing::by_force(new.force));
    let task = NamedTask {
        name: new.name.as_ref().to_owned(),
        schedule: new.schedule.clone(),
        on_each_replica: new.on_each_replica,
    };
    if task.name == "run" {
        return Err(Refused::new("a task cannot be called run")
            .hint("its type would be called RunTask, as one of the library is"));
    }
    let mut others = project.tasks().into_iter();
    if let Some(known) = others.find(|known| known.name == task.name)
        && !new.force
    {
        if known == task {
            return Ok(());
        }
        let path = path(&task);
        return Err(
            Refused::new(format!("there is a task {} with other times", task.name)).hint(format!(
                "change it in {path}, or pass --force to create it anew"
            )),
        );
    }
    for (path, text) in files(&project, &task) {
        tree.create(&path, &text)?;
    }
    let module = task.module();
    list(
        tree,
        TASKS,
        "pub ",
        &module,
        &templates::TASKS.fill(context! {}),
    )?;
    tree.edit(LIBRARY, "add `pub mod tasks;`", |text| {
        rust::add_module(text, "pub ", "tasks")
    });
    test(tree, &format!("{module}_task"));
    tree.edit(
        "Cargo.toml",
        "add `tokio` with the features `test-util` and `time` to [dev-dependencies]",
        dependencies::for_clocks,
    );
    add_with_needs(tree, |needs| call(&task, needs));
    if !task.on_each_replica {
        lead(tree, &project);
    }
    project.record_task(&task);
    project.save(tree);
    Ok(())
}

/// The call that adds a task to the program, whose parameter has this name.
pub(super) fn call(task: &NamedTask, needs: &str) -> String {
    format!(".task(tasks::{}::task({needs}))", task.module())
}

/// The files of a task, with their text.
pub(super) fn files(project: &Project, task: &NamedTask) -> [(String, String); 2] {
    let values = values(project, task);
    let test = format!("tests/all/{}_task.rs", task.module());
    [
        (path(task), templates::TASK.fill(values.clone())),
        (test, templates::TASK_TEST.fill(values)),
    ]
}

fn path(task: &NamedTask) -> String {
    format!("src/tasks/{}.rs", task.module())
}

fn values(project: &Project, task: &NamedTask) -> Value {
    let (every, cron) = match &task.schedule {
        Schedule::Once => (None, None),
        Schedule::Every(period) => (Some(in_rust(*period)), None),
        Schedule::Cron(schedule) => (None, Some(schedule.as_str())),
    };
    context! {
        name => task.name.as_str(),
        module => task.module(),
        type => format!("{}Task", task.name.to_upper_camel_case()),
        on_each_replica => task.on_each_replica,
        every,
        cron,
        project => project.name(),
        library => project.library(),
    }
}

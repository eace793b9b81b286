//! A program on its stage, from its first build to its end, by way of every build in between.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::demo::Demo;
use super::play::{self, Ground};
use super::program::{Asked, Program};
use super::running::Running;
use super::sources::Sources;
use super::stage::Stage;
use crate::failure::{Failure, Outcome};
use crate::ui::{Tone, Ui};

/// A program that runs on a stage.
pub(crate) struct Session<'a> {
    ui: &'a Arc<Ui>,
    folder: &'a Path,
    asked: Asked<'a>,
    stage: Stage,
    program: Program,
    /// Nothing, if it has ended by itself and is to be built again.
    running: Option<Running>,
}

impl<'a> Session<'a> {
    /// A session of a program that was built. Nothing runs yet.
    pub(crate) fn new(
        ui: &'a Arc<Ui>,
        folder: &'a Path,
        asked: Asked<'a>,
        stage: Stage,
        program: Program,
    ) -> Self {
        Self {
            ui,
            folder,
            asked,
            stage,
            program,
            running: None,
        }
    }

    /// Starts the program, with all that it needs around it.
    pub(crate) async fn start(&mut self) -> Outcome {
        self.stage
            .prepare(&self.program, self.asked.options)
            .await?;
        self.run().await
    }

    /// Waits until the program ends by itself.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> Failure {
        let failure = ended(&mut self.running).await;
        self.running = None;
        failure
    }

    /// Builds the program again whenever its sources change, until the future is dropped.
    pub(crate) async fn follow(&mut self, mut sources: Sources) {
        loop {
            let changed = tokio::select! {
                changed = sources.changed() => changed,
                failure = self.ended() => {
                    self.complain(&failure);
                    self.ui.note("it is started again when its sources change");
                    continue;
                }
            };
            let Some(program) = self.build_again(&changed).await else {
                continue;
            };
            sources.follow(program.packages(), program.executable());
            if sources.have_changed() {
                // What was built is old already.
                continue;
            }
            if self.running.is_some() && program.is(&self.program) {
                self.ui.note("nothing of the program has changed");
                continue;
            }
            if let Err(failure) = self.replace(program).await {
                self.complain(&failure);
            }
        }
    }

    /// Plays a demo, unless the program ends meanwhile; returns how many steps did not come out as expected.
    pub(crate) async fn play(&mut self, ground: &Ground<'_>, demo: &Demo) -> Outcome<usize> {
        tokio::select! {
            failures = play::all(self.ui, ground, self.stage.borrowed(), demo) => failures,
            failure = ended(&mut self.running) => Err(failure),
        }
    }

    /// Ends the program, and restores a cluster that stays: first the objects that make the API server call the program.
    pub(crate) async fn end(&mut self) -> Outcome {
        let ui = self.ui;
        let mut outcome = Ok(());
        if self.stage.stays() {
            outcome = self.stage.borrowed().give_back_calls(ui).await;
        }
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
        let ended = self.stage.borrowed().runs(None);
        outcome = outcome.and(ended);
        if self.stage.stays() && outcome.is_ok() {
            outcome = self.stage.borrowed().give_back(ui).await;
        }
        outcome
    }

    /// Builds while the program that runs still answers.
    async fn build_again(&mut self, changed: &[PathBuf]) -> Option<Program> {
        let (ui, folder) = (self.ui, self.folder);
        let step = ui.step(&format!("{}: building", described(changed, folder)));
        let mut building = std::pin::pin!(Program::build(folder));
        let built = loop {
            let failure = tokio::select! {
                built = &mut building => break built,
                failure = ended(&mut self.running) => failure,
            };
            self.running = None;
            complain(ui, &failure);
        };
        match built {
            Ok(program) => {
                step.done(&format!("built {}", program.name()));
                Some(program)
            }
            Err(failure) => {
                complain(ui, &failure);
                ui.note(match &self.running {
                    Some(_) => "the program from before still runs",
                    None => "nothing runs",
                });
                None
            }
        }
    }

    /// Puts a new build in the place of the program that runs.
    async fn replace(&mut self, program: Program) -> Outcome {
        // What is refused here leaves the old program as it is.
        self.stage.prepare(&program, self.asked.options).await?;
        self.program = program;
        if let Some(running) = self.running.take() {
            running.stop().await;
            self.ui.note("the program from before has ended");
        }
        self.run().await
    }

    async fn run(&mut self) -> Outcome {
        let name = self.program.name();
        let step = self.ui.step(&format!("starting {name}"));
        let running = self.stage.start(self.ui, &self.program, self.asked).await?;
        let running = self.running.insert(running);
        let process = running.process(self.program.executable());
        self.stage.borrowed().runs(process)?;
        self.stage
            .register(self.ui, &self.program, running, self.asked.options)
            .await?;
        step.done(&match running.address() {
            Some(address) => format!("{name} serves on https://{address}"),
            None => format!("{name} runs"),
        });
        Ok(())
    }

    fn complain(&self, failure: &Failure) {
        complain(self.ui, failure);
    }
}

async fn ended(running: &mut Option<Running>) -> Failure {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}

/// Shows a failure that is not the end of the command.
pub(crate) fn complain(ui: &Ui, failure: &Failure) {
    for line in failure.lines() {
        ui.note(ui.paint(Tone::Bad, &line));
    }
}

/// Such as `src/lib.rs and 2 more changed`.
fn described(changed: &[PathBuf], folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let Some(first) = changed.first() else {
        return "something changed".to_owned();
    };
    let first = first.strip_prefix(&folder).unwrap_or(first).display();
    match changed.len() {
        1 => format!("{first} changed"),
        many => format!("{first} and {} more changed", many - 1),
    }
}

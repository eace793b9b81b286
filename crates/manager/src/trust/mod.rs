//! Trust in the program: every object that leads here says by which authorities it is known, and is kept saying so.

mod board;
mod guard;
mod others;
mod publication;
mod publish;
mod publisher;
mod request;
mod target;
mod told;
mod wanted;

use std::ops::ControlFlow;
use std::sync::Arc;

use kube::Client;
use kubewright_certificates::Trust;
use kubewright_server::{LiveIdentity, Readiness};
use tokio::sync::watch;

pub(crate) use board::Board;
pub(crate) use publication::Objects;
pub(crate) use target::Target;
pub(crate) use told::Teller;
pub(crate) use wanted::Wanted;

use crate::tasks::Tasks;
pub(crate) use publish::Publish;
use publisher::Publisher;

/// The publishers of a program at work.
pub(crate) struct Publishing {
    pub(crate) board: Board,
    wanted: watch::Sender<Option<Wanted>>,
}

impl Publishing {
    /// Starts to keep these objects. Nothing is written until it is said what is [wanted](Self::wants).
    pub(crate) fn start(
        client: &Client,
        program: &Arc<str>,
        targets: Vec<Target>,
        teller: &Teller,
        tasks: &mut Tasks,
    ) -> Self {
        let wanted = watch::Sender::new(None);
        let board = Board::of(targets);
        for target in board.targets() {
            let publisher = Publisher {
                client: client.clone(),
                program: Arc::clone(program),
                target: target.clone(),
                board: board.clone(),
                wanted: wanted.subscribe(),
                teller: teller.clone(),
            };
            tasks.spawn("the publication of trust", publisher.run());
        }
        Self { board, wanted }
    }

    /// Has every object say what a server's certificate needs, now and when it is replaced.
    pub(crate) fn follow(self, publish: Publish, identity: LiveIdentity, tasks: &mut Tasks) {
        self.board.serves(identity.clone());
        tasks.spawn("the publication of trust", async move {
            let follow = identity.follow(|identity| {
                let wanted = match &publish {
                    Publish::Trust => Wanted::trust(identity.trust().clone()),
                    Publish::InjectedFrom(certificate) => {
                        Wanted::InjectedFrom(Arc::clone(certificate))
                    }
                };
                self.wanted.send_replace(Some(wanted));
                ControlFlow::Continue(())
            });
            follow.await;
        });
    }
}

impl Publishing {
    /// Has every object say what a rotation wants, and returns what the rotation asks.
    pub(crate) fn follow_rotation(
        self,
        client: Client,
        mut trust: watch::Receiver<Option<Trust>>,
        tasks: &mut Tasks,
    ) -> Objects {
        let Self { board, wanted } = self;
        tasks.spawn("the publication of trust", async move {
            loop {
                let now = trust.borrow_and_update().clone();
                wanted.send_replace(now.map(Wanted::of_rotation));
                if trust.changed().await.is_err() {
                    // What was wanted last stays wanted.
                    std::future::pending::<()>().await;
                }
            }
        });
        Objects { client, board }
    }
}

/// Holds calls back from a replica whose certificate would not be believed.
pub(crate) fn check(board: &Board, readiness: &Readiness) {
    let board = board.clone();
    readiness.check("trust", move || board.is_believed());
}

//! Admits one review: reads the body, runs every handler of the hook in order, and writes the answer.

use kubewright_review::{
    AdmissionReview, Body, MayChange, Patch, Response, is_annotation_key, mend_warnings, printable,
};
use tokio::time::Instant;
use tracing::Span;

use crate::declaration::{Mode, Role};
use crate::erased::{Run, Stop};
use crate::executor::{Ended, catch};
use crate::hook::{Hook, Undecodable};
use crate::observer::{Answered, Decision};
use crate::outcomes::Outcome;
use crate::refusal::Refusal;
use crate::review::Review;
use crate::verdict::{Denial, Rejection};
use crate::{shadow, span};

/// Observer of a review, the time at which the review arrived, and whether a decision in shadow mode is its answer.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) observer: Option<&'a (dyn Fn(&Answered<'_>) + Send + Sync)>,
    pub(crate) arrival: Instant,
    pub(crate) span: &'a Span,
    pub(crate) is_revealed: bool,
}

/// An answer, with the facts that observers are given.
struct Answer {
    json: Vec<u8>,
    decision: Decision,
    code: u16,
    patch: usize,
    shadow: Option<Shadow>,
}

/// What a hook in shadow mode says of its decision.
struct Shadow {
    detail: Option<String>,
    annotations: Vec<(String, String)>,
}

/// Answers one review.
pub(crate) async fn admit(
    hook: &Hook,
    body: &Body,
    deadline: Instant,
    observed: Observed<'_>,
) -> Result<Vec<u8>, Refusal> {
    let (review, run) = begin(hook, body, deadline)?;
    span::asked(observed.span, hook, &review);
    let is_shadow = hook.mode == Mode::Shadow;
    if observed.observer.is_none() && observed.span.is_disabled() && !is_shadow {
        return Ok(run_handlers(hook, review, run?, deadline).await?.json);
    }
    let asked = review.clone();
    let answered = match run {
        Ok(run) => run_handlers(hook, review, run, deadline).await,
        Err(refusal) => Err(refusal),
    };
    let (decision, code, patch) = match &answered {
        Ok(answer) => (answer.decision, answer.code, answer.patch),
        Err(refusal) => (Decision::Failed, refusal.code().as_u16(), 0),
    };
    span::answered(observed.span, decision, code);
    if let Some(observe) = observed.observer {
        let now = Instant::now();
        observe(&Answered {
            path: &hook.path,
            review: body.text(),
            answer: answered.as_ref().ok().map(|answer| &*answer.json),
            hook: &hook.name,
            operation: asked.operation(),
            kind: asked.kind().kind,
            uid: asked.uid(),
            namespace: asked.namespace(),
            name: asked.name(),
            failure: answered.as_ref().err().map(Refusal::message),
            mode: hook.mode,
            is_dry_run: asked.dry_run(),
            decision,
            code,
            latency: now.duration_since(observed.arrival),
            left: deadline.saturating_duration_since(now),
            patch,
        });
    }
    if is_shadow && !observed.is_revealed {
        return Ok(withhold(hook, &asked, &answered));
    }
    Ok(answered?.json)
}

/// Logs the decision of a hook in shadow mode, and allows the request whatever it was.
fn withhold(hook: &Hook, review: &Review, answered: &Result<Answer, Refusal>) -> Vec<u8> {
    let mut annotations = Vec::new();
    match answered {
        Ok(answer) => {
            let shadow = answer.shadow.as_ref();
            let detail = shadow.and_then(|shadow| shadow.detail.as_deref());
            shadow::log(hook, review, answer.decision, detail);
            if let Some(shadow) = shadow {
                annotations.clone_from(&shadow.annotations);
            }
        }
        Err(refusal) => {
            let detail = shadow::detail(refusal.message().to_owned());
            shadow::log(hook, review, Decision::Failed, Some(&detail));
            shadow::annotate(&mut annotations, Decision::Failed, Some(&detail));
        }
    }
    shadow::withheld(review.request(), &annotations)
}

async fn run_handlers(
    hook: &Hook,
    mut review: Review,
    mut run: Run,
    deadline: Instant,
) -> Result<Answer, Refusal> {
    let original = review.clone();
    let mut patch = Patch::default();
    let mut rest = hook.handlers.iter().skip(1);
    let denial = loop {
        let made = match hook.executor.run(run, deadline).await {
            Ok(Ok(made)) => made,
            Ok(Err(stop)) => match stopped(hook, &review, stop)? {
                Some(denial) => break Some(denial),
                None => Patch::default(),
            },
            Err(ended) => return Err(gave_no_answer(hook, &review, ended)),
        };
        let Some(next) = rest.next() else {
            patch.append(&made);
            break None;
        };
        if !made.is_empty() {
            let changed = review.request().changed_by(&made);
            let changed = changed.map_err(|error| fail(hook, &review, &error))?;
            review = review.with_request(changed);
            patch.append(&made);
        }
        let next = next.clone();
        let proceed = catch(|| next.proceed(review.clone()));
        run = proceed.ok_or_else(|| gave_no_answer(hook, &review, Ended::Panicked))?;
    };
    answer(hook, original.request(), &review, denial, &patch)
}

/// Reads the review, and makes the first handler ready to run unless the type's own code for reading panics.
fn begin(
    hook: &Hook,
    body: &Body,
    deadline: Instant,
) -> Result<(Review, Result<Run, Refusal>), Refusal> {
    let Some(first) = hook.handlers.first() else {
        return Err(Refusal::empty());
    };
    let begun = catch(|| first.clone().begin(body, deadline));
    match begun {
        Some(Ok((review, run))) => Ok((review, Ok(run))),
        Some(Err(error)) => Err(Refusal::unreadable(&error)),
        // The envelope still says whose request this was.
        None => match AdmissionReview::read(body) {
            Ok(request) => {
                let review = Review::new(request, deadline);
                let refusal = gave_no_answer(hook, &review, Ended::Panicked);
                Ok((review, Err(refusal)))
            }
            Err(error) => Err(Refusal::unreadable(&error)),
        },
    }
}

/// What a handler that did not let the request pass makes of it: a denial, nothing at all, or a failure.
fn stopped(hook: &Hook, review: &Review, stop: Stop) -> Result<Option<Denial>, Refusal> {
    match stop {
        Stop::Undecodable(message) => match hook.when_undecodable {
            Undecodable::PassThrough => Ok(None),
            Undecodable::Deny => Ok(Some(Denial::new(message).code(422))),
            Undecodable::Fail => {
                hook.counters.count(Outcome::Undecodable);
                Err(Refusal::undecodable(review, &hook.name, &message))
            }
        },
        Stop::Failed(cause) => Err(fail(hook, review, &*cause)),
        Stop::Rejected(reject) => match reject.into_rejection() {
            Rejection::Denied(denial, cause) => {
                if let Some(cause) = cause {
                    tracing::debug!(
                        uid = review.uid(),
                        hook = hook.name,
                        error = &*cause,
                        "a webhook denied"
                    );
                }
                Ok(Some(denial))
            }
            Rejection::Failed(cause) => Err(fail(hook, review, &*cause)),
        },
    }
}

fn gave_no_answer(hook: &Hook, review: &Review, ended: Ended) -> Refusal {
    match ended {
        Ended::Deadline => {
            hook.counters.count(Outcome::Stopped);
            Refusal::deadline(review, &hook.name)
        }
        Ended::Panicked => {
            hook.counters.count(Outcome::Panicked);
            Refusal::panicked(review, &hook.name)
        }
    }
}

fn fail(hook: &Hook, review: &Review, cause: &(dyn std::error::Error + 'static)) -> Refusal {
    hook.counters.count(Outcome::Failed);
    Refusal::failed(review, &hook.name, cause)
}

fn answer(
    hook: &Hook,
    request: &AdmissionReview,
    review: &Review,
    denial: Option<Denial>,
    patch: &Patch,
) -> Result<Answer, Refusal> {
    let mut notes = review.take_notes();
    if notes.user_is_unreadable {
        hook.counters.count(Outcome::Failed);
        return Err(Refusal::unreadable_user(review));
    }
    if !notes.warnings.is_empty() {
        mend_warnings(&mut notes.warnings);
    }
    notes.annotations.retain(|(key, _)| {
        let good = is_annotation_key(key);
        if !good {
            let key = printable(key);
            tracing::warn!(hook = hook.name, %key, "not a key of an audit annotation");
        }
        good
    });
    let status = denial.map(Denial::into_status);
    let decision = match &status {
        Some(_) => Decision::Denied,
        None if patch.is_empty() => Decision::Allowed,
        None => Decision::Changed,
    };
    let detail = match (hook.mode, &status) {
        (Mode::Shadow, Some(status)) => Some(shadow::detail(status.message.clone())),
        (Mode::Shadow, None) if !patch.is_empty() => Some(shadow::detail(patch.paths().join(", "))),
        _ => None,
    };
    if hook.mode == Mode::Shadow {
        shadow::annotate(&mut notes.annotations, decision, detail.as_deref());
    }
    let mut answer = Response::new(request.version(), request.uid())
        .warnings(&notes.warnings)
        .audit_annotations(&notes.annotations);
    let (outcome, may_change) = match (decision, &status) {
        (_, Some(status)) => {
            answer = answer.denied(status);
            (Outcome::Denied, MayChange::No)
        }
        (Decision::Changed, None) => {
            answer = answer.patch(patch);
            let may_change = match hook.role {
                Role::Mutating => MayChange::Yes,
                Role::Validating => MayChange::No,
            };
            (Outcome::Changed, may_change)
        }
        (_, None) => (Outcome::Allowed, MayChange::No),
    };
    answer
        .lint(request, may_change)
        .map_err(|error| fail(hook, review, &error))?;
    hook.counters.count(outcome);
    Ok(Answer {
        json: answer.to_json(),
        decision,
        code: status.as_ref().map_or(200, |status| status.code),
        patch: patch.size(),
        shadow: (hook.mode == Mode::Shadow).then_some(Shadow {
            detail,
            annotations: notes.annotations,
        }),
    })
}

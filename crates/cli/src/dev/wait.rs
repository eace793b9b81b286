//! Waiting for what does not happen at once: objects that come, change and go by the work of controllers.

use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::time::Instant;

use super::demo;
use super::place::Place;
use crate::current::called;
use crate::failure::{Failure, Outcome};

/// Waits until there is an object that has all that is expected; otherwise returns what is missing in the end.
///
/// An expectation without a name is met by any object of its kind.
pub(crate) async fn for_object(
    client: &Client,
    expected: &Value,
) -> Outcome<Result<Value, Vec<String>>> {
    let place = Place::of(client, expected).await?;
    let mut missing = Vec::new();
    let met = eventually(async || {
        let found = place.objects().await?;
        let mut problems = vec!["there is none".to_owned()];
        for object in found {
            problems = demo::missing("", expected, &object);
            if problems.is_empty() {
                return Ok(Some(object));
            }
        }
        missing = problems;
        Ok(None)
    });
    let met = met.await?;
    Ok(met.ok_or(missing))
}

/// Waits until there is no such object, and returns whether it is gone.
pub(crate) async fn for_absence(client: &Client, object: &Value) -> Outcome<bool> {
    let place = Place::of(client, object).await?;
    let gone = eventually(async || {
        let found = place.objects().await?;
        let is_there = found
            .iter()
            .any(|found| demo::missing("", object, found).is_empty());
        Ok((!is_there).then_some(()))
    });
    Ok(gone.await?.is_some())
}

/// Waits until there is no object of a name, and returns whether it is gone.
pub(crate) async fn for_no(place: &Place) -> Outcome<bool> {
    let gone = eventually(async || Ok(place.object().await?.is_none().then_some(())));
    Ok(gone.await?.is_some())
}

/// Waits until a definition is in force.
pub(crate) async fn for_definition(client: &Client, definition: &Value) -> Outcome {
    let place = Place::of(client, definition).await?;
    let established = eventually(async || {
        let found = place.objects().await?;
        let conditions = found.iter().flat_map(|found| {
            let conditions = found["status"]["conditions"].as_array();
            conditions.into_iter().flatten()
        });
        let mut established =
            conditions.filter(|known| known["type"] == "Established" && known["status"] == "True");
        Ok(established.next().map(drop))
    });
    match established.await? {
        Some(()) => Ok(()),
        None => Err(Failure::new(format!(
            "the {} does not come into force",
            called(definition)
        ))
        .hint("its names may be taken by another definition")),
    }
}

async fn eventually<T>(mut ask: impl AsyncFnMut() -> Outcome<Option<T>>) -> Outcome<Option<T>> {
    let deadline = Instant::now() + READY_TIMEOUT;
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(answer) = ask().await? {
            return Ok(Some(answer));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Controllers answer within milliseconds; a machine with much to do is given its time.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

//! Why an object cannot be owned.

/// The reason why an object is not written for its owner.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "{owner} cannot own an object outside of its namespace by an owner reference, for which the garbage collector would delete \
         it: use `Ownership`, which owns by a label and a finalizer"
    )]
    OutsideNamespace { owner: String },
    #[error(
        "it exists without the label {name} of its owner: delete it, or give the wanted object another name"
    )]
    NotOwned { name: String },
    #[error("it belongs to {owner} by the label {name}, and such an object has one owner")]
    OwnedByAnother { owner: String, name: String },
    #[error(
        "no controller collects what this handle creates: give it to `Controller::owns` of the controller of {owner}"
    )]
    NotCollected { owner: String },
}

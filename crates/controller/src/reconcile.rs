//! What users write: a function from an object to an action.

use std::pin::Pin;
use std::sync::Arc;

use crate::{Action, Context, Error};

/// Makes the world as an object wants it. Implemented by `async fn(Arc<K>, Context) -> Result<Action, Error>`.
///
/// A reconcile is called with the object as it is, not with what has happened to it: it compares the world with the object
/// and mends the difference. It may be called at any time, also when nothing has changed, and never twice at once for one
/// object. For an object that is gone it is not called: what has to be done then is a
/// [finalizer's](https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/) work.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot reconcile `{K}`",
    note = "a reconciler is `async fn(Arc<{K}>, Context) -> Result<Action, Error>`, or a type that implements `Reconcile<{K}>`"
)]
pub trait Reconcile<K>: Send + Sync + 'static {
    /// Makes the world as the object wants it.
    ///
    /// # Errors
    ///
    /// Any error has the object reconciled again, after a pause; [`Error::terminal`] leaves it alone until it changes.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped if the program has to end at once. What it has done by then is found by the next reconcile.
    fn reconcile(
        &self,
        object: Arc<K>,
        context: Context,
    ) -> impl Future<Output = Result<Action, Error>> + Send;
}

#[diagnostic::do_not_recommend]
impl<K, F, Done> Reconcile<K> for F
where
    F: Fn(Arc<K>, Context) -> Done + Send + Sync + 'static,
    Done: Future<Output = Result<Action, Error>> + Send,
{
    fn reconcile(
        &self,
        object: Arc<K>,
        context: Context,
    ) -> impl Future<Output = Result<Action, Error>> + Send {
        self(object, context)
    }
}

/// A reconciler whose type is forgotten.
pub(crate) trait AnyReconcile<K>: Send + Sync {
    fn reconcile_any(&self, object: Arc<K>, context: Context) -> Reconciling<'_>;
}

pub(crate) type Reconciling<'a> = Pin<Box<dyn Future<Output = Result<Action, Error>> + Send + 'a>>;

impl<K: Send + Sync + 'static, R: Reconcile<K>> AnyReconcile<K> for R {
    fn reconcile_any(&self, object: Arc<K>, context: Context) -> Reconciling<'_> {
        Box::pin(self.reconcile(object, context))
    }
}

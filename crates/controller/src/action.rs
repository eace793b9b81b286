//! What a reconcile comes to.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// The next step after a successful reconcile.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use k8s_openapi::api::core::v1::Secret;
/// use kubewright_controller::{Action, Context, Error};
///
/// /// Waits for the data of a Secret, and looks at it every hour from then on.
/// async fn reconcile(secret: Arc<Secret>, _: Context) -> Result<Action, Error> {
///     match &secret.data {
///         None => Ok(Action::await_change()),
///         Some(_) => Ok(Action::requeue_after(Duration::from_hours(1))),
///     }
/// }
/// # let _ = kubewright_controller::Controller::new("secrets", reconcile);
/// # assert_ne!(Action::await_change(), Action::requeue_after(Duration::ZERO));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Action {
    after: Option<Duration>,
}

impl Action {
    /// Waits for the next change of the object or of an object that the controller watches.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// let (cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// reconciles.recv().await;
    /// cluster.merge::<ConfigMap>("settings", &serde_json::json!({"data": {"mode": "loud"}})).await.expect_allowed();
    /// let changed = reconciles.recv().await.unwrap();
    /// assert_eq!(changed.0.data.as_ref().unwrap()["mode"], "loud");
    /// # Ok(())
    /// # }
    /// ```
    pub const fn await_change() -> Self {
        Self { after: None }
    }

    /// Requeues the object after `time`, or earlier if it changes.
    ///
    /// ```
    /// use kubewright_controller::Action;
    /// use std::time::{Duration, Instant};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let pause = Duration::from_millis(50);
    /// let (_cluster, mut reconciles) = reconcile_settings(move |_| Ok(Action::requeue_after(pause))).await;
    /// reconciles.recv().await;
    /// let first = Instant::now();
    /// reconciles.recv().await; // without any change
    /// assert!(first.elapsed() > pause / 2);
    /// # Ok(())
    /// # }
    /// ```
    pub const fn requeue_after(time: Duration) -> Self {
        Self { after: Some(time) }
    }

    pub(crate) fn after(self) -> Option<Duration> {
        self.after
    }
}

/// The reason why a reconcile failed.
///
/// Every error becomes one by `?`: the object is reconciled again, after a pause that doubles with each failure in a row.
/// What another try cannot mend is [`terminal`](Self::terminal).
///
/// ```
/// use kubewright_controller::Error;
///
/// fn port(text: &str) -> Result<u16, Error> {
///     Ok(text.parse()?)
/// }
///
/// let error = port("http").unwrap_err();
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// assert!(!error.is_terminal(), "the object is reconciled again");
/// ```
pub struct Error {
    cause: Box<dyn StdError + Send + Sync>,
    is_terminal: bool,
}

impl Error {
    /// Creates an error that a retry cannot mend: the object is not reconciled again until it changes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::Error;
    #[doc = include_str!("example.md")]
    ///
    /// let (cluster, mut reconciles) = reconcile_settings(|_| Err(Error::terminal("mode `quiet` is unknown"))).await;
    /// reconciles.recv().await;
    /// # let again = tokio::time::timeout(std::time::Duration::from_millis(100), reconciles.recv()).await;
    /// # assert!(again.is_err());
    /// cluster.merge::<ConfigMap>("settings", &serde_json::json!({"data": {"mode": "loud"}})).await.expect_allowed();
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// assert_eq!(context.failures(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn terminal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            cause: cause.into(),
            is_terminal: true,
        }
    }

    /// Creates an error from a message. The object is reconciled again after a back-off.
    ///
    /// ```
    /// use kubewright_controller::Error;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Err(Error::retry("the garden is locked"))).await;
    /// assert_eq!(reconciles.recv().await.unwrap().1.failures(), 0);
    /// assert_eq!(reconciles.recv().await.unwrap().1.failures(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            cause: cause.into(),
            is_terminal: false,
        }
    }

    /// Returns whether the object is left alone until something changes.
    ///
    /// ```
    /// use kubewright_controller::Error;
    ///
    /// assert!(Error::terminal("the spec names no bucket").is_terminal());
    /// assert!(!Error::retry("the bucket is locked").is_terminal());
    /// ```
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the cause, for example to downcast it.
    ///
    /// ```
    /// use kubewright_controller::Error;
    ///
    /// let error = Error::from(std::io::Error::other("disk full"));
    /// assert!(error.cause().downcast_ref::<std::io::Error>().is_some());
    /// ```
    pub fn cause(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.cause
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Error {
    fn from(cause: E) -> Self {
        Self::retry(cause)
    }
}

impl fmt::Display for Error {
    /// The error and what led to it, in one sentence: this type has no `source`, so that every error can become one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.cause)?;
        let mut source = self.cause.source();
        while let Some(cause) = source {
            write!(formatter, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Error")
            .field("cause", &self.cause)
            .field("is_terminal", &self.is_terminal)
            .finish()
    }
}

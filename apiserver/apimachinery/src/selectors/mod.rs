//! Label and field selectors: which objects a list, a watch or a webhook means.
//!
//! ```
//! use std::borrow::Cow;
//!
//! use kubewright_apimachinery::selectors::{Fields, Labels};
//! use serde_json::json;
//!
//! let labels = json!({"app": "web", "tier": "front"});
//! assert!(Labels::parse("app in (web, api), tier != back")?.matches(labels.as_object()));
//!
//! let selector = json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]});
//! assert!(Labels::from_object(&selector)?.is_some_and(|it| it.matches(labels.as_object())));
//!
//! let running = Fields::parse("status.phase=Running")?;
//! assert!(running.matches(|field| Cow::Borrowed(if field == "status.phase" { "Running" } else { "" })));
//! # Ok::<(), String>(())
//! ```

mod fields;
mod labels;
mod parse;
mod requirement;

pub use fields::Fields;
pub use labels::{LabelValues, Labels};
pub use requirement::{Operator, Requirement};

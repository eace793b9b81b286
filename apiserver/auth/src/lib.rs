#![doc = include_str!("../README.md")]

mod authentication;
mod authorities;
mod authority;
mod authorizer;
mod bound_tokens;
mod derived;
mod impersonation;
mod legacy_tokens;
mod modes;
mod node;
mod openid;
mod question;
pub mod rbac;
pub mod sec1;
mod signing;
mod tokens;
mod websocket;

pub use authentication::{Access, Caller, Known};
pub use authorities::{Authorities, FrontProxy};
pub use authority::{Authority, AuthorityError, ClientPem, ServingCertificate, admin};
pub use authorizer::{Authorizer, Decision, Rules, answer_expression, check, forbidden};
pub use impersonation::{Impersonated, LastModes, impersonated};
pub use modes::{AuthorizationMode, Modes};
pub use question::{About, Question};
pub use signing::SigningRequest;
pub use tokens::{ServiceAccountTokens, TokenKeyError};
pub use websocket::{is_websocket, protocols as websocket_protocols, remove_token};

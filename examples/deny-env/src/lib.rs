//! Denies pods whose containers use environment variables, and two more policies on demand.

mod env;
mod reserved;
mod storage;

pub use env::DenyEnv;
use kubewright::prelude::*;
pub use reserved::ReservedNamespaces;
pub use storage::DefaultStorageClass;

/// Denies pods whose containers use environment variables.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Look at init containers too
    #[arg(long)]
    init_containers: bool,

    /// Look at ephemeral containers too, when they are added to a running pod
    #[arg(long)]
    ephemeral_containers: bool,

    /// Let `envFrom` count as well
    #[arg(long)]
    env_from: bool,

    /// Deny the creation of objects in these namespaces, to all but --reserved-for
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    reserved_namespaces: Vec<String>,

    /// The users who may create objects in reserved namespaces
    #[arg(
        long,
        value_name = "USERS",
        value_delimiter = ',',
        requires = "reserved_namespaces"
    )]
    reserved_for: Vec<String>,

    /// Give claims that name no StorageClass this one
    #[arg(long, value_name = "NAME")]
    default_storage_class: Option<String>,
}

/// Defines the program.
pub fn app(options: Options, _needs: &mut Needs) -> App {
    App::new("deny-env")
        .version(env!("CARGO_PKG_VERSION"))
        .webhook_configuration_name("denyenv")
        .webhooks(webhooks(options))
        .install(install())
}

/// The installation, with a certificate from a Secret that the operator provides: the program needs no permission.
fn install() -> Install {
    Install::in_namespace("deny-env")
        .image("kubewright.example/deny-env")
        .certificates_in_secret("deny-env-certificates")
}

/// The webhook alone, for tests without a program.
pub fn webhooks(options: Options) -> Webhooks {
    let mut webhooks = Webhooks::new("hightowerlabs.com").with(DenyEnv::new(&options).hook());
    if !options.reserved_namespaces.is_empty() {
        let reserved = ReservedNamespaces::new(options.reserved_namespaces, options.reserved_for);
        webhooks = webhooks.with(reserved.hook());
    }
    if let Some(name) = options.default_storage_class {
        webhooks = webhooks.with(DefaultStorageClass::named(name).hook());
    }
    webhooks
}
